"""Quarantine of rejected rows, and the limit on their share."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from scoring_model.records.atomic import atomic_file
from scoring_model.records.reading import Reading
from scoring_model.records.record import RowViolation

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters of text that a spreadsheet runs as a formula, or strips to find one."""

GUARD: Final = "'"
"""In front of a cell it makes a spreadsheet read the rest as text."""


def guarded(text: str) -> str:
    """Put `GUARD` before text that a spreadsheet would run.

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
    """

    def __init__(self, share: float, limit: float, counts: Mapping[tuple[str, str], int]) -> None:
        listed = ", ".join(f"{field or 'record'} {rule}: {count}" for (field, rule), count in counts.items())
        super().__init__(f"{share:.2%} of the rows were refused, at most {limit:.2%} are accepted ({listed})")
        self.share = share
        self.limit = limit
        self.counts = counts


def write_quarantine(violations: Iterable[RowViolation], path: Path) -> None:
    """Write violations as CSV, whole or not at all.

    Parameters
    ----------
    violations : iterable of RowViolation
        In the order of the file.
    path : Path
        UTF-8, RFC 4180 with LF, columns `row,field,rule,detail`. No value of a record is in it.
        Text that a spreadsheet would run is guarded: names of fields are the sender's.
    """
    with (
        atomic_file(path) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("row", "field", "rule", "detail"))
        writer.writerows(
            (row, guarded(found.field), found.code, guarded(found.detail)) for row, found in violations
        )


def accept(reading: Reading, *, max_share: float) -> None:
    """Reject a source with too many rejected rows.

    Parameters
    ----------
    reading : Reading
        What `read_records` gave.
    max_share : float
        Largest accepted share of refused rows, in [0, 1].

    Raises
    ------
    TooManyBadRows
        If more were refused.
    ValueError
        If `max_share` is outside of [0, 1].
    """
    if not 0 <= max_share <= 1:
        raise ValueError(f"max_share must fulfil 0 <= max_share <= 1, got {max_share}")
    refused = reading.rows - len(reading.table)
    if refused > max_share * reading.rows:
        counts = Counter((found.field, found.code) for _, found in reading.violations)
        raise TooManyBadRows(refused / reading.rows, max_share, dict(counts.most_common()))
