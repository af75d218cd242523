r"""Promises of a whole training on invented payments, week by week.

Customers with habits pay at terminals. Frauds are of three kinds: a terminal is compromised for four weeks, and most
payments there are fraud; a payment is several times the customer's usual amount; a card is stolen and used for two
weeks at places and for amounts unusual for the customer. The file has only raw columns; `--write` only writes that of
the first seed, as Parquet.

`scoring-model train` reads the file as of the first of the last four weeks, with configs/transactions.yaml; the bundle
then scores these weeks, and each error that the policy bounds stands beside its promise. Intervals are at 95 % and
draw whole terminals. Ends with 1 if one lies above its promise.
"""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from shared.bundles import CONFIGURATIONS
from shared.processes import run_program
from shared.script import Verdict, at_most, print_head, print_row, run
from shared.simulation import DAY

from scoring_model.arrays import FloatArray
from scoring_model.configuration import load_configuration
from scoring_model.decision.rules import Decisions, Policy
from scoring_model.evaluation.metrics import Ranking
from scoring_model.records import rfc3339
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table

CUSTOMERS: Final = 1_500
TERMINALS: Final = 3_000
MANY_CUSTOMERS: Final = 5_000
NEAR: Final = 60
"""Number of terminals that a customer uses."""
CONFIGURATION: Final = CONFIGURATIONS / "transactions.yaml"
BAD: Final = 28
STOLEN: Final = 14
TEST_WEEKS: Final = 4
START: Final = datetime(2025, 1, 6, tzinfo=UTC)
DRAWS: Final = 2_000


class Payments(NamedTuple):
    """Invented payments in the order of their times."""

    days: FloatArray
    customers: np.ndarray
    terminals: np.ndarray
    amounts: FloatArray
    frauds: np.ndarray


def payments(days: int, seed: int, *, customers: int = CUSTOMERS, terminals: int = TERMINALS) -> Payments:
    """Invent payments of some days."""
    draw = np.random.default_rng(seed)
    rate, usual = draw.uniform(0.2, 3.0, customers), draw.lognormal(3.4, 0.7, customers)
    near = np.stack([draw.choice(terminals, NEAR, replace=False) for _ in range(customers)])
    counts = draw.poisson(rate[:, None], (customers, days))
    whose = np.repeat(np.arange(customers), counts.sum(1))
    times = np.repeat(np.tile(np.arange(days), customers), counts.ravel())
    n = len(whose)
    hours = np.clip(draw.normal(14, 4.5, n), 0, 23.99)
    places = near[whose, draw.integers(0, NEAR, n)]
    amounts = usual[whose] * draw.lognormal(0, 0.5, n)
    frauds = np.zeros(n, dtype=bool)
    whole = times + hours / 24
    for terminal, since in _episodes(draw, terminals, days, per_day=0.6):
        there = (places == terminal) & (whole >= since) & (whole < since + BAD)
        frauds |= there & (draw.random(n) < 0.9)
    for customer, since in _episodes(draw, customers, days, per_day=0.6):
        taken = (whose == customer) & (whole >= since) & (whole < since + STOLEN) & (draw.random(n) < 0.35)
        places[taken] = draw.integers(0, terminals, int(taken.sum()))
        amounts[taken] *= draw.uniform(1.5, 5.0, int(taken.sum()))
        frauds |= taken
    high = draw.random(n) < 0.001
    amounts[high] *= draw.uniform(4.0, 8.0, int(high.sum()))
    frauds |= high
    order = np.argsort(whole, kind="stable")
    rounded = np.round(amounts[order], 2)
    return Payments(whole[order], whose[order], places[order], rounded, frauds[order])


def _episodes(draw: np.random.Generator, many: int, days: int, *, per_day: float) -> list[tuple[int, float]]:
    """Affected customers or terminals, and when it starts."""
    n = draw.poisson(per_day * days)
    return list(zip(draw.integers(0, many, n).tolist(), draw.uniform(-14, days, n).tolist(), strict=True))


def raw_table(found: Payments) -> pa.Table:
    """The payments as a file has them."""
    device = found.customers * 3 + found.terminals % 2
    micros = np.round(found.days * DAY).astype(np.int64) + int(START.timestamp()) * 1_000_000
    columns: dict[str, Any] = {
        "transactionId": [f"t{place}" for place in range(len(found.days))],
        "timestamp": pa.array(micros).cast(pa.timestamp("us", "UTC")),
        "isFraud": found.frauds.astype(int).astype(str),
        "amount": found.amounts,
        "cardId": [f"c{one}" for one in found.customers],
        "customerId": [f"k{one}" for one in found.customers],
        "deviceId": [f"d{one}" for one in device],
        "merchantId": [f"m{one}" for one in found.terminals],
        "currency": ["EUR"] * len(device),
        "merchantCategory": [f"g{one % 12}" for one in found.terminals],
    }
    return pa.table(columns)


def many_payments(records: int, *, seed: int = 1) -> pa.Table:
    """Invent as many payments of `MANY_CUSTOMERS` customers at twice as many terminals, some 8,000 a day."""
    found = payments(records // 7_800 + 5, seed, customers=MANY_CUSTOMERS, terminals=2 * MANY_CUSTOMERS)
    return raw_table(found).slice(0, records)


class TestWeeks(NamedTuple):
    """Decisions on the payments of the four test weeks."""

    weeks: np.ndarray
    terminals: np.ndarray
    frauds: np.ndarray
    decisions: Decisions
    policy: Policy


def whole_training(found: Payments, trials: int, threads: int) -> TestWeeks:
    """Train as of the first test week by the command, and decide on the payments of the test weeks."""
    with tempfile.TemporaryDirectory() as folder:
        file, bundle = Path(folder) / "payments.parquet", Path(folder) / "bundle"
        pyarrow.parquet.write_table(raw_table(found), file)
        table = read_records(file, load_configuration(CONFIGURATION).schema, labelled=True).table
        test = int(table.event_times.max()) + 1 - TEST_WEEKS * 7 * DAY
        options = "--as-of", rfc3339(test), "--no-track", "--trials", trials, "--threads", threads
        run_program("train", file, "--config", CONFIGURATION, "--out", bundle, *options)
        scorer = Scorer.load(bundle, threads=2)
    later = table.event_times >= test
    earlier, late = (table.take(np.flatnonzero(side)) for side in (~later, later))
    return TestWeeks(
        weeks=(late.event_times - test) // (7 * DAY),
        terminals=found.terminals[later],
        frauds=found.frauds[later],
        decisions=score_table(scorer, late, history=earlier, reasons=False).decisions,
        policy=scorer.contents.rules.policy,
    )


def drawn_by_terminal(errors: np.ndarray, terminals: np.ndarray) -> tuple[float, float]:
    """Interval at 95 % of a share of errors; whole terminals are drawn, whose episodes outlast days and weeks."""
    _, places = np.unique(terminals, return_inverse=True)
    records, wrong = np.bincount(places), np.bincount(places, weights=errors)
    drawn = np.random.default_rng(0).poisson(1.0, (DRAWS, len(records)))
    low, high = np.quantile(drawn @ wrong / (drawn @ records), (0.025, 0.975))
    return float(low), float(high)


def print_promises(found: TestWeeks) -> int:
    """Print each promise beside what it became in the test weeks; return the number of intervals above one."""
    broken = 0
    outcomes = found.decisions.outcomes
    weeks = {f"{week + 1}": found.weeks == week for week in range(TEST_WEEKS)}
    for name, inside in {"all four": found.weeks >= 0, **weeks}.items():
        genuine, frauds = inside & ~found.frauds, inside & found.frauds
        precision = Ranking.of(found.decisions.margins[inside], found.frauds[inside].astype(np.int8))
        for promise in found.policy.promises:
            wrong = outcomes[genuine] >= (2 if promise.bound == "max_false_reject" else 1)
            low, high = drawn_by_terminal(wrong, found.terminals[genuine])
            broken += low > promise.limit
            observed = f"{wrong.mean():.3%} ({low:.3%} to {high:.3%})"
            passed, ap = (outcomes[frauds] == 0).mean(), precision.average_precision()
            counts = f"{genuine.sum():,}", f"{frauds.sum():,}", f"{passed:.1%}", f"{ap:.3f}"
            print_row(name, promise.bound, f"{promise.limit:.2%}", observed, *counts)
    return broken


def main(
    *, days: int = 150, seeds: int = 3, trials: int = 3, threads: int = 2, write: Path | None = None
) -> Iterator[Verdict]:
    """Print the promises of whole trainings beside what they became."""
    if write:
        pyarrow.parquet.write_table(raw_table(payments(days, 0)), write)
        return
    for seed in range(seeds):
        found = payments(days, seed)
        print(f"\nseed {seed}: {len(found.days):,} payments, {100 * found.frauds.mean():.2f} % frauds\n")
        head = "week", "promise", "at most", "observed (interval)", "genuine", "frauds", "frauds passed", "AP"
        print_head(*head)
        above = print_promises(whole_training(found, trials, threads))
        yield at_most(f"seed {seed}: intervals above a promise", above, 0)


if __name__ == "__main__":
    run(main)
