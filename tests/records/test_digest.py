"""The hash of a table is of what its records say."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from scoring_model import synthetic
from scoring_model.records import RecordSchema, RecordTable, digest
from scoring_model.records.reading import read_records

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
    assert len(reading.problems) == 1
    assert digest(reading.table) == digest(table)


def test_every_part_matters(table: RecordTable) -> None:
    """Another id, time, label, time of a label, value or order is another hash, each of its own."""
    last = len(table) - 1
    times = table.event_times.copy()
    times[last] += 1
    labels = table.labels.copy()
    labels[last] = 1 - labels[last]
    told = table.label_times.copy()
    told[0] -= 1
    city = table.column("address.city")
    moved = replace(city, codes=np.where(np.arange(len(table)) == last, -1, city.codes).astype(np.int32))
    others = [
        replace(table, record_ids=(*table.record_ids[:-1], "other")),
        replace(table, event_times=times),
        replace(table, labels=labels),
        replace(table, label_times=told),
        replace(table, columns={**table.columns, "address.city": moved}),
        table.take(np.arange(len(table))[::-1]),
    ]
    assert len({digest(table), *map(digest, others)}) == 7
