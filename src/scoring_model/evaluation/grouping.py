"""Groups of records by the values of one column, such as age bands; values of few persons are merged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.bundle.k_anonymity import MIN_GROUP_SIZE
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.records import Column

MAX_GROUPS: Final = 200
OTHER: Final = "other (fewer than five persons)"
MISSING: Final = "missing"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Grouping:
    """Records by group.

    Parameters
    ----------
    values : tuple of str
        One for each group: most records first, then `MISSING`, then `OTHER`.
    codes : ndarray of shape (n,), int64
        Group of each record.
    stopped : ndarray of shape (m,), int64
        Group of each record that was not observed.
    merged : int
        Number of values in `OTHER`.
    """

    values: tuple[str, ...]
    codes: IntArray
    stopped: IntArray
    merged: int

    @classmethod
    def of(cls, records: EvaluatedRecords, column: str) -> Self:
        """Group records by a column; all values of fewer than five persons are one group.

        Where persons are unknown, each record counts as one. Those who were not observed make groups too.

        Raises
        ------
        EvaluationError
            If more than 200 groups are left.
        """
        texts, codes = _cells(records.columns[column])
        persons, missing = records.persons, records.not_observed
        if missing is not None:
            codes = np.append(codes, _cells(missing.columns[column])[1])
            both = persons, missing.persons
            persons = None if both[0] is None or both[1] is None else np.concatenate([both[0], both[1]])
        persons = np.arange(len(codes)) if persons is None else persons
        held = _persons_by_code(codes, persons, len(texts))
        kept = _large_groups(column, held)
        sizes = np.bincount(codes, minlength=len(texts))
        kept.sort(key=lambda code: (texts[code] == MISSING, -sizes[code], texts[code]))
        places = np.full(len(texts), len(kept), dtype=np.int64)
        places[kept] = np.arange(len(kept))
        merged = int(np.count_nonzero(held)) - len(kept)
        values = (*(texts[code] for code in kept), *([OTHER] if merged else []))
        found, observed = places[codes], len(records)
        return cls(values=values, codes=found[:observed], stopped=found[observed:], merged=merged)


def check_groups(columns: Mapping[str, Column], persons: IntArray) -> None:
    """Raise, before anything is scored, as `Grouping.of` would for the columns of records of these persons."""
    for name, column in columns.items():
        texts, codes = _cells(column)
        _large_groups(name, _persons_by_code(codes, persons, len(texts)))


def _persons_by_code(codes: IntArray, persons: IntArray, size: int) -> IntArray:
    width = int(persons.max(initial=0)) + 1
    return np.bincount(np.unique(codes * width + persons) // width, minlength=size)


def _large_groups(column: str, held: IntArray) -> list[int]:
    """Return the codes of enough persons to be groups; raise if they are too many."""
    kept: list[int] = np.flatnonzero(held >= MIN_GROUP_SIZE).tolist()
    if len(kept) > MAX_GROUPS:
        raise EvaluationError(
            f"by: {column} has {len(kept):,} values of {MIN_GROUP_SIZE} or more persons; "
            f"at most {MAX_GROUPS} groups are compared"
        )
    return kept


def _cells(column: Column) -> tuple[list[str], IntArray]:
    """Return the values as texts, the last for none, and the code of each record."""
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in column.values]
    return [*texts, MISSING], np.where(column.codes < 0, len(texts), column.codes).astype(np.int64)


AGE_BAND: Final = "ageBand"
_STARTS: Final = (18, 25, 35, 45, 55, 65)
BANDS: Final = ("under 18", "18-24", "25-34", "35-44", "45-54", "55-64", "65 and over")


def age_bands(births: Column, event_times: IntArray) -> Column:
    """Return the age band of each record.

    Parameters
    ----------
    births : Column
        Dates of birth, `YYYY-MM-DD`.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC; the age is that on the day in UTC.

    Returns
    -------
    Column
        Values in `BANDS`.

    Examples
    --------
    >>> births = Column(("2000-06-15",), np.zeros(2, dtype=np.int32))
    >>> days = np.array(["2025-06-14", "2025-06-15"], dtype="datetime64[us]").astype(np.int64)
    >>> age_bands(births, days).codes.tolist()
    [1, 2]
    """
    born = np.array([*(int(value.replace("-", "")) for value in births.values), 0])[births.codes]
    days = event_times.astype("datetime64[us]").astype("datetime64[D]")
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    year = years.astype(np.int64) + 1970
    month = (months - years).astype(np.int64) + 1
    day = (days - months).astype(np.int64) + 1
    ages = (year * 10_000 + month * 100 + day - born) // 10_000
    codes = np.searchsorted(_STARTS, ages, side="right")
    return Column(BANDS, np.where(births.codes < 0, -1, codes).astype(np.int32))
