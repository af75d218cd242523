"""Monitor: bundle and new records in, drift and what is known of its promises out.

For schedulers: takes the arguments of `scoring-model monitor`, and its exit code is the outcome.
"""

import sys

from scoring_model.cli import main

if __name__ == "__main__":
    sys.exit(main(["monitor", *sys.argv[1:]]))
