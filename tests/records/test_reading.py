import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule, RuleError, SignalType, ValueRule
from scoring_model.records import cells
from scoring_model.records.file_format import FileFormat
from scoring_model.records.layout import MissingColumns
from scoring_model.records.reading import Reading, read_records
from scoring_model.records.record import InvalidRecord, field_rules, parse_record
from scoring_model.records.schema import LabelSchema, RecordSchema
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.table import NEVER, RecordTable

SCHEMA = RecordSchema(
    signals={
        "risk": SignalType.NUMBER,
        "vpn": SignalType.BOOLEAN,
        "channel": SignalType.CATEGORY,
        "device": SignalType.IDENTIFIER,
    }
)
TIME = "2024-05-01T00:00:00Z"
MICROS = 1_714_521_600_000_000
ROWS: Sequence[Mapping[str, object]] = (
    {
        "recordId": "7",
        "eventTime": "2024-05-01T12:00:00.000001+02:00",
        "label": "fraud",
        "labelKnownAt": "2024-06-01T00:00:00Z",
        "firstName": "𠮷田",
        "lastName": "محمد",
        "dob": "1990-02-28",
        "citizenship": "NA",
        "documentType": "PASSPORT",
        "imageUrls": ["https://a.example/1", "https://a.example/2"],
        "address.postalCode": "00123",
        "address.country": "na",
        "externalId": "NA",
        "signals.risk": 0.1,
        "signals.vpn": True,
        "signals.channel": "web",
        "signals.device": "12",
    },
    {
        "recordId": "8",
        "eventTime": "2024-04-01T00:00:00Z",
        "label": "genuine",
        "labelKnownAt": "2024-04-02T00:00:00Z",
        "firstName": "Zoe\u0308 ",
        "signals.risk": -3.0,
        "signals.vpn": False,
    },
    {"recordId": "9", "eventTime": TIME, "imageUrls": ["https://a.example/1"], "citizenship": "de"},
)
FIELDS = tuple(ROWS[0])
FULL = [{field: row.get(field) for field in FIELDS} for row in ROWS]


def nested(row: Mapping[str, object]) -> dict[str, object]:
    """Nest the dotted fields of a row."""
    body: dict[str, object] = {}
    for field, value in row.items():
        part, dot, name = field.partition(".")
        if dot:
            body.setdefault(part, {})[name] = value  # type: ignore[index]
        else:
            body[field] = value
    return body


def read(
    rows: Sequence[Mapping[str, object]], schema: RecordSchema = SCHEMA, *, labelled: bool = False
) -> Reading:
    """Read rows as a DataFrame of objects."""
    columns = dict.fromkeys(field for row in rows for field in row)
    objects = {field: pd.Series([row.get(field) for row in rows], dtype=object) for field in columns}
    return read_records(pd.DataFrame(objects), schema, labelled=labelled)


def found(reading: Reading) -> list[tuple[int, str, str]]:
    """List row, field and rule of all problems."""
    return [(row, found.field, found.code) for row, found in reading.violations]


def decoded(table: RecordTable, row: int) -> dict[str, object]:
    """Give the values of one record of a table."""
    codes = {field: column.codes[row] for field, column in table.columns.items()}
    return {field: table.columns[field].values[code] for field, code in codes.items() if code >= 0}


def sources(folder: Path) -> dict[str, object]:
    """Bring the same rows in every form that can be read."""
    flat = pa.Table.from_pylist(FULL)
    instants = [datetime.fromisoformat(str(row["eventTime"])) for row in FULL]
    typed = flat.set_column(1, "eventTime", pa.array(instants, pa.timestamp("us", "UTC")))
    typed = typed.set_column(6, "dob", typed["dob"].cast(pa.date32()))
    typed = typed.set_column(7, "citizenship", typed["citizenship"].dictionary_encode())
    deep = pa.Table.from_pylist([nested(row) for row in FULL])
    pa.parquet.write_table(typed, folder / "typed.parquet", row_group_size=2)
    pa.parquet.write_table(deep, folder / "deep.parquet")
    texts = flat.to_pandas()
    texts["imageUrls"] = [None if urls is None else " ".join(urls) for urls in flat["imageUrls"].to_pylist()]
    texts.to_csv(folder / "words.csv", index=False)
    texts["imageUrls"] = [
        None if urls is None else json.dumps(urls) for urls in flat["imageUrls"].to_pylist()
    ]
    texts.to_csv(folder / "lists.csv", index=False)
    (folder / "flat.jsonl").write_text("\n".join(map(json.dumps, FULL)))
    (folder / "deep.ndjson").write_text(
        "\n".join(json.dumps(nested(row), ensure_ascii=False) for row in FULL)
    )
    return {path.name: path for path in folder.iterdir()} | {
        "str path": str(folder / "flat.jsonl"),
        "arrow": typed,
        "stream": typed.to_reader(max_chunksize=1),
        "frame": flat.to_pandas(),
        "arrow frame": typed.to_pandas(types_mapper=pd.ArrowDtype),
        "typed frame": typed.to_pandas(),
        "object frame": pd.DataFrame([nested(row) for row in FULL]).astype(object),
    }


def test_every_form_of_a_source_gives_the_same_table(tmp_path: Path) -> None:
    """Parquet, CSV, JSON Lines, Arrow and pandas, flat or nested, typed or not: one table, bit for bit."""
    readings = {
        name: read_records(source, SCHEMA, labelled=True) for name, source in sources(tmp_path).items()
    }
    expected = readings["arrow"]
    assert not expected.violations
    assert len(readings) == 13
    for name, reading in readings.items():
        assert reading.violations == (), name
        assert reading.table.take(np.arange(3)) == reading.table, name
        assert {**reading.table.columns} == {**expected.table.columns}, name
        assert reading == expected, name


def test_a_table_holds_what_its_rows_say(tmp_path: Path) -> None:
    """Rows keep the order of the file, not that of time; times, labels and values are canonical."""
    table = read_records(sources(tmp_path)["flat.jsonl"], SCHEMA, labelled=True).table
    assert table.record_ids == ("7", "8", "9")
    assert table.source_rows.tolist() == [0, 1, 2]
    assert table.event_times.tolist() == [MICROS + 10 * 3600 * 10**6 + 1, MICROS - 30 * 86400 * 10**6, MICROS]
    assert table.labels.tolist() == [1, 0, -1]
    assert table.label_times.tolist()[2] == NEVER
    assert decoded(table, 1) == {"firstName": "Zoë", "signals.risk": -3.0, "signals.vpn": 0.0}
    assert decoded(table, 2) == {"citizenship": "DE", "imageUrls": ("https://a.example/1",)}
    for row in range(3):
        body = {field: value for field, value in ROWS[row].items() if not field.startswith("label")}
        assert decoded(table, row) == parse_record(body, SCHEMA).values


anything = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 1)
    | st.floats()
    | st.text(st.characters(codec=None), max_size=5)
    | st.text("ab ", min_size=90, max_size=300)
    | st.sampled_from(
        ["na", "DE", "PASSPORT", "1990-01-01", "1899-01-01", "2024-05-02", "2024-05-01", TIME, "NaN"]
    )
    | st.sampled_from(
        ["https://a.example/1 https://b.example", "http://a.example", '["https://a.example"]', "[1]"]
    )
    | st.lists(st.sampled_from(["https://a.example/1", "x", "", 5, None]), max_size=12)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
)
records = st.fixed_dictionaries(
    {"eventTime": st.just(TIME) | anything},
    optional=dict.fromkeys(("recordId", *SCHEMA.fields), anything),
)


def online(row: Mapping[str, object]) -> tuple[object, ...]:
    """Parse one row alone: its values or its problems."""
    readers = {"recordId": cells.text, "eventTime": cells.plain, **cells.field_cells(SCHEMA)}
    body = {field: readers[field](value) for field, value in row.items()}
    try:
        record = parse_record(body, SCHEMA)
    except InvalidRecord as error:
        return tuple((found.field, found.code, found.detail) for found in error.violations)
    return record.event_time, record.values


@given(st.lists(records, min_size=1, max_size=6), st.sampled_from(["jsonl", "frame"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80)
def test_a_row_of_a_file_and_a_body_obey_the_same_rules(
    tmp_path: Path, rows: list[dict[str, object]], form: str
) -> None:
    """Any value of any field: the table has the record's value, or the row its problem, field by field."""
    rows = [{**row, "recordId": place, "firstName": row.get("firstName")} for place, row in enumerate(rows)]
    if form == "jsonl":
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        reading = read_records(path, SCHEMA, labelled=False)
    else:
        reading = read(rows)
    assume(not reading.guesses)  # dates of a file alone may have another form, such as 19630501
    places = {row: place for place, row in enumerate(reading.table.source_rows.tolist())}
    for row, values in enumerate(rows):
        problems = tuple(
            (found.field, found.code, found.detail) for at, found in reading.violations if at == row
        )
        if row in places:
            place = places[row]
            assert online(values) == (int(reading.table.event_times[place]), decoded(reading.table, place))
        else:
            assert online(values) == problems


@given(
    st.dictionaries(
        st.sampled_from(["firstName", "address.city", "signals.channel", "externalId", "signals.device"]),
        st.text(min_size=1, max_size=300).filter(lambda text: not text.isspace()),
        min_size=1,
    ),
    st.floats(allow_nan=False),
    st.booleans(),
)
def test_well_typed_bodies_need_no_reading_of_cells(texts: dict[str, str], risk: float, vpn: bool) -> None:
    """Text that is not blank, numbers and booleans are the same to a file as to a body."""
    row = {"eventTime": TIME, **texts, "signals.risk": risk, "signals.vpn": vpn}
    reading = read([row])
    if reading.violations:
        with pytest.raises(InvalidRecord) as caught:
            parse_record(row, SCHEMA)
        assert [(0, found.field, found.code) for found in caught.value.violations] == found(reading)
    else:
        assert decoded(reading.table, 0) == parse_record(row, SCHEMA).values


def test_all_violations_of_all_rows_are_reported() -> None:
    """Good rows stay, bad ones say everything that is wrong with them, by row and field."""
    reading = read(
        [
            {"recordId": "a", "eventTime": TIME, "firstName": "Ann"},
            {"recordId": "a", "eventTime": TIME, "firstName": "Bob"},
            {
                "recordId": "b",
                "eventTime": "?",
                "firstName": "x" * 101,
                "dob": "2024-05-02",
                "citizenship": "XX",
            },
            {"recordId": None, "eventTime": None, "firstName": " "},
            {"recordId": "a", "eventTime": TIME, "firstName": "Cid", "dob": "2024-05-02"},
            {"recordId": "c", "eventTime": TIME, "firstName": "Dan", "dob": "2024-05-01"},
        ]
    )
    assert found(reading) == [
        (1, "recordId", Rule.DUPLICATE),
        (2, "eventTime", Rule.NOT_A_TIME),
        (2, "firstName", Rule.TOO_LONG),
        (2, "citizenship", Rule.NOT_LISTED),
        (3, "recordId", Rule.MISSING),
        (3, "eventTime", Rule.MISSING),
        (3, "", Rule.EMPTY_RECORD),
        (4, "recordId", Rule.DUPLICATE),
        (4, "dob", Rule.IN_FUTURE),
    ]
    assert reading.rows == 6
    assert reading.table.record_ids == ("a", "c")
    assert reading.table.source_rows.tolist() == [0, 5]
    assert reading.table.columns["firstName"].values == ("Ann", "Dan")


def test_without_identifiers_records_are_called_by_their_row() -> None:
    """The row of the source is kept as text, bad rows counted."""
    reading = read([{"eventTime": TIME, "dob": dob} for dob in ("1990-01-01", "never", "1990-01-02")])
    assert reading.table.record_ids == ("0", "2")


def test_mixed_types_in_a_column_spoil_no_other_row() -> None:
    """Numbers, booleans, lists and objects among names are read or refused one by one."""
    names = ["Ann", 5, 5.0, True, ["Ann"], {"a": 1}, b"x", pd.NaT, None, 0.5]
    reading = read([{"eventTime": TIME, "firstName": name, "dob": "1990-01-01"} for name in names])
    assert [decoded(reading.table, row).get("firstName") for row in range(5)] == ["Ann", "5", "5", None, None]
    assert found(reading) == [(row, "firstName", Rule.WRONG_TYPE) for row in (3, 4, 5, 6, 9)]


def test_parts_that_are_no_objects_are_problems_of_their_rows(tmp_path: Path) -> None:
    """A text for an address is refused in a line and in a frame as in a body."""
    rows: list[dict[str, object]] = [
        {"eventTime": TIME, "address": {"city": "a"}},
        {"eventTime": TIME, "address": "a"},
        {"eventTime": TIME, "address": None, "firstName": "Ann"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    for reading in (read_records(path, SCHEMA, labelled=False), read(rows)):
        assert found(reading) == [(1, "address", Rule.WRONG_TYPE), (1, "", Rule.EMPTY_RECORD)]
        assert reading.table.columns["address.city"].values == ("a",)


def test_a_malformed_row_has_no_other_problem(tmp_path: Path) -> None:
    """A row that cannot be parsed has no further violations."""
    path = tmp_path / "a.csv"
    path.write_text(f"recordId,eventTime,firstName\na,{TIME},Ann\nb\nc,{TIME},Cid\n")
    reading = read_records(path, SCHEMA, labelled=False)
    assert found(reading) == [(1, "", Rule.MALFORMED_ROW)]
    assert reading.table.source_rows.tolist() == [0, 2]
    (tmp_path / "a.jsonl").write_text("{\n[\n")
    assert found(read_records(tmp_path / "a.jsonl", SCHEMA, labelled=True)) == [
        (0, "", Rule.MALFORMED_ROW),
        (1, "", Rule.MALFORMED_ROW),
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "header.csv", "header.parquet"])
def test_empty_files_are_empty_tables(tmp_path: Path, name: str) -> None:
    """Nothing at all but in CSV, or columns without rows: no records and no problems."""
    columns = ["eventTime", "firstName", "label", "labelKnownAt"] if name.startswith("header") else []
    table = pa.table({column: pa.array([], pa.string()) for column in columns})
    path = tmp_path / name
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, path)
    else:
        path.write_text(",".join(columns))
    reading = read_records(path, SCHEMA, labelled=True)
    assert (len(reading.table), reading.rows, reading.violations) == (0, 0, ())
    assert reading.table.event_times.dtype == np.int64
    assert reading.table.labels.dtype == np.int8
    assert len(read_records(pd.DataFrame(), SCHEMA, labelled=False).table) == 0


def test_labels_without_a_positive_are_read() -> None:
    """A file of genuine records only is a file like others; so is one without any label."""
    row = {"eventTime": TIME, "firstName": "Ann", "labelKnownAt": TIME}
    assert read([{**row, "label": 0}] * 2, labelled=True).table.labels.tolist() == [0, 0]
    assert read([{**row, "label": None}] * 2, labelled=True).table.labels.tolist() == [-1, -1]


def test_a_label_needs_a_time_at_which_it_was_known() -> None:
    """The file's own time, or the schema's delay; a report may move it later; a bad time is one violation only."""
    row = {"eventTime": TIME, "firstName": "Ann", "label": "fraud"}
    rows: list[dict[str, object]] = [
        {**row, "labelKnownAt": "2024-05-03", "labelReportedAt": "2024-05-02"},
        {**row, "labelKnownAt": "2024-05-03", "labelReportedAt": "2024-05-04"},
        {**row, "labelKnownAt": None, "labelReportedAt": "2024-05-04"},
        {**row, "labelKnownAt": "soon"},
        {**row, "label": None},
    ]
    day = 86_400 * 10**6
    reading = read(rows, labelled=True)
    assert found(reading) == [(2, "labelKnownAt", Rule.MISSING), (3, "labelKnownAt", Rule.NOT_A_TIME)]
    assert reading.table.label_times.tolist() == [MICROS + 2 * day, MICROS + 3 * day, NEVER]
    delayed = read(rows, RecordSchema(labels=LabelSchema(delay=day)), labelled=True)
    assert found(delayed) == [(3, "labelKnownAt", Rule.NOT_A_TIME)]
    assert delayed.table.label_times.tolist() == [MICROS + 2 * day, MICROS + 3 * day, MICROS + 3 * day, NEVER]


def test_labels_that_nobody_asked_for_are_read_when_there() -> None:
    """`labelled` requires labels; they are read in any case."""
    row = {"eventTime": TIME, "firstName": "Ann"}
    assert read([row]).table.labels.tolist() == [-1]
    assert read([{**row, "label": True, "labelKnownAt": TIME}]).table.labels.tolist() == [1]
    with pytest.raises(MissingColumns, match="'label'"):
        read([row], labelled=True)


def test_columns_are_mapped_and_the_rest_is_reported() -> None:
    """A field is read from the column that the schema names; columns of no field are listed."""
    schema = RecordSchema(columns={"firstName": "given", "eventTime": "at"})
    reading = read([{"at": TIME, "given": "Ann", "sex": "f", "signals.x": 1}], schema)
    assert decoded(reading.table, 0) == {"firstName": "Ann"}
    assert reading.unused_columns == ("sex", "signals.x")
    with pytest.raises(MissingColumns, match=r"'given' \(to which columns maps firstName\)"):
        read([{"at": TIME, "lastName": "Ann"}], schema)


def test_times_of_every_type_are_the_same_instants() -> None:
    """Timestamps of any unit, text and dates; what no year holds is refused in its row."""
    instants = pa.array([MICROS, 0, None], pa.timestamp("us"))
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table(
            {"eventTime": instants.cast(pa.timestamp(unit, "UTC")), "firstName": ["a", "b", "c"]}
        )
        reading = read_records(table, SCHEMA, labelled=False)
        assert reading.table.event_times.tolist() == [MICROS, 0]
        assert found(reading) == [(2, "eventTime", Rule.MISSING)]
    far = pa.table({"eventTime": pa.array([2**62, 0], pa.timestamp("s")), "firstName": ["a", "b"]})
    assert found(read_records(far, SCHEMA, labelled=False)) == [(0, "eventTime", Rule.NOT_A_TIME)]


def test_broken_unicode_in_a_file_is_refused_in_its_row(tmp_path: Path) -> None:
    """A CSV of another encoding than configured loses the rows that are no UTF-8, not the others."""
    path = tmp_path / "a.csv"
    path.write_bytes(f"eventTime,firstName\n{TIME},Zoë\n{TIME},Ann\n".encode("latin-1"))
    schema = replace(SCHEMA, format=FileFormat(encoding="UTF8"))
    reading = read_records(path, schema, labelled=False)
    assert found(reading) == [(0, "firstName", Rule.LONE_SURROGATE)]
    assert reading.table.columns["firstName"].values == ("Ann",)


def test_other_sources_are_refused() -> None:
    """Lists of dicts and arrays are no tables."""
    with pytest.raises(UnreadableSource, match="got list"):
        read_records([{"eventTime": TIME}], SCHEMA, labelled=False)
    names = ["dob", "", "dob", "", ""]
    with pytest.raises(UnreadableSource, match="got 3 columns without a name, 2 columns called 'dob'"):
        read_records(pd.DataFrame([[1, 2, 3, 4, 5]], columns=names), SCHEMA, labelled=False)


def test_columns_that_arrow_lacks_are_read_value_by_value() -> None:
    """A column of complex numbers breaks the rule of its field in each row; other columns are read."""
    frame = pd.DataFrame({"eventTime": [TIME, TIME], "firstName": ["a", "b"], "signals.risk": [1j, 2j]})
    reading = read_records(frame, SCHEMA, labelled=False)
    assert found(reading) == [(0, "signals.risk", Rule.WRONG_TYPE), (1, "signals.risk", Rule.WRONG_TYPE)]


def test_pandas_is_not_needed(tmp_path: Path) -> None:
    """In an interpreter that has no pandas every kind of file is read."""
    sources(tmp_path)
    script = (
        "import sys; from pathlib import Path\n"
        "class NoPandas:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NoPandas())\n"
        "from scoring_model.records.reading import read_records\n"
        "from scoring_model.records.schema import RecordSchema\n"
        "for path in sorted(Path(sys.argv[1]).iterdir()):\n"
        "    assert len(read_records(path, RecordSchema(), labelled=False).table) == 3, path\n"
        "print('read')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("read", "")


COMPANY = (
    "Id;Zeit;Vorname;Geburt;Land;Ausweis;amount;Ergebnis;device\n"
    "1;13.05.2024 10:00;Jörg;31/12/1980;Germany;reisepass;1.234,56;ja;5\n"
    "2;2024-05-14 11:00;Ada;NULL;deu;PASSPORT;7,5;offen;6\n"
    "3;14.05.2024 12:00:01;Bob;30/11/1970;NA;;-0,25;nein;7\n"
)
COMPANY_SCHEMA = RecordSchema(
    columns={
        "recordId": "Id",
        "eventTime": "Zeit",
        "firstName": "Vorname",
        "dob": "Geburt",
        "address.country": "Land",
        "documentType": "Ausweis",
        "label": "Ergebnis",
    },
    signals={"amount": SignalType.NUMBER, "device": SignalType.IDENTIFIER},
    labels=LabelSchema(fraud=("ja",), genuine=("nein",), ignored=("offen",), delay=0),
    format=FileFormat(
        decimal=",",
        nulls=("NULL",),
        timezone="Europe/Berlin",
        values={"documentType": {"Reisepass": "PASSPORT"}},
    ),
)
COMPANY_TABLE = pa.table(
    {
        "recordId": ["1", "2", "3"],
        "eventTime": ["2024-05-13T08:00Z", "2024-05-14T09:00Z", "2024-05-14T10:00:01Z"],
        "label": ["fraud", None, "genuine"],
        "firstName": ["Jörg", "Ada", "Bob"],
        "dob": ["1980-12-31", None, "1970-11-30"],
        "documentType": ["PASSPORT", "PASSPORT", None],
        "address.country": ["DE", "DE", "NA"],
        "signals.amount": [1234.56, 7.5, -0.25],
        "signals.device": [5, 6, 7],
    }
)


def test_a_file_of_a_company_gives_the_records_that_it_means(tmp_path: Path) -> None:
    """Its spelling of times, numbers, countries, labels and gaps is read; what was guessed is reported."""
    path = tmp_path / "export.csv"
    path.write_bytes(COMPANY.encode("cp1252"))
    reading = read_records(path, COMPANY_SCHEMA, labelled=True)
    plain = RecordSchema(signals=COMPANY_SCHEMA.signals, labels=LabelSchema(delay=0))
    assert reading.table == read_records(COMPANY_TABLE, plain, labelled=True).table
    assert (reading.violations, reading.unused_columns) == ((), ())
    assert reading.guesses == (
        "encoding cp1252",
        "semicolons between cells",
        "eventTime as %d.%m.%Y %H:%M or %d.%m.%Y %H:%M:%S",
        "dob as %d/%m/%Y",
    )


def test_what_fits_no_configured_form_is_refused() -> None:
    """With a decimal comma 1.5 is no number, with formats of dates others are no date: nothing is misread."""
    form = FileFormat(decimal=",", dates=("%d.%m.%Y",))
    rows = [
        {"eventTime": "1.5.2024", "signals.risk": "1.5", "firstName": "a"},
        {"eventTime": "05/13/2024", "signals.risk": "1.500", "firstName": "a"},
        {"eventTime": "2024-05-01", "signals.risk": "1,5e3", "dob": "05/13/1990"},
    ]
    reading = read(rows, replace(SCHEMA, format=form))
    assert found(reading) == [
        (0, "signals.risk", "wrong_type"),
        (1, "eventTime", "not_a_time"),
        (2, "dob", "not_a_date"),
    ]


ZONED = {
    "text": ["2024-07-01T12:00:00", "2024-01-01"],
    "with zone": ["2024-07-01T12:00:00Z", "2024-01-01T00:00:00+00:00"],
    "naive": pd.to_datetime(["2024-07-01T12:00:00", "2024-01-01T00:00:00"]),
    "aware": pd.to_datetime(["2024-07-01T12:00:00Z", "2024-01-01T00:00:00Z"]),
}


@pytest.mark.parametrize(
    ("kind", "hours"), [("text", (2, 1)), ("with zone", (0, 0)), ("naive", (2, 1)), ("aware", (0, 0))]
)
def test_instants_without_a_zone_are_of_the_configured_one(kind: str, hours: tuple[int, int]) -> None:
    """Text and timestamps without a zone are local times, in summer and in winter; those with one are not."""
    frame = pd.DataFrame({"eventTime": ZONED[kind], "firstName": "a"})
    times = read_records(frame, SCHEMA, labelled=False).table.event_times
    local = replace(SCHEMA, format=FileFormat(timezone="Europe/Berlin"))
    found = read_records(frame, local, labelled=False).table.event_times
    assert (times - found).tolist() == [hour * 3_600_000_000 for hour in hours]


def test_a_record_and_a_file_have_the_same_local_time() -> None:
    """Law 2: the zone of the schema holds for one record too, also for the hour that comes twice."""
    local = replace(SCHEMA, format=FileFormat(timezone="Europe/Berlin"))
    for text in ("2024-10-27T02:30:00", "2024-03-31T02:30:00", "2024-05-01", TIME):
        body = {"eventTime": text, "firstName": "a"}
        assert parse_record(body, local).event_time == read([body], local).table.event_times[0]


def test_a_column_may_be_named_like_its_signal() -> None:
    """The prefix may be left out, unless the column holds something else or the signal has a column."""
    schema = RecordSchema(
        signals=dict.fromkeys(("risk", "dob", "vpn"), SignalType.NUMBER), columns={"signals.vpn": "v"}
    )
    row = {"eventTime": TIME, "risk": 1, "dob": "1990-01-01", "v": 2, "vpn": 3}
    reading = read([row], schema)
    assert decoded(reading.table, 0) == {"dob": "1990-01-01", "signals.risk": 1.0, "signals.vpn": 2.0}
    assert reading.unused_columns == ("vpn",)
    assert read([{**row, "signals.risk": 7}], schema).unused_columns == ("risk", "vpn")


def test_several_files_are_one_source(tmp_path: Path) -> None:
    """Files in the order given, or of a pattern by name, give the table and the violations of one file of all rows."""
    rows = [
        {"recordId": str(place % 5), "eventTime": TIME, "firstName": f"n{place % 3}"} for place in range(9)
    ]
    rows[4]["eventTime"] = "never"
    parts = [rows[:3], rows[3:4], [], rows[4:]]
    paths = [tmp_path / f"part{place}.jsonl" for place in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_text("\n".join(map(json.dumps, part)))
    whole = read(rows)
    for source in (paths, tmp_path / "part*.jsonl", [str(tmp_path / "part[0-2].jsonl"), paths[3]]):
        reading = read_records(source, SCHEMA, labelled=False)
        assert (reading.table, reading.violations, reading.rows) == (whole.table, whole.violations, 9)
        assert [start for _, start in reading.files] == [0, 3, 4, 4]
        assert reading.refused_ids == {4: "4", **{row: str(row % 5) for row in range(5, 9)}}


@pytest.mark.parametrize(
    ("names", "words"), [([], "no file is given"), (["*.x"], "no file matches"), (["a.csv"] * 2, "twice")]
)
def test_a_source_of_files_names_files(tmp_path: Path, names: list[str], words: str) -> None:
    """An empty list, a pattern without a match and a repeated file are errors of the source."""
    with pytest.raises(UnreadableSource, match=words):
        read_records([tmp_path / name for name in names], SCHEMA, labelled=False)


# Texts that every rule leaves as they are, and such as a rule trims, composes, calls missing or refuses.
TEXTS = (
    "a",
    "b c",
    " a",
    "a ",
    "",
    " ",
    "\t",
    "a\n",
    "e\u0301",
    "\u00e9",
    "x" * 100,
    "x" * 101,
    "x" * 300,
    "\ud800",
)


def outcome(rule: ValueRule, value: object) -> object | None:
    """The canonical value of one cell of text, or the rule that it breaks."""
    try:
        return rule(cells.text(value))
    except RuleError as error:
        return error.type


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TEXTS) | st.integers(-3, 3), min_size=1, max_size=6))
@pytest.mark.parametrize(
    "field", ["firstName", "address.city", "externalId", "signals.channel", "signals.device"]
)
def test_texts_are_read_together_as_they_are_read_one_by_one(field: str, values: list[object]) -> None:
    """Whatever else a column holds, a text or whole number gives the same value or violation."""
    rows = {"eventTime": [TIME] * len(values), "dob": ["1990-01-01"] * len(values), field: values}
    reading = read_records(pd.DataFrame(rows, dtype=object), SCHEMA, labelled=False)
    column = reading.table.column(field)
    assert len(set(column.values)) == len(column.values)
    codes = dict(zip(reading.table.source_rows.tolist(), column.codes.tolist(), strict=True))
    found = {row: violation.code for row, violation in reading.violations}
    found |= {row: column.values[code] for row, code in codes.items() if code >= 0}
    rule = field_rules(SCHEMA)[field]
    assert [found.get(row) for row in range(len(values))] == [outcome(rule, value) for value in values]


def test_codes_of_a_parquet_file_are_the_texts_they_stand_for(tmp_path: Path) -> None:
    """Texts of few distinct values, which Parquet stores as codes, are read as from memory, in groups and with gaps."""
    names = ["Anna ", "Anna", None, "Zoe\u0308", "", "x" * 101]
    table = pa.table(
        {
            "eventTime": [TIME] * 3000,
            "dob": ["1990-01-01"] * 3000,
            "firstName": [names[row * 7 % 6] for row in range(3000)],
            "signals.channel": pa.array([None] * 1500 + ["web"] * 1500, pa.string()),
        }
    )
    pa.parquet.write_table(table, tmp_path / "records.parquet", row_group_size=700)
    reading = read_records(tmp_path / "records.parquet", SCHEMA, labelled=False)
    assert len(reading.table) == 2500
    assert reading == read_records(table, SCHEMA, labelled=False)
