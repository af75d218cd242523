"""Text files as sheets: CSV with any separator and encoding, and JSON Lines, optionally compressed."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.csv

from scoring_model.records.file_format import FileFormat
from scoring_model.records.sheet import (
    COLUMNS,
    ROW,
    ObjectColumns,
    Sheet,
    UnreadableSource,
    check_csv_header,
    check_names,
    malformed,
    named_columns,
)
from scoring_model.records.stored import StoredFile

COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zip": None}
"""Extensions of compressed files, with the codec name in Arrow."""

SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Candidate separators; the first wins a tie."""

_UTF_8: Final = "utf-8"
_CHUNK: Final = 1 << 20
_SAMPLE: Final = 1 << 16  # characters used to detect the separator
_SAMPLE_ROWS: Final = 20
_EVIDENCE: Final = 1000  # characters that decide the encoding
_BROKEN: Final = re.compile("[\udc80-\udcff]")
_LONGER: Final = re.compile("[^\x00-\x7f\udc80-\udcff]")
_NOT_CP1252: Final = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")
_NOT_CP1250: Final = re.compile("[\udc81\udc83\udc88\udc90\udc98]")
_POLISH: Final = re.compile("(?<=[A-Za-z\udc80-\udcff])[\udcb3\udcb9\udcbf\udca3\udca5\udcaf]")  # ł ą ż Ł Ą Ż
"""Letters of cp1250 within a word; in cp1252 they are signs, such as ³ and ¹, which words seldom have."""
_POLISH_SHARE: Final = 0.1


@contextmanager
def opened(path: Path | StoredFile) -> Iterator[Any]:
    """Open a file, compressed or not, as a stream of its bytes."""
    ending = path.suffix.lower()
    source = path.open() if isinstance(path, StoredFile) else str(path)
    if ending != ".zip":
        with pa.input_stream(source, compression=COMPRESSIONS.get(ending)) as stream:
            yield stream
        return
    with ZipFile(source) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise UnreadableSource(f"a .zip file must hold one file, this one holds {len(names)}")
        with archive.open(names[0]) as member:
            yield member


class CsvStart(NamedTuple):
    """The first rows of a CSV file, and how they were read."""

    header: list[str]
    has_rows: bool
    separator: str
    encoding: str


def csv_start(path: Path | StoredFile, form: FileFormat) -> CsvStart:
    """Read the header of a CSV file; separator and encoding are guessed unless the format names them."""
    encoding = codecs.lookup(form.encoding).name if form.encoding else guess_encoding(path)
    start = _start(path, form, encoding)
    check_csv_header(start.header)
    return start


def csv_part(stream: Any, start: CsvStart, nulls: Sequence[str]) -> Sheet:
    """Read whole rows of a CSV file from a stream or buffer without the header."""
    ragged: list[Any] = []
    options = _options(start, nulls, ragged)
    options["read_options"].column_names = start.header
    table = pa.csv.read_csv(stream, **options)
    return _with_gaps(table, [(row.number - 1, row) for row in ragged], ())


def csv_sheet(path: Path, form: FileFormat) -> Sheet:
    """Read a CSV file."""
    start = csv_start(path, form)
    encoding, guesses = start.encoding, tuple(_guesses(start, form))
    if not start.has_rows:
        columns = named_columns((name, pa.chunked_array([], pa.string())) for name in start.header)
        return Sheet(0, columns, guesses=guesses)
    ragged: list[Any] = []
    with opened(path) as stream:
        table = pa.csv.read_csv(stream, **_options(start, form.nulls, ragged))
    if not _has_header(table, start.header):
        raise UnreadableSource(f"the header of a CSV file must be {encoding.upper()}, quoted as in RFC 4180")
    # The header is row 1.
    return _with_gaps(table, [(row.number - 2, row) for row in ragged], guesses)


def _guesses(start: CsvStart, form: FileFormat) -> Iterator[str]:
    if form.encoding is None and start.encoding != _UTF_8:
        yield f"encoding {start.encoding}"
    if form.separator is None and start.separator != ",":
        yield f"{SEPARATORS[start.separator]} between cells"


def _has_header(table: pa.Table, header: list[str]) -> bool:
    try:
        return bool(table.column_names == header)
    except UnicodeDecodeError:
        return False


def _start(path: Path | StoredFile, form: FileFormat, encoding: str) -> CsvStart:
    """Read the header and check whether a row follows, since Arrow refuses a file with only a header."""
    with _text(path, encoding) as text:
        start = text.read(_SAMPLE)
        separator = form.separator or guess_separator(start)
        found = _first_rows(start, separator)
        if len(found) < 2:
            start += text.read(ROW - len(start))
            found = _first_rows(start, separator)
    if len(found) < 2 and len(start) == ROW:
        raise UnreadableSource(f"the header of a CSV file must end within {ROW:,} characters")
    return CsvStart(next(iter(found), []), len(found) > 1, separator, encoding)


def _first_rows(start: str, separator: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(start, newline=""), delimiter=separator)
    return list(islice((row for row in rows if row), 2))


@contextmanager
def _text(path: Path | StoredFile, encoding: str) -> Iterator[io.TextIOWrapper]:
    errors, encoding = ("replace", "utf-8-sig") if encoding == _UTF_8 else ("strict", encoding)
    with opened(path) as stream, io.TextIOWrapper(stream, encoding, errors, newline="") as text:
        yield text


def guess_encoding(path: Path | StoredFile) -> str:
    """Find the encoding of a text file.

    A file that begins with a byte order mark, or with ASCII in two-byte characters, is UTF-16. A file with more
    invalid bytes than multi-byte UTF-8 characters is cp1252, or cp1250 if a tenth of these bytes are the letters by
    which Polish is told from the languages of cp1252, provided that all these bytes are defined there.
    """
    with opened(path) as stream:
        start = stream.read(4)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if len(start) == 4 and 0 in start:
            return "utf-16-le" if start[1::2] == b"\0\0" else "utf-16-be"
        decoder = codecs.getincrementaldecoder(_UTF_8)("surrogateescape")
        broken = longer = polish = 0
        fitting = {"cp1250": _NOT_CP1250, "cp1252": _NOT_CP1252}
        for chunk in chain([start], iter(lambda: stream.read(_CHUNK), b"")):
            text = decoder.decode(chunk)
            if text.isascii():
                continue
            fitting = {name: undefined for name, undefined in fitting.items() if not undefined.search(text)}
            broken += len(_BROKEN.findall(text))
            longer += len(_LONGER.findall(text))
            polish += len(_POLISH.findall(text))
            if not fitting or (longer > _EVIDENCE and longer > broken):
                return _UTF_8
    name = "cp1250" if polish > _POLISH_SHARE * broken else "cp1252"
    return name if broken > longer and name in fitting else _UTF_8


def guess_separator(sample: str) -> str:
    """Find the separator by which most of the first rows have as many cells (at least two) as the header."""

    def fit(separator: str) -> tuple[int, int]:
        cells = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
        rows = [row for row in islice(cells, _SAMPLE_ROWS) if row]
        width = len(rows[0]) if rows else 0
        return (sum(len(row) == width for row in rows), width) if width > 1 else (0, 0)

    return max(SEPARATORS, key=fit)


def _options(start: CsvStart, nulls: Sequence[str], ragged: list[Any]) -> dict[str, Any]:
    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    return {
        # With several threads, ragged rows would have no numbers.
        "read_options": pa.csv.ReadOptions(use_threads=False, encoding=start.encoding),
        "parse_options": pa.csv.ParseOptions(
            delimiter=start.separator, newlines_in_values=True, invalid_row_handler=skip
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(start.header, pa.string()),
            null_values=["", *nulls],
            strings_can_be_null=True,
            check_utf8=False,  # the rule of the field rejects what is not Unicode, row by row
        ),
    }


def _with_gaps(table: pa.Table, ragged: list[tuple[int, Any]], guesses: tuple[str, ...]) -> Sheet:
    rows = table.num_rows + len(ragged)
    gaps = np.array([row for row, _ in ragged], dtype=np.int64)
    is_gap = np.zeros(rows, dtype=np.bool_)
    is_gap[gaps] = True
    sources = pa.array(np.cumsum(~is_gap) - 1, mask=is_gap)
    sheet = Sheet.of_table(table.take(sources) if ragged else table)
    details = [f"must have {row.expected_columns} columns, got {row.actual_columns}" for _, row in ragged]
    return Sheet(
        rows,
        sheet.columns,
        tuple(malformed(row, detail) for row, detail in zip(gaps.tolist(), details, strict=True)),
        dict(zip(gaps.tolist(), (row.text for _, row in ragged), strict=True)),
        guesses,
    )


def json_sheet(path: Path) -> Sheet:
    """Read a file with one JSON object per line."""
    with opened(path) as stream:
        lines = partial(io.BufferedReader(stream).readline, ROW)
        return json_part(iter(lines, b""))


def json_part(lines: Iterable[bytes]) -> Sheet:
    """Read lines of a file with one JSON object per line; blank lines are skipped."""
    columns = ObjectColumns()
    unreadable: dict[int, str] = {}
    row = -1
    for line in lines:
        text = line.strip().removeprefix(codecs.BOM_UTF8)
        if len(line) >= ROW:
            raise UnreadableSource(f"a line of the file has {ROW:,} bytes or more")
        if len(columns.columns) > COLUMNS:
            check_names(columns.columns)
        if not text:
            continue
        row += 1
        try:
            columns.add(row, _json_object(text))
        except (ValueError, RecursionError) as error:
            unreadable[row] = text.decode(errors="replace")
            columns.violations.append(malformed(row, f"must be a JSON object, got {type(error).__name__}"))
    return Sheet(row + 1, named_columns(columns.cells()), tuple(columns.violations), unreadable)


def _json_object(text: bytes) -> dict[str, object]:
    value = json.loads(text.decode(), object_pairs_hook=_distinct)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of members with distinct names (RFC 7493, section 2.3)."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is repeated")
    return members
