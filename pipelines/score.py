"""Score: bundle and records in, a scored file out.

For schedulers: takes the arguments of `scoring-model score`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["score", *sys.argv[1:]]))
