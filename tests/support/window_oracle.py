"""Oracle of window counts: the definition, record by record and window by window."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from scoring_model.history import (
    MOST_UNITS,
    NOTHING_BEFORE,
    Amount,
    Counts,
    PastRecord,
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
    amount: int | None = None


def by_definition(past: Sequence[Event], at: int, spec: WindowSpec) -> Counts:
    """Count by plain loops over all records of one link key, in any order."""
    windows = [_seen(past, at, length, spec.cap) for length in spec.windows]
    times = [event.time for event in past if at - spec.windows[-1] <= event.time < at]
    return Counts(
        records=tuple(len(seen) for seen in windows),
        persons=tuple(len({event.person for event in seen}) for seen in windows),
        frauds=tuple(sum(_is_fraud(event.reported, at) for event in seen) for seen in windows),
        since_last=at - max(times) if times else NOTHING_BEFORE,
        sums=None if spec.amount is None else _sums(windows, spec.amount),
    )


def _seen(past: Sequence[Event], at: int, length: int, cap: int) -> list[Event]:
    """What a window of this length sees: the latest up to the cap, and all of the instant of the last of them."""
    inside = sorted(
        (event for event in past if at - length <= event.time < at), key=lambda event: -event.time
    )
    return [event for event in inside if len(inside) <= cap or event.time >= inside[cap - 1].time]


def _sums(windows: Sequence[Sequence[Event]], amount: Amount) -> Sums:
    found = [[event.amount for event in seen if event.amount is not None] for seen in windows]
    return Sums(tuple(map(sum, found)), tuple(map(len, found)), float(10**amount.decimals))


def _is_fraud(reported: Reports, at: int) -> bool:
    """Whether the latest label that counted before says fraud; of labels of one instant, the one reported last."""
    known = [(instant, order, fraud) for order, (instant, fraud) in enumerate(reported) if instant < at]
    return bool(known) and max(known)[2]


def past_of(events: Sequence[Event]) -> list[PastRecord]:
    """The same past as a store gives it: labels packed, the latest first."""
    return [
        PastRecord(
            e.time, e.person, b"".join(pack_label(t, fraud=f) for t, f in e.reported) or None, e.amount
        )
        for e in sorted(events, key=lambda event: -event.time)
    ]


# Few instants and persons, so that ties, caps and labels reported late, twice or at the event are frequent.
reported = st.lists(st.tuples(st.integers(0, 70), st.booleans()), max_size=3).map(tuple)
amounts = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-MOST_UNITS, MOST_UNITS]))
events = st.builds(Event, st.integers(0, 60), st.integers(0, 4), reported, amounts)
specs = st.builds(
    WindowSpec,
    windows=st.sets(st.integers(1, 80), min_size=1, max_size=4).map(lambda lengths: tuple(sorted(lengths))),
    cap=st.integers(1, 8),
    amount=st.one_of(st.none(), st.builds(Amount, signal=st.just("paid"), decimals=st.integers(0, 6))),
)
