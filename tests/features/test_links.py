"""Link features of one record against those of a table, and what a past says when it is told in full."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.features import links
from scoring_model.history import (
    NOTHING_BEFORE,
    PERSON,
    Counts,
    LinkCounts,
    LinkKey,
    PastRecord,
    WindowLaw,
    count_before,
    pack_label,
)
from scoring_model.history.sweep import TableLabels, sweep

LAW = WindowLaw(windows=(3, 10, 40), cap=4)
KEYS = (LinkKey(name=PERSON, parts=()), LinkKey(name="device", parts=("signals.device",)))

whole = st.integers(0, 2**31 - 1)


@st.composite
def drawn_counts(draw: st.DrawFn) -> Counts:
    """Counts as large as they may be, and any time since the last record that 64 bits hold."""
    width = draw(st.integers(1, 4))
    numbers = st.lists(st.one_of(whole, st.integers(0, 3)), min_size=width, max_size=width).map(tuple)
    since_last = draw(st.one_of(st.just(NOTHING_BEFORE), st.integers(1, 2**63 - 1)))
    return Counts(draw(numbers), draw(numbers), draw(numbers), since_last)


@settings(max_examples=300, deadline=None)
@given(drawn_counts(), st.sampled_from(KEYS))
def test_one_record_has_the_bits_of_a_table(counts: Counts, key: LinkKey) -> None:
    """Law 2: plain numbers and arrays give the same features, bit for bit, whatever was counted."""
    records, persons, frauds = (np.array([numbers], dtype=np.int32) for numbers in counts[:3])
    of_table = links.link_rows(key, LinkCounts(records, persons, frauds, np.array([counts.since_last])))
    assert np.array(links.link_row(key, counts)).tobytes() == of_table.tobytes()


events = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4)), min_size=1, max_size=40)
told_labels = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 70), st.booleans()), max_size=40)


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=200, deadline=None)
@given(events, told_labels)
def test_a_packed_past_gives_the_row_of_the_table(
    key: LinkKey, table: list[tuple[int, int]], labels: list[tuple[int, int, bool]]
) -> None:
    """Law 2 of links: with ties, caps and labels told late or twice, the past of a store gives the table's bits."""
    times, persons = np.array(table, dtype=np.int64).T
    told = [label for label in labels if label[0] < len(table)]
    rows, instants, said = np.array(told, dtype=np.int64).reshape(-1, 3).T
    marks = TableLabels(rows, instants, said == 1)
    swept = sweep(np.zeros(len(table), np.int64), times, persons, marks, LAW)
    of_table = links.link_rows(key, swept)
    past = [
        PastRecord(time, person, b"".join(pack_label(t, fraud=f) for r, t, f in told if r == row) or None)
        for row, (time, person) in enumerate(table)
    ]
    latest_first = sorted(past, key=lambda record: -record.time)
    for row, (time, _) in enumerate(table):
        alone = links.link_row(key, count_before(latest_first, at=time, law=LAW))
        assert np.array(alone).tobytes() == of_table[row].tobytes()
