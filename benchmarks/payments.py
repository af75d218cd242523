"""What families of link features are worth on invented card payments, in each week of a test of four weeks.

Customers pay at merchants near them. Three kinds of fraud hide in the payments: merchants that go bad for four weeks,
single amounts far above what the customer usually pays, and stolen cards, with which a thief pays larger amounts for
two weeks beside the owner. A label is known 7 days after its payment. The model gets raw columns only: card, customer,
merchant, device, amount and time.

Run as ``python benchmarks/payments.py``. Every variant has the same rows and the same parameters of LightGBM; the last
one is configs/transactions.yaml as it is. It prints a table of average precisions, means over the seeds. With
``--train`` the committed configuration is trained as users do it, and the promises of its policy are compared with the
test. Ends with 1 when the committed configuration is not at least .05 above the first variant in every week, or more
than .02 below the best variant.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.configuration import Configuration, Tuned, load_configuration
from scoring_model.evaluation import known_targets
from scoring_model.evaluation.metrics import Ranking
from scoring_model.features import FeatureMatrix, LinkSettings, fit_state
from scoring_model.history import Amount
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.training.fitting import fit
from scoring_model.training.run import run_training

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "transactions.yaml"
DAYS: Final = 182
WEEK: Final = 7 * 86_400_000_000
TEST_WEEKS: Final = 4
BURN_IN: Final = 44 * 86_400_000_000
"""The longest delayed window of all variants is full after it, with a week to spare."""
BAD_DAYS: Final = 28
STOLEN_DAYS: Final = 14
SEEDS: Final = (1, 2, 3)
PARAMS: Final = {"learning_rate": 0.05, "num_leaves": 31, "min_data_in_leaf": 100, "feature_fraction": 0.5}
ROUNDS: Final = 250
_DAY: Final = 86_400_000_000
_START: Final = np.datetime64("2025-01-01", "us").astype(np.int64)


def invent(*, customers: int, seed: int) -> pd.DataFrame:
    """Invent the payments of half a year.

    Parameters
    ----------
    customers : int
        Each pays up to four times a day. There are twice as many merchants.

    Returns
    -------
    pandas.DataFrame
        Columns as configs/transactions.yaml names them, and ``kind``: 0 genuine, 1 bad merchant, 2 large amount, 3
        stolen card.
    """
    rng = np.random.default_rng(seed)
    merchants = 2 * customers
    usual = rng.lognormal(3.3, 0.7, customers)  # median amount of each customer
    rate = rng.uniform(0.1, 4.0, customers)  # payments a day
    near = rng.integers(0, merchants, (customers, 25))  # where a customer pays
    count = rng.poisson(rate[:, None], (customers, DAYS))
    customer = np.repeat(np.arange(customers), count.sum(axis=1))
    day = np.concatenate([np.repeat(np.arange(DAYS), row) for row in count])
    merchant = near[customer, np.minimum(rng.geometric(0.12, len(customer)) - 1, 24)]
    amount = usual[customer] * rng.lognormal(0.0, 0.45, len(customer))
    kind = np.zeros(len(customer), dtype=np.int8)

    stolen = _spells(rng, customers, per_day=customers * 6e-4, days=STOLEN_DAYS)
    thief = stolen[customer, day] & (rng.random(len(customer)) < 0.35)
    amount[thief] *= rng.uniform(2.0, 6.0, thief.sum())
    kind[thief] = 3
    large = (kind == 0) & (rng.random(len(customer)) < 8e-4)
    amount[large] *= rng.uniform(4.0, 9.0, large.sum())
    kind[large] = 2
    bad = _spells(rng, merchants, per_day=merchants * 2e-4, days=BAD_DAYS)
    kind[bad[merchant, day] & (rng.random(len(customer)) < 0.8)] = 1

    second = np.clip(rng.normal(46_800, 16_000, len(customer)), 0, 86_399)
    time = _START + day * _DAY + (second * 1e6).astype(np.int64)
    frame = pd.DataFrame(
        {
            "timestamp": pd.to_datetime(time, unit="us", utc=True),
            "customerId": np.char.add("c", customer.astype(str)),
            "cardId": np.char.add("k", customer.astype(str)),
            "deviceId": np.char.add("d", customer.astype(str)),
            "merchantId": np.char.add("m", merchant.astype(str)),
            "merchantCategory": np.char.add("g", (merchant % 12).astype(str)),
            "currency": "EUR",
            "amount": np.round(amount, 2),
            "isFraud": (kind > 0).astype(int),
            "kind": kind,
        }
    ).sort_values("timestamp", ignore_index=True)
    frame.insert(0, "transactionId", np.char.add("t", np.arange(len(frame)).astype(str)))
    return frame


def _spells(rng: np.random.Generator, size: int, *, per_day: float, days: int) -> BoolArray:
    """Draw for `size` things on which days each of them is under a spell of `days` days."""
    under = np.zeros((size, DAYS), dtype=np.bool_)
    for first in range(1 - days, DAYS):
        for one in rng.integers(0, size, rng.poisson(per_day)):
            under[one, max(first, 0) : first + days] = True
    return under


def variants(configuration: Configuration) -> Mapping[str, LinkSettings]:
    """Settings of links to compare, by the words of the table."""
    days = (_DAY, 7 * _DAY, 30 * _DAY)
    amount = Amount(signal="amount", decimals=2)
    plain = LinkSettings(keys=configuration.links.keys, windows=days, amounts=(amount,))
    delayed = replace(plain, delayed_windows=days, delay=7 * _DAY)
    own_past = ("mean", "ratio", "z", "highest_ratio", "above")
    runs = (*plain.counts, "change", "age", "since_last_fraud", "fraud_run")
    return {
        "windows of 1, 7 and 30 days": plain,
        "+ windows that start at the delay": delayed,
        "+ amounts against their own past": replace(plain, statistics=own_past),
        "+ runs, ages and changes": replace(plain, counts=runs),
        "all three": replace(delayed, statistics=own_past, counts=runs),
        "configs/transactions.yaml": configuration.links,
    }


def weeks_of(
    table: RecordTable, configuration: Configuration, links: LinkSettings
) -> tuple[FloatArray, list[str]]:
    """Measure one variant: the average precision of each test week, then of all weeks, means over the seeds."""
    configuration = replace(configuration, links=links)
    times = table.event_times
    begin = int(_START) + DAYS * _DAY - TEST_WEEKS * WEEK
    known = known_targets(times, table.labels, table.label_times, begin, 7 * _DAY)
    train = np.flatnonzero((times >= _START + BURN_IN) & (times < begin) & (known >= 0))
    test = np.flatnonzero(times >= begin)
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(np.flatnonzero(times < _START + BURN_IN)), settings))
    rows = matrix.rows(table)
    week = (times[test] - begin) // WEEK
    found = []
    for seed in SEEDS:
        booster = fit(
            rows[train],
            known[train].astype(np.int8),
            params=PARAMS,
            rounds=ROUNDS,
            seed=seed,
            threads=2,
            feature_names=matrix.names,
            categorical=[i for i, feature in enumerate(matrix.features) if feature.categorical],
            monotone=[feature.direction for feature in matrix.features],
        )
        margins = np.asarray(booster.predict(rows[test], raw_score=True), dtype=np.float64)
        found.append([_precision(margins, table.labels[test], week == one) for one in range(TEST_WEEKS)])
        found[-1].append(_precision(margins, table.labels[test], week >= 0))
    return np.mean(found, axis=0), list(matrix.names)


def _precision(margins: FloatArray, labels: Any, chosen: BoolArray) -> float:
    return Ranking.of(margins[chosen], labels[chosen].astype(np.int8)).average_precision() or 0.0


def main() -> None:
    """Measure all variants, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=1, help="of the payments")
    parser.add_argument("--train", action="store_true", help="train configs/transactions.yaml as users do")
    options = parser.parse_args()
    configuration = load_configuration(CONFIGURATION)
    frame = invent(customers=options.customers, seed=options.seed)
    kinds = frame.pop("kind")
    table = read_records(frame, configuration.schema, labelled=True).table
    shares = ", ".join(f"{(kinds == kind).mean():.2%}" for kind in (1, 2, 3))
    print(f"{len(frame):,} payments; bad merchants, large amounts, stolen cards: {shares}\n")
    print(f"| | columns | {' | '.join(f'week {n + 1}' for n in range(TEST_WEEKS))} | all |")
    print(f"| --- |{' --- |' * (TEST_WEEKS + 2)}")
    results: dict[str, FloatArray] = {}
    for name, links in variants(configuration).items():
        results[name], names = weeks_of(table, configuration, links)
        cells = " | ".join(f"{value:.3f}" for value in results[name])
        print(f"| {name} | {len(names)} | {cells} |", flush=True)
    first, committed = (results[name] for name in (next(iter(results)), "configs/transactions.yaml"))
    best = max(found[-1] for found in results.values())
    gained = (committed - first)[:-1]
    print(f"\nthe committed configuration: {gained.min():+.3f} in the worst week, {committed[-1] - best:+.3f} beside the best")
    if options.train:
        tuned = Tuned(params=PARAMS, rounds=ROUNDS)
        configuration = replace(configuration, training=replace(configuration.training, tuned=tuned))
        print(run_training(table, configuration, report=print, progress=False).evaluation)
    if gained.min() < 0.05 or committed[-1] < best - 0.02:
        sys.exit(1)


if __name__ == "__main__":
    main()
