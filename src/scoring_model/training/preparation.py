"""Records as the model sees them: split, features and their state."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypedDict

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.history import PERSON, key_codes, person_codes
from scoring_model.records import RecordTable
from scoring_model.training.rings import find_rings, one_of_each
from scoring_model.training.split import Split, split
from scoring_model.training.useless import find_useless


class FeatureOptions(TypedDict):
    """Options of the columns for search and fit."""

    feature_names: tuple[str, ...]
    categorical: tuple[int, ...]
    monotone: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Records as the model sees them.

    Parameters
    ----------
    persons : ndarray of shape (n,), int64
        Codes; a record without a known person is a person of its own.
    matrix : FeatureMatrix
        Its state is fitted on the burn-in.
    rows : ndarray of shape (n, d), float64
    useless : mapping of str to str
        Features that were left out since they can teach nothing, with the reason.
    """

    table: RecordTable
    persons: IntArray
    split: Split
    matrix: FeatureMatrix
    rows: FloatArray
    useless: Mapping[str, str] = field(default_factory=dict)

    @property
    def feature_options(self) -> FeatureOptions:
        """Names, categorical columns and directions."""
        features = self.matrix.features
        return FeatureOptions(
            feature_names=self.matrix.names,
            categorical=tuple(i for i, feature in enumerate(features) if feature.categorical),
            monotone=tuple(feature.direction for feature in features),
        )

    @cached_property
    def genuine_persons(self) -> IntArray:
        """Places in the validation part of one genuine record of each person."""
        places, rows = self._validated(0)
        return places[one_of_each(self.persons[rows])]

    @cached_property
    def fraud_rings(self) -> IntArray:
        """Places in the validation part of one record of each ring of frauds."""
        places, rows = self._validated(1)
        keys = [key for key in self.matrix.link_keys if key.name != PERSON]
        codes = [self.persons, *(key_codes(self.table, key) for key in keys)]
        return places[one_of_each(find_rings(codes, rows))]

    def _validated(self, target: int) -> tuple[IntArray, IntArray]:
        """Places in the validation part of the records with a target, and their rows in the table."""
        places = np.flatnonzero(self.split.validation_targets == target)
        return places, self.split.validation[places]


def prepare(table: RecordTable, configuration: Configuration) -> Prepared:
    """Split a labelled history, fit the state of the features on the burn-in, and build all rows.

    Every record is history to the later ones, also in the gaps and in the label maturity window. The split alone
    decides what is trained on.

    Raises
    ------
    SplitError
        When the history is too short or a part has too few frauds.
    """
    persons = person_codes(table, alone=True)
    parts = split(table.event_times, table.labels, table.label_times, persons, configuration.split)
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(parts.burn_in), settings))
    rows, useless = matrix.rows(table), {}
    if configuration.features.drop_useless:
        factors = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
        useless = find_useless(rows, parts.train, matrix.names, factors)
        rows, matrix = _without(useless, rows, matrix)
    return Prepared(table=table, persons=persons, split=parts, matrix=matrix, rows=rows, useless=useless)


def _without(
    useless: Collection[str], rows: FloatArray, matrix: FeatureMatrix
) -> tuple[FloatArray, FeatureMatrix]:
    """Leave out columns, in place: a second matrix could be too much to hold."""
    kept = [place for place, name in enumerate(matrix.names) if name not in useless]
    for new, old in enumerate(kept):
        if new != old:
            rows[:, new] = rows[:, old]
    settings = replace(matrix.settings, exclude=(*matrix.settings.exclude, *useless))
    return rows[:, : len(kept)], FeatureMatrix(settings, matrix.state)
