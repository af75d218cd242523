"""Retrain the model of a service: export, train, compare, decide, and activate what was promoted.

For schedulers: takes the arguments of `scoring-model retrain`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["retrain", *sys.argv[1:]]))
