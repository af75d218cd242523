"""Links counted partition by partition and piece by piece against the sweep over the whole table."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import link_tables
from feature_tables import STATE
from link_tables import LINKS, SIGNALS, Row, file_rows, group, read
from scoring_model.arrays import FloatArray
from scoring_model.batch import links
from scoring_model.features import FeatureMatrix, FeatureSettings
from scoring_model.history import LinkKey, WindowSpec
from scoring_model.records import RecordTable

MATRICES = [
    FeatureMatrix(FeatureSettings(signals=SIGNALS, links=given_links, families=()), STATE)
    for given_links in (LINKS, link_tables.EVERYTHING)
]
"""Links alone: of the usual kind, and of every kind with delayed windows and amounts."""

SECRET = b"s" * 32


def spilled(
    table: RecordTable, history: RecordTable, matrix: FeatureMatrix, cuts: Sequence[int], partitions: int
) -> dict[str, list[tuple[Any, Any]]]:
    """The link rows of the parts between cuts, by key: sorted, with their bounds."""
    found: dict[str, list[tuple[Any, Any]]] = {key.name: [] for key in matrix.link_keys}
    for one, first in ((table, 0), (history, len(table))):
        edges = [0, *sorted(min(cut, len(one)) for cut in cuts), len(one)]
        for start, end in pairwise(edges):
            part = one.take(np.arange(start, end))
            for name, rows in links.link_rows(part, first, matrix, SECRET).items():
                found[name].append(links.partitioned(rows, partitions))
    return found


def blocks(
    matrix: FeatureMatrix,
    key: LinkKey,
    files: Sequence[tuple[Any, Any]],
    *,
    partitions: int,
    most: int,
    counted: int,
) -> list[tuple[Any, FloatArray]]:
    """The features of one link key, piece by piece."""
    found = []
    for place in range(partitions):
        segments = [rows[bounds[place] : bounds[place + 1]] for rows, bounds in files]

        def part(file: int, start: int, end: int, segments: list[Any] = segments) -> Any:
            return segments[file][start:end]

        before: Any = segments[0][:0]
        for rows, following in links.pieces([len(one) for one in segments], part, most):
            found.append(links.count_links(matrix, key, rows, before, is_counted=rows["row"] < counted))
            if following is not None:
                every = np.concatenate([before, rows])
                before = links.carried(every, following, matrix.specs[key.name])
    return found


def by_pieces(
    rows: Sequence[Row], first: int, matrix: FeatureMatrix, *, cuts: Sequence[int], partitions: int, most: int
) -> FloatArray:
    """The rows of a table, of which the first records are history alone, from pieces of link rows."""
    whole = read(rows)
    history, table = whole.take(np.arange(first)), whole.take(np.arange(first, len(whole)))
    table = RecordTable(**{**vars(table), "source_rows": np.arange(len(table))})
    history = RecordTable(**{**vars(history), "source_rows": np.arange(len(history))})
    files = spilled(table, history, matrix, cuts, partitions)
    linked = {
        key.name: blocks(matrix, key, files[key.name], partitions=partitions, most=most, counted=len(table))
        for key in matrix.link_keys
    }
    return matrix.linked_rows(table, linked)


def bits(rows: FloatArray) -> Any:
    """The bits of float64 values."""
    return np.ascontiguousarray(rows).view(np.int64).tolist()


@pytest.mark.parametrize("matrix", MATRICES)
@settings(max_examples=20)
@given(
    file_rows,
    st.integers(0, 5),
    st.lists(st.integers(0, 13), max_size=3),
    st.integers(1, 3),
    st.integers(1, 6),
)
def test_pieces_of_a_history_give_the_features_of_the_whole(
    matrix: FeatureMatrix, rows: list[Row], first: int, cuts: list[int], partitions: int, most: int
) -> None:
    """However parts, partitions and pieces are cut, every feature has the bits of one sweep over everything."""
    first = min(first, len(rows))
    found = by_pieces(rows, first, matrix, cuts=cuts, partitions=partitions, most=most)
    assert bits(found) == bits(matrix.rows(read(rows), first))


@pytest.mark.parametrize("most", [3, 20, 150, 10_000])
@pytest.mark.parametrize("matrix", MATRICES)
def test_a_hot_key_is_cut_by_time(matrix: FeatureMatrix, most: int) -> None:
    """A key of a fifth of all records is counted in pieces, with caps, ties, later labels and delayed windows."""
    rows = group(600, seed=5)
    found = by_pieces(rows, 100, matrix, cuts=[70, 333], partitions=2, most=most)
    assert bits(found) == bits(matrix.rows(read(rows), 100))


def test_a_piece_carries_what_the_cap_and_the_delayed_windows_need() -> None:
    """The cap counts back from the end of the window: from the instant itself, or from the delay before it."""
    times = np.arange(0, 1_000, 10)
    rows = np.zeros(len(times), links.link_dtype(0))
    rows["time"] = times
    capped = WindowSpec(windows=(900,), cap=3)
    assert links.carried(rows, (0, 500), capped)["time"].min() == 470
    delayed = WindowSpec(windows=(20,), cap=3, delay=200, delayed=(500,))
    assert links.carried(rows, (0, 500), delayed)["time"].min() == 270
    assert links.carried(rows, (0, 500), WindowSpec(windows=(20,), cap=3))["time"].min() == 480
    assert not len(links.carried(rows, (7, 500), capped))


def test_digests_depend_on_the_secret_and_hold_no_value() -> None:
    """Under another secret every digest is another one; the rows have the same instants, persons apart."""
    table = read(group(50, seed=1))
    matrix = MATRICES[1]
    one = links.link_rows(table, 0, matrix, SECRET)
    other = links.link_rows(table, 0, matrix, b"t" * 32)
    assert any(len(rows) for rows in one.values())
    for name, rows in one.items():
        assert not np.isin(rows["hi"], other[name]["hi"]).any()
        assert (rows["time"] == other[name]["time"]).all()


def test_repeated_ids_are_all_but_the_first() -> None:
    """Of rows with one digest all but the earliest of each source are repeated, in any order of the rows."""
    draw = Random(3)
    rows = [(draw.randrange(5), draw.randrange(2), row, False, False) for row in range(60)]
    first = {(high, low, row < 25): row for high, low, row, *_ in reversed(rows)}
    expected = [row for high, low, row, *_ in rows if first[high, low, row < 25] != row]
    draw.shuffle(rows)
    found = links.repeated_ids(np.array(rows, links.ID_ROW), np.array([25, 60]))
    assert sorted(found["row"].tolist()) == expected
