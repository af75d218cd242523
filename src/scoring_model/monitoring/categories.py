"""Categories that are new in a window, and common ones that vanished from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Profile
from scoring_model.bundle.profile import CodeProfile
from scoring_model.features import FeatureMatrix
from scoring_model.records import RecordTable

MIN_CATEGORY: Final = 5
"""Fewest records of a new category that is named."""

UNKNOWN_ERRORS: Final = 3.0
"""Standard errors, for independent records, by which the share of unknown categories must rise to name them."""

LARGE_CODE_SHARE: Final = 0.002
"""Least share of the reference of a category that is missed when it vanishes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryChange:
    """A category that is new in the window, or that vanished from it.

    New are those that the model does not know, of fields where such records have become more.

    Parameters
    ----------
    field : str
    value : str
    change : {"new", "vanished"}
    records : int
        Records of the window with a new category; records that the window would have of a vanished one.
    """

    field: str
    value: str
    change: Literal["new", "vanished"]
    records: int


def _vocabularies(matrix: FeatureMatrix) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield feature, field and categories of each categorical feature whose codes are those of a vocabulary."""
    for feature in matrix.features:
        if (
            feature.categorical
            and len(feature.inputs) == 1
            and feature.inputs[0] in matrix.state.vocabularies
        ):
            yield feature.name, feature.inputs[0], matrix.state.vocabulary(feature.inputs[0]).values


def category_changes(
    profile: Profile, matrix: FeatureMatrix, rows: FloatArray, table: RecordTable
) -> Iterator[CategoryChange]:
    """Find categories that the training lacks, and common ones that the window lacks."""
    places = {name: place for place, name in enumerate(matrix.names)}
    for name, field, values in _vocabularies(matrix):
        feature = profile.features.get(name)
        if not isinstance(feature, CodeProfile):
            continue
        if _more_are_unknown(feature, len(values), rows[:, places[name]], profile.records):
            column = table.column(field)
            counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
            known = set(values)
            for value, count in sorted(
                zip(column.values, counts.tolist(), strict=True), key=lambda one: -one[1]
            ):
                if value not in known and count >= MIN_CATEGORY:
                    yield CategoryChange(field=field, value=str(value), change="new", records=count)
        present = set(rows[:, places[name]].tolist())
        for code, share in zip(feature.codes, feature.shares[:-1], strict=True):
            if code not in present and code < len(values) and share >= LARGE_CODE_SHARE:
                expected = round(share * (1 - feature.missing) * len(rows))
                yield CategoryChange(field=field, value=values[code], change="vanished", records=expected)


def _more_are_unknown(feature: CodeProfile, known: int, values: FloatArray, records: int) -> bool:
    """Return whether more records have a category that the training lacks than in the reference, beyond chance."""
    place = feature.codes.index(known) if known in feature.codes else -1  # else among all other codes
    before = feature.shares[place] * (1 - feature.missing)
    after = np.count_nonzero(values == known) / max(len(values), 1)
    pooled = (before * records + after * len(values)) / max(records + len(values), 1)
    error = np.sqrt(pooled * (1 - pooled) * (1 / max(records, 1) + 1 / max(len(values), 1)))
    return bool(after - before > UNKNOWN_ERRORS * error)
