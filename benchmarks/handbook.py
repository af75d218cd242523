"""Scores of the Fraud Detection Handbook's payments on the four weeks for which the handbook publishes figures.

    python benchmarks/handbook.py payments.parquet scored.parquet

docs/payments.md makes both files: all payments, and what `scoring-model score` wrote about the later ones. The handbook
trains on a week, leaves out the next one and tests on the third, four times, each a week later. From each test day it
drops the customers who had a fraud that was known by then, seven days after it, and not before the week of its
training. The figures of the same payments are printed with and without them; then what happens to the scored frauds of
each kind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from shared.script import Verdict, print_head, print_row, run

from scoring_model.arrays import BoolArray
from scoring_model.evaluation.metrics import Ranking

FIRST: Final = pd.Timestamp("2018-08-08")
"""The first day of the first test week."""
FIRST_WEEK: Final = [58_264, 385]
"""Payments and frauds that the handbook counts in its first test week."""
WEEKS: Final = 4
WEEK: Final = 7
DAY: Final = pd.Timedelta(days=1)


def read_payments(payments: Path, scored: Path) -> pd.DataFrame:
    """Join the payments and their scores by their number; `day` is the number of whole days since `FIRST`."""
    scores = pd.read_parquet(scored, columns=["recordId", "margin", "scoringOutcome"])
    table = pd.read_parquet(
        payments, columns=["TRANSACTION_ID", "TX_DATETIME", "CUSTOMER_ID", "TX_FRAUD", "TX_FRAUD_SCENARIO"]
    )
    table["day"] = (table["TX_DATETIME"] - FIRST) // DAY
    return table.join(scores.set_index(scores["recordId"].astype(np.int64)), on="TRANSACTION_ID")


def with_known_fraud(table: pd.DataFrame, week: int) -> BoolArray:
    """Mark the payments of a test week whose customer had a fraud seven days before, or up to two weeks before that."""
    begin, known = week * WEEK, np.zeros(len(table), dtype=bool)
    frauds = table[(table["TX_FRAUD"] == 1) & (table["day"] >= begin - 2 * WEEK)]
    for day in range(begin, begin + WEEK):
        past = frauds.loc[frauds["day"] < day - WEEK, "CUSTOMER_ID"]
        known |= ((table["day"] == day) & table["CUSTOMER_ID"].isin(past)).to_numpy()
    return known


def figures(table: pd.DataFrame) -> list[float]:
    """Return the number of payments and of frauds, average precision and ROC AUC."""
    ranking = Ranking.of(table["margin"].to_numpy(float), table["TX_FRAUD"].to_numpy(np.int8))
    ranks = ranking.average_precision() or 0.0, ranking.roc_auc() or 0.0
    return [len(table), table["TX_FRAUD"].sum(), *ranks]


def main(payments: Path, scored: Path) -> Iterator[Verdict]:
    """Print the tables."""
    table = read_payments(payments, scored)
    rows = []
    for week in range(WEEKS):
        inside = (table["day"] // WEEK == week).to_numpy()
        if table["margin"][inside].isna().any():
            raise SystemExit(f"payments of week {week + 1} were not scored")
        kept = inside & ~with_known_fraud(table, week)
        rows.append([*figures(table[kept]), *figures(table[inside])])
    head = "payments", "frauds", "average precision", "ROC AUC"
    print_head("week from", *head, *(f"{name} of all" for name in head))
    names = [str((FIRST + week * WEEK * DAY).date()) for week in range(WEEKS)]
    for name, row in zip([*names, "mean"], [*rows, np.mean(rows, axis=0)], strict=True):
        print_row(name, *(f"{one:,.0f}" if one > 1 else f"{one:.3f}" for one in row))
    kinds = table[(table["TX_FRAUD_SCENARIO"] > 0) & table["scoringOutcome"].notna()]
    print(
        pd.crosstab(
            kinds["TX_FRAUD_SCENARIO"], kinds["scoringOutcome"], rownames=["kind"], colnames=["outcome"]
        )
    )
    yield Verdict(
        rows[0][:2] == FIRST_WEEK, f"payments and frauds of the handbook's first test week: {FIRST_WEEK}"
    )


if __name__ == "__main__":
    run(main)
