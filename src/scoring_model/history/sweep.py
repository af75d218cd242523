"""Point-in-time counts over a whole table, in one linear sweep with pointers that only advance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.history.amounts import TableAmounts
from scoring_model.history.counts import NOTHING_BEFORE, LinkCounts
from scoring_model.history.spec import WindowSpec
from scoring_model.history.sweep_amounts import sum_windows


@dataclass(frozen=True, slots=True)
class TableLabels:
    """Labels of a table's records, in the order in which they were reported.

    Parameters
    ----------
    rows : ndarray of shape (m,), int64
        The row of each label. A row may have several.
    times : ndarray of shape (m,), int64
        Microseconds at which each became known: the later of known-at and reported-at.
    frauds : ndarray of shape (m,), bool
        Whether the label is fraud.
    """

    rows: IntArray
    times: IntArray
    frauds: BoolArray


@dataclass(frozen=True, slots=True)
class _Linked:
    """The records that have a link key, sorted by key and time, and their labels.

    Parameters
    ----------
    order : ndarray of shape (m,), int64
        The row of each record.
    keys, times : ndarray of shape (m,), int64
    labels : tuple of ndarray
        Positions, instants and verdicts, sorted by key and instant.
    """

    order: IntArray
    keys: IntArray
    times: IntArray
    labels: tuple[IntArray, IntArray, BoolArray]


def sweep(
    keys: IntArray,
    times: IntArray,
    persons: IntArray,
    labels: TableLabels,
    spec: WindowSpec,
    amounts: Sequence[TableAmounts] = (),
) -> LinkCounts:
    """Count the history of every record of a table under one link key.

    Parameters
    ----------
    keys : ndarray of shape (n,), int64
        Codes of the link key; negative where a record has none, whose counts are then 0.
    times : ndarray of shape (n,), int64
        Event times, microseconds, in any order.
    persons : ndarray of shape (n,), int64
        Codes of persons.
    amounts : sequence of TableAmounts
        One for each amount of the specification.

    Returns
    -------
    LinkCounts
        In the order of the given rows; the counts do not depend on that order.

    Raises
    ------
    ValueError
        If the specification sums a missing amount.
    """
    counts = LinkCounts.nothing(len(keys), spec)
    if spec.places and len(amounts) <= max(spec.places):
        raise ValueError("the specification sums amounts: they must be given")
    rows = np.flatnonzero(keys >= 0)
    if not len(rows):
        return counts
    order = rows[np.lexsort((times[rows], keys[rows]))]
    linked = _Linked(order, keys[order], times[order], _labels_by_group(order, keys, labels))
    pairs = _dense_pairs(linked.keys, persons[order])
    ends = _count(
        linked,
        pairs,
        (spec.windows, 0, spec.cap),
        counts.records,
        counts.persons,
        counts.frauds,
        counts.since_last,
    )
    starts = ends[:, None] - counts.records[order]
    seen = _Seen(starts[:, -1], ends, ends, ends)
    if spec.delayed:
        old_ends = _count(
            linked,
            pairs,
            (spec.delayed, spec.delay, spec.cap),
            counts.delayed_records,
            np.empty_like(counts.delayed_records),
            counts.delayed_frauds,
            np.empty_like(counts.since_last),
        )
        seen = seen.with_older(old_ends - counts.delayed_records[order, -1], old_ends)
    oldest = np.where(seen.old_ends > seen.old_starts, seen.old_starts, seen.starts)
    any_seen = (seen.ends > seen.starts) | (seen.old_ends > seen.old_starts)
    counts.age[order] = np.where(any_seen, linked.times - linked.times[oldest], NOTHING_BEFORE)
    if counts.known is not None:
        found = counts.known
        arrays = (seen.starts, seen.ends, seen.old_starts, seen.old_ends)
        _time_frauds(
            order,
            linked.keys,
            linked.times,
            *linked.labels,
            *arrays,
            spec.delay,
            found.first,
            found.last,
            found.run,
        )
    for place, sums in zip(spec.places, counts.sums, strict=True):
        sum_windows(sums, amounts[place], order, starts, ends, spec.above)
    return counts


@dataclass(frozen=True, slots=True)
class _Seen:
    """Positions of the records in the longest windows: [start, end), then the older [old start, old end).

    Parameters
    ----------
    starts, ends, old_starts, old_ends : ndarray of shape (m,), int64
    """

    starts: IntArray
    ends: IntArray
    old_starts: IntArray
    old_ends: IntArray

    def with_older(self, old_starts: IntArray, old_ends: IntArray) -> "_Seen":
        """Return a copy with the further records of delayed windows, without duplicates."""
        old_ends = np.minimum(old_ends, self.starts)
        return _Seen(self.starts, self.ends, np.minimum(old_starts, old_ends), old_ends)


def _count(
    linked: _Linked,
    pairs: IntArray,
    limits: tuple[tuple[int, ...], int, int],
    records: NDArray[np.int32],
    persons: NDArray[np.int32],
    frauds: NDArray[np.int32],
    since_last: IntArray,
) -> IntArray:
    """Fill the counts of windows that end `delay` before the event; return the end positions of their records."""
    lengths, delay, cap = limits
    ends = np.empty(len(linked.order), dtype=np.int64)
    _sweep_sorted(
        linked.order,
        linked.keys,
        linked.times,
        pairs,
        *linked.labels,
        np.array(lengths, dtype=np.int64),
        delay,
        cap,
        records,
        persons,
        frauds,
        since_last,
        ends,
    )
    return ends


def _dense_pairs(keys: IntArray, persons: IntArray) -> IntArray:
    """Number the distinct pairs of key and person from 0."""
    order = np.lexsort((persons, keys))
    new = np.ones(len(order), dtype=np.int64)
    new[1:] = (np.diff(keys[order]) != 0) | (np.diff(persons[order]) != 0)
    pairs = np.empty(len(order), dtype=np.int64)
    pairs[order] = np.cumsum(new) - 1
    return pairs


def _labels_by_group(
    order: IntArray, keys: IntArray, labels: TableLabels
) -> tuple[IntArray, IntArray, BoolArray]:
    """Labels of linked rows as positions in `order`, sorted by key and then by the instant they became known."""
    position = np.full(len(keys), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    kept = np.flatnonzero(position[labels.rows] >= 0)
    # The sort is stable: of labels that became known at one instant, the one reported last is applied last.
    by_time = kept[np.lexsort((labels.times[kept], keys[labels.rows[kept]]))]
    return position[labels.rows[by_time]], labels.times[by_time], labels.frauds[by_time]


@njit(cache=True, nogil=True)
def _sweep_sorted(
    order: IntArray,
    keys: IntArray,
    times: IntArray,
    pairs: IntArray,
    label_positions: IntArray,
    label_times: IntArray,
    label_frauds: BoolArray,
    windows: IntArray,
    delay: int,
    cap: int,
    records: NDArray[np.int32],
    persons: NDArray[np.int32],
    frauds: NDArray[np.int32],
    since_last: IntArray,
    ends: IntArray,
) -> None:
    """Fill the counts. Inputs and `ends` are in sorted order, the other outputs in the order of the table."""
    n, n_windows = len(order), len(windows)
    visits = np.zeros(
        (n_windows, n), dtype=np.int32
    )  # for each pair of key and person; a pair belongs to one group
    is_fraud = np.zeros(n, dtype=np.bool_)
    low = np.zeros(n_windows, dtype=np.int64)
    n_persons = np.zeros(n_windows, dtype=np.int32)
    n_frauds = np.zeros(n_windows, dtype=np.int32)
    start, high, label = 0, 0, 0
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            start, high = i, i
            low[:], n_persons[:], n_frauds[:] = i, 0, 0
            while label < len(label_positions) and label_positions[label] < start:
                label += 1  # labels of the previous group that became known after all its records
        at = times[i]
        while (
            label < len(label_positions)
            and label_times[label] < at
            and keys[label_positions[label]] == keys[i]
        ):
            j = label_positions[label]
            if is_fraud[j] != label_frauds[label]:
                is_fraud[j] = label_frauds[label]
                for w in range(n_windows):
                    if low[w] <= j < high:
                        n_frauds[w] += 1 if is_fraud[j] else -1
            label += 1
        upto = at - delay
        while times[high] < upto:
            for w in range(n_windows):
                visits[w, pairs[high]] += 1
                n_persons[w] += visits[w, pairs[high]] == 1
                n_frauds[w] += is_fraud[high]
            high += 1
        oldest_visible = times[high - cap] if high - start >= cap else times[start]
        for w in range(n_windows):
            first = max(upto - windows[w], oldest_visible)
            while low[w] < high and times[low[w]] < first:
                visits[w, pairs[low[w]]] -= 1
                n_persons[w] -= visits[w, pairs[low[w]]] == 0
                n_frauds[w] -= is_fraud[low[w]]
                low[w] += 1
            records[order[i], w] = high - low[w]
            persons[order[i], w] = n_persons[w]
            frauds[order[i], w] = n_frauds[w]
        if high > low[n_windows - 1]:
            since_last[order[i]] = at - times[high - 1]
        ends[i] = high


@njit(cache=True, nogil=True)
def _time_frauds(
    order: IntArray,
    keys: IntArray,
    times: IntArray,
    label_positions: IntArray,
    label_times: IntArray,
    label_frauds: BoolArray,
    starts: IntArray,
    ends: IntArray,
    old_starts: IntArray,
    old_ends: IntArray,
    delay: int,
    first: IntArray,
    last: IntArray,
    run: NDArray[np.int32],
) -> None:
    """Fill the times of known frauds by a scan of the windows, once for each key and instant."""
    is_fraud = np.zeros(len(order), dtype=np.bool_)
    label, known = 0, 0
    for i in range(len(order)):
        at = times[i]
        if i == 0 or keys[i] != keys[i - 1]:
            known = 0
            while label < len(label_positions) and label_positions[label] < i:
                label += 1
        elif at == times[i - 1]:
            first[order[i]] = first[order[i - 1]]
            last[order[i]] = last[order[i - 1]]
            run[order[i]] = run[order[i - 1]]
            continue
        while (
            label < len(label_positions)
            and label_times[label] < at
            and keys[label_positions[label]] == keys[i]
        ):
            j = label_positions[label]
            known += int(label_frauds[label]) - int(is_fraud[j])
            is_fraud[j] = label_frauds[label]
            label += 1
        if known == 0:
            continue
        counted, stopped, is_stopped = 0, at, False
        for low, high in ((starts[i], ends[i]), (old_starts[i], old_ends[i])):
            for j in range(high - 1, low - 1, -1):
                if is_fraud[j]:
                    if counted == 0:
                        last[order[i]] = at - times[j]
                    counted += 1
                    first[order[i]] = at - times[j]
                elif not is_stopped and times[j] < at - delay:
                    stopped, is_stopped = times[j], True
        if not is_stopped:
            run[order[i]] = counted
            continue
        for low, high in ((starts[i], ends[i]), (old_starts[i], old_ends[i])):
            for j in range(high - 1, low - 1, -1):
                if times[j] <= stopped:
                    break
                run[order[i]] += is_fraud[j]
