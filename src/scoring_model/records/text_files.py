"""Text files as sheets: CSV with any separator and encoding, and JSON Lines, optionally compressed."""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

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
_FULL: Final = 3  # fewest cells of a row below titles
_EVIDENCE: Final = 1000  # characters that decide the encoding
_BROKEN: Final = re.compile("[\udc80-\udcff]")
_LONGER: Final = re.compile("[^\x00-\x7f\udc80-\udcff]")
_NOT_CP1252: Final = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")
_NOT_CP1250: Final = re.compile("[\udc81\udc83\udc88\udc90\udc98]")
_UNDEFINED: Final = {
    "cp1250": _NOT_CP1250,
    "cp1252": _NOT_CP1252,
    "cp1253": re.compile("[\udc81\udc88\udc8a\udc8c-\udc90\udc98\udc9a\udc9c-\udc9f\udcaa\udcd2\udcff]"),
    "cp1251": re.compile("\udc98"),
    "cp1254": re.compile("[\udc81\udc8d-\udc90\udc9d\udc9e]"),
    "cp1255": re.compile(
        "[\udc81\udc8a\udc8c-\udc90\udc9a\udc9c-\udc9f\udcca\udcd9-\udcdf\udcfb\udcfc\udcff]"
    ),
    "cp1256": re.compile("(?!)"),
    "cp1257": re.compile("[\udc81\udc83\udc88\udc8a\udc8c\udc90\udc98\udc9a\udc9c\udc9f\udca1\udca5]"),
}
"""Bytes that an encoding does not have."""
_CENTRAL: Final = re.compile(
    "(?<=[A-Za-z\udc80-\udcff])[\udcb3\udcb9\udcbf\udca3\udca5\udcaf\udcbe]|[\udc8a\udc8d-\udc8f\udc9a\udc9d\udc9e]"
    "|[\udcec\udcf9](?=[a-z])"
)
"""Letters of cp1250 within a word (ł ą ż ľ), where cp1252 has signs such as ³; š ž ť, seldom in its languages;
and ě ů before a letter, where the ì ù of Italian and French end a word."""
_CENTRAL_SHARE: Final = 0.1
_HUNGARIAN: Final = re.compile("\udcf5(?!e)")  # ő; in cp1252 it is õ, which has an e behind it in Portuguese
_NO_HUNGARIAN: Final = re.compile("[\udce3\udce4]")  # ã of Portuguese, ä of Estonian
_HUNGARIAN_SHARE: Final = 0.03
_TURKISH: Final = re.compile("[\udcdd\udcde\udcf0\udcfd\udcfe]")  # İ Ş ğ ı ş; in cp1252 Ý Þ ð ý þ
_NO_TURKISH: Final = re.compile(
    "[\udce1\udce3\udced\udcf3\udcfa]"
)  # á í ó ú of Icelandic and Czech, ă of Romanian
_TURKISH_SHARE: Final = 0.15
_BALTIC: Final = re.compile("[\udcd0\udcde\udcf0\udcfe]")  # Š Ž š ž, frequent in Lithuanian and Latvian
_NO_BALTIC: Final = re.compile(
    "[\udcdd\udce4\udce5\udce9\udcf3\udcf5\udcf6\udcfa\udcfc\udcfd]"
)  # ä å é õ ö ü of others; ó ú ý of Icelandic, ı İ of Turkish
_BALTIC_SHARE: Final = 0.05
_RUNS: Final = re.compile("(?<=[\udc80-\udcff])[\udc80-\udcff]")
"""Letters after another one beyond ASCII: seldom in Latin scripts, nearly all in others."""
_GREEK: Final = re.compile(
    "[\udce1\udcef\udce9\udcf4\udce7\udcdc\udcfc\udcc1\udccf\udcc9\udcd4]"
)  # α ο ι τ η ά ό Α Ο Ι Τ
_CYRILLIC: Final = re.compile(
    "[\udce0\udcee\udce8\udcf2\udce2\udceb\udcfb\udcc0\udcce\udcc8\udcd2]"
)  # а о и т в л ы А О И Т
_LETTERS: Final = re.compile("[^\x00-\udc80\udca0\udca4]")  # no blank, € or ₪
_HEBREW: Final = re.compile("[\udce0-\udcfa]")  # all its letters, and no other script's capitals
_ALEF: Final = re.compile("\udcc7")  # ا, one letter in eight; in cp1253 a capital eta, in cp1251 a capital З
_ALEF_SHARE: Final = 0.09
_ONLY: Final = 0.95
_USUAL: Final = (
    ("cp932", re.compile(b"[\x81-\x83\x88-\x97]"), 0x40),
    ("cp949", re.compile(b"[\xa1-\xa3\xb0-\xc8]"), 0xA1),
    ("gb18030", re.compile(b"[\xa1-\xa3\xb0-\xd7]"), 0xA1),
)
"""Encodings of two-byte characters: first bytes of the usual ones, and their smallest second byte."""
_MOSTLY: Final = 0.9
_TELLING: Final = {
    "broken": _BROKEN,
    "longer": _LONGER,
    "central": _CENTRAL,
    "hungarian": _HUNGARIAN,
    "no_hungarian": _NO_HUNGARIAN,
    "runs": _RUNS,
    "greek": _GREEK,
    "cyrillic": _CYRILLIC,
    "letters": _LETTERS,
    "hebrew": _HEBREW,
    "alef": _ALEF,
    "turkish": _TURKISH,
    "no_turkish": _NO_TURKISH,
    "baltic": _BALTIC,
    "no_baltic": _NO_BALTIC,
}


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
    """The first rows of a CSV file, and how they were read.

    Parameters
    ----------
    header : list of str
        Distinct names.
    given : list of str
        The names as they stand, but for blanks that fill them; none where a row with them is a row.
    titles, lines : int
        Rows before the header that are not blank, and lines up to its end.
    padded : bool
        Whether blanks make cells as long as the others of their column.
    """

    header: list[str]
    has_rows: bool
    separator: str
    encoding: str
    given: list[str] = []  # noqa: RUF012
    titles: int = 0
    lines: int = 0
    padded: bool = False


def csv_start(path: Path | StoredFile, form: FileFormat) -> CsvStart:
    """Read the header of a CSV file; separator and encoding are guessed unless the format names them."""
    encoding = codecs.lookup(form.encoding).name if form.encoding else guess_encoding(path)
    start = _start(path, form, encoding)
    check_csv_header(start.given)
    return start


def csv_part(stream: Any, start: CsvStart, nulls: Sequence[str]) -> Sheet:
    """Read whole rows of a CSV file from a stream or buffer without the header."""
    ragged: list[Any] = []
    options = _options(start, nulls, ragged)
    options["read_options"].column_names = start.header
    table = pa.csv.read_csv(stream, **options)
    return _with_gaps(table, [(row.number - 1, row) for row in ragged], (), start, nulls)


def csv_sheet(path: Path, form: FileFormat) -> Sheet:
    """Read a CSV file."""
    start = csv_start(path, form)
    encoding, guesses = start.encoding, tuple(_guesses(start, form))
    if not start.has_rows:
        columns = named_columns((name, pa.chunked_array([], pa.string())) for name in start.header)
        return Sheet(0, columns, guesses=guesses)
    ragged: list[Any] = []
    options, before = _options(start, form.nulls, ragged), 2
    if start.titles or start.padded or start.given != start.header:
        options["read_options"].column_names, options["read_options"].skip_rows = start.header, start.lines
        before = 1 + start.lines
    with opened(path) as stream:
        table = pa.csv.read_csv(stream, **options)
    if not _has_header(table, start.header):
        raise UnreadableSource(f"the header of a CSV file must be {encoding.upper()}, quoted as in RFC 4180")
    # The header is row 1.
    return _with_gaps(table, [(row.number - before, row) for row in ragged], guesses, start, form.nulls)


def _guesses(start: CsvStart, form: FileFormat) -> Iterator[str]:
    if form.encoding is None and start.encoding != _UTF_8:
        yield f"encoding {start.encoding}"
    if form.separator is None and start.separator != ",":
        yield f"{SEPARATORS[start.separator]} between cells"
    if start.titles:
        yield f"the header is row {start.titles + 1}: {start.titles} rows before it are skipped"
    if start.padded:
        yield "blanks around cells fill their columns, and are left out"
    renamed = [new for new, given in zip(start.header, start.given, strict=True) if new != given]
    if renamed:
        yield f"columns that share a name, or have none, are called {', '.join(renamed)}"


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
    titles = _titles([row for _, row in found])
    lines, given = found[titles] if found else (0, [])
    padded = _are_padded([row for _, row in found[titles:]])
    given = [name.strip() for name in given] if padded else given
    has_rows = len(found) > titles + 1
    return CsvStart(distinct_names(given), has_rows, separator, encoding, given, titles, lines, padded)


def _first_rows(start: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not blank, each with the number of the line at which it ends."""
    rows = csv.reader(io.StringIO(start, newline=""), delimiter=separator)
    return list(islice(((rows.line_num, row) for row in rows if row), _SAMPLE_ROWS))


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows before the header: a report has titles, with fewer cells than its table.

    The header is then the first row that is at least as full as most, if each of its cells is a name of its own.
    """
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    usual = int(np.median(filled)) if filled else 0
    if usual < _FULL or filled[0] > usual / 2:
        return 0
    place = next(place for place, count in enumerate(filled) if count >= usual)
    names = [name for cell in rows[place] if (name := cell.strip())]
    return place if all(any(map(str.isalpha, name)) for name in names) else 0


def _are_padded(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether blanks make most cells as long as those above them, as tools of databases print."""
    even = [row for row in rows if len(row) == len(rows[0])]
    if len(even) < _FULL or len(even[0]) < _FULL:
        return False
    columns = list(zip(*even, strict=True))
    filled = [
        len({*map(len, cells)}) == 1 and any(cell != cell.strip() for cell in cells) for cells in columns
    ]
    return sum(filled) > len(filled) / 2


def distinct_names(names: Sequence[str]) -> list[str]:
    """Tell columns of one name apart, and those without one if there are several.

    Examples
    --------
    >>> distinct_names(["Name", "Name", "", "", "Nr"])
    ['Name (1)', 'Name (2)', 'column 3', 'column 4', 'Nr']
    """
    counts, seen, found = Counter(names), Counter[str](), []
    for place, name in enumerate(names, 1):
        seen[name] += 1
        found.append(
            name if counts[name] == 1 else f"{name} ({seen[name]})" if name.strip() else f"column {place}"
        )
    return found


@contextmanager
def _text(path: Path | StoredFile, encoding: str) -> Iterator[io.TextIOWrapper]:
    errors, encoding = ("replace", "utf-8-sig") if encoding == _UTF_8 else ("strict", encoding)
    with opened(path) as stream, io.TextIOWrapper(stream, encoding, errors, newline="") as text:
        yield text


def guess_encoding(path: Path | StoredFile) -> str:
    """Find the encoding of a text file.

    A file that begins with a byte order mark, or with ASCII in two-byte characters, is UTF-16. A file with more
    invalid bytes than multi-byte UTF-8 characters is cp1252, or cp1250 if these bytes have the letters by which the
    languages of Central Europe are told from those of cp1252, cp1257 or cp1254 if they have those of Baltic languages
    or of Turkish, or cp1253,
    cp1251, cp1255 or cp1256 if most of them are in runs, as in Greek, Cyrillic, Hebrew and Arabic; provided that all
    these bytes are defined there. Before these comes an encoding of two-byte characters, see `_double_byte`.
    """
    with opened(path) as stream:
        start = stream.read(4)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if len(start) == 4 and 0 in start:
            return "utf-16-le" if start[1::2] == b"\0\0" else "utf-16-be"
        decoder = codecs.getincrementaldecoder(_UTF_8)("surrogateescape")
        found: Counter[str] = Counter()
        fitting = _UNDEFINED
        first = start
        for chunk in chain([start], iter(lambda: stream.read(_CHUNK), b"")):
            first = first if len(first) > len(start) else first + chunk * (chunk is not start)
            text = decoder.decode(chunk)
            if text.isascii():
                continue
            fitting = {name: undefined for name, undefined in fitting.items() if not undefined.search(text)}
            found.update({name: len(pattern.findall(text)) for name, pattern in _TELLING.items()})
            if found["longer"] > max(_EVIDENCE, found["broken"]):
                return _UTF_8
    if found["broken"] <= found["longer"]:
        return _UTF_8
    if (double := _double_byte(first)) is not None:
        return double
    name = _code_page(found, fitting)
    return name if name in fitting else _UTF_8


def _double_byte(sample: bytes) -> str | None:
    """Return the encoding of East Asian text with characters of two bytes, None if it is none.

    Nearly all of its characters are then the usual ones: in Shift JIS (cp932) signs, kana and the frequent Chinese
    characters, in Korean (cp949) signs and syllables, in GBK signs and the frequent Chinese characters.
    """
    for name, leads, trails in _USUAL:
        letters = re.findall("[^\x00-\x7f\uff61-\uff9f]", _prefix(sample, name))
        pairs = [letter.encode(name) for letter in letters]
        usual = [pair for pair in pairs if len(pair) == 2 and leads.match(pair) and pair[1] >= trails]
        if len(pairs) >= _FULL and len(usual) > _MOSTLY * len(pairs):
            return name
    return None


def _prefix(sample: bytes, encoding: str) -> str:
    """Decode the beginning of a text; empty if it is not of that encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return ""


def _code_page(found: Mapping[str, int], fitting: Collection[str]) -> str:
    broken = found["broken"]
    if found["runs"] > found["letters"] / 2:  # signs of currencies are no letters
        if found["hebrew"] > _ONLY * found["letters"]:
            return "cp1255"
        if found["alef"] > _ALEF_SHARE * found["letters"]:
            return "cp1256"
        return "cp1253" if found["greek"] > found["cyrillic"] else "cp1251"
    baltic = found["baltic"] > max(_BALTIC_SHARE * broken, found["no_baltic"])
    if baltic and "cp1257" in fitting:
        return "cp1257"
    turkish = found["turkish"] > max(_TURKISH_SHARE * broken, 10 * found["no_turkish"])
    if turkish and "cp1254" in fitting:
        return "cp1254"
    hungarian = found["hungarian"] > max(_HUNGARIAN_SHARE * broken, found["no_hungarian"])
    central = found["central"] > _CENTRAL_SHARE * broken
    return "cp1250" if central or hungarian or "cp1252" not in fitting else "cp1252"


def guess_separator(sample: str) -> str:
    """Find the separator by which most of the first rows have as many cells (at least two) as the first of them.

    Where the first row is one cell, as a title is, the number of cells that most rows have decides.
    """

    def fit(separator: str) -> tuple[tuple[int, int], tuple[int, int]]:
        cells = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
        rows = [row for row in islice(cells, _SAMPLE_ROWS) if row]
        widths = Counter(map(len, rows))
        width = len(rows[0]) if rows else 0
        usual = max(widths, key=lambda one: (widths[one], one), default=0)
        by_header = (widths[width], width) if width > 1 else (0, 0)
        return by_header, (widths[usual], usual) if usual > 1 else (0, 0)

    fits = {separator: fit(separator) for separator in SEPARATORS}
    headed = any(by_header[1] for by_header, _ in fits.values())
    return max(SEPARATORS, key=lambda separator: fits[separator][0 if headed else 1])


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


def _with_gaps(
    table: pa.Table,
    ragged: list[tuple[int, Any]],
    guesses: tuple[str, ...],
    start: CsvStart,
    nulls: Sequence[str],
) -> Sheet:
    rows = table.num_rows + len(ragged)
    gaps = np.array([row for row, _ in ragged], dtype=np.int64)
    is_gap = np.zeros(rows, dtype=np.bool_)
    is_gap[gaps] = True
    sources = pa.array(np.cumsum(~is_gap) - 1, mask=is_gap)
    table = table.take(sources) if ragged else table
    table = _trimmed(table, nulls) if start.padded else table
    again = _header_rows(table, start.given)
    empty = (_blank_rows(table) | _drawn_rows(table) | again) & ~is_gap
    if again.any():
        guesses = (
            *guesses,
            f"rows that repeat the header are left out and not numbered: {int(again.sum()):,}",
        )
    if empty.any():
        table, rows = table.filter(pa.array(~empty)), rows - int(empty.sum())
        gaps = (np.cumsum(~empty) - 1)[gaps]
    sheet = Sheet.of_table(table)
    details = [f"must have {row.expected_columns} columns, got {row.actual_columns}" for _, row in ragged]
    return Sheet(
        rows,
        sheet.columns,
        tuple(malformed(row, detail) for row, detail in zip(gaps.tolist(), details, strict=True)),
        dict(zip(gaps.tolist(), (row.text for _, row in ragged), strict=True)),
        guesses,
    )


def _blank_rows(table: pa.Table) -> NDArray[np.bool_]:
    """Return whether a row has nothing but separators, as spreadsheets write below their last one."""
    blank = np.ones(table.num_rows, dtype=np.bool_)
    for column in table.columns if table.num_columns >= _FULL else ():
        if not column.null_count:
            return np.zeros(table.num_rows, dtype=np.bool_)
        blank &= np.asarray(column.is_null(), dtype=np.bool_)
    return blank if table.num_columns >= _FULL else ~blank


def _header_rows(table: pa.Table, header: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether a row is the header again, as in files of several months that somebody joined."""
    again = np.full(table.num_rows, len(header) >= _FULL)
    for place, (column, name) in enumerate(zip(table.columns, header, strict=False)):
        if not again.any():
            break
        names = [name] if place else [name, f"\ufeff{name}"]
        again &= np.asarray(pc.is_in(column, pa.array(names)), dtype=np.bool_) if name else column.is_null()
    return again


def _drawn_rows(table: pa.Table) -> NDArray[np.bool_]:
    """Return whether a row is a line, as tools of databases draw below a header."""
    drawn = np.full(table.num_rows, table.num_columns >= _FULL)
    for column in table.columns:
        rows = np.flatnonzero(drawn)
        if not len(rows):
            break
        drawn[rows] = pc.match_substring_regex(column.take(rows), "^-+$").fill_null(False).to_numpy()
    return drawn


def _trimmed(table: pa.Table, nulls: Sequence[str]) -> pa.Table:
    """Return a table without blanks around its cells; what is then empty or a word for missing values is null."""
    missing = pa.array(["", *nulls])
    columns = [pc.ascii_trim(column, " ") for column in table.columns]
    return pa.table(
        [pc.if_else(pc.is_in(column, missing), pa.scalar(None, pa.string()), column) for column in columns],
        names=table.column_names,
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
