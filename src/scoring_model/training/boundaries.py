"""Where the parts of a split begin and end, from the times of the records alone.

Decision record: docs/adr/0013-labels-and-splits.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import SplitSettings
from scoring_model.records.table import NEVER
from scoring_model.records.times import DAY

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SplitError(ValueError):
    """The records cannot be split as configured.

    Attributes
    ----------
    reasons : tuple of str
        All reasons, one sentence each.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("the records can't be split:\n" + "\n".join(f"- {reason}" for reason in reasons))
        self.reasons = reasons


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitBoundaries:
    """The instants that cut a history, microseconds since 1970-01-01 UTC.

    A part holds the events in [its `_from`, its `_to`). The gaps lie between `train_to` and `validation_from`
    and between `validation_to` and `test_from`; from `test_to` to `as_of` records are too young to be called
    genuine. Without a test part `test_from` and `test_to` are `validation_to`.
    """

    start: int
    train_from: int
    train_to: int
    validation_from: int
    validation_to: int
    test_from: int
    test_to: int
    as_of: int

    @property
    def span(self) -> int:
        """Return the microseconds from the first event to the as-of instant."""
        return self.as_of - self.start

    @property
    def has_test(self) -> bool:
        """Return whether there is a test part, which the model is evaluated on."""
        return self.test_from < self.test_to

    @property
    def edges(self) -> IntArray:
        """Return the first instants of the segments, shape (8,), non-decreasing."""
        b = self
        parts = (b.train_from, b.train_to, b.validation_from, b.validation_to, b.test_from, b.test_to)
        return np.array([b.start, *parts, b.as_of], dtype=np.int64)


def find_boundaries(event_times: IntArray, label_times: IntArray, settings: SplitSettings) -> SplitBoundaries:
    """Divide the time outside of burn-in, gaps and label maturity window by shares or durations.

    The last part ends where the label maturity window begins. Shares fill the time after the burn-in. Durations are
    counted back from the end, and what precedes them is burn-in.

    Parameters
    ----------
    event_times, label_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC

    Raises
    ------
    SplitError
        If there are no records or they span too short a time.
    """
    span = span_of(event_times, label_times, settings.as_of)
    start = int(event_times.min())
    return place_boundaries(start, start + span, settings)


def span_of(event_times: IntArray, label_times: IntArray, as_of: int | None) -> int:
    """Return the time from the first event to the as-of instant, by default just after the latest instant.

    Parameters
    ----------
    event_times, label_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC

    Raises
    ------
    SplitError
        If there are no records.
    """
    if len(event_times) == 0:
        until = "" if as_of is None else f" before the as-of instant {instant_text(as_of)}"
        raise SplitError((f"there are no records{until}",))
    end = latest_instant(event_times, label_times) + 1 if as_of is None else as_of
    return end - int(event_times.min())


def place_boundaries(start: int, as_of: int, settings: SplitSettings) -> SplitBoundaries:
    """Divide the time from the first event to the as-of instant; see `find_boundaries`.

    Parameters
    ----------
    start, as_of : int
        Microseconds since 1970-01-01 UTC.
    """
    usable = as_of - start - settings.overhead
    if usable <= 0 and not settings.by_duration:
        raise SplitError((_too_short(as_of - start, settings),))
    lengths = settings.part_lengths(usable)
    test_to = as_of - settings.label_maturity
    test_from = test_to - lengths.get("test", 0)
    validation_to = settings.validation_end(start, as_of)
    validation_from = validation_to - lengths["validation"]
    train_to = validation_from - settings.gap_length
    boundaries = SplitBoundaries(
        start=start,
        train_from=train_to - lengths["train"],
        train_to=train_to,
        validation_from=validation_from,
        validation_to=validation_to,
        test_from=test_from,
        test_to=test_to,
        as_of=as_of,
    )
    if sum(lengths.values()) > usable:
        raise SplitError(tuple(_missing_time(boundaries, settings)))
    return boundaries


def _missing_time(boundaries: SplitBoundaries, settings: SplitSettings) -> Iterator[str]:
    """Name each part that begins before the records do, after their burn-in."""
    b, first = boundaries, boundaries.start + settings.burn_in_length
    parts = (
        ("train", b.train_from, b.train_to),
        ("validation", b.validation_from, b.validation_to),
        ("test", b.test_from, b.test_to),
    )
    for part, since, until in parts[: len(settings.parts)]:
        if since < first:
            yield (
                f"{part} ({instant_text(since)} to {instant_text(until)}, {days(until - since)} days) begins "
                f"{days(first - since)} days too early: the records begin at {instant_text(b.start)}, and "
                f"{days(settings.burn_in_length)} days of burn-in come first"
            )


def latest_instant(event_times: IntArray, label_times: IntArray) -> int:
    """Return the latest instant of events and known labels."""
    known = label_times[label_times != NEVER]
    return int(max(event_times.max(), known.max(initial=event_times.max())))


def _too_short(span: int, settings: SplitSettings) -> str:
    gap = days(settings.gap_length)
    gaps = f"two gaps ({gap} each)" if settings.gaps == 2 else f"a gap ({gap})"
    return (
        f"the records span {days(span)} days before the as-of instant; burn-in ({days(settings.burn_in_length)}), "
        f"{gaps} and label maturity ({days(settings.label_maturity)}) alone take {days(settings.overhead)} days: "
        "more than that is needed"
    )


def days(microseconds: float) -> str:
    """Write a length of time in days."""
    return f"{microseconds / DAY:.1f}"


def instant_text(instant: int) -> str:
    """Write an instant, microseconds since 1970-01-01 UTC, in ISO 8601."""
    return (_EPOCH + timedelta(microseconds=instant)).isoformat()
