"""Point-in-time counts over a whole table, in one linear sweep with pointers that only advance."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.history.amounts import TableAmounts
from scoring_model.history.windows import (
    LinkCounts,
    LinkSums,
    WindowSpec,
)


@dataclass(frozen=True, slots=True)
class TableLabels:
    """Labels of a table's records, in the order in which they were reported.

    Parameters
    ----------
    rows : ndarray of shape (m,), int64
        The row that each label is of. A row may have several.
    times : ndarray of shape (m,), int64
        Microseconds at which each became known: the later of known-at and reported-at.
    frauds : ndarray of shape (m,), bool
        Whether the label is fraud.
    """

    rows: IntArray
    times: IntArray
    frauds: BoolArray


def sweep(
    keys: IntArray,
    times: IntArray,
    persons: IntArray,
    labels: TableLabels,
    spec: WindowSpec,
    amounts: TableAmounts | None = None,
) -> LinkCounts:
    """Count the past of every record of a table under one link key.

    Parameters
    ----------
    keys : ndarray of shape (n,), int64
        Codes of the link key; negative where a record has none, which counts nothing.
    times : ndarray of shape (n,), int64
        Event times, microseconds, in any order.
    persons : ndarray of shape (n,), int64
        Codes of persons.
    amounts : TableAmounts, optional
        Needed where the law sums them.

    Returns
    -------
    LinkCounts
        In the order of the rows given; independent of that order.

    Raises
    ------
    ValueError
        If the law sums amounts and none are given.
    """
    counts = LinkCounts.nothing(len(keys), spec)
    linked = np.flatnonzero(keys >= 0)
    if not len(linked):
        return counts
    order = linked[np.lexsort((times[linked], keys[linked]))]
    label_positions, label_times, label_frauds = _labels_by_group(order, keys, labels)
    _sweep_sorted(
        order,
        keys[order],
        times[order],
        _dense_pairs(keys[order], persons[order]),
        label_positions,
        label_times,
        label_frauds,
        np.array(spec.windows, dtype=np.int64),
        spec.cap,
        counts.records,
        counts.persons,
        counts.frauds,
        counts.since_last,
    )
    if counts.sums is not None:
        if amounts is None:
            raise ValueError("the law sums amounts: they must be given")
        _sum_windows(counts.sums, amounts, order, _first_of_instant(times[order]), counts.records)
    return counts


def _first_of_instant(times: IntArray) -> IntArray:
    """Where, in sorted order, the records begin that share the instant of each: what it sees ends there.

    Where that is in the group of another key, the record is of the first instant of its own and sees nothing.
    """
    new = np.ones(len(times), dtype=np.bool_)
    new[1:] = np.diff(times) != 0
    return np.maximum.accumulate(np.where(new, np.arange(len(times)), 0))


def _sum_windows(
    sums: LinkSums, amounts: TableAmounts, order: IntArray, ends: IntArray, records: NDArray[np.int32]
) -> None:
    """Fill the sums: what a window sees lies together in `order`, so its sum is one of two running totals.

    Differences of integers are exact even where a running total leaves 64 bits, as long as the sum does not.
    """
    units = np.concatenate([[0], np.cumsum(amounts.units[order])])
    present = np.concatenate([[0], np.cumsum(amounts.present[order])])
    for w in range(records.shape[1]):
        starts = ends - records[order, w]
        sums.units[order, w] = units[ends] - units[starts]
        sums.records[order, w] = present[ends] - present[starts]


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
    cap: int,
    records: NDArray[np.int32],
    persons: NDArray[np.int32],
    frauds: NDArray[np.int32],
    since_last: IntArray,
) -> None:
    """Fill the counts. All inputs but `order` are in sorted order; outputs are in the order of the table."""
    n, n_windows = len(order), len(windows)
    visits = np.zeros(
        (n_windows, n), dtype=np.int32
    )  # of each pair of key and person; a pair is of one group
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
                label += 1  # labels of the group before that became known too late for any of its records
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
        while times[high] < at:
            for w in range(n_windows):
                visits[w, pairs[high]] += 1
                n_persons[w] += visits[w, pairs[high]] == 1
                n_frauds[w] += is_fraud[high]
            high += 1
        oldest_visible = times[high - cap] if high - start >= cap else times[start]
        for w in range(n_windows):
            first = max(at - windows[w], oldest_visible)
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
