"""Data-entry errors: typos, swapped day and month, capitals, abbreviations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring_model.synthetic.draws import Draws, KeyArray

_TYPO = 0.012
_WRONG_DATE = 0.004
_UPPER = 0.05
_LOWER = 0.03
_SHORT = 0.12
_ABBREVIATIONS = (
    (" Street", " St"),
    (" Road", " Rd"),
    (" Avenue", " Ave."),
    (" Lane", " Ln"),
    (" Drive", " Dr"),
    ("straße", "str."),
    ("avenue ", "av. "),
    ("boulevard ", "bd "),
    ("Calle ", "C/ "),
    ("Avenida ", "Av. "),
    ("улица ", "ул. "),
)


def mistyped(draws: Draws, field: str, names: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    """Mistype some names, and write some in capitals or without any.

    Parameters
    ----------
    field : str
        Which field, so that errors in two fields are independent; capitals go for all fields of a record.
    names : ndarray of shape (n,), str
    keys : ndarray of shape (n,), uint64
        Keys of the records.

    Returns
    -------
    ndarray of shape (n,), str
        A new array.
    """
    result = names.copy()
    place = draws.uniform(f"typo.place.{field}", keys)
    way = draws.below(f"typo.way.{field}", 3, keys)
    for row in np.flatnonzero(draws.chance(f"typo.{field}", _TYPO, keys)):
        result[row] = _typo(result[row], float(place[row]), int(way[row]))
    return _shouted(draws, result, keys)


def misdated(draws: Draws, dates: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    """Swap day and month of some dates (YYYY-MM-DD) where that gives a date, else say the first."""
    result = dates.copy()
    for row in np.flatnonzero(draws.chance("typo.dob", _WRONG_DATE, keys)):
        year, month, day = result[row].split("-")
        result[row] = f"{year}-{day}-{month}" if int(day) <= 12 else f"{year}-{month}-01"
    return result


def restyled(draws: Draws, lines: Sequence[str | None], keys: KeyArray) -> NDArray[np.object_]:
    """Abbreviate some address lines, and write some in capitals or without any."""
    result = np.array(lines, dtype=object)
    for row in np.flatnonzero(draws.chance("style.short", _SHORT, keys)):
        for long, short in _ABBREVIATIONS:
            result[row] = result[row].replace(long, short)
    return _shouted(draws, result, keys)


def _shouted(draws: Draws, texts: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    case = draws.choice("style.case", (1.0 - _UPPER - _LOWER, _UPPER, _LOWER), keys)
    for row in np.flatnonzero(case == 1):
        texts[row] = texts[row].upper()
    for row in np.flatnonzero(case == 2):
        texts[row] = texts[row].lower()
    return texts


def _typo(name: str, place: float, way: int) -> str:
    """Swap, double or drop a letter; the last one stays where the name has no other."""
    if len(name) < 3:
        return name
    at = 1 + int(place * (len(name) - 2))
    if way == 0:
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if way == 1:
        return name[:at] + name[at] + name[at:]
    return name[:at] + name[at + 1 :]
