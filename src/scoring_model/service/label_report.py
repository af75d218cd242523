"""What the labels of a database are worth: how late they come, what they cover, where they contradict each other."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.contract.outcome import Outcome
from scoring_model.records.times import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.store import Store

MATURED: Final = 0.95
"""Share of frauds for which the maturity is stated."""

DAYS: Final = (1, 3, 7, 14, 30, 60, 90, 120, 180)
"""Days at which the delay curve is read."""

LAST_DAY: Final = 2**40
"""Later than any day of an event, since 1970-01-01."""

_PAGE: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Completed verifications of one outcome, and the latest label of each."""

    verifications: int
    fraud: int
    genuine: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDelays:
    """The report.

    Parameters
    ----------
    frauds : int
        Verifications whose latest label is fraud: the delays are theirs.
    curve : mapping of int to float
        Share of frauds that are known within some days, of those that become known within `observed_days`. Only days
        that are observed.
    maturity_days : float or None
        Days within which 95 % of them are known; None without frauds.
    observed_days : float
        Age of the oldest labelled fraud.
    coverage : mapping of str to Coverage
        By outcome.
    control : mapping of str to Coverage
        Verifications that passed in a control group, by the outcome of the policy. They are in `coverage` as well.
    control_repeats : mapping of str to int
        Later verifications of persons who had passed in the control group, by the outcome of the policy.
    conflicts : int
        Verifications with a label fraud and a label genuine of which none was withdrawn.
    withdrawn : int
        Verifications whose latest label was withdrawn.
    """

    frauds: int
    curve: Mapping[int, float]
    maturity_days: float | None
    observed_days: float
    coverage: Mapping[str, Coverage]
    control: Mapping[str, Coverage]
    control_repeats: Mapping[str, int]
    conflicts: int
    withdrawn: int


def known_within(delays: IntArray, ages: IntArray) -> tuple[IntArray, FloatArray]:
    """Estimate the distribution of delays from events of which only those are seen whose delay is over.

    An event of a certain age is seen only if its delay is at most that age, so that young events show short delays
    alone. The estimator counts, for each delay, the events that are old enough to have shown it.

    Parameters
    ----------
    delays, ages : ndarray of shape (n,), int64
        Each delay is at most its age.

    Returns
    -------
    times : ndarray of shape (m,), int64
        Distinct delays, ascending.
    shares : ndarray of shape (m,), float64
        Share of delays up to each, given that they are at most the greatest age; the last one is 1.

    References
    ----------
    Lynden-Bell 1971, doi:10.1093/mnras/155.1.95 (product-limit estimator of truncated data).

    Examples
    --------
    >>> known_within(np.array([1, 3, 1]), np.array([9, 9, 2]))[1]
    array([0.5, 1. ])
    """
    times, counts = np.unique(delays, return_counts=True)
    at_risk = np.searchsorted(np.sort(delays), times, side="right") - np.searchsorted(
        np.sort(ages), times, side="left"
    )
    kept = 1.0 - counts / at_risk
    # The share up to a time is the product over all later times.
    shares = np.append(np.cumprod(kept[:0:-1])[::-1], 1.0)
    return times, shares


async def label_delays(store: Store, clock: Clock) -> LabelDelays:
    """Read all labels of verifications; the database is only read."""
    by_verification: dict[bytes, list[tuple[str, int]]] = defaultdict(list)
    about: dict[bytes, tuple[int, str, str | None]] = {}
    async with store.reading() as reader:
        totals = await reader.outcomes()
        days = await reader.control_days(0, LAST_DAY)
        after = 0
        while rows := await reader.labelled(after, _PAGE):
            for number, resource, label, known_at, told_at, *verdict in rows:
                by_verification[resource].append((label, max(known_at, told_at)))
                completed_at, outcome, policy_outcome = verdict
                about[resource] = (completed_at, outcome, policy_outcome)
                after = number
    latest = {resource: labels[-1] for resource, labels in by_verification.items()}
    frauds = [(about[resource][0], at) for resource, (label, at) in latest.items() if label == "fraud"]
    delays, ages = _delays(frauds, clock.now())
    times, shares = known_within(delays, ages) if len(delays) else (delays, np.empty(0))
    observed = float(ages.max(initial=0) / DAY)
    passed: Counter[str] = Counter()
    repeats: Counter[str] = Counter()
    for day in days:
        passed[day.policy_outcome] += day.passed
        repeats[day.policy_outcome] += day.repeats
    covered = Counter((about[resource][1], label) for resource, (label, _) in latest.items())
    controlled = Counter(
        (about[resource][2] or "", label)
        for resource, (label, _) in latest.items()
        if about[resource][2] not in (None, about[resource][1])
    )
    return LabelDelays(
        frauds=len(frauds),
        curve={day: _share(times, shares, day * DAY) for day in DAYS if len(times) and day <= observed},
        maturity_days=float(times[np.searchsorted(shares, MATURED)] / DAY) if len(times) else None,
        observed_days=observed,
        coverage={outcome: _coverage(outcome, totals.get(outcome, 0), covered) for outcome in Outcome},
        control={outcome: _coverage(outcome, count, controlled) for outcome, count in sorted(passed.items())},
        control_repeats=repeats,
        conflicts=sum(_contradict([label for label, _ in labels]) for labels in by_verification.values()),
        withdrawn=sum(label == "withdrawn" for label, _ in latest.values()),
    )


def _coverage(outcome: str, verifications: int, covered: Mapping[tuple[str, str], int]) -> Coverage:
    return Coverage(
        verifications=verifications,
        fraud=covered.get((outcome, "fraud"), 0),
        genuine=covered.get((outcome, "genuine"), 0),
    )


def _delays(frauds: Sequence[tuple[int, int]], now: int) -> tuple[IntArray, IntArray]:
    pairs = np.array(frauds, dtype=np.int64).reshape(-1, 2)
    delays = np.maximum(pairs[:, 1] - pairs[:, 0], 0)
    return delays, np.maximum(now - pairs[:, 0], delays)


def _share(times: IntArray, shares: FloatArray, day: int) -> float:
    place = int(np.searchsorted(times, day, side="right"))
    return float(shares[place - 1]) if place else 0.0


def _contradict(labels: Sequence[str]) -> bool:
    """Return True if fraud and genuine were both reported since the last withdrawal."""
    last = max((place for place, label in enumerate(labels) if label == "withdrawn"), default=-1)
    return {"fraud", "genuine"} <= set(labels[last + 1 :])
