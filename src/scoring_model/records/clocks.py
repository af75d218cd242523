"""Joins times whose day and time of day stand in two columns of a file."""

import re
from dataclasses import replace
from datetime import time
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scoring_model.arrays import BoolArray
from scoring_model.contract.rules import Rule
from scoring_model.records import cells
from scoring_model.records.encoding import encode
from scoring_model.records.record import RowViolation, violation
from scoring_model.records.schema import RecordSchema
from scoring_model.records.sheet import Cells, Sheet
from scoring_model.records.table import Column

_CLOCK: Final = re.compile(
    r"(?:\d+[-./]\d+[-./]\d+[T ])?"  # databases without a type for times of day write some day before them
    r"(\d{1,2})[:.h](\d{2})(?:[:.m](\d{2})(?:[.,](\d{1,9}))?)?s?\s?(?:([ap])\.?\s?m\.?|uhr|h)?",
    re.ASCII | re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"(\d{1,2})(\d{2})(\d{2})?", re.ASCII)
_MIDNIGHT: Final = re.compile(r"[T ]0?0[:.]00(?:[:.]00(?:[.,]0+)?)?(?:Z|\+00:?00)?$", re.ASCII)


def time_of_day(value: object) -> str | None:
    """Read a time of day as text such as `13:45:00`; None for other cells.

    Digits without marks are hours and minutes, and perhaps seconds.

    Examples
    --------
    >>> [time_of_day(text) for text in ("9.05", "1:45 p. m.", "13h45", "13:45 Uhr", "134510", "25:00")]
    ['09:05:00', '13:45:00', '13:45:00', '13:45:00', '13:45:10', None]
    """
    if isinstance(value, time):
        return value.isoformat()
    text = str(value if isinstance(value, np.datetime64) else cells.text(value)).strip()
    match = _CLOCK.fullmatch(text) or (_DIGITS.fullmatch(text) if 3 <= len(text) <= 6 else None)
    if match is None:
        return None
    hour, minute, second, fraction, half = (*(part or "" for part in match.groups()), "", "")[:5]
    number, most = int(hour), 12 if half else 23
    if number > most or int(minute) > 59 or int(second or 0) > 59:
        return None
    if half:
        number = number % 12 + (12 if half in "pP" else 0)
    return f"{number:02}:{minute}:{second or '00'}{fraction and f'.{fraction}'}"


def join_clock(days: Column, hours: Column) -> tuple[Column, BoolArray]:
    """Join days and times of day to texts; a cell that is no time of day stays as it is, and makes no time.

    Returns
    -------
    Column
        Missing where the day is.
    ndarray of shape (n,), bool
        Rows that have a day and no time of day.
    """
    dated, timed = _present(days), _present(hours)
    pairs = days.codes.astype(np.int64) * (len(hours.values) + 1) + np.where(timed, hours.codes + 1, 0)
    distinct, codes = np.unique(pairs[dated], return_inverse=True)
    starts = [_MIDNIGHT.sub("", str(cells.text(day)).strip()) for day in days.values]
    clocks = [" 00:00:00", *(f" {time_of_day(hour) or cells.text(hour)}" for hour in hours.values)]
    texts: dict[str, int] = {}
    places = [
        texts.setdefault(starts[day] + clocks[hour], len(texts))
        for day, hour in zip(*np.divmod(distinct, len(hours.values) + 1), strict=True)
    ]
    joined = np.full(len(days.codes), -1, dtype=np.int32)
    joined[dated] = np.array(places, dtype=np.int32)[codes]
    return Column(tuple(texts), joined), dated & ~timed


def _present(column: Column) -> BoolArray:
    there = np.array([*(cells.plain(value) is not None for value in column.values), False])
    present: BoolArray = there[column.codes]
    return present


def with_clocks(sheet: Sheet, schema: RecordSchema) -> Sheet:
    """Replace columns of days by their times, where the schema names a column of times of day for them.

    A day without a time of day is a violation of its row.
    """
    columns: dict[str, Cells] = dict(sheet.columns)
    violations: list[RowViolation] = []
    for field, clock in schema.clocks.items():
        day = schema.column_of(field)
        if day in columns and clock in columns:
            raw = (encode(columns[name], sheet.rows, schema.format.nulls) for name in (day, clock))
            joined, without = join_clock(*raw)
            columns[day] = _texts(joined)
            missing = violation(field, Rule.MISSING, f"must have a time of day in the column {clock!r}")
            violations += [RowViolation(row, missing) for row in np.flatnonzero(without).tolist()]
    return replace(sheet, columns=columns, violations=(*sheet.violations, *violations))


def _texts(column: Column) -> Any:
    codes = pa.array(column.codes, mask=column.codes < 0)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(column.values, pa.string()))])
