"""What the labels of a database are worth: how late they come, what they cover, where they contradict each other."""

from array import array
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.evaluation.delays import DelayDistribution, delay_distribution
from scoring_model.records.times import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.store import Reader, Store

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


class _Labelled(NamedTuple):
    """A completed verification with its labels in the order of reporting, and when the last one counted."""

    completed_at: int
    outcome: str
    policy_outcome: str | None
    decided_by: str | None
    labels: list[str]
    reported_at: int


async def _labelled(reader: Reader) -> AsyncIterator[_Labelled]:
    """Read labelled verifications, a page of labels at a time."""
    after, current = (b"", 0), None
    while rows := await reader.labelled(after, _PAGE):
        for number, resource, label, known_at, told_at, completed_at, outcome, by_policy, decided_by in rows:
            if current is None or resource != after[0]:
                if current is not None:
                    yield current
                current = _Labelled(completed_at, outcome, by_policy, decided_by, [], 0)
            current.labels.append(label)
            current = current._replace(reported_at=max(known_at, told_at))
            after = (resource, number)
    if current is not None:
        yield current


async def label_delays(store: Store, clock: Clock) -> LabelDelays:
    """Read all labels of verifications; the database is only read, and only the delays of frauds are kept."""
    frauds: array[int] = array("q")  # of each the instants of its event and of its label
    covered: Counter[tuple[str, str]] = Counter()
    controlled: Counter[tuple[str, str]] = Counter()
    conflicts = 0
    async with store.reading() as reader:
        totals = await reader.outcomes()
        days = await reader.control_days(0, LAST_DAY)
        async for one in _labelled(reader):
            latest = one.labels[-1]
            if latest == "fraud":
                frauds.extend((one.completed_at, one.reported_at))
            covered[one.outcome, latest] += 1
            if one.decided_by == DecidedBy.CONTROL:
                controlled[one.policy_outcome or "", latest] += 1
            conflicts += _contradict(one.labels)
    delays, ages = _delays(frauds, clock.now())
    found = delay_distribution(delays, ages, fewest=1)
    observed = float(ages.max(initial=0) / DAY)
    passed: Counter[str] = Counter()
    repeats: Counter[str] = Counter()
    for day in days:
        passed[day.policy_outcome] += day.passed
        repeats[day.policy_outcome] += day.repeats
    return LabelDelays(
        frauds=len(delays),
        curve={} if found is None else _curve(found, observed),
        maturity_days=None if found is None else found.quantile(MATURED) / DAY,
        observed_days=observed,
        coverage={outcome: _coverage(outcome, totals.get(outcome, 0), covered) for outcome in Outcome},
        control={outcome: _coverage(outcome, count, controlled) for outcome, count in sorted(passed.items())},
        control_repeats=dict(repeats),
        conflicts=conflicts,
        withdrawn=sum(count for (_, label), count in covered.items() if label == "withdrawn"),
    )


def _coverage(outcome: str, verifications: int, covered: Mapping[tuple[str, str], int]) -> Coverage:
    return Coverage(
        verifications=verifications,
        fraud=covered.get((outcome, "fraud"), 0),
        genuine=covered.get((outcome, "genuine"), 0),
    )


def _delays(frauds: "array[int]", now: int) -> tuple[IntArray, IntArray]:
    pairs = np.array(frauds, dtype=np.int64).reshape(-1, 2)
    delays = np.maximum(pairs[:, 1] - pairs[:, 0], 0)
    return delays, np.maximum(now - pairs[:, 0], delays)


def _curve(found: DelayDistribution, observed: float) -> dict[int, float]:
    """Return the share of frauds that are known after each day that is observed."""
    days = [day for day in DAYS if day <= observed]
    return dict(zip(days, found.known_by(np.array(days, dtype=np.int64) * DAY).tolist(), strict=True))


def _contradict(labels: Sequence[str]) -> bool:
    """Return True if fraud and genuine were both reported since the last withdrawal."""
    last = max((place for place, label in enumerate(labels) if label == "withdrawn"), default=-1)
    return {"fraud", "genuine"} <= set(labels[last + 1 :])
