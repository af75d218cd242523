"""Confidence sequences and alarms: brute force, coverage at all times, and false alarms in a year."""

import math

import numpy as np
import pytest

from scoring_model.monitoring.sequences import YEAR_DAYS, confidence_sequence, rate_alarm

CAP, BOUND, RATE = 0.02, 0.05, 0.0466
LIMIT = BOUND * (1 - CAP) + CAP
TILTS = [0.005 * 1.5**power for power in range(17)]


@pytest.mark.parametrize(("events", "records"), [(47, 1000), (0, 200), (200, 200), (3, 60), (2000, 50_000)])
def test_the_ends_are_where_the_evidence_reaches_its_limit(events: int, records: int) -> None:
    """At each end the mean of the likelihood ratios is 40: the ends spend 2.5 % each."""
    low, high = confidence_sequence(events, records, error=0.05)

    def evidence(rate: float, sign: int) -> float:
        values = [
            sign * tilt * events - records * math.log(1 - rate + rate * math.exp(sign * tilt))
            for tilt in TILTS
        ]
        return sum(math.exp(value) for value in values) / len(values)

    assert 0 <= low <= events / records <= high <= 1
    assert evidence(low, 1) == pytest.approx(40, rel=1e-6) if events else low == 0
    assert evidence(high, -1) == pytest.approx(40, rel=1e-6) if events < records else high == 1


def test_without_records_everything_is_possible() -> None:
    """The sequence starts with all rates."""
    assert confidence_sequence(0, 0, error=0.05) == (0.0, 1.0)


def test_the_sequence_holds_the_mean_rate_at_all_times_even_if_the_rate_moves() -> None:
    """Looked at 60 times, rates that drift leave the sequence in at most 5 % of histories."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(100):
        rates = 0.05 * np.exp(0.3 * np.sin(np.arange(60) / 9 + rng.uniform(0, 6)) + rng.normal(0, 0.1, 60))
        events = np.cumsum(rng.binomial(100, rates))
        means = np.cumsum(rates) / np.arange(1, 61)
        ends = [
            confidence_sequence(int(found), 100 * (day + 1), error=0.05)
            for day, found in enumerate(events)
            if day % 5 == 4
        ]
        missed += any(not low <= mean <= high for (low, high), mean in zip(ends, means[4::5], strict=True))
    assert missed <= 5


def test_the_alarm_is_the_mean_over_starting_days() -> None:
    """Each starting day and each tilt by itself, multiplied out."""
    rng = np.random.default_rng(1)
    records = rng.integers(0, 30, 12)
    events = rng.binomial(records, 0.2)
    found = rate_alarm(events, records, limit=LIMIT, error=0.05)
    for day in range(12):
        total = (YEAR_DAYS - day - 1) / YEAR_DAYS
        for start in range(day + 1):
            x, n = int(events[start : day + 1].sum()), int(records[start : day + 1].sum())
            values = [math.exp(t * x) / (1 - LIMIT + LIMIT * math.exp(t)) ** n for t in TILTS]
            total += sum(values) / len(values) / YEAR_DAYS
        assert math.exp(found.log_evidence[day]) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("start", [0, 182])
def test_a_doubled_rate_is_found_within_5000_applicants(start: int) -> None:
    """The median delay, at the beginning and in the middle of a year; the day of the change is about right."""
    rng, delays, errors = np.random.default_rng(2), [], []
    for _ in range(40):
        records = rng.poisson(120, YEAR_DAYS)
        events = rng.binomial(records, np.where(np.arange(YEAR_DAYS) < start, RATE, 2 * RATE))
        found = rate_alarm(events, records, limit=LIMIT, error=0.05)
        assert found.raised is not None
        assert found.since is not None
        delays.append(int(records[start : found.raised + 1].sum()))
        errors.append(found.since - start)
    assert np.median(delays) <= 5000
    assert abs(np.median(errors)) <= 10


@pytest.mark.parametrize("rate", [RATE, LIMIT])
def test_few_years_without_drift_raise_an_alarm(rate: float) -> None:
    """Looked at daily, even at the largest rate that the promise allows."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(100):
        records = rng.poisson(100, YEAR_DAYS)
        alarms += rate_alarm(rng.binomial(records, rate), records, limit=LIMIT, error=0.05).raised is not None
    assert alarms <= 6


def test_every_year_begins_anew() -> None:
    """Evidence of the first year does not count in the second."""
    records = np.full(YEAR_DAYS + 1, 100)
    events = np.append(np.full(YEAR_DAYS, 9), 0)
    found = rate_alarm(events, records, limit=LIMIT, error=0.05)
    assert found.raised is not None
    assert found.log_evidence[YEAR_DAYS] < 0.1
