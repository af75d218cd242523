"""Invent labelled records: a file out.

For schedulers: takes the arguments of `scoring-model synth`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["synth", *sys.argv[1:]]))
