"""Link features of one partition of a history that does not fit in memory.

Pure functions of arrays, so that any engine can map them: `link_rows` of a part of a file; `pieces` of a partition,
which holds all rows of some link keys; `count_links` of a piece, with the rows before it that `carried` keeps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.batch.segments import Rows
from scoring_model.features.matrix import FeatureMatrix
from scoring_model.history import NOTHING_BEFORE, PERSON, LinkKey, TableAmounts, WindowSpec, table_amounts
from scoring_model.history.digests import Digests, among, content_digests, key_digests, text_digests
from scoring_model.history.sweep import TableLabels, sweep
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.table import Column

ABSENT: Final = int(np.iinfo(np.int64).min)
"""Units of an amount that a record lacks."""

ID_ROW: Final = np.dtype([("hi", "<u8"), ("lo", "<u8"), ("row", "<i8"), ("refused", "?"), ("late", "?")])
"""A record id: digest, row, whether the row is refused for another reason, whether its label is too late to count."""

_SAMPLES: Final = 16  # of each file, for each piece of a large partition


def link_dtype(amounts: int) -> np.dtype[Any]:
    """Return the type of link rows.

    A digest of 128 bits; instant; person; row, counted over all sources; twice the instant at which the label counts,
    plus 1 for fraud, or `NEVER`; amounts in units.
    """
    fields = [
        ("hi", "<u8"),
        ("lo", "<u8"),
        ("time", "<i8"),
        ("person", "<i8"),
        ("row", "<i8"),
        ("label", "<i8"),
    ]
    return np.dtype([*fields, ("amounts", "<i8", (amounts,))])


def feature_dtype(width: int) -> np.dtype[Any]:
    """Return the type of the features of one link key: row of the source, features."""
    return np.dtype([("row", "<i8"), ("features", "<f8", (width,))])


def link_rows(table: RecordTable, first_row: int, matrix: FeatureMatrix, secret: bytes) -> Mapping[str, Rows]:
    """Make the link rows of a part, by link key.

    Parameters
    ----------
    first_row : int
        The row of all sources that is row 0 of the table's source.
    """
    amounts = [table_amounts(table, amount) for amount in matrix.amounts]
    rows = np.zeros(len(table), link_dtype(len(amounts)))
    rows["time"] = table.event_times
    rows["row"] = table.source_rows + first_row
    rows["label"] = np.where(table.label_times == NEVER, NEVER, table.label_times * 2 + (table.labels == 1))
    for place, amount in enumerate(amounts):
        rows["amounts"][:, place] = np.where(amount.present, amount.units, ABSENT)
    persons, known = key_digests(table, LinkKey(name=PERSON, parts=()), secret)
    # A record without a known person is a person of its own: the numbers below zero.
    rows["person"] = np.where(known, (persons[:, 0] >> np.uint64(1)).astype(np.int64), -1 - rows["row"])
    found = {}
    for key in matrix.link_keys:
        digests, present = (persons, known) if key.name == PERSON else key_digests(table, key, secret)
        linked = rows[present]
        linked["hi"], linked["lo"] = digests[present].T
        found[key.name] = linked
    return found


def id_rows(ids: Column, first_row: int, *, refused: BoolArray, late: BoolArray, secret: bytes) -> Rows:
    """Make the rows of record ids, of which repeated ones are found."""
    digests = text_digests(map(str, ids.values), "recordId", secret)
    present = np.flatnonzero(ids.codes >= 0)
    rows = np.zeros(len(present), ID_ROW)
    rows["hi"], rows["lo"] = digests[ids.codes[present]].T
    rows["row"] = present + first_row
    rows["refused"], rows["late"] = refused[present], late[present]
    return rows


def content_rows(table: RecordTable, first_row: int, secret: bytes) -> Rows:
    """Make rows like those of record ids of the contents of a part's records."""
    rows = np.zeros(len(table), ID_ROW)
    rows["hi"], rows["lo"] = content_digests(table, secret).T
    rows["row"] = table.source_rows + first_row
    return rows


def partition_of(high: Digests, partitions: int) -> IntArray:
    """Return the partition of digests by their upper half, ascending with it."""
    return ((high >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)).astype(np.int64)


def partitioned(rows: Rows, partitions: int) -> tuple[Rows, IntArray]:
    """Sort rows by digest, then by time if they have one; also return where each partition begins."""
    order = (
        np.lexsort((rows["time"], rows["hi"]))
        if "time" in (rows.dtype.names or ())
        else np.argsort(rows["hi"])
    )
    rows = rows[order]
    return rows, np.searchsorted(partition_of(rows["hi"], partitions), np.arange(partitions + 1))


def repeated_ids(ids: Rows, ends: IntArray) -> Rows:
    """Return the rows of a partition whose id occurs in an earlier row of their source.

    Parameters
    ----------
    ends : ndarray of int64
        The row after the last one of each source.
    """
    high = np.sort(ids["hi"])
    shared = high[1:][high[1:] == high[:-1]]  # few or none: only these are worth a sort of rows
    ids = ids[np.isin(ids["hi"], shared)]
    ordered = ids[np.lexsort((ids["row"], ids["lo"], ids["hi"]))]
    source = np.searchsorted(ends, ordered["row"], "right")
    same = (np.diff(ordered["hi"]) == 0) & (np.diff(ordered["lo"]) == 0) & (np.diff(source) == 0)
    repeated: Rows = ordered[1:][same]
    return repeated


def copies(rows: Rows, repeated: Rows, scored: int) -> Rows:
    """Return the rows of a partition that are history and share the id, or content, of a scored one.

    Parameters
    ----------
    repeated : ndarray
        Rows whose id occurs earlier in their source: they are no records.
    scored : int
        Number of rows of the source that is scored, the first one.
    """
    rows = rows[~rows["refused"] & ~np.isin(rows["row"], repeated["row"])]
    own, past = rows[rows["row"] < scored], rows[rows["row"] >= scored]
    same = among(*(np.column_stack([one["hi"], one["lo"]]) for one in (past, own)))
    return past[same]


def pieces(
    sizes: Sequence[int], read: Callable[[int, int, int], Rows], most: int
) -> Iterator[tuple[Rows, tuple[int, int] | None]]:
    """Cut a partition into pieces of about `most` rows, by digest and time.

    Parameters
    ----------
    sizes : sequence of int
        Rows of the partition in each file, sorted by digest and time.
    read : callable
        File, start and end to rows.

    Yields
    ------
    rows : ndarray
        All rows before the next piece, in no order.
    following : (int, int) or None
        Upper half of the digest and instant at which the next piece begins; None for the last one.
    """
    total = sum(sizes)
    if total <= most:
        whole = [read(file, 0, size) for file, size in enumerate(sizes) if size]
        if whole:
            yield np.concatenate(whole), None
        return
    borders = _borders(sizes, read, most)
    cuts = [
        _cuts(read(file, 0, size), borders) if size else [0] * len(borders) for file, size in enumerate(sizes)
    ]
    for number in range(len(borders) + 1):
        spans = [
            (file, [0, *cut, size][number], [0, *cut, size][number + 1])
            for file, (cut, size) in enumerate(zip(cuts, sizes, strict=True))
        ]
        found = [read(*span) for span in spans if span[2] > span[1]]
        yield np.concatenate(found), borders[number] if number < len(borders) else None


def _borders(sizes: Sequence[int], read: Callable[[int, int, int], Rows], most: int) -> list[tuple[int, int]]:
    """Choose where pieces begin, from every so many rows of each file."""
    files = sum(size > 0 for size in sizes)
    stride = max(1, most // (_SAMPLES * files))
    samples = [read(file, 0, size)[["hi", "time"]][::stride] for file, size in enumerate(sizes) if size]
    ordered = np.concatenate(samples)
    ordered = ordered[np.lexsort((ordered["time"], ordered["hi"]))]
    chosen = ordered[:: max(1, most // stride)][1:]
    pairs = dict.fromkeys(zip(chosen["hi"].tolist(), chosen["time"].tolist(), strict=True))
    return [pair for pair in pairs if pair > (int(ordered["hi"][0]), int(ordered["time"][0]))]


def _cuts(rows: Rows, borders: Sequence[tuple[int, int]]) -> list[int]:
    """Return how many rows, sorted by digest and time, are before each border."""
    found, digests = [], np.ascontiguousarray(rows["hi"])
    for high, time in borders:
        first, last = (int(np.searchsorted(digests, np.uint64(high), side)) for side in ("left", "right"))
        found.append(first + int(np.searchsorted(rows["time"][first:last], time, "left")))
    return found


def carried(rows: Rows, following: tuple[int, int], spec: WindowSpec) -> Rows:
    """Keep the rows that a record at the next piece's first digest and instant, or later, may see.

    A window sees the latest `cap` records before its end and the ties of the last of them. A delayed window ends before
    the event, so everything since its own first visible record is kept.
    """
    high, instant = following
    same = rows[rows["hi"] == np.uint64(high)]
    kept = [
        group[group["time"] >= _first_visible(np.sort(group["time"]), instant, spec)]
        for low in np.unique(same["lo"])
        for group in [same[same["lo"] == low]]
    ]
    return np.concatenate([same[:0], *kept])


def _first_visible(times: IntArray, instant: int, spec: WindowSpec) -> int:
    """Return the earliest instant that is visible at `instant` or later."""

    def earliest(end: int, length: int) -> int:
        before = int(np.searchsorted(times, end, "left"))
        return max(end - length, int(times[before - spec.cap])) if before >= spec.cap else end - length

    found = earliest(instant, spec.windows[-1])
    return min(found, earliest(instant - spec.delay, spec.delayed[-1])) if spec.delayed else found


def count_links(
    matrix: FeatureMatrix, key: LinkKey, rows: Rows, before: Rows, *, is_counted: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Compute the features of the records of a piece.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        The piece, in any order.
    before : ndarray of shape (m,)
        Earlier rows that `carried` kept.
    is_counted : ndarray of shape (n,), bool
        The other rows are history alone.

    Returns
    -------
    rows : ndarray of shape (k,), int64
        The counted rows that have a history, ascending.
    features : ndarray of shape (k, d), float64
    """
    every = np.concatenate([before, rows[~is_counted], rows[is_counted]])
    first = len(every) - int(np.count_nonzero(is_counted))
    labelled = np.flatnonzero(every["label"] != NEVER)
    said = every["label"][labelled]
    amounts = [
        TableAmounts(np.where(units == ABSENT, 0, units), units != ABSENT) for units in every["amounts"].T
    ]
    counts = sweep(
        _codes(every["hi"], every["lo"]),
        np.ascontiguousarray(every["time"]),
        _codes(every["person"]),
        TableLabels(labelled, said >> 1, (said & 1) == 1),
        matrix.specs[key.name],
        amounts,
        first=first,
    )
    own = [TableAmounts(amount.units[first:], amount.present[first:]) for amount in amounts]
    block = matrix.link_block(key, counts, own)
    found = np.flatnonzero(counts.age != NOTHING_BEFORE)
    numbers = every["row"][first:][found]
    order = np.argsort(numbers)
    return numbers[order], block[found[order]]


def _codes(*columns: Any) -> IntArray:
    """Number rows by their combination of values."""
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), dtype=np.int64)
    for column in columns:
        new[1:] |= np.diff(column[order].view(np.int64)) != 0
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(new)
    return codes
