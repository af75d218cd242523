"""Cells of files as the values that a JSON body would hold.

CSV has only text, pandas turns integers with gaps into floats, and every tool has its own missing value. A cell is
read as the type of its field; if that fails, it is passed on unchanged and the rule of the field rejects it. Null, NaN
and blank text are missing in every file; the text `NA` is a value.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np

from scoring_model.contract.fields import IDENTITY_FIELDS, SIGNAL_PREFIX
from scoring_model.contract.rules import SignalType
from scoring_model.records.schema import RecordSchema

# No digit can be matched in two ways, so a long cell that is no number is given up in linear time.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_EXACT: Final = 2**53  # beyond, a float may have been another integer
_LONGEST: Final = 10**39  # identifiers of 128 bits and less

Cell: TypeAlias = Callable[[object], object | None]


def plain(value: object) -> object | None:
    """Read any cell: the Python value of a scalar of numpy or pandas, None where missing."""
    if type(value) is str:  # first, since nearly all cells are text
        return value if value and not value.isspace() else None
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        return plain(value.item())
    return None if _is_missing(value) else value


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas, which is not imported


def text(value: object) -> object | None:
    """Read a cell that wants text: whole numbers by their digits."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < _LONGEST:
        return str(value)
    if isinstance(value, float | Decimal) and -_EXACT < value < _EXACT and value == int(value):
        return str(int(value))
    return value


def number(value: object) -> object | None:
    """Read a cell that wants a number: decimal text too."""
    value = plain(value)
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str):
        return value
    trimmed = value.strip()
    if trimmed.lower() == "nan":
        return None
    return float(trimmed) if _DECIMAL.fullmatch(trimmed) or _INFINITE.fullmatch(trimmed) else value


def boolean(value: object) -> object | None:
    """Read a cell that wants a boolean: `true`, `false`, 1 and 0, as text or number."""
    value = plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _BOOLEANS.get(value.strip().lower(), value)
    return bool(value) if isinstance(value, int | float | Decimal) and value in (0, 1) else value


def urls(value: object) -> object | None:
    """Read a cell that wants URLs: a list, or text that holds a JSON array or URLs with blanks between."""
    if isinstance(value, np.ndarray):
        return list(value)
    value = plain(value)
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return value.split()
    try:
        items: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return items


IDENTITY_CELLS: Final[Mapping[str, Cell]] = dict.fromkeys(IDENTITY_FIELDS, text) | {"imageUrls": urls}
SIGNAL_CELLS: Final[Mapping[SignalType, Cell]] = {
    SignalType.NUMBER: number,
    SignalType.BOOLEAN: boolean,
    SignalType.CATEGORY: text,
    SignalType.IDENTIFIER: text,
}


def field_cells(schema: RecordSchema) -> dict[str, Cell]:
    """Collect how the cells of every field of a schema are read, in the order of the fields.

    Parameters
    ----------
    schema : RecordSchema
        Names the signals and their types.

    Returns
    -------
    dict of str to callable
        Field name to reader.
    """
    signals = {SIGNAL_PREFIX + name: SIGNAL_CELLS[kind] for name, kind in schema.signals.items()}
    return {**IDENTITY_CELLS, **signals}
