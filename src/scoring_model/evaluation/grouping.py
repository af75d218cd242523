"""Groups of records by the values of one column; values of few persons are merged."""

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
    merged : int
        Number of values in `OTHER`.
    """

    values: tuple[str, ...]
    codes: IntArray
    merged: int

    @classmethod
    def of(cls, records: EvaluatedRecords, column: str) -> Self:
        """Group records by a column; all values of fewer than five persons are one group.

        Where persons are unknown, each record counts as one.

        Raises
        ------
        EvaluationError
            If more than 200 groups are left.
        """
        texts, codes = _cells(records.columns[column])
        persons = np.arange(len(records)) if records.persons is None else records.persons
        width = int(persons.max(initial=0)) + 1
        held = np.bincount(np.unique(codes * width + persons) // width, minlength=len(texts))
        kept = np.flatnonzero(held >= MIN_GROUP_SIZE).tolist()
        if len(kept) > MAX_GROUPS:
            raise EvaluationError(
                f"by: {column} has {len(kept):,} values of {MIN_GROUP_SIZE} or more persons; "
                f"at most {MAX_GROUPS} groups are compared"
            )
        sizes = np.bincount(codes, minlength=len(texts))
        kept.sort(key=lambda code: (texts[code] == MISSING, -sizes[code], texts[code]))
        places = np.full(len(texts), len(kept), dtype=np.int64)
        places[kept] = np.arange(len(kept))
        merged = int(np.count_nonzero(held)) - len(kept)
        values = (*(texts[code] for code in kept), *([OTHER] if merged else []))
        return cls(values=values, codes=places[codes], merged=merged)


def _cells(column: Column) -> tuple[list[str], IntArray]:
    """Return the values as texts, the last for none, and the code of each record."""
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in column.values]
    return [*texts, MISSING], np.where(column.codes < 0, len(texts), column.codes).astype(np.int64)
