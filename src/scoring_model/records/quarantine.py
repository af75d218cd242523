"""Quarantine of rejected rows, and the limit on their share."""

import csv
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Final

from scoring_model.contract.rules import FORM, Rule
from scoring_model.contract.violation import Violation
from scoring_model.records.atomic import atomic_file
from scoring_model.records.encoding import encode
from scoring_model.records.file_format import FileFormat
from scoring_model.records.files import file_sheet
from scoring_model.records.layout import MissingColumns
from scoring_model.records.reading import Reading
from scoring_model.records.sources import file_paths

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""First characters of text that a spreadsheet runs as a formula, some in full width, or strips to find one."""

GUARD: Final = "'"
"""Prefix that makes a spreadsheet read the rest of a cell as text."""


def guarded(text: str) -> str:
    """Prefix text that a spreadsheet would execute with `GUARD`.

    Examples
    --------
    >>> guarded("=1+1"), guarded("a=1")
    ("'=1+1", 'a=1')
    """
    return GUARD + text if text.startswith(FORMULA_STARTS) else text


class TooManyBadRows(ValueError):
    """More rows were refused than the limit allows.

    Parameters
    ----------
    share : float
        Refused rows among all rows, in [0, 1].
    limit : float
        Largest share that is accepted.
    counts : mapping of (str, str) to int
        Violations by field and rule, the most frequent first.
    more : str
        What else the message says.
    """

    def __init__(
        self, share: float, limit: float, counts: Mapping[tuple[str, str], int], *, more: str = ""
    ) -> None:
        super().__init__(
            f"{share:.2%} of the rows were refused, and max_bad_share accepts at most {limit:.2%} "
            f"({counts_text(counts)}){more}"
        )
        self.share = share
        self.limit = limit
        self.counts = counts


def counts_text(counts: Mapping[tuple[str, str], int]) -> str:
    """Write violations by field and rule.

    Examples
    --------
    >>> counts_text({("dob", "in_future"): 1200, ("", "malformed_row"): 3})
    'dob in_future: 1,200, record malformed_row: 3'
    """
    return ", ".join(f"{field or 'record'} {rule}: {count:,}" for (field, rule), count in counts.items())


def write_quarantine(reading: Reading, path: Path) -> None:
    """Write the violations of a reading as CSV, atomically.

    Parameters
    ----------
    path : Path
        Mode 0600, UTF-8, RFC 4180 with LF, columns `row,field,rule,detail,recordId,file`. No other value of a record
        is in it. Rows count from 0 within their file, which is named where there are several.
        Text that a spreadsheet would execute is guarded, since senders choose the names of fields.
    """
    starts = [start for _, start in reading.files]
    with (
        atomic_file(path, private=True) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        file.write(quarantine_lines([QUARANTINE_COLUMNS]))
        for row, found in reading.violations:
            name, start = reading.files[bisect_right(starts, row) - 1] if starts else ("", 0)
            cells = (found.field, found.code, found.detail, reading.refused_ids.get(row, ""), name)
            file.write(quarantine_lines([(row - start, *cells)]))


QUARANTINE_COLUMNS: Final = ("row", "field", "rule", "detail", "recordId", "file")


def quarantine_lines(rows: Iterable[tuple[object, ...]]) -> str:
    """Return lines of a quarantine file; texts are guarded."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows((first, *(guarded(str(cell)) for cell in rest)) for first, *rest in rows)
    return text.getvalue()


def check_unread(out: Path, *sources: Path | Sequence[Path]) -> None:
    """Refuse an output that is read: it would replace the records; raises `ValueError`."""
    read = [path for source in sources for path in ([source] if isinstance(source, Path) else source)]
    if out.exists() and any(path.exists() and path.samefile(out) for path in read):
        raise ValueError(
            f"{out}: its records are read, and the result would replace them: write another file"
        )


def write_refused(source: object, reading: Reading, form: FileFormat, path: Path) -> None:
    """Copy the refused rows unchanged, so that they can be repaired.

    Parameters
    ----------
    source : path or list of paths
        Source of the reading.
    path : Path
        CSV, mode 0600: `row`, the columns of the source, and `unreadable`, the text of a row that could not be
        parsed. It holds personal data, and nothing is guarded.
    """
    refused = {found.row for found in reading.violations}
    rows: list[dict[str, object]] = []
    start = 0
    for file in file_paths(source) or ():
        sheet = file_sheet(file, replace(form, nulls=()))
        here = sorted(row - start for row in refused if start <= row < start + sheet.rows)
        columns = {name: encode(column, sheet.rows) for name, column in sheet.columns.items()}
        for row in here:
            held = {
                name: column.values[column.codes[row]]
                for name, column in columns.items()
                if column.codes[row] >= 0
            }
            rows.append({"row": row, **held, "unreadable": sheet.unreadable.get(row)})
        start += sheet.rows
    names = dict.fromkeys(name for row in rows for name in row)
    with (
        atomic_file(path, private=True) as partial,
        partial.open("w", encoding="utf-8", newline="", errors="replace") as out,
    ):
        writer = csv.DictWriter(out, [name for name in names if name != "unreadable"] + ["unreadable"])
        writer.writeheader()
        writer.writerows(rows)


def accept(reading: Reading, *, max_share: float) -> None:
    """Reject a source with too many rejected rows, or of which only some files say what was decided.

    Parameters
    ----------
    reading : Reading
        Result of `read_records`.
    max_share : float
        Largest accepted share of refused rows, in [0, 1].

    Raises
    ------
    TooManyBadRows
        If more rows were refused.
    MissingColumns
        If only some of the files have a column of what was decided: applicants who were stopped in the others would
        count as observed.
    ValueError
        If `max_share` is outside of [0, 1].
    """
    if not 0 <= max_share <= 1:
        raise ValueError(f"max_share must fulfil 0 <= max_share <= 1, got {max_share}")
    accept_counts(
        reading.rows,
        reading.rows - len(reading.table),
        count_violations(reading),
        max_share=max_share,
        more=unread_forms(reading),
    )
    if reading.undecided:
        raise MissingColumns(reading.undecided)


def unread_forms(reading: Reading) -> str:
    """Name the forms of dates and numbers in 1 % of the rows or more that nothing reads; empty if there are none."""
    forms = Counter(
        (_advice(found), found.field, found.detail.rpartition(FORM)[2])
        for _, found in reading.violations
        if FORM in found.detail
    )
    said = ""
    for advice in sorted({advice for advice, _, _ in forms}):
        listed = [
            f"{field} like {form!r} ({count:,} rows)"
            for (given, field, form), count in forms.most_common()
            if given == advice and count >= _SOME * reading.rows
        ]
        said += f"; {advice} {', '.join(listed[:_FORMS])}" if listed else ""
    return said


def _advice(found: Violation) -> str:
    if found.code == Rule.WRONG_TYPE:
        return "check records.format.decimal for"
    if found.detail.startswith("must be a day of the calendar"):
        return "these are no days of the calendar:"
    return "add formats to records.format.dates for"


_FORMS: Final = 5
_SOME: Final = 0.01


def accept_counts(
    rows: int, refused: int, counts: Mapping[tuple[str, str], int], *, max_share: float, more: str = ""
) -> None:
    """Do what `accept` does, by counts."""
    if refused > max_share * rows:
        raise TooManyBadRows(refused / rows, max_share, counts, more=more)


def count_violations(reading: Reading) -> dict[tuple[str, str], int]:
    """Count violations by field and rule, the most frequent first."""
    counts = Counter((found.field, found.code) for _, found in reading.violations)
    return dict(counts.most_common())
