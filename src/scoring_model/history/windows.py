"""Velocity features of one record: point-in-time counts over windows of its past."""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.contract.violation import check_fields
from scoring_model.history.amounts import Amount, TableAmounts, table_amounts
from scoring_model.history.keys import LinkKey, key_codes, person_codes
from scoring_model.records import NEVER, RecordTable

_LABEL: Final = Struct("<qb")


def pack_label(instant: int, *, fraud: bool) -> bytes:
    """Pack one label; the labels of a record are these bytes, one after the other, in the order reported.

    Parameters
    ----------
    instant : int
        From when it counts, the later of known and reported: microseconds since 1970-01-01 UTC, 64 bits.
    fraud : bool
        Whether the label is fraud.

    Returns
    -------
    bytes of length 9
        The instant as a little-endian 64-bit integer, then 1 for fraud or 0.

    Examples
    --------
    >>> pack_label(258, fraud=True).hex()
    '020100000000000001'
    """
    return _LABEL.pack(instant, fraud)


def says_fraud(packed: bytes, *, before: int) -> bool:
    """Whether the latest label that counts before an instant is fraud.

    Parameters
    ----------
    packed : bytes
        Labels of one record, as `pack_label` gives them, in the order reported.
    before : int
        Microseconds. A label of this very instant does not count yet.

    Returns
    -------
    bool
        Of labels that count from one instant, the one reported last decides; without any, false.

    Raises
    ------
    struct.error
        If the bytes are no whole number of labels.
    """
    latest: int | None = None
    fraud = False
    for instant, value in _LABEL.iter_unpack(packed):
        if instant < before and (latest is None or instant >= latest):
            latest, fraud = instant, value == 1
    return fraud


NOTHING_BEFORE = -1
"""Value of ``since_last`` without an earlier record in the longest window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSpec:
    """Which windows are counted, how many records each may see, and what is summed.

    Parameters
    ----------
    windows : tuple of int
        Lengths in microseconds, positive and strictly ascending.
    cap : int
        The number of latest records that a window sees; those of the same instant as the last come with it.
    amount : Amount, optional
        What is summed over the records that a window sees.
    """

    windows: tuple[int, ...]
    cap: int = 256
    amount: Amount | None = None

    def __post_init__(self) -> None:
        check_fields(
            self,
            ("windows", "one or more lengths", bool(self.windows)),
            ("windows", "longer than 0 microseconds each", all(length > 0 for length in self.windows)),
            ("windows", "strictly ascending", all(a < b for a, b in pairwise(self.windows))),
            ("cap", "at least 1", self.cap >= 1),
        )


class PastRecord(NamedTuple):
    """One earlier record under a link key. Any tuple of these will do; the amount may lack where none is summed.

    Parameters
    ----------
    time : int
        Event time, microseconds since 1970-01-01 UTC.
    person : hashable
        Whom the record is of.
    labels : bytes, optional
        Its labels, as `pack_label` packs them, in the order reported; None where there are none.
    amount : int, optional
        Its amount in units, as `Amount.units` counts them.
    """

    time: int
    person: Hashable
    labels: bytes | None = None
    amount: int | None = None


_AnyRecord: TypeAlias = tuple[int, Hashable, bytes | None] | tuple[int, Hashable, bytes | None, int | None]

Past: TypeAlias = Sequence[_AnyRecord]
"""Records under one link key in the form of `PastRecord`, the latest first; those of one instant in any order."""


class Sums(NamedTuple):
    """Amounts of one link key for one record and W windows.

    Parameters
    ----------
    units : tuple of W int
        Sum of the amounts in the window.
    records : tuple of W int
        How many records in the window have one.
    scale : float
        Units in one.
    """

    units: tuple[int, ...]
    records: tuple[int, ...]
    scale: float


class Counts(NamedTuple):
    """Counts of one link key for one record and W windows.

    Parameters
    ----------
    records, persons, frauds : tuple of W int
        Earlier records in the window, distinct persons among them, and those known by then to be fraud.
    since_last : int
        Microseconds since the latest earlier record in the longest window, or ``NOTHING_BEFORE``.
    sums : Sums or None
        None where the law sums nothing.
    """

    records: tuple[int, ...]
    persons: tuple[int, ...]
    frauds: tuple[int, ...]
    since_last: int
    sums: Sums | None = None

    @classmethod
    def nothing(cls, spec: WindowSpec) -> "Counts":
        """Counts of a record without any past."""
        none = (0,) * len(spec.windows)
        sums = None if spec.amount is None else Sums(none, none, spec.amount.scale)
        return cls(none, none, none, NOTHING_BEFORE, sums)


@dataclass(frozen=True, slots=True)
class LinkSums:
    """Amounts of one link key, for n records and W windows.

    Parameters
    ----------
    units : ndarray of shape (n, W), int64
        Sum of the amounts in the window.
    records : ndarray of shape (n, W), int32
        How many records in the window have one.
    scale : float
        Units in one.
    """

    units: NDArray[np.int64] = field(repr=False)
    records: NDArray[np.int32] = field(repr=False)
    scale: float


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of one link key, for n records and W windows.

    Parameters
    ----------
    records, persons, frauds : ndarray of shape (n, W), int32
        Earlier records in the window, distinct persons among them, and those known by then to be fraud.
    since_last : ndarray of shape (n,), int64
        Microseconds since the latest earlier record in the longest window, or ``NOTHING_BEFORE``.
    sums : LinkSums or None
        None where the law sums nothing.
    """

    records: NDArray[np.int32]
    persons: NDArray[np.int32]
    frauds: NDArray[np.int32]
    since_last: NDArray[np.int64] = field(repr=False)
    sums: LinkSums | None = None

    @classmethod
    def nothing(cls, n: int, spec: WindowSpec) -> "LinkCounts":
        """Counts of `n` records without any past."""
        shape = (n, len(spec.windows))

        def zeros() -> NDArray[np.int32]:
            return np.zeros(shape, dtype=np.int32)

        sums = (
            None if spec.amount is None else LinkSums(np.zeros(shape, np.int64), zeros(), spec.amount.scale)
        )
        return cls(zeros(), zeros(), zeros(), np.full(n, NOTHING_BEFORE, dtype=np.int64), sums)


def count_before(past: Past, *, at: int, spec: WindowSpec) -> Counts:
    """Count the past of one record under one link key.

    Parameters
    ----------
    past : sequence of (int, hashable, bytes or None) or (int, hashable, bytes or None, int or None)
        Time, person and packed labels of the records of the same link key, the latest first, and their amounts
        where the law sums them. Those at or after `at` and those before the longest window are left out here; it
        is enough to give the records that the longest window sees.
    at : int
        Event time of the record, microseconds.

    Examples
    --------
    >>> law = WindowSpec(windows=(10, 100))
    >>> count_before([(95, "a", None), (60, "b", None), (50, "a", None)], at=100, law=law)
    Counts(records=(1, 3), persons=(1, 2), frauds=(0, 0), since_last=5, sums=None)
    """
    if not past:
        return Counts.nothing(spec)
    first = bisect_right(past, -at, key=_backwards) if past[0][0] >= at else 0
    ends = _ends(past, first, at, spec)
    if ends[-1] == first:
        return Counts.nothing(spec)
    labelled = any(map(_LABELS, past[first : ends[-1]]))
    return Counts(
        records=tuple([end - first for end in ends]),
        persons=_persons(past, first, ends),
        frauds=_frauds(past, first, ends, at) if labelled else (0,) * len(ends),
        since_last=at - past[first][0],
        sums=None if spec.amount is None else _sums(past, first, ends, spec.amount.scale),
    )


_PERSON, _LABELS, _AMOUNT = itemgetter(1), itemgetter(2), itemgetter(3)


def _backwards(record: _AnyRecord) -> int:
    """The past descends in time; a search wants what ascends."""
    return -record[0]


def _ends(past: Past, first: int, at: int, spec: WindowSpec) -> list[int]:
    """Where each window ends, counted back from `first`. Most ends need no search."""
    visible = _visible(past, first + spec.cap)
    ends, end = [], first
    for length in spec.windows:
        start = at - length
        if end < visible and past[end][0] >= start:
            if past[visible - 1][0] >= start:
                end = visible
            else:
                end = bisect_right(past, -start, lo=end, hi=visible, key=_backwards)
        ends.append(end)
    return ends


def _visible(past: Past, end: int) -> int:
    """Where the past ends that a cap leaves visible: ties of the last visible one come with it."""
    if end >= len(past):
        return len(past)
    return bisect_right(past, -past[end - 1][0], lo=end, key=_backwards)


def _persons(past: Past, first: int, ends: Sequence[int]) -> tuple[int, ...]:
    """Distinct persons of each window: a longer one sees all that a shorter one sees."""
    seen: set[Hashable] = set()
    counts, start = [], first
    for end in ends:
        if end > start:
            seen.update(map(_PERSON, past[start:end]))
            start = end
        counts.append(len(seen))
    return tuple(counts)


def _frauds(past: Past, first: int, ends: Sequence[int], at: int) -> tuple[int, ...]:
    """Records of each window that are known before `at` to be fraud."""
    counts, count, start = [], 0, first
    for end in ends:
        labels = filter(None, map(_LABELS, past[start:end]))
        count += sum(says_fraud(packed, before=at) for packed in labels)
        counts.append(count)
        start = end
    return tuple(counts)


def _sums(past: Past, first: int, ends: Sequence[int], scale: float) -> Sums:
    """Amounts of the records of each window."""
    units, records, start = [0], [0], first
    for end in ends:
        found = [amount for amount in map(_AMOUNT, past[start:end]) if amount is not None]
        units.append(units[-1] + sum(found))
        records.append(records[-1] + len(found))
        start = end
    return Sums(tuple(units[1:]), tuple(records[1:]), scale)


def past_counts(
    table: RecordTable, row: int, keys: Sequence[LinkKey], spec: WindowSpec
) -> Mapping[str, Counts]:
    """Count what a table holds before one of its records.

    Parameters
    ----------
    table : RecordTable
        The record and its history, in any order.
    row : int
        Of the record.

    Returns
    -------
    mapping of str to Counts
        By the name of the key. The same counts as the sweep over the whole table gives.
    """
    at = int(table.event_times[row])
    persons = person_codes(table, alone=True)
    amounts = None if spec.amount is None else table_amounts(table, spec.amount)
    counts = {}
    for key in keys:
        codes = key_codes(table, key)
        linked = np.flatnonzero((codes == codes[row]) & (codes >= 0) & (table.event_times < at))
        latest_first = linked[np.argsort(-table.event_times[linked], kind="stable")]
        past = [_past_record(table, other, int(persons[other]), amounts) for other in latest_first.tolist()]
        counts[key.name] = count_before(past, at=at, spec=spec)
    return counts


def _past_record(table: RecordTable, row: int, person: int, amounts: TableAmounts | None) -> PastRecord:
    known = int(table.label_times[row])
    labels = None if known == NEVER else pack_label(known, fraud=bool(table.labels[row] == 1))
    amount = int(amounts.units[row]) if amounts is not None and amounts.present[row] else None
    return PastRecord(int(table.event_times[row]), person, labels, amount)
