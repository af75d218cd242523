"""Oracle of window counts: the definition, record by record and window by window."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from scoring_model.history import (
    COUNT_KINDS,
    MOST_UNITS,
    NOTHING_BEFORE,
    STATISTICS,
    Amount,
    Counts,
    DelayedCounts,
    FraudTimes,
    Sums,
    WindowSpec,
    pack_label,
)

Reports = tuple[tuple[int, bool], ...]
"""Labels in the order of their reports: when each counts, and whether it is fraud."""


class Event(NamedTuple):
    """One record of the past with all its labels."""

    time: int
    person: str | int
    reported: Reports = ()
    amounts: tuple[int | None, ...] = ()


def by_definition(past: Sequence[Event], at: int, spec: WindowSpec) -> Counts:
    """Count by plain loops over all records of one link key, in any order."""
    windows = [_seen(past, at, length, spec.cap) for length in spec.windows]
    delayed = [_seen(past, at - spec.delay, length, spec.cap) for length in spec.delayed]
    times = [event.time for event in past if at - spec.windows[-1] <= event.time < at]
    every = [*{id(event): event for event in (*windows[-1], *(delayed or [[]])[-1])}.values()]
    return Counts(
        records=tuple(len(seen) for seen in windows),
        persons=tuple(len({event.person for event in seen}) for seen in windows),
        frauds=tuple(sum(_is_fraud(event.reported, at) for event in seen) for seen in windows),
        since_last=at - max(times) if times else NOTHING_BEFORE,
        age=at - min(event.time for event in every) if every else NOTHING_BEFORE,
        sums=tuple(_sums(windows, place, spec) for place in spec.places),
        delayed=DelayedCounts(
            tuple(len(seen) for seen in delayed),
            tuple(sum(_is_fraud(event.reported, at) for event in seen) for seen in delayed),
        ),
        known=_known(every, at, spec.delay) if spec.of_frauds else None,
    )


def _seen(past: Sequence[Event], before: int, length: int, cap: int) -> list[Event]:
    """Records in a window of this length: the latest up to the cap, with all ties of the last one."""
    inside = sorted(
        (event for event in past if before - length <= event.time < before), key=lambda event: -event.time
    )
    return [event for event in inside if len(inside) <= cap or event.time >= inside[cap - 1].time]


def _known(every: Sequence[Event], at: int, delay: int) -> FraudTimes:
    frauds = [event.time for event in every if _is_fraud(event.reported, at)]
    others = [e.time for e in every if not _is_fraud(e.reported, at) and at - e.time > delay]
    if not frauds:
        return FraudTimes(NOTHING_BEFORE, NOTHING_BEFORE, 0)
    run = [time for time in frauds if all(time > other for other in others)]
    return FraudTimes(at - min(frauds), at - max(frauds), len(run))


def _sums(windows: Sequence[Sequence[Event]], place: int, spec: WindowSpec) -> Sums:
    found = [[one for e in seen if (one := e.amounts[place]) is not None] for seen in windows]
    asked = set(spec.statistics)
    return Sums(
        tuple(map(sum, found)),
        tuple(map(len, found)),
        float(10 ** spec.amounts[place].decimals),
        tuple(max(some, default=0) for some in found) if asked & {"highest", "highest_ratio"} else (),
        tuple(sum(len(some) * one > spec.above * sum(some) for one in some) for some in found)
        if "above" in asked
        else (),
        tuple(map(_variance, found)) if asked & {"z", "spread"} else (),
    )


def _variance(some: Sequence[int]) -> float:
    exact = sum((one - other) ** 2 for one in some for other in some) // 2
    return float(exact >> 60) * 2.0**60 + float(exact & (2**60 - 1))


def _is_fraud(reported: Reports, at: int) -> bool:
    """Return True if the latest label known before is fraud; of labels of one instant, the last reported counts."""
    known = [(instant, order, fraud) for order, (instant, fraud) in enumerate(reported) if instant < at]
    return bool(known) and max(known)[2]


def past_of(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """The same past as a store returns it: packed labels, latest first."""
    return [
        (e.time, e.person, b"".join(pack_label(t, fraud=f) for t, f in e.reported) or None, *e.amounts)
        for e in sorted(events, key=lambda event: -event.time)
    ]


# Few instants, lengths and persons, so that ties, caps, edges of windows and labels reported late, twice or at the
# event are frequent.
reported = st.lists(st.tuples(st.integers(0, 23), st.booleans()), max_size=3).map(tuple)
amounts = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-MOST_UNITS, MOST_UNITS]))
AMOUNTS = (Amount(signal="paid", decimals=2), Amount(signal="tip", decimals=0))
events = st.builds(Event, st.integers(0, 20), st.integers(0, 4), reported, st.tuples(amounts, amounts))
_lengths = st.sets(st.integers(1, 27), max_size=4).map(lambda lengths: tuple(sorted(lengths)))
specs = st.builds(
    WindowSpec,
    windows=_lengths.filter(bool),
    cap=st.integers(1, 8),
    delay=st.integers(0, 10),
    delayed=_lengths,
    amounts=st.just(AMOUNTS),
    summed=st.sampled_from([None, (), (0,), (1,), (1, 0)]),
    counts=st.sets(st.sampled_from(COUNT_KINDS)).map(tuple),
    statistics=st.sets(st.sampled_from(STATISTICS)).map(tuple),
    above=st.integers(1, 4),
)
