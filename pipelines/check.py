"""Check records against the contract and report the invalid rows.

For schedulers: takes the arguments of `scoring-model check`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["check", *sys.argv[1:]]))
