"""Backtest: configuration and labelled records in, one report out.

For schedulers: takes the arguments of `scoring-model backtest`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["backtest", *sys.argv[1:]]))
