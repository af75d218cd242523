import bz2
import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule
from scoring_model.records.encoding import encode
from scoring_model.records.file_format import FileFormat
from scoring_model.records.files import file_sheet, frame_sheet
from scoring_model.records.sheet import Sheet, UnreadableSource

Write = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of a name and give its path."""

    def written(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written


def cells(sheet: Sheet) -> dict[str, list[object]]:
    """Give the cells of a sheet by column."""
    found = {}
    for name, column in sheet.columns.items():
        encoded = encode(column, sheet.rows)
        found[name] = [None if code < 0 else encoded.values[code] for code in encoded.codes.tolist()]
    return found


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")), st.just("x"))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_csv_is_what_the_standard_library_wrote(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    """Quotes, commas and line breaks survive; all cells are text, and only the empty one is missing."""
    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "mark"), *rows])
    sheet = file_sheet(path)
    assert cells(sheet) == {"text": [text or None for text, _ in rows], "mark": [mark for _, mark in rows]}


def test_csv_cells_are_text_and_na_is_one(write: Write) -> None:
    """No type is guessed: NA, null, 007 and 1e5 stay text."""
    sheet = file_sheet(write("a.csv", b"\xef\xbb\xbfa,b\r\nNA,007\r\nnull,1e5\r\n,\r\n"))
    assert cells(sheet) == {"a": ["NA", "null", None], "b": ["007", "1e5", None]}


def test_ragged_csv_rows_are_problems_of_their_own(write: Write) -> None:
    """A row with too many or too few cells has no cells; the rows around it keep their positions."""
    sheet = file_sheet(write("a.csv", b'a,b\n1\n2,"x\ny"\n\n3,4,5\n6,7\n8'))
    assert sheet.rows == 5
    assert cells(sheet) == {"a": [None, "2", None, "6", None], "b": [None, "x\ny", None, "7", None]}
    assert [(row, found.field, found.code, found.detail) for row, found in sheet.violations] == [
        (0, "", Rule.MALFORMED_ROW, "must have 2 columns, got 1"),
        (2, "", Rule.MALFORMED_ROW, "must have 2 columns, got 3"),
        (4, "", Rule.MALFORMED_ROW, "must have 2 columns, got 1"),
    ]


@pytest.mark.parametrize("header", [b"a,b", b"a,b\n", b"\na,b\n\n"])
def test_a_csv_header_alone_has_no_rows(write: Write, header: bytes) -> None:
    """A file with only a header has columns and no cells."""
    assert cells(file_sheet(write("a.csv", header))) == {"a": [], "b": []}


HEADERS = {
    "": "header row",
    "\n\n": "header row",
    "\ufeff": "header row",
    " \n": "header row",
    ",,\n1,2,3\n": "header row",
    '""\n"x"\n': "header row",
}


@pytest.mark.parametrize(("content", "word"), HEADERS.items(), ids=map(repr, HEADERS))
def test_a_csv_file_needs_names(write: Write, content: str, word: str) -> None:
    """A file without a header is refused."""
    with pytest.raises(UnreadableSource, match=word):
        file_sheet(write("a.csv", content.encode()))


def test_a_separator_that_is_not_that_of_the_file_is_refused(write: Write) -> None:
    """With a configured comma a header of semicolons is refused by what stands there; no name is repeated."""
    with pytest.raises(UnreadableSource, match="';'") as caught:
        file_sheet(write("a.csv", b"eventTime;firstName\n2024-01-01;Ada\n"), FileFormat(separator=","))
    assert "Time" not in str(caught.value)


SEPARATED = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@pytest.mark.parametrize(("separator", "words"), SEPARATED.items())
def test_the_separator_is_guessed(write: Write, separator: str, words: str) -> None:
    """The separator that gives rows as long as the header is found, with decimal commas and quotes in cells."""
    lines = ["a;b;c", '1,5;"x;y";2,5', "3,5;;4,5"]
    content = "\n".join(lines).replace(";", separator)
    sheet = file_sheet(write("a.csv", content.encode()))
    assert cells(sheet) == {"a": ["1,5", "3,5"], "b": [f"x{separator}y", None], "c": ["2,5", "4,5"]}
    assert sheet.guesses == (f"{words} between cells",)


ENCODINGS = {
    "utf-8": (),
    "utf-8-sig": (),
    "cp1252": ("encoding cp1252",),
    "utf-16": ("encoding utf-16",),
    "utf-16-le": ("encoding utf-16-le",),
    "utf-16-be": ("encoding utf-16-be",),
}


@pytest.mark.parametrize(("encoding", "guesses"), ENCODINGS.items())
def test_the_encoding_is_guessed(write: Write, encoding: str, guesses: tuple[str, ...]) -> None:
    """A file is read alike in every encoding that companies use, also where the first letter comes late."""
    content = "name,a\n" + "x,1\n" * 400_000 + "Müller,2\n"
    sheet = file_sheet(write("a.csv", content.encode(encoding)))
    assert cells(sheet)["name"][-1] == "Müller"
    assert sheet.guesses == guesses


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Łukasz Wójcik, Małgorzata", "cp1250"),
        ("ŹRÓDŁO", "cp1250"),
        ("¿Qué? Muñoz García, Peña", "cp1252"),
        ("Müller, 12 m², Größe, Köhler, Schäfer, Günther, Weiß, Jürgen, Käthe, Löwe, 5 m³", "cp1252"),
    ],
)
def test_polish_is_told_from_the_languages_of_the_west(write: Write, text: str, encoding: str) -> None:
    """By letters within words that are signs in the other encoding; a sign now and then decides nothing."""
    sheet = file_sheet(write("a.csv", f"name;a\n{text};1\n".encode(encoding)))
    assert cells(sheet)["name"] == [text]
    assert f"encoding {encoding}" in sheet.guesses


@pytest.mark.parametrize("content", ["é,a\n€,é\n".encode() + b"\xff,1\n", b"a,b\n\x81,1\n"])
def test_broken_utf_8_is_not_taken_for_another_encoding(write: Write, content: bytes) -> None:
    """A byte that is not UTF-8 spoils its cell where other letters are UTF-8, or where cp1252 has no such letter."""
    sheet = file_sheet(write("a.csv", content))
    assert sheet.guesses == ()
    last = next(iter(cells(sheet).values()))[-1]
    assert last in ("\udc81", "\udcff")


def test_a_configured_encoding_is_taken_and_must_fit(write: Write) -> None:
    """The format decides, and what it can't decode is an unreadable file."""
    path = write("a.csv", "a\nŽ\n".encode("iso-8859-2"))
    assert cells(file_sheet(path, FileFormat(encoding="latin2"))) == {"a": ["Ž"]}
    with pytest.raises(UnreadableSource, match="UnicodeDecodeError"):
        file_sheet(write("b.csv", b"a\n\x81\n"), FileFormat(encoding="cp1252"))


def test_words_for_missing_values_are_those_of_the_format(write: Write) -> None:
    """They are compared as they stand, so that a person may be called Null."""
    path = write("a.csv", b"a,b\nNULL,N/A\nNull,x\n")
    found = cells(file_sheet(path, FileFormat(nulls=("NULL", "N/A"))))
    assert found == {"a": [None, "Null"], "b": [None, "x"]}


def _zip(content: bytes, *names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names or ("any.csv",):
            archive.writestr(name, content)
    return stream.getvalue()


COMPRESSED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    ".zip": _zip,
}


@pytest.mark.parametrize(("ending", "compressed"), COMPRESSED.items())
def test_text_may_be_compressed(write: Write, ending: str, compressed: Callable[[bytes], bytes]) -> None:
    """Compressed CSV and JSON Lines read as uncompressed ones."""
    assert cells(file_sheet(write(f"a.CSV{ending}", compressed(b"a;b\n1;2\n")))) == {"a": ["1"], "b": ["2"]}
    assert cells(file_sheet(write(f"a.jsonl{ending}", compressed(b'{"a": 1}')))) == {"a": [1]}


@pytest.mark.parametrize("name", ["a.tsv", "a.TXT", "a.txt.gz"])
def test_text_has_several_endings(write: Write, name: str) -> None:
    """What databases call .tsv or .txt is read as .csv is, whatever separates its cells."""
    content = b"a\tb|c\n1\t2\n"
    found = file_sheet(write(name, gzip.compress(content) if name.endswith("gz") else content))
    assert cells(found) == {"a": ["1"], "b|c": ["2"]}


def test_one_column_is_a_header_and_so_are_names_with_semicolons(write: Write) -> None:
    """A header of one plain name is one, and a semicolon beside commas is part of a name."""
    assert cells(file_sheet(write("a.csv", b"a\n1\n"))) == {"a": ["1"]}
    assert cells(file_sheet(write("a.csv", b"a;b,c\n1,2\n"))) == {"a;b": ["1"], "c": ["2"]}


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson"])
@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_an_empty_text_file_is_an_empty_sheet(write: Write, name: str, content: bytes) -> None:
    """An empty file has no rows and no columns."""
    assert file_sheet(write(name, content)) == Sheet(0, {})


objects = st.dictionaries(
    st.sampled_from(["firstName", "dob", "signals.x"]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None)),
)


@given(st.lists(objects))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_json_lines_keep_every_type(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    """Types may change from row to row, and each cell has exactly the value of its line."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = cells(file_sheet(path))
    assert [repr({name: column[row] for name, column in found.items()}) for row in range(len(rows))] == [
        repr({name: values.get(name) for name in found}) for values in rows
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b'"a"',
        b"null",
        b'{"a": 1} x',
        b'{"a": 1, "a": 2}',
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b"\xfe\xff",
    ],
)
def test_a_malformed_line_is_a_problem_of_its_row(write: Write, line: bytes) -> None:
    """Broken JSON, other values than objects, repeated names and broken UTF-8 spoil one row only."""
    sheet = file_sheet(write("a.jsonl", b'\xef\xbb\xbf{"b": 1}\n\n' + line + b'\n{"b": 2}'))
    assert cells(sheet) == {"b": [1, None, 2]}
    assert [(row, found.field, found.code) for row, found in sheet.violations] == [
        (1, "", Rule.MALFORMED_ROW)
    ]


NESTED = [
    {
        "address": {"city": "a"},
        "signals": {"x": 1, "deep": {"z": 3}},
        "other": {"y": 2, "more": {"w": 4}},
        "dob": {"z": 5},
    },
    {"address": None, "signals": {"x": 2, "deep": None}, "other": {"y": None, "more": {"w": 6}}, "dob": None},
]


@pytest.mark.parametrize("form", ["lines", "arrow", "pandas"])
def test_nested_parts_are_dotted(write: Write, form: str) -> None:
    """Objects are taken apart in every form of a source; those in fields and signals are not, and are refused later."""
    if form == "lines":
        sheet = file_sheet(write("a.jsonl", "\n".join(map(json.dumps, NESTED)).encode()))
    else:
        table = pa.Table.from_pylist(NESTED)
        sheet = frame_sheet(table if form == "arrow" else pd.DataFrame(NESTED))
    found = cells(sheet)
    assert set(found) == {"address.city", "signals.x", "signals.deep", "other.y", "other.more.w", "dob"}
    assert (found["other.y"], found["other.more.w"], found["signals.x"]) == ([2, None], [4, 6], [1, 2])


def test_a_name_within_and_beside_objects_is_refused_and_depth_has_an_end(write: Write) -> None:
    """A row with two values of one column is refused; an object within more than eight others is one value."""
    deep: object = {"end": 1}
    for _ in range(12):
        deep = {"d": deep}
    lines = [{"a": {"b": 1}, "a.b": 2}, {"a": {"b": {"c": 1}, "b.c": 2}}, {"a": {"b": 3}, "deep": deep}]
    sheet = file_sheet(write("a.jsonl", "\n".join(map(json.dumps, lines)).encode()))
    assert [(row, found.field, found.code) for row, found in sheet.violations] == [
        (0, "a.b", Rule.REPEATED_FIELD),
        (1, "a.b.c", Rule.REPEATED_FIELD),
    ]
    assert cells(sheet)["deep" + ".d" * 8] == [None, None, {"d": {"d": {"d": {"d": {"end": 1}}}}}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"", "must end in one of"),
        ("a", b"", "must end in one of"),
        ("a.parquet", b"", "not a readable .parquet file"),
        ("a.parquet", b"PAR1 and more", "not a readable .parquet file"),
        ("a.csv", b"a,\x81\n1,2\n", "UTF-8"),
        ("a.csv.gz", b"no gzip", "not a readable .gz file"),
        ("a.csv.zip", b"no zip", "not a readable .zip file"),
        ("a.csv.zip", _zip(b"a", "a.csv", "b.csv"), "holds 2"),
        ("a.parquet.gz", b"", "must end in one of"),
    ],
)
def test_files_that_cannot_be_read_are_named_so(
    write: Write, name: str, content: bytes, message: str
) -> None:
    """An unknown ending, a broken file and repeated names are errors of one kind."""
    with pytest.raises(UnreadableSource, match=message):
        file_sheet(write(name, content))


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    """The operating system's error passes through."""
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        with pytest.raises(FileNotFoundError):
            file_sheet(tmp_path / name)
