"""Train: configuration and labelled records in, one sealed bundle out.

For schedulers: takes the arguments of `scoring-model train`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
