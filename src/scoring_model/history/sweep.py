"""Point-in-time counts over a whole table, in one linear sweep with pointers that only advance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.compiled import compiled, inner
from scoring_model.history.amounts import TableAmounts
from scoring_model.history.counts import NOTHING_BEFORE
from scoring_model.history.link_counts import LinkCounts
from scoring_model.history.spec import WindowSpec
from scoring_model.history.sweep_amounts import sum_windows

_DENSE: Final = 4
"""Largest code per row of codes that are counted as they are."""


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
        The counted row of each record; negative for history alone.
    counted : ndarray of shape (k,), int64
        The positions that are counted.
    keys, times : ndarray of shape (m,), int64
    pairs : ndarray of shape (m,), int64
        Codes of the pairs of key and person.
    labels : tuple of ndarray
        Positions, instants and verdicts, sorted by key and instant.
    """

    order: IntArray
    counted: IntArray
    keys: IntArray
    times: IntArray
    pairs: IntArray
    labels: tuple[IntArray, IntArray, BoolArray]

    @property
    def rows(self) -> IntArray:
        """The counted rows, in sorted order."""
        return self.order[self.counted]


def sweep(
    keys: IntArray,
    times: IntArray,
    persons: IntArray,
    labels: TableLabels,
    spec: WindowSpec,
    amounts: Sequence[TableAmounts] = (),
    *,
    first: int = 0,
) -> LinkCounts:
    """Count the history of the records of a table under one link key.

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
    first : int
        Rows before this one are history alone and are not counted.

    Returns
    -------
    LinkCounts
        Of the rows from `first` on, in their order; the counts do not depend on that order.

    Raises
    ------
    ValueError
        If the specification sums a missing amount.
    """
    counts = LinkCounts.nothing(len(keys) - first, spec)
    if spec.places and len(amounts) <= max(spec.places):
        raise ValueError("the specification sums amounts: they must be given")
    keys = _dense(keys)
    order = _grouped(np.argsort(times, kind="stable"), keys)
    if not len(order):
        return counts
    linked = _Linked(
        order=order - first,
        counted=np.flatnonzero(order >= first),
        keys=keys[order],
        times=times[order],
        pairs=_dense_pairs(keys[order], _dense(persons[order])),
        labels=_labels_by_group(order, keys, labels),
    )
    limits = (spec.windows, 0, spec.cap)
    ends = _count(linked, limits, counts.records, counts.persons, counts.frauds, counts.since_last)
    starts = ends[:, None] - counts.records[linked.rows]
    seen = _Seen(starts[:, -1], ends, ends, ends)
    if spec.delayed:
        seen = _count_delayed(linked, spec, counts, seen)
    _fill_ages(linked, counts, seen)
    if counts.known is not None:
        known, arrays = counts.known, (seen.starts, seen.ends, seen.old_starts, seen.old_ends)
        sorted_ = (linked.order, linked.keys, linked.times, *linked.labels)
        _time_frauds(*sorted_, *arrays, spec.delay, known.first, known.last, known.run)
    for place, sums in zip(spec.places, counts.sums, strict=True):
        sum_windows(sums, amounts[place], order, linked.rows, starts, ends, spec.above)
    return counts


@dataclass(frozen=True, slots=True)
class _Seen:
    """Positions of the records in the longest windows: [start, end), then the older [old start, old end).

    Parameters
    ----------
    starts, ends, old_starts, old_ends : ndarray of shape (k,), int64
        Of the counted rows.
    """

    starts: IntArray
    ends: IntArray
    old_starts: IntArray
    old_ends: IntArray

    def with_older(self, old_starts: IntArray, old_ends: IntArray) -> "_Seen":
        """Return a copy with the further records of delayed windows, without duplicates."""
        old_ends = np.minimum(old_ends, self.starts)
        return _Seen(self.starts, self.ends, np.minimum(old_starts, old_ends), old_ends)


def _count_delayed(linked: _Linked, spec: WindowSpec, counts: LinkCounts, seen: _Seen) -> _Seen:
    """Fill the counts of delayed windows; return the records seen with those that only these windows hold."""
    records, unused = counts.delayed_records, np.empty_like(counts.delayed_records)
    since_last = np.empty_like(counts.since_last)
    limits = (spec.delayed, spec.delay, spec.cap)
    ends = _count(linked, limits, records, unused, counts.delayed_frauds, since_last)
    return seen.with_older(ends - records[linked.rows, -1], ends)


def _fill_ages(linked: _Linked, counts: LinkCounts, seen: _Seen) -> None:
    """Fill the time since the oldest record that is seen."""
    has_older = seen.old_ends > seen.old_starts
    oldest = np.where(has_older, seen.old_starts, seen.starts)
    age = linked.times[linked.counted] - linked.times[oldest]
    counts.age[linked.rows] = np.where((seen.ends > seen.starts) | has_older, age, NOTHING_BEFORE)


def _count(
    linked: _Linked,
    limits: tuple[tuple[int, ...], int, int],
    records: NDArray[np.int32],
    persons: NDArray[np.int32],
    frauds: NDArray[np.int32],
    since_last: IntArray,
) -> IntArray:
    """Fill the counts of windows that end `delay` before the event; return the end positions of their records."""
    lengths, delay, cap = limits
    ends = np.empty(len(linked.counted), dtype=np.int64)
    _sweep_sorted(
        linked.order,
        linked.keys,
        linked.times,
        linked.pairs,
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


def _dense(codes: IntArray) -> IntArray:
    """Renumber codes only if they are far from dense, so that they can be counted; negative ones stay negative."""
    if codes.max(initial=-1) < _DENSE * len(codes):
        return codes
    distinct, numbers = np.unique(codes, return_inverse=True)
    return numbers.astype(np.int64) - np.count_nonzero(distinct < 0)


@compiled
def _grouped(order: IntArray, codes: IntArray) -> IntArray:
    """Sort positions by their codes from 0, stably, by counting; positions with a negative code are left out."""
    ends = np.zeros(codes.max() + 2 if len(codes) else 1, dtype=np.int64)
    for code in codes:
        ends[code + 1] += code >= 0
    ends = np.cumsum(ends)
    grouped = np.empty(ends[-1], dtype=np.int64)
    for place in order:
        code = codes[place]
        if code >= 0:
            grouped[ends[code]] = place
            ends[code] += 1
    return grouped


def _dense_pairs(keys: IntArray, persons: IntArray) -> IntArray:
    """Number the distinct pairs of key and person from 0."""
    if np.bincount(persons).max() == 1:
        return np.arange(len(keys))
    order = _grouped(_grouped(np.arange(len(keys)), persons), keys)
    new = np.ones(len(order), dtype=np.int64)
    new[1:] = (np.diff(keys[order]) != 0) | (np.diff(persons[order]) != 0)
    pairs = np.empty(len(order), dtype=np.int64)
    pairs[order] = np.cumsum(new) - 1
    return pairs


def _labels_by_group(
    order: IntArray, keys: IntArray, labels: TableLabels
) -> tuple[IntArray, IntArray, BoolArray]:
    """Labels of linked rows as positions in `order`, sorted by key and then by the instant they became known."""
    position = np.empty(len(keys), dtype=np.int64)
    position[order] = np.arange(len(order))
    # Both sorts are stable: of labels that became known at one instant, the one reported last is applied last.
    by_time = _grouped(np.argsort(labels.times, kind="stable"), keys[labels.rows])
    return position[labels.rows[by_time]], labels.times[by_time], labels.frauds[by_time]


@inner
def _is_known(label: int, positions: IntArray, times: IntArray, keys: IntArray, key: int, at: int) -> bool:
    """Return True if the next label is of a record of this key and was known before an instant."""
    return label < len(positions) and times[label] < at and keys[positions[label]] == key


@inner
def _apply(
    place: int, fraud: bool, is_fraud: BoolArray, low: IntArray, high: int, n_frauds: NDArray[np.int32]
) -> None:
    """Apply a label to its record, and to the windows that hold it."""
    if is_fraud[place] != fraud:
        is_fraud[place] = fraud
        for w in range(len(low)):
            if low[w] <= place < high:
                n_frauds[w] += 1 if fraud else -1


@inner
def _enter(
    visits: NDArray[np.int32],
    pair: int,
    fraud: bool,
    n_persons: NDArray[np.int32],
    n_frauds: NDArray[np.int32],
) -> None:
    """Let a record enter every window."""
    for w in range(len(n_frauds)):
        visits[w, pair] += 1
        n_persons[w] += visits[w, pair] == 1
        n_frauds[w] += fraud


@inner
def _frauds_after(
    instant: int, times: IntArray, is_fraud: BoolArray, windows: tuple[tuple[int, int], tuple[int, int]]
) -> int:
    """Count the known frauds of windows, the later one first, back to an instant."""
    found = 0
    for low, high in windows:
        for j in range(high - 1, low - 1, -1):
            if times[j] <= instant:
                break
            found += is_fraud[j]
    return found


@compiled
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
    """Fill the counts. Inputs and `ends` are in sorted order, the other outputs in the order of the table.

    A row of history alone moves no pointer: those of the next counted row of its key pass it.
    """
    n, n_windows = len(order), len(windows)
    # For each pair of key and person; a pair belongs to one group.
    visits = np.zeros((n_windows, n), dtype=np.int32)
    is_fraud = np.zeros(n, dtype=np.bool_)
    low = np.zeros(n_windows, dtype=np.int64)
    n_persons = np.zeros(n_windows, dtype=np.int32)
    n_frauds = np.zeros(n_windows, dtype=np.int32)
    start, high, label, counted = 0, 0, 0, 0
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            start, high = i, i
            low[:], n_persons[:], n_frauds[:] = i, 0, 0
            while label < len(label_positions) and label_positions[label] < start:
                label += 1  # labels of the previous group that became known after all its records
        if order[i] < 0:
            continue
        at = times[i]
        while _is_known(label, label_positions, label_times, keys, keys[i], at):
            _apply(label_positions[label], label_frauds[label], is_fraud, low, high, n_frauds)
            label += 1
        upto = at - delay
        while times[high] < upto:
            _enter(visits, pairs[high], is_fraud[high], n_persons, n_frauds)
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
        ends[counted] = high
        counted += 1


@compiled
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
    label, known, place, before = 0, 0, -1, -1
    for i in range(len(order)):
        if i == 0 or keys[i] != keys[i - 1]:
            known, before = 0, -1
            while label < len(label_positions) and label_positions[label] < i:
                label += 1
        if order[i] < 0:
            continue
        at = times[i]
        place += 1
        if before >= 0 and at == times[before]:
            first[order[i]] = first[order[before]]
            last[order[i]] = last[order[before]]
            run[order[i]] = run[order[before]]
            before = i
            continue
        before = i
        while _is_known(label, label_positions, label_times, keys, keys[i], at):
            j = label_positions[label]
            known += int(label_frauds[label]) - int(is_fraud[j])
            is_fraud[j] = label_frauds[label]
            label += 1
        if known == 0:
            continue
        counted, stopped, is_stopped = 0, at, False
        windows = ((starts[place], ends[place]), (old_starts[place], old_ends[place]))
        for low, high in windows:
            for j in range(high - 1, low - 1, -1):
                if is_fraud[j]:
                    if counted == 0:
                        last[order[i]] = at - times[j]
                    counted += 1
                    first[order[i]] = at - times[j]
                elif not is_stopped and times[j] < at - delay:
                    stopped, is_stopped = times[j], True
        run[order[i]] = _frauds_after(stopped, times, is_fraud, windows) if is_stopped else counted
