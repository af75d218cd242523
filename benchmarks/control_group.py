"""Simulate what a control group of 2 % shows of the fraud that a policy misses, and what it costs.

Each year has 2,000 frauds a month on average. A policy stops about four fifths of them; a fraud that was failed or
stepped up never becomes a known fraud, so that such an applicant counts as genuine after the label maturity. Days have
more or fewer applicants, and one person in three tries up to three times on a day, each time with the same draw.

Ends with an error unless, in the simulated years,

- the share of missed fraud as labels alone show it ends at least 5 points off the truth;
- the 95 % interval over the whole year covers the truth in at least 92 %, with the control group;
- the cost of the control group lies inside the interval forecast from the year before in at least 90 %.

Draws, weights, intervals and the forecast are those of the package; margins are simulated, no model is trained.
"""

import argparse
import hashlib
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.rules import Decisions, Policy
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.control_cost import forecast_control_cost
from scoring_model.evaluation.day_draws import DayDraws
from scoring_model.evaluation.figures import measure_figures
from scoring_model.records.times import DAY

DAYS = 365
FRAUDS = 24_000
GENUINE = 240_000
ATTEMPTS = 1.5  # mean records of a person
ARM = ControlArm(share=0.02, most_per_day=1_000)
POLICY = Policy(
    step_up_from=500, fail_from=750, control=Control(failed=ARM, stepped_up=ARM, fraud_loss=100.0)
)
SEPARATION = 2.7  # between the means of the margins of both classes, in standard deviations


class Year(NamedTuple):
    """One simulated year: all records, and whether each is in the control group."""

    records: EvaluatedRecords
    controlled: BoolArray


def simulate(rng: np.random.Generator, number: int) -> Year:
    """Draw a year."""
    labels, persons, days = [], [], []
    start = 0
    for label, count in ((1, FRAUDS), (0, GENUINE)):
        rate = count / DAYS / ATTEMPTS
        per_day = rng.poisson(
            rate * rng.gamma(8.0, 1 / 8.0, DAYS)
        )  # a variation of about a third between days
        attempts = rng.choice([1, 2, 3], int(per_day.sum()), p=[2 / 3, 1 / 6, 1 / 6])
        day = np.repeat(np.arange(DAYS), per_day)
        persons.append(np.repeat(start + np.arange(len(day)), attempts))
        days.append(np.repeat(day, attempts))
        labels.append(np.full(int(attempts.sum()), label, dtype=np.int8))
        start += len(day)
    return _decided(rng, np.concatenate(labels), np.concatenate(persons), np.concatenate(days), f"{number}")


def _decided(
    rng: np.random.Generator, labels: NDArray[np.int8], persons: IntArray, days: IntArray, year: str
) -> Year:
    # Of two normal distributions the log-odds are linear in the margin.
    raw = rng.normal(SEPARATION * labels, 1.0)
    margins = SEPARATION * (raw - SEPARATION / 2) + np.log(FRAUDS / GENUINE)
    scores = np.clip(np.round(250 * raw), 0, 1000).astype(np.int64)
    outcomes = POLICY.outcomes(scores)
    stopped = np.flatnonzero(outcomes)
    drawn = {
        person: ARM.draws(hashlib.blake2b(f"{year} {person}".encode(), digest_size=16).digest())
        for person in np.unique(persons[stopped]).tolist()
    }
    controlled = np.zeros(len(labels), dtype=np.bool_)
    controlled[stopped] = [drawn[person] for person in persons[stopped].tolist()]
    records = EvaluatedRecords(
        decisions=Decisions(margins, scores, outcomes, 1 / (1 + np.exp(-margins))),
        labels=labels,
        event_times=days * DAY,
        persons=persons,
    )
    return Year(records, controlled)


def observed(year: Year) -> EvaluatedRecords:
    """The frauds that can become known, with their weights; no other records decide which share was missed."""
    records = year.records
    passed = (records.decisions.outcomes == 0) | year.controlled
    rows = np.flatnonzero(passed & (records.labels == 1))
    weights = np.where(records.decisions.outcomes[rows] == 0, 1.0, 1 / ARM.share)
    return EvaluatedRecords(
        decisions=records.decisions.take(rows),
        labels=records.labels[rows],
        event_times=records.event_times[rows],
        weights=weights,
    )


def missed(records: EvaluatedRecords, labels: NDArray[np.int8]) -> float:
    """Share of frauds, by these labels, that the policy passes."""
    return float((records.decisions.outcomes[labels == 1] == 0).mean())


class Result(NamedTuple):
    """What one year showed."""

    truth: float
    by_labels: float
    estimate: float
    low: float
    high: float
    cost: float
    forecast: tuple[float, float]


def measure(year: Year, forecast: tuple[float, float]) -> Result:
    """Compare a year with what its labels show."""
    records = year.records
    known = np.where((records.decisions.outcomes == 0), records.labels, 0).astype(np.int8)
    seen = observed(year)
    found = measure_figures(seen, DayDraws.of(seen.event_times, repeats=200), costs=None).estimates[
        "missed_fraud"
    ]
    frauds = int(np.count_nonzero(year.controlled & (records.labels == 1)))
    control = POLICY.control
    loss = 0.0 if control is None else control.fraud_loss
    return Result(
        truth=missed(records, records.labels),
        by_labels=missed(records, known),
        estimate=found.value or 0.0,
        low=found.low or 0.0,
        high=found.high or 1.0,
        cost=frauds * loss,
        forecast=forecast,
    )


def run(years: int, seed: int) -> list[Result]:
    """Simulate years, each forecast from the one before."""
    control = POLICY.control
    if control is None:
        raise SystemExit("the policy has no control group")
    results: list[Result] = []
    before = simulate(np.random.default_rng([seed, 0]), 0)
    for number in range(1, years + 1):
        found = forecast_control_cost(before.records, control, days=DAYS)
        year = simulate(np.random.default_rng([seed, number]), number)
        results.append(measure(year, (found.low or 0.0, found.high or 0.0)))
        before = year
    return results


def main() -> None:
    """Run the simulation and compare it with what must hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    results = run(options.years, options.seed)
    truth, by_labels, estimate, low, high, cost = (
        np.array([getattr(one, name) for one in results])
        for name in ("truth", "by_labels", "estimate", "low", "high", "cost")
    )
    ends = np.array([one.forecast for one in results])
    covered = float(((low <= truth) & (truth <= high)).mean())
    forecast = float(((ends[:, 0] <= cost) & (cost <= ends[:, 1])).mean())
    off = float(np.abs(by_labels - truth).min())
    print(f"{len(results)} years of {FRAUDS:,} frauds, {time.perf_counter() - began:.0f} s")
    print(
        f"missed fraud, truth: {_percent(truth)}; by labels alone {_percent(by_labels)}, at least {off:.1%} off"
    )
    print(f"with the control group: {_percent(estimate)}, intervals {_percent(high - low)} wide")
    print(f"intervals that cover the truth: {covered:.1%}; costs inside their forecast: {forecast:.1%}")
    failures = [
        text
        for text, holds in (
            ("labels alone come within 5 points of the truth", off >= 0.05),
            ("the interval covers the truth in less than 92 %", covered >= 0.92),
            ("the cost lies inside its forecast in less than 90 %", forecast >= 0.90),
        )
        if not holds
    ]
    if failures:
        raise SystemExit("; ".join(failures))


def _percent(values: FloatArray) -> str:
    return f"{values.mean():.1%} ({values.min():.1%} to {values.max():.1%})"


if __name__ == "__main__":
    main()
