"""CPU time and memory of ``scoring-model score``: 67,000 payments with 1,100,000 earlier ones.

Run as ``python benchmarks/score_with_history.py [--bundle BUNDLE]``. Without a bundle it trains one of
``configs/transactions.yaml`` with `ROUNDS` trees, which takes a minute. The first scored file is checked: its margins
must be, bit for bit, those of the rows of the whole table, history included. Times are of the whole process, user and
system, and the smallest of several rounds is judged. Exits with 1 above a bound.
"""

import sys
import tempfile
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from payments import many_payments
from shared.bundles import CONFIGURATIONS, cached, train
from shared.judging import arguments, at_most, exit_code
from shared.processes import run_program

from scoring_model import Scorer
from scoring_model.configuration import load_configuration
from scoring_model.records.reading import read_records

HISTORY, SCORED, TRAINED = 1_100_000, 67_000, 600_000
ROUNDS: Final = 230
MOST_SECONDS, MOST_GIGABYTES = 4.0, 1.5


def check(bundle: Path, scored: Path, history: Path, out: Path) -> None:
    """Compare the margins of a scored file with those of all records as one table; exit if a bit differs."""
    scorer = Scorer.load(bundle, threads=2)
    tables = [read_records(path, scorer.contents.schema, labelled=False).table for path in (history, scored)]
    whole = scorer.decide(scorer.matrix.rows(tables[0].append(tables[1])))
    margins = pq.read_table(out)["margin"].to_numpy()
    if margins.tobytes() != whole.margins[len(tables[0]) :].tobytes():
        raise SystemExit("scored alone, records have other margins than in the whole table: nothing is timed")
    print(f"margins of {len(margins):,} records: the same bits as in the whole table", flush=True)


def main() -> int:
    """Train, check, measure and judge."""
    parser = arguments(__doc__)
    parser.add_argument("--bundle", type=Path, help="bundle of configs/transactions.yaml")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    path = cached(f"payments-{HISTORY + SCORED}.parquet")
    if not path.exists():
        pq.write_table(many_payments(HISTORY + SCORED), path)
    payments = pq.read_table(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = options.bundle or folder / "bundle"
        if options.bundle is None:
            configuration = load_configuration(CONFIGURATIONS / "transactions.yaml")
            train(configuration, payments.slice(0, TRAINED), rounds=ROUNDS, leaves=20).save(bundle)
        scored, history, out = (folder / f"{part}.parquet" for part in ("scored", "history", "out"))
        pq.write_table(payments.slice(HISTORY), scored)
        pq.write_table(payments.slice(0, HISTORY), history)
        command = ("score", bundle, scored, "--history", history, "--out", out)
        measured = [run_program(*command) for _ in range(options.rounds)]
        check(bundle, scored, history, out)
    print(f"CPU seconds: {' '.join(f'{one.cpu:.2f}' for one in measured)}")
    return exit_code(
        [
            at_most(
                f"{SCORED:,} records, {HISTORY:,} of history, CPU seconds",
                min(one.cpu for one in measured),
                MOST_SECONDS,
            ),
            at_most("peak gigabytes", min(one.gigabytes for one in measured), MOST_GIGABYTES),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
