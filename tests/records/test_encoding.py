from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.records.encoding import encode
from scoring_model.records.sheet import Objects

lists = st.lists(st.none() | st.lists(st.none() | st.sampled_from("abc"), max_size=4), max_size=12)


def decoded(values: object, rows: int) -> list[object]:
    """Undo the encoding of a column."""
    encoded = encode(values, rows)
    assert len(encoded.codes) == rows
    return [None if code < 0 else encoded.values[code] for code in encoded.codes.tolist()]


@given(lists, st.integers(0, 12), st.sampled_from([pa.list_, pa.large_list]))
def test_lists_survive_and_equal_ones_share_a_code(
    values: list[list[str | None] | None], cut: int, kind: object
) -> None:
    """Decoding gives the lists back, in any chunks, and each distinct one is held once."""
    array = pa.array(values, kind(pa.string()))  # type: ignore[operator]
    column = pa.chunked_array([array[:cut], array[cut:]])
    assert decoded(column, len(values)) == values
    assert sorted(map(repr, encode(column, len(values)).values)) == sorted(
        {repr(value) for value in values if value is not None}
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["b", None, "a", "b"], pa.string()),
        (["b", None, "a", "b"], pa.large_string()),
        (["b", None, "a", "b"], pa.string_view()),
        (["b", None, "a", "b"], pa.dictionary(pa.int8(), pa.string())),
        ([1.5, None, -0.5, 1.5], pa.float16()),
        ([1, None, 2**64 - 1], pa.uint64()),
        ([True, None, False], pa.bool_()),
        ([None, None], pa.null()),
        ([b"x", None], pa.binary()),
    ],
)
def test_scalars_of_every_type_survive(values: list[object], kind: pa.DataType) -> None:
    """Decoding gives the cells back, in one chunk, in several, and in none."""
    array = pa.array(values, kind)
    for column in (pa.chunked_array([array]), pa.chunked_array([array[:1], array[1:]])):
        assert decoded(column, len(values)) == values
    assert decoded(pa.chunked_array([], kind), 0) == []


@pytest.mark.parametrize(
    "dictionary", [["a", "b", "unused"], ["a", "b", "a"], ["a", "b", None], ["a", None, "a"]]
)
def test_dictionaries_of_any_kind_become_distinct_values(dictionary: list[str | None]) -> None:
    """A dictionary with unused, repeated or missing values gives the cells and the distinct values alone."""
    codes = [1, 0, None, 0] if dictionary[2] == "unused" else [1, 2, None, 0]
    column = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(dictionary))]
    )
    cells = [None if code is None else dictionary[code] for code in codes]
    assert decoded(column, len(codes)) == cells
    assert sorted(encode(column, len(codes)).values) == sorted({cell for cell in cells if cell is not None})


@pytest.mark.parametrize("micros", [[1, 1, 2], [2, 1, 2], [1], []])
def test_instants_are_distinct_in_any_order(micros: list[int]) -> None:
    """Ascending or not, an instant that repeats is one value."""
    column = encode(pa.chunked_array([pa.array(micros, pa.timestamp("us"))]), len(micros))
    values = np.asarray(column.values).astype(np.int64)
    assert values[column.codes].tolist() == micros
    assert len(values) == len(set(micros))


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC")])
def test_dates_and_timestamps_become_instants(kind: pa.DataType) -> None:
    """Every type of instant is numpy's with microseconds, of which no year is out of reach."""
    column = pa.chunked_array(
        [pa.array([date(1969, 12, 31), None, date(2024, 2, 29)], pa.date32()).cast(kind)]
    )
    assert decoded(column, 3) == [np.datetime64("1969-12-31", "us"), None, np.datetime64("2024-02-29", "us")]
    assert decoded(pa.chunked_array([], kind), 0) == []


def test_bytes_that_are_no_unicode_become_lone_surrogates() -> None:
    """Text columns may hold broken UTF-8; it does not crash, and no rule will take it for text."""
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"], pa.binary()).buffers())
    assert decoded(pa.chunked_array([broken]), 2) == ["ok", "\udcff"]


def test_types_that_no_field_has_are_held_as_their_type() -> None:
    """Structs and durations need no reading to be refused; nulls among them are still nulls."""
    column = pa.chunked_array([pa.array([{"a": 1}, None])])
    assert decoded(column, 2) == [pa.struct([("a", pa.int64())]), None]


def test_equal_objects_of_different_types_are_different_cells() -> None:
    """1, 1.0 and True are three cells, arrays are compared whole, and rows without a cell are null."""
    long = np.arange(5000)
    other = long.copy()
    other[2500] = -1
    values = [1, 1.0, True, "1", [1], long, other, 1]
    encoded = encode(Objects(range(1, 9), values), 10)
    assert encoded.codes.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6, 0, -1]
    assert encoded.values[2] is True


def test_both_zeros_are_kept() -> None:
    """0.0 equals -0.0 and False, and none of them takes the place of another."""
    values = [0.0, -0.0, False, 0, 0.0]
    assert repr(decoded(Objects(rows=[*range(5)], values=values), 5)) == repr(values)
