"""Evaluate: bundle and labelled records in, an evaluation of its decisions out.

For schedulers: takes the arguments of `scoring-model evaluate`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
