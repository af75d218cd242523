"""Velocity features of one record: point-in-time counts over windows of its past."""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from scoring_model.history.amounts import TableAmounts, table_amounts
from scoring_model.history.counts import NOTHING_BEFORE, Counts, DelayedCounts, FraudTimes, Sums
from scoring_model.history.keys import LinkKey, key_codes, person_codes
from scoring_model.history.spec import WindowSpec
from scoring_model.records import NEVER, RecordTable

_LABEL: Final = Struct("<qb")


def pack_label(instant: int, *, fraud: bool) -> bytes:
    """Pack one label; the labels of a record are the concatenation of these bytes, in the order reported.

    Parameters
    ----------
    instant : int
        Time from which it counts, the later of known and reported: microseconds since 1970-01-01 UTC, 64 bits.
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
    """Return True if the latest label that counts before an instant is fraud.

    Parameters
    ----------
    packed : bytes
        Labels of one record, packed by `pack_label`, in the order reported.
    before : int
        Microseconds. A label of exactly this instant does not count yet.

    Returns
    -------
    bool
        Among labels of the same instant, the one reported last decides; False without labels.

    Raises
    ------
    struct.error
        If the bytes are not a whole number of labels.
    """
    latest: int | None = None
    fraud = False
    for instant, value in _LABEL.iter_unpack(packed):
        if instant < before and (latest is None or instant >= latest):
            latest, fraud = instant, value == 1
    return fraud


class PastRecord(NamedTuple):
    """One earlier record under a link key. A plain tuple with these items is accepted.

    Further amounts follow the first; without summed amounts there may be none.

    Parameters
    ----------
    time : int
        Event time, microseconds since 1970-01-01 UTC.
    person : hashable
        The person of the record.
    labels : bytes, optional
        Its labels, packed by `pack_label`, in the order reported; None without labels.
    amount : int, optional
        Its amount in units, from `Amount.units`.
    """

    time: int
    person: Hashable
    labels: bytes | None = None
    amount: int | None = None


Past: TypeAlias = Sequence[tuple[Any, ...]]
"""Records under one link key in the form of `PastRecord`, latest first; ties in any order."""


def count_before(past: Past, *, at: int, spec: WindowSpec) -> Counts:
    """Count the history of one record under one link key.

    Parameters
    ----------
    past : sequence of tuple
        Records of the same link key in the form of `PastRecord`, latest first. Records at or after `at` and records
        outside of all windows are ignored; those of the longest window and the longest delayed window suffice.
    at : int
        Event time of the record, microseconds.

    Examples
    --------
    >>> spec = WindowSpec(windows=(10, 100))
    >>> counts = count_before([(95, "a", None), (60, "b", None), (50, "a", None)], at=100, spec=spec)
    >>> counts.records, counts.persons, counts.since_last
    ((1, 3), (1, 2), 5)
    """
    if not past:
        return spec.nothing
    first = bisect_right(past, -at, key=_backwards) if past[0][0] >= at else 0
    ends = _ends(past, first, at, spec.windows, spec.cap)
    old, old_ends = first, [first]
    if spec.delayed:
        old = bisect_right(past, spec.delay - at, lo=first, key=_backwards)
        old_ends = _ends(past, old, at - spec.delay, spec.delayed, spec.cap)
    seen = past[first : ends[-1]]
    older = past[max(old, ends[-1]) : old_ends[-1]] if spec.delayed else ()
    if not seen and not older:
        return spec.nothing
    labelled = any(map(_LABELS, seen)) or any(map(_LABELS, older))
    counted = (
        tuple([end - first for end in ends]),
        _persons(past, first, ends),
        _frauds(past, first, ends, at) if labelled else (0,) * len(ends),
        at - seen[0][0] if seen else NOTHING_BEFORE,
        at - (older or seen)[-1][0],
    )
    if spec.is_plain:
        return Counts(*counted)
    delayed = _NO_DELAYED
    if spec.delayed:
        delayed = DelayedCounts(
            tuple([end - old for end in old_ends]),
            _frauds(past, old, old_ends, at) if labelled else (0,) * len(old_ends),
        )
    return Counts(
        *counted,
        tuple([_sums(past, first, ends, place, spec) for place in spec.places]),
        delayed,
        _fraud_times([*seen, *older], at, spec.delay) if spec.of_frauds else None,
    )


_PERSON, _LABELS = itemgetter(1), itemgetter(2)
_FIRST_AMOUNT: Final = 3
_NO_DELAYED: Final = DelayedCounts((), ())


def _backwards(record: tuple[Any, ...]) -> int:
    """Return the sort key for bisection: negative time, since the past is in descending order."""
    time: int = record[0]
    return -time


def _ends(past: Past, first: int, upto: int, windows: Sequence[int], cap: int) -> list[int]:
    """Return the end index of each window before `upto`, counted back from `first`. Most need no search."""
    visible = _visible(past, first + cap)
    ends, end = [], first
    for length in windows:
        start = upto - length
        if end < visible and past[end][0] >= start:
            if past[visible - 1][0] >= start:
                end = visible
            else:
                end = bisect_right(past, -start, lo=end, hi=visible, key=_backwards)
        ends.append(end)
    return ends


def _visible(past: Past, end: int) -> int:
    """Return the end index of the past that the cap leaves visible, including ties of the last visible record."""
    if end >= len(past):
        return len(past)
    return bisect_right(past, -past[end - 1][0], lo=end, key=_backwards)


def _persons(past: Past, first: int, ends: Sequence[int]) -> tuple[int, ...]:
    """Count the distinct persons of each window; a longer window contains every shorter one."""
    seen: set[Hashable] = set()
    counts, start = [], first
    for end in ends:
        if end > start:
            seen.update(map(_PERSON, past[start:end]))
            start = end
        counts.append(len(seen))
    return tuple(counts)


def _frauds(past: Past, first: int, ends: Sequence[int], at: int) -> tuple[int, ...]:
    """Count the records of each window known before `at` to be fraud."""
    counts, count, start = [], 0, first
    for end in ends:
        labels = filter(None, map(_LABELS, past[start:end]))
        count += sum(says_fraud(packed, before=at) for packed in labels)
        counts.append(count)
        start = end
    return tuple(counts)


def _sums(past: Past, first: int, ends: Sequence[int], place: int, spec: WindowSpec) -> Sums:
    """Sum one amount over the records of each window."""
    amount = itemgetter(_FIRST_AMOUNT + place)
    seen: list[int] = []
    units, records, highest, above, variances = [], [], [], [], []
    start = first
    for end in ends:
        seen += [one for one in map(amount, past[start:end]) if one is not None]
        start = end
        n, total = len(seen), sum(seen)
        records.append(n)
        units.append(total)
        if spec.of_highest:
            highest.append(max(seen, default=0))
        if spec.of_above:
            above.append(sum([n * one > spec.above * total for one in seen]))
        if spec.of_squares:
            variances.append(exact_float(n * sum([one * one for one in seen]) - total * total))
    return Sums(
        tuple(units),
        tuple(records),
        spec.amounts[place].scale,
        tuple(highest),
        tuple(above),
        tuple(variances),
    )


def exact_float(variance: int) -> float:
    """Convert hi * 2**60 + lo to a float: round each part, then their sum, exactly as `sweep` does with limbs."""
    high, low = divmod(variance, 2**60)
    return float(high) * 2.0**60 + float(low)


def _fraud_times(seen: Past, at: int, delay: int) -> FraudTimes:
    """Return the times of known frauds among the records in windows, latest first."""
    known = [bool(labels) and says_fraud(labels, before=at) for labels in map(_LABELS, seen)]
    frauds = [record[0] for record, fraud in zip(seen, known, strict=True) if fraud]
    if not frauds:
        return FraudTimes(NOTHING_BEFORE, NOTHING_BEFORE, 0)
    others = [record[0] for record, fraud in zip(seen, known, strict=True) if not fraud]
    stopped = next((time for time in others if time < at - delay), None)
    run = len(frauds) if stopped is None else sum([time > stopped for time in frauds])
    return FraudTimes(at - frauds[-1], at - frauds[0], run)


def past_counts(
    table: RecordTable, row: int, keys: Sequence[LinkKey], specs: Mapping[str, WindowSpec]
) -> Mapping[str, Counts]:
    """Count the history of one record of a table.

    Parameters
    ----------
    table : RecordTable
        The record and its history, in any order.
    row : int
        Row of the record.
    specs : mapping of str to WindowSpec
        By name of the key; all with the same amounts.

    Returns
    -------
    mapping of str to Counts
        By name of the key. Equal to the counts of the sweep over the whole table.
    """
    return next(past_counts_of_rows(table, (row,), keys, specs))


def past_counts_of_rows(
    table: RecordTable, rows: Iterable[int], keys: Sequence[LinkKey], specs: Mapping[str, WindowSpec]
) -> Iterator[Mapping[str, Counts]]:
    """Count the history of several records of one table; see `past_counts`."""
    persons = person_codes(table, alone=True)
    shared = next(iter(specs.values()), None)
    amounts = [table_amounts(table, amount) for amount in shared.amounts] if shared is not None else []
    codes_of = {key.name: key_codes(table, key) for key in keys}
    for row in rows:
        at = int(table.event_times[row])
        counts = {}
        for name, codes in codes_of.items():
            linked = np.flatnonzero((codes == codes[row]) & (codes >= 0) & (table.event_times < at))
            latest_first = linked[np.argsort(-table.event_times[linked], kind="stable")]
            past = [
                _past_record(table, other, int(persons[other]), amounts) for other in latest_first.tolist()
            ]
            counts[name] = count_before(past, at=at, spec=specs[name])
        yield counts


def _past_record(
    table: RecordTable, row: int, person: int, amounts: Sequence[TableAmounts]
) -> tuple[Any, ...]:
    known = int(table.label_times[row])
    labels = None if known == NEVER else pack_label(known, fraud=bool(table.labels[row] == 1))
    units = [int(amount.units[row]) if amount.present[row] else None for amount in amounts]
    return (int(table.event_times[row]), person, labels, *units)
