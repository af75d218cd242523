"""Where a history is cut, burn-in to immature tail, and why it may be too short to be cut."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import SplitSettings
from scoring_model.records.table import NEVER

_DAY = 86_400_000_000  # microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SplitError(ValueError):
    """The records can't be split as asked.

    Attributes
    ----------
    reasons : tuple of str
        Everything that stands in the way, one sentence each.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("the records can't be split:\n" + "\n".join(f"- {reason}" for reason in reasons))
        self.reasons = reasons


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitBoundaries:
    """The instants that cut a history, microseconds since 1970-01-01 UTC.

    A part holds the events in [its `_from`, its `_to`). The gaps lie between `train_to` and `validation_from`
    and between `validation_to` and `test_from`; from `test_to` to `as_of` records are too young to be called
    genuine.
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
    def edges(self) -> IntArray:
        """First instants of the stretches of time, shape (8,), non-decreasing."""
        b = self
        parts = (b.train_from, b.train_to, b.validation_from, b.validation_to, b.test_from, b.test_to)
        return np.array([b.start, *parts, b.as_of], dtype=np.int64)


def find_boundaries(event_times: IntArray, label_times: IntArray, settings: SplitSettings) -> SplitBoundaries:
    """Cut the time that burn-in, gaps and maturity leave by the shares.

    Parameters
    ----------
    event_times, label_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC
    settings : SplitSettings

    Returns
    -------
    Borders

    Raises
    ------
    SplitError
        If there are no records or they span too short a time.
    """
    if len(event_times) == 0:
        raise SplitError(("there are no records",))
    start = int(event_times.min())
    as_of = _latest(event_times, label_times) + 1 if settings.as_of is None else settings.as_of
    usable = as_of - start - settings.overhead
    if usable <= 0:
        raise SplitError((_too_short(as_of - start, settings),))
    gap = settings.gap_length
    train_from = start + settings.burn_in_length
    train_to = train_from + int(usable * settings.train)
    validation_to = train_to + gap + int(usable * settings.validation)
    return SplitBoundaries(
        start=start,
        train_from=train_from,
        train_to=train_to,
        validation_from=train_to + gap,
        validation_to=validation_to,
        test_from=validation_to + gap,
        test_to=as_of - settings.label_maturity,
        as_of=as_of,
    )


def _latest(event_times: IntArray, label_times: IntArray) -> int:
    told = label_times[label_times != NEVER]
    return max(int(event_times.max()), int(told.max(initial=event_times.max())))


def _too_short(span: int, settings: SplitSettings) -> str:
    return (
        f"the records span {days(span)} days before the as-of instant; burn-in ({days(settings.burn_in_length)}), "
        f"two gaps ({days(settings.gap_length)} each) and label maturity ({days(settings.label_maturity)}) "
        f"alone take {days(settings.overhead)} days: more than that is needed"
    )


def days(microseconds: float) -> str:
    """Write a length of time in days."""
    return f"{microseconds / _DAY:.1f}"


def instant_text(instant: int) -> str:
    """Write an instant, microseconds since 1970-01-01 UTC, in ISO 8601."""
    return (_EPOCH + timedelta(microseconds=instant)).isoformat()
