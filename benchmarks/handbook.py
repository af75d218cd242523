"""Scores of the Fraud Detection Handbook's payments on the four weeks for which the handbook publishes figures.

    python benchmarks/handbook.py payments.parquet scored.parquet

docs/payments.md makes both files. The handbook trains on a week, leaves out the next one and tests on the third, four
times, each a week later. From each test day it drops the customers who had a fraud that was known by then, seven days
after it, and not before the week of its training. The figures of the same payments are printed with and without them;
then what happens to the scored frauds of each kind.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from shared.judging import arguments

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.metrics import Ranking

FIRST: Final = pd.Timestamp("2018-08-08")
"""The first day of the first test week."""
FIRST_WEEK: Final = (58_264, 385)
"""Payments and frauds that the handbook counts in its first test week."""
WEEKS: Final = 4
WEEK: Final = 7
DAY: Final = pd.Timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Payments:
    """Payments in the order of the file; `nan` is the margin of one that was not scored."""

    days: IntArray
    """Whole days from `FIRST`."""
    customers: IntArray
    frauds: BoolArray
    margins: FloatArray


def read_payments(payments: Path, scored: Path) -> Payments:
    """Join the payments and their scores by their number."""
    columns = ["TRANSACTION_ID", "TX_DATETIME", "CUSTOMER_ID", "TX_FRAUD"]
    table = pd.read_parquet(payments, columns=columns)
    scores = pd.read_parquet(scored, columns=["recordId", "margin"])
    margins = pd.Series(scores["margin"].to_numpy(), index=scores["recordId"].astype(np.int64))
    return Payments(
        days=np.asarray((table["TX_DATETIME"] - FIRST) // DAY, dtype=np.int64),
        customers=table["CUSTOMER_ID"].to_numpy(dtype=np.int64),
        frauds=table["TX_FRAUD"].to_numpy() == 1,
        margins=margins.reindex(table["TRANSACTION_ID"]).to_numpy(dtype=np.float64),
    )


def with_known_fraud(found: Payments, week: int) -> BoolArray:
    """Mark the payments of a test week whose customer had a fraud seven days before, or up to two weeks before that."""
    begin = week * WEEK
    known = np.zeros(len(found.days), dtype=bool)
    for day in range(begin, begin + WEEK):
        past = found.frauds & (found.days >= begin - 2 * WEEK) & (found.days < day - WEEK)
        known |= (found.days == day) & np.isin(found.customers, found.customers[past])
    return known


def figures(found: Payments, rows: BoolArray) -> FloatArray:
    """Return the number of payments and of frauds, average precision and ROC AUC."""
    targets = found.frauds[rows].astype(np.int8)
    ranking = Ranking.of(found.margins[rows], targets)
    return np.array(
        [len(targets), targets.sum(), ranking.average_precision() or 0.0, ranking.roc_auc() or 0.0]
    )


def lines(found: Payments) -> list[str]:
    """Write the table: a row for each week, and their mean."""
    every, fewer = [], []
    for week in range(WEEKS):
        rows = (found.days >= week * WEEK) & (found.days < (week + 1) * WEEK)
        if np.isnan(found.margins[rows]).any():
            raise SystemExit(f"payments of week {week + 1} were not scored")
        every.append(figures(found, rows))
        fewer.append(figures(found, rows & ~with_known_fraud(found, week)))
    if tuple(fewer[0][:2]) != FIRST_WEEK:
        raise SystemExit(
            f"not the handbook's payments: {FIRST_WEEK} in the first test week, got {fewer[0][:2]}"
        )
    rows_of = [
        ((FIRST + week * WEEK * DAY).date().isoformat(), fewer[week], every[week]) for week in range(WEEKS)
    ]
    rows_of.append(("mean", np.mean(fewer, axis=0), np.mean(every, axis=0)))
    return [f"| {name} | {_cells(one)} | {_cells(other)} |" for name, one, other in rows_of]


def kinds(payments: Path, scored: Path) -> str:
    """Write the outcomes of the scored frauds by their kind."""
    table = pd.read_parquet(payments, columns=["TRANSACTION_ID", "TX_FRAUD_SCENARIO"])
    kind = pd.Series(table["TX_FRAUD_SCENARIO"].to_numpy(), index=table["TRANSACTION_ID"])
    scores = pd.read_parquet(scored, columns=["recordId", "scoringOutcome"])
    of = kind.reindex(scores["recordId"].astype(np.int64)).to_numpy()
    counts = pd.crosstab(of, scores["scoringOutcome"].to_numpy())
    return str(counts[counts.index > 0].rename_axis(index="kind", columns="outcome"))


def _cells(one: FloatArray) -> str:
    return f"{one[0]:,.0f} | {one[1]:,.0f} | {one[2]:.3f} | {one[3]:.3f}"


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("payments", type=Path, help="All payments.")
    parser.add_argument("scored", type=Path, help="What `scoring-model score` wrote about the later ones.")
    options = parser.parse_args()
    head = "payments | frauds | average precision | ROC AUC"
    print(
        f"| week from | {head} | {head} of all |\n|{' --- |' * 9}\n"
        + "\n".join(lines(read_payments(options.payments, options.scored)))
    )
    print(kinds(options.payments, options.scored))


if __name__ == "__main__":
    main()
