"""The sweep over a table against the definition for one record, and its independence of order."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.history import (
    COUNT_KINDS,
    STATISTICS,
    Counts,
    DelayedCounts,
    FraudTimes,
    LinkCounts,
    Sums,
    TableAmounts,
    WindowSpec,
)
from scoring_model.history.sweep import TableLabels, sweep
from window_oracle import AMOUNTS, Event, amounts, by_definition, specs

SPEC = WindowSpec(
    windows=(3, 10, 40),
    cap=4,
    delay=9,
    delayed=(5, 30),
    amounts=AMOUNTS,
    counts=COUNT_KINDS,
    statistics=STATISTICS,
)

Row = tuple[int, int, int, tuple[int | None, ...]]
"""Key, time, person and amounts of one record."""

Label = tuple[int, int, bool]
"""Row, instant and whether it says fraud; the later in a list, the later reported."""

# Few keys, persons and instants, so that ties, hot keys and returning persons are the rule.
records = st.tuples(st.integers(-1, 2), st.integers(0, 20), st.integers(0, 4), st.tuples(amounts, amounts))
# Few rows and instants of labels, so that a record has two labels, also at one instant.
instants = st.integers(0, 10).map(lambda tenth: 2 * tenth)
labels = st.lists(st.tuples(st.integers(0, 11), instants, st.booleans()), max_size=40)
tables = st.tuples(st.lists(records, min_size=1, max_size=40), labels)
Drawn = tuple[list[Row], list[Label]]


def arrays(table: list[Row]) -> tuple[IntArray, IntArray, IntArray]:
    """Keys, times and persons of a table."""
    keys, times, persons = np.array([row[:3] for row in table], dtype=np.int64).reshape(-1, 3).T
    return keys, times, persons


def table_amounts_of(table: list[Row]) -> list[TableAmounts]:
    """Amounts of a table, one after the other."""
    return [
        TableAmounts(
            np.array([units or 0 for units in column], dtype=np.int64),
            np.array([units is not None for units in column], dtype=np.bool_),
        )
        for column in zip(*(row[3] for row in table or [(0, 0, 0, (None, None))]), strict=True)
    ]


def table_labels(rows: list[Label], n: int) -> TableLabels:
    """Labels of rows that exist."""
    kept = [(row, time, fraud) for row, time, fraud in rows if row < n]
    return TableLabels(
        np.array([row for row, _, _ in kept], dtype=np.int64),
        np.array([time for _, time, _ in kept], dtype=np.int64),
        np.array([fraud for _, _, fraud in kept], dtype=np.bool_),
    )


def swept(table: list[Row], marked: list[Label], spec: WindowSpec = SPEC) -> list[Counts]:
    """The counts of each record by one sweep."""
    found = sweep(*arrays(table), table_labels(marked, len(table)), spec, table_amounts_of(table))
    return [counts_at(found, i) for i in range(len(table))]


def counts_at(found: LinkCounts, i: int) -> Counts:
    """The counts of one record among many, as plain numbers."""

    def plain(block: NDArray[Any]) -> tuple[Any, ...]:
        return tuple(block[i].tolist())

    def asked(block: NDArray[Any] | None) -> tuple[Any, ...]:
        return () if block is None else plain(block)

    return Counts(
        plain(found.records),
        plain(found.persons),
        plain(found.frauds),
        int(found.since_last[i]),
        int(found.age[i]),
        tuple(
            Sums(
                plain(sums.units),
                plain(sums.records),
                sums.scale,
                asked(sums.highest),
                asked(sums.above),
                asked(sums.variances),
            )
            for sums in found.sums
        ),
        DelayedCounts(plain(found.delayed_records), plain(found.delayed_frauds)),
        None
        if found.known is None
        else FraudTimes(int(found.known.first[i]), int(found.known.last[i]), int(found.known.run[i])),
    )


def one_by_one(table: list[Row], marked: list[Label], spec: WindowSpec = SPEC) -> list[Counts]:
    """The oracle: for each record the law by its words, over all that have its key."""
    reported = [tuple((t, f) for row, t, f in marked if row == i) for i in range(len(table))]
    events = [Event(time, person, reported[i], paid) for i, (_, time, person, paid) in enumerate(table)]
    return [
        by_definition([e for e, row in zip(events, table, strict=True) if row[0] == key >= 0], time, spec)
        for key, time, _, _ in table
    ]


@settings(max_examples=200)
@given(tables, specs)
def test_sweep_equals_the_law_for_every_record(drawn: Drawn, spec: WindowSpec) -> None:
    """Law 2 of counts: one sweep gives every record the counts of the definition."""
    assert swept(*drawn, spec) == one_by_one(*drawn, spec)


def test_a_hot_key_in_a_large_table() -> None:
    """With a fifth of 2,000 records under one key, caps, ties and labels of all kinds, every count is the law's."""
    random = Random(3)
    hot = [0 if random.random() < 0.2 else random.randint(-1, 300) for _ in range(2_000)]

    def paid() -> int | None:
        return random.choice([None, random.randint(-(2**40), 2**40)])

    table: list[Row] = [(key, random.randint(0, 900), random.randint(0, 50), (paid(), paid())) for key in hot]
    marked = [
        (random.randrange(500), random.randrange(0, 1_000, 50), random.random() < 0.7) for _ in range(1_500)
    ]
    spec = replace(SPEC, windows=(5, 60, 700), cap=32, delay=100, delayed=(60, 400))
    assert swept(table, marked, spec) == one_by_one(table, marked, spec)


@settings(max_examples=100)
@given(tables, st.randoms(use_true_random=False))
def test_order_of_the_table_changes_nothing(drawn: Drawn, random: Random) -> None:
    """Records in another order have the same counts."""
    table, marked = drawn
    order = list(range(len(table)))
    random.shuffle(order)
    moved = [(order.index(row), time, fraud) for row, time, fraud in marked if row < len(table)]
    whole = swept(table, marked)
    assert swept([table[i] for i in order], moved) == [whole[i] for i in order]


@settings(max_examples=100)
@given(tables, st.integers(0, 20), tables)
def test_the_future_changes_nothing(drawn: Drawn, instant: int, other: Drawn) -> None:
    """Law 5 of counts: with other events or labels at or after an instant, records before have the same counts."""
    (table, marked), (others, _) = drawn, other
    kept = [i for i, row in enumerate(table) if row[1] < instant]
    future = [row for row in others if row[1] >= instant]
    known = [(kept.index(row), t, f) for row, t, f in marked if row in kept and t < instant]
    later = [(row, t, not f) for row, t, f in marked if row < len(kept) and t >= instant]
    whole = swept(table, marked)
    assert swept([table[i] for i in kept] + future, known + later)[: len(kept)] == [whole[i] for i in kept]


@settings(max_examples=100)
@given(tables, st.integers(0, 40))
def test_rows_of_history_alone_are_not_counted(drawn: Drawn, first: int) -> None:
    """Counted from any row on, also with large codes of keys and persons, records have the counts of the whole."""
    table, marked = drawn
    first = min(first, len(table))
    keys, times, persons = arrays(table)
    large = np.where(keys < 0, keys, keys * 10**12), times, persons * 10**12
    labels_of = table_labels(marked, len(table))
    found = sweep(*large, labels_of, SPEC, table_amounts_of(table), first=first)
    assert [counts_at(found, i) for i in range(len(table) - first)] == swept(table, marked)[first:]


def test_without_an_amount_nothing_is_summed() -> None:
    """A specification without an amount has no sums, whether amounts are there or not; one with amounts needs them."""
    table: list[Row] = [(0, 1, 0, (5, 1)), (0, 2, 0, (7, None))]
    none = table_labels([], 2)
    plain = WindowSpec(windows=SPEC.windows, cap=SPEC.cap)
    assert sweep(*arrays(table), none, plain).sums == ()
    assert sweep(*arrays(table), none, plain, table_amounts_of(table)).sums == ()
    with pytest.raises(ValueError, match="amounts"):
        sweep(*arrays(table), none, SPEC)


def test_running_totals_may_leave_64_bits() -> None:
    """Sums are exact if they fit in 64 bits, whatever the earlier totals."""
    table: list[Row] = [(0, time, 0, (2**61 + 3 * time,)) for time in range(20)]
    spec = WindowSpec(windows=(3,), cap=9, amounts=AMOUNTS[:1])
    assert [counts.sums for counts in swept(table, [], spec)] == [c.sums for c in one_by_one(table, [], spec)]


def test_a_hot_key_is_linear() -> None:
    """A key that all records share gives the cap, however many there are."""
    n = 300_000
    none = TableLabels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    spec = WindowSpec(windows=(10_000_000,), cap=256)
    counts = sweep(np.zeros(n, np.int64), np.arange(n), np.arange(n) % 1000, none, spec)
    assert counts.records[:, 0].tolist() == [min(i, 256) for i in range(n)]
    assert counts.persons[-1, 0] == 256
