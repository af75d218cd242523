"""The sweep over a table against the law for one record, and what no order may change."""

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.arrays import IntArray
from scoring_model.history import LinkCounts, PastRecord, WindowLaw, count_before, pack_label
from scoring_model.history.sweep import TableLabels, sweep

LAW = WindowLaw(windows=(3, 10, 40), cap=4)

# Few keys, persons and instants, so that ties, hot keys and returning persons are the rule.
records = st.tuples(st.integers(-1, 2), st.integers(0, 60), st.integers(0, 4))
labels = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 70), st.booleans()), max_size=40)
tables = st.tuples(st.lists(records, min_size=1, max_size=40), labels)


def arrays(table: list[tuple[int, int, int]]) -> tuple[IntArray, IntArray, IntArray]:
    """Keys, times and persons of a table."""
    keys, times, persons = np.array(table, dtype=np.int64).T
    return keys, times, persons


def table_labels(rows: list[tuple[int, int, bool]], n: int) -> TableLabels:
    """Labels of rows that exist."""
    kept = [(row, time, fraud) for row, time, fraud in rows if row < n]
    return TableLabels(
        np.array([row for row, _, _ in kept], dtype=np.int64),
        np.array([time for _, time, _ in kept], dtype=np.int64),
        np.array([fraud for _, _, fraud in kept], dtype=np.bool_),
    )


def one_by_one(table: list[tuple[int, int, int]], marks: TableLabels, law: WindowLaw) -> LinkCounts:
    """The oracle: the law for one record, over all the others."""
    counts = LinkCounts.nothing(len(table), len(law.windows))
    told = list(zip(marks.rows.tolist(), marks.times.tolist(), marks.frauds.tolist(), strict=True))
    for i, (key, time, _) in enumerate(table):
        past = [
            PastRecord(
                other_time, person, b"".join(pack_label(t, fraud=f) for row, t, f in told if row == j) or None
            )
            for j, (other_key, other_time, person) in enumerate(table)
            if key == other_key and key >= 0 and j != i
        ]
        past.sort(key=lambda record: -record.time)
        one = count_before(past, at=time, law=law)
        counts.records[i], counts.persons[i], counts.frauds[i] = one.records, one.persons, one.frauds
        counts.since_last[i] = one.since_last
    return counts


def assert_same(a: LinkCounts, b: LinkCounts) -> None:
    """Equal in every count."""
    np.testing.assert_array_equal(a.records, b.records)
    np.testing.assert_array_equal(a.persons, b.persons)
    np.testing.assert_array_equal(a.frauds, b.frauds)
    np.testing.assert_array_equal(a.since_last, b.since_last)


def taken(counts: LinkCounts, rows: IntArray) -> LinkCounts:
    """The counts of some rows."""
    return LinkCounts(
        counts.records[rows], counts.persons[rows], counts.frauds[rows], counts.since_last[rows]
    )


@settings(max_examples=300, deadline=None)
@given(tables)
def test_sweep_equals_the_law_for_every_record(
    drawn: tuple[list[tuple[int, int, int]], list[tuple[int, int, bool]]],
) -> None:
    """Law 2 of counts: a record has the same counts in a table as alone with its past."""
    table, marked = drawn
    marks = table_labels(marked, len(table))
    assert_same(sweep(*arrays(table), marks, LAW), one_by_one(table, marks, LAW))


@settings(max_examples=100, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_order_of_the_table_changes_nothing(
    drawn: tuple[list[tuple[int, int, int]], list[tuple[int, int, bool]]], random: Random
) -> None:
    """Records in another order have the same counts."""
    table, marked = drawn
    marks = table_labels(marked, len(table))
    order = list(range(len(table)))
    random.shuffle(order)
    place = np.argsort(order)
    moved = TableLabels(place[marks.rows].astype(np.int64), marks.times, marks.frauds)
    shuffled = sweep(*arrays([table[i] for i in order]), moved, LAW)
    assert_same(taken(sweep(*arrays(table), marks, LAW), np.array(order)), shuffled)


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(0, 60))
def test_the_future_changes_nothing(
    drawn: tuple[list[tuple[int, int, int]], list[tuple[int, int, bool]]], instant: int
) -> None:
    """Law 5 of counts: without what is at or after an instant, records up to it have the same counts."""
    table, marked = drawn
    marks = table_labels(marked, len(table))
    known = marks.times < instant
    earlier = np.array([i for i, (_, time, _) in enumerate(table) if time <= instant], dtype=np.int64)
    kept = known & np.isin(marks.rows, earlier)
    place = np.full(len(table), -1)
    place[earlier] = np.arange(len(earlier))
    past = TableLabels(place[marks.rows[kept]], marks.times[kept], marks.frauds[kept])
    keys, times, persons = arrays(table)
    whole = sweep(keys, times, persons, marks, LAW)
    assert_same(taken(whole, earlier), sweep(keys[earlier], times[earlier], persons[earlier], past, LAW))


def test_a_hot_key_is_linear() -> None:
    """A key that all records share gives the cap, however many there are."""
    n = 300_000
    none = TableLabels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    law = WindowLaw(windows=(10_000_000,), cap=256)
    counts = sweep(np.zeros(n, np.int64), np.arange(n), np.arange(n) % 1000, none, law)
    assert counts.records[:, 0].tolist() == [min(i, 256) for i in range(n)]
    assert counts.persons[-1, 0] == 256
