import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.records.table import NEVER, Column, RecordTable

Cells = list[str | None]
cells = st.lists(st.none() | st.sampled_from("abcde"), max_size=12)


def column_of(values: Cells) -> Column:
    """Make a column with a dictionary that is neither in order nor all in use."""
    codes = [-1 if value is None else "xedcba".index(value) for value in values]
    return Column.compact(tuple("xedcba"), np.array(codes, dtype=np.int32))


def table_of(values: Cells, start: int = 0) -> RecordTable:
    """Make a table of one field, its rows numbered from `start`."""
    rows = np.arange(start, start + len(values))
    return RecordTable(
        record_ids=tuple(map(str, rows.tolist())),
        event_times=rows * 10,
        columns={"firstName": column_of(values)},
        labels=(rows % 3 - 1).astype(np.int8),
        label_times=np.where(rows % 3 == 0, NEVER, rows),
        source_rows=rows,
    )


def listed(column: Column) -> Cells:
    """Undo the encoding."""
    return [None if code < 0 else str(column.values[code]) for code in column.codes.tolist()]


@given(cells)
def test_a_column_holds_its_cells_in_the_canonical_encoding(values: Cells) -> None:
    """Decoding gives the cells back, and the dictionary lists them by first appearance."""
    column = column_of(values)
    assert listed(column) == values
    assert column.values == tuple(dict.fromkeys(value for value in values if value is not None))


@given(cells, st.data())
def test_taking_rows_is_indexing_and_keeps_nothing_else(values: Cells, data: st.DataObject) -> None:
    """A table of taken rows equals the table made of these rows, whatever else stood in the first."""
    places = st.integers(0, max(len(values) - 1, 0))
    rows = np.array(data.draw(st.lists(places, max_size=9 * bool(values))), dtype=np.int64)
    taken = column_of(values).take(rows)
    assert taken == column_of([values[row] for row in rows.tolist()])
    table = table_of(values).take(rows)
    assert table.event_times.tolist() == (rows * 10).tolist()
    assert table.record_ids == tuple(map(str, rows.tolist()))
    assert table.source_rows.tolist() == rows.tolist()


@given(cells, cells)
def test_a_table_is_its_parts_put_together(first: Cells, second: Cells) -> None:
    """Splitting a table anywhere and appending the parts gives the same table."""
    whole = table_of(first + second)
    assert table_of(first).append(table_of(second, len(first))) == whole
    rows = np.arange(len(whole))
    assert whole.take(rows[: len(first)]).append(whole.take(rows[len(first) :])) == whole


def test_a_field_that_one_part_lacks_is_missing_there() -> None:
    """Appending fills the rows of the part without the field with missing values."""
    with_field, rows = table_of(["a"]), np.arange(1, 2)
    without = RecordTable(("1",), rows, {}, rows.astype(np.int8), rows, rows)
    assert listed(with_field.append(without).column("firstName")) == ["a", None]
    assert listed(without.append(with_field).column("firstName")) == [None, "a"]
    assert listed(without.column("lastName")) == [None]


def test_tables_differ_when_any_part_differs() -> None:
    """Equality looks at values, labels, times and identifiers."""
    table = table_of(["a", "b", None])
    assert table == table_of(["a", "b", None])
    assert table != table_of(["a", "a", None])
    assert table != table_of(["a", "b", None], 1)
    assert table.columns["firstName"] != "a"
