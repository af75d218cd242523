from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model import synthetic
from scoring_model.records import RecordSchema
from scoring_model.records.reading import read_records
from scoring_model.records.table import NEVER, Column, RecordTable, digest

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


SCHEMA = RecordSchema()


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    """Sixty records as a file holds them."""
    return pa.Table.from_batches(synthetic.generate(records=60, seed=5, months=1))


@pytest.fixture(scope="module")
def table(frame: pa.Table) -> RecordTable:
    """The same records, parsed."""
    return read_records(frame, SCHEMA, labelled=True).table


def test_the_form_of_the_source_does_not_matter(frame: pa.Table, table: RecordTable) -> None:
    """Columns in another order, under other names, or all missing give the same hash."""
    turned = frame.select(frame.column_names[::-1])
    named = frame.rename_columns([f"x{n}" if n == "dob" else n for n in frame.column_names])
    empty = frame.drop_columns("externalId") if _is_missing(frame, "externalId") else frame
    assert digest(read_records(turned, SCHEMA, labelled=True).table) == digest(table)
    mapped = RecordSchema(columns={"dob": "xdob"})
    assert digest(read_records(named, mapped, labelled=True).table) == digest(table)
    assert digest(read_records(empty, SCHEMA, labelled=True).table) == digest(table)


def test_the_order_of_columns_in_memory_does_not_matter(table: RecordTable) -> None:
    """A table whose columns stand the other way round has the same hash."""
    turned = dict(reversed(list(table.columns.items())))
    assert list(turned) != list(table.columns)
    assert digest(replace(table, columns=turned)) == digest(table)


def _is_missing(frame: pa.Table, name: str) -> bool:
    return bool(frame.column(name).null_count == len(frame))


def test_refused_rows_do_not_matter(frame: pa.Table, table: RecordTable) -> None:
    """A refused row between records that have ids leaves the hash of the others."""
    births = ["soon", *frame.column("dob").to_pylist()[1:]]
    bad = frame.slice(0, 1).set_column(
        frame.schema.get_field_index("dob"), "dob", pa.array(births[:1], pa.string())
    )
    ids = pa.array(["another"])
    bad = bad.set_column(0, "recordId", ids)
    mixed = pa.concat_tables([frame.slice(0, 30), bad, frame.slice(30)])
    reading = read_records(mixed, SCHEMA, labelled=True)
    assert len(reading.violations) == 1
    assert digest(reading.table) == digest(table)


def test_every_part_matters(table: RecordTable) -> None:
    """Another id, time, label, time of a label, value or order is another hash, each of its own."""
    last = len(table) - 1
    times = table.event_times.copy()
    times[last] += 1
    labels = table.labels.copy()
    labels[last] = 1 - labels[last]
    reported = table.label_times.copy()
    reported[0] -= 1
    city = table.column("address.city")
    moved = replace(city, codes=np.where(np.arange(len(table)) == last, -1, city.codes).astype(np.int32))
    others = [
        replace(table, record_ids=(*table.record_ids[:-1], "other")),
        replace(table, event_times=times),
        replace(table, labels=labels),
        replace(table, label_times=reported),
        replace(table, columns={**table.columns, "address.city": moved}),
        table.take(np.arange(len(table))[::-1]),
    ]
    assert len({digest(table), *map(digest, others)}) == 7
