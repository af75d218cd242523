import tracemalloc
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring_model.records import RecordSchema, SignalType
from scoring_model.records.reading import read_records
from scoring_model.synthetic import NOTICE, generate, schema

SIGNALS = {
    "deviceId": SignalType.IDENTIFIER,
    "ipCountry": SignalType.CATEGORY,
    "emailDomain": SignalType.CATEGORY,
    "channel": SignalType.CATEGORY,
    "emailAgeDays": SignalType.NUMBER,
    "formSeconds": SignalType.NUMBER,
    "vpn": SignalType.BOOLEAN,
    "sex": SignalType.CATEGORY,
}


def _table(**options: Any) -> pa.Table:
    arguments: dict[str, Any] = {"records": 9_000, "seed": 4, "truth": True, **options}
    return pa.Table.from_batches(list(generate(**arguments)), schema=schema(truth=arguments["truth"]))


@pytest.mark.parametrize("records", [0, 1, 5, 300, 8193])
def test_the_number_of_records_is_exact(records: int) -> None:
    """A history has the requested number of records, however small."""
    assert _table(records=records).num_rows == records


def test_batches_do_not_matter() -> None:
    """Any batch size gives the same records, in batches of that size."""
    whole = _table(batch_rows=9_000)
    batches = list(generate(records=9_000, seed=4, truth=True, batch_rows=777))
    assert {batch.num_rows for batch in batches[:-1]} == {777}
    assert pa.Table.from_batches(batches).equals(whole)


def test_seeds_matter() -> None:
    """Another seed gives other persons; truth columns change no other column."""
    table = _table()
    assert table.select(schema(truth=False).names).equals(_table(truth=False))
    other = _table(seed=5)
    names = set(table["signals.deviceId"].to_pylist()) & set(other["signals.deviceId"].to_pylist())
    assert names == {None}


def test_records_are_in_order_of_time_inside_the_period(history: pa.Table) -> None:
    """Event times ascend within the period."""
    times = history["eventTime"].cast(pa.int64()).to_numpy()
    assert (times[1:] >= times[:-1]).all()
    assert str(history["eventTime"][0].as_py())[:10] == "2024-01-01"
    assert str(history["eventTime"][-1].as_py())[:10] == "2025-12-31"


def test_every_row_is_a_valid_record(history: pa.Table) -> None:
    """Every row is a valid record, and every column but the truth is used."""
    reading = read_records(history, RecordSchema(signals=SIGNALS), labelled=True)
    assert reading.violations == ()
    assert reading.rows == history.num_rows == len(reading.table)
    assert set(reading.unused_columns) == {"truth.kind", "truth.person"}


def test_records_are_marked_as_invented(history: pa.Table) -> None:
    """Ids, images, mail domains and the metadata say that the data are invented."""
    assert history.schema.metadata[b"scoring_model.synthetic"].decode() == NOTICE
    for column in ("recordId", "subjectId", "externalId", "signals.deviceId", "truth.person"):
        assert pc.all(pc.starts_with(history[column].drop_null(), "syn-")).as_py()
    urls = pc.list_flatten(history["imageUrls"])
    assert pc.all(pc.starts_with(urls, "https://images.example/syn-")).as_py()
    domains = pc.unique(history["signals.emailDomain"].drop_null()).to_pylist()
    assert all(
        domain.endswith((".example", ".example.com", ".example.net", ".example.org")) for domain in domains
    )


def test_optional_fields_are_sometimes_missing(history: pa.Table) -> None:
    """Every optional column has missing values, and only references and labels are mostly missing."""
    never = {"recordId", "eventTime", "firstName", "signals.channel", "truth.kind", "truth.person"}
    mostly = {"subjectId", "externalId", "label", "labelKnownAt", "address.line2"}
    for name in history.column_names:
        share = history[name].null_count / history.num_rows
        assert (share == 0) == (name in never), name
        assert (share > 0.5) == (name in mostly), name


def _peak(records: int) -> int:
    tracemalloc.start()
    for _ in generate(records=records, seed=1):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_history() -> None:
    """Four times the records need no more memory."""
    _peak(1000)  # fill the tables that stay
    assert _peak(32_000) < 1.1 * _peak(8_000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"records": -1}, "records"),
        ({"months": 0}, "months"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"start": "1950-01-01"}, "start"),
        ({"start": "soon"}, "start"),
        ({"records": -1, "months": 0}, "records.*months"),
    ],
)
def test_arguments_are_checked_at_once(options: dict[str, Any], words: str) -> None:
    """Arguments out of range are refused by name in one error, before any record is requested."""
    with pytest.raises(ValueError, match=words):
        generate(**{"records": 10, "seed": 1, **options})
