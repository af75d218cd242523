"""Scores of the Fraud Detection Handbook's payments on the four weeks for which the handbook publishes figures.

    python benchmarks/handbook.py payments.parquet scored.parquet features.parquet parameters.yaml

docs/payments.md makes the files: all payments, what `scoring-model score` wrote about the later ones, what `scoring-
model features` wrote about all, and the parameters that the training found. The handbook trains on a week, leaves out
the next one and tests on the third, four times, each a week later. From each test day it drops the customers who had a
fraud that was known by then, seven days after it, and not before the week of its training. The figures of the same
payments are printed with and without them; beside them those of trees with the same parameters that learn from the
handbook's weeks alone, with features like the handbook's 15 and with all. Then what happens to the scored frauds of
each kind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from shared.script import Verdict, print_head, print_row, run

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.configuration import Tuned
from scoring_model.configuration.reading import read_settings, read_yaml
from scoring_model.evaluation.metrics import Ranking
from scoring_model.training.fitting import fit

FIRST: Final = pd.Timestamp("2018-08-08")
"""The first day of the first test week."""
FIRST_WEEK: Final = [58_264, 385]
"""Payments and frauds that the handbook counts in its first test week."""
WEEKS: Final = 4
WEEK: Final = 7
DAY: Final = pd.Timedelta(days=1)
CARDS: Final = 100
"""Cards that the handbook's investigators look at on a day."""
LIKE_THE_HANDBOOK: Final = (
    "signal_tx_amount", "event_weekday", "event_hour",
    *(f"link_customer_{days}d_{what}" for days in (1, 7, 30) for what in ("records", "tx_amount_mean")),
    *(f"link_terminal_{days}d_delayed_{what}" for days in (1, 7, 30) for what in ("records", "fraud_share")),
)  # fmt: skip
"""Features of the same meaning as the handbook's."""


def read_payments(payments: Path, scored: Path) -> pd.DataFrame:
    """Join the payments and their scores by their number; `day` is the number of whole days since `FIRST`."""
    scores = pd.read_parquet(scored, columns=["recordId", "margin", "scoringOutcome"])
    table = pd.read_parquet(
        payments, columns=["TRANSACTION_ID", "TX_DATETIME", "CUSTOMER_ID", "TX_FRAUD", "TX_FRAUD_SCENARIO"]
    )
    table["day"] = (table["TX_DATETIME"] - FIRST) // DAY
    return table.join(_by_number(scores), on="TRANSACTION_ID")


def _by_number(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns="recordId").set_index(rows["recordId"].astype(np.int64))


def margins_of_a_week(table: pd.DataFrame, rows: pd.DataFrame, week: int, tuned: Tuned) -> FloatArray:
    """Train on the week that ends a week before a test week; return the margins of the test week's payments."""
    days = (table["day"] // WEEK).to_numpy()
    train, test = days == week - 2, days == week
    booster = fit(
        rows[train].to_numpy(float),
        table["TX_FRAUD"][train].to_numpy(np.int8),
        params=tuned.params,
        rounds=tuned.rounds,
        seed=0,
        threads=2,
        feature_names=tuple(map(str, rows)),
        categorical=(),
        monotone=(0,) * rows.shape[1],
    )
    return np.asarray(booster.predict(rows[test].to_numpy(float), raw_score=True))


def card_precision(table: pd.DataFrame) -> float:
    """Return the share of cards with a fraud among the `CARDS` with the highest margins of a day, mean over days.

    As in chapter 4 of the handbook: a card that was found is not looked at again on later days.
    """
    found: set[int] = set()
    shares = []
    for _, day in table[["day", "CUSTOMER_ID", "margin", "TX_FRAUD"]].groupby("day"):
        cards = day[~day["CUSTOMER_ID"].isin(found)].groupby("CUSTOMER_ID").max()
        first = cards.sort_values("margin", ascending=False, kind="stable")[:CARDS]
        hits = first.index[first["TX_FRAUD"] == 1]
        found |= set(hits)
        shares.append(len(hits) / CARDS)
    return float(np.mean(shares))


def with_known_fraud(table: pd.DataFrame, week: int) -> BoolArray:
    """Mark the payments of a test week whose customer had a fraud seven days before, or up to two weeks before that."""
    begin, known = week * WEEK, np.zeros(len(table), dtype=bool)
    frauds = table[(table["TX_FRAUD"] == 1) & (table["day"] >= begin - 2 * WEEK)]
    for day in range(begin, begin + WEEK):
        past = frauds.loc[frauds["day"] < day - WEEK, "CUSTOMER_ID"]
        known |= ((table["day"] == day) & table["CUSTOMER_ID"].isin(past)).to_numpy()
    return known


def figures(table: pd.DataFrame) -> list[float]:
    """Return the number of payments and of frauds, average precision, ROC AUC and card precision."""
    ranking = Ranking.of(table["margin"].to_numpy(float), table["TX_FRAUD"].to_numpy(np.int8))
    ranks = ranking.average_precision() or 0.0, ranking.roc_auc() or 0.0
    return [len(table), table["TX_FRAUD"].sum(), *ranks, card_precision(table)]


def main(payments: Path, scored: Path, features: Path, parameters: Path) -> Iterator[Verdict]:
    """Print the tables."""
    table = read_payments(payments, scored)
    rows = _by_number(pd.read_parquet(features)).reindex(table["TRANSACTION_ID"])
    tuned = read_settings(Tuned, read_yaml(parameters))
    found: dict[str, list[list[float]]] = {}
    for week in range(WEEKS):
        inside = (table["day"] // WEEK == week).to_numpy()
        if table["margin"][inside].isna().any():
            raise SystemExit(f"payments of week {week + 1} were not scored")
        test, kept = table[inside], ~with_known_fraud(table, week)[inside]
        found.setdefault("this bundle", []).append(figures(test[kept]))
        found.setdefault("this bundle, all payments", []).append(figures(test))
        for name, columns in (("like the handbook's", list(LIKE_THE_HANDBOOK)), ("all", list(rows))):
            margins = margins_of_a_week(table, rows[columns], week, tuned)
            name = f"trees of one week, {len(columns)} features {name}"
            found.setdefault(name, []).append(figures(test.assign(margin=margins)[kept]))
    print_head("", "week from", "payments", "frauds", "average precision", "ROC AUC", "card precision at 100")
    weeks = [str((FIRST + week * WEEK * DAY).date()) for week in range(WEEKS)]
    for name, of_weeks in found.items():
        for when, row in zip([*weeks, "mean"], [*of_weeks, np.mean(of_weeks, axis=0)], strict=True):
            print_row(name, when, *(f"{one:,.0f}" if one > 1 else f"{one:.3f}" for one in row))
    kinds = table[(table["TX_FRAUD_SCENARIO"] > 0) & table["scoringOutcome"].notna()]
    print(pd.crosstab(kinds["TX_FRAUD_SCENARIO"], kinds["scoringOutcome"]))
    same = found["this bundle"][0][:2] == FIRST_WEEK
    yield Verdict(same, f"payments and frauds of the handbook's first test week: {FIRST_WEEK}")


if __name__ == "__main__":
    run(main)
