"""Records as the model sees them: split, features and their state."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypedDict

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.history import PERSON, key_codes, person_codes
from scoring_model.records import RecordTable
from scoring_model.training.split import Split, split
from scoring_model.training.useless import find_useless

MOST_SHARED: Final = 256
"""A value of a link key that more records share joins none: a large building, a placeholder image."""


def find_rings(keys: Sequence[IntArray], rows: IntArray) -> IntArray:
    """Find the connected components of some records, of which two are joined that share a value of a link key.

    Components are found among these records alone: two frauds are not joined because of a genuine record between
    them, which would in the end join nearly everything. How many records hold a value is counted over the whole
    table. So a ring of more than 256 records that only one value joins is not seen as one.

    Parameters
    ----------
    keys : sequence of ndarray of shape (n,), int64
        Codes of one link key for every record of the table; negative where a record has no such key.
    rows : ndarray of shape (r,), int64
        Records among which rings are found.

    Returns
    -------
    ndarray of shape (r,), int64
        Equal for records of one ring: the first place in `rows` of a record of that ring.
    """
    parents = list(range(len(rows)))
    for codes in keys:
        for place, other in _joined(codes, rows):
            _unite(parents, place, other)
    return np.array([_root(parents, place) for place in range(len(rows))], dtype=np.int64)


def one_of_each(groups: IntArray) -> IntArray:
    """Choose one record of each group at random.

    Not the first in time: it has no links to the others yet, so that its score does not represent theirs. The draw is
    the same for equally many records, so that it cannot be repeated until a bound is kept.

    Returns
    -------
    ndarray of shape (g,), int64
        Places, ascending.
    """
    order = np.random.default_rng(0).permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first]).astype(np.int64, copy=False)


def _joined(codes: IntArray, rows: IntArray) -> Iterator[tuple[int, int]]:
    """Give pairs of places, enough to connect all that share a value of this key."""
    holders = np.bincount(codes[codes >= 0], minlength=1)
    places = np.flatnonzero(codes[rows] >= 0)
    places = places[holders[codes[rows[places]]] <= MOST_SHARED]
    values = codes[rows[places]]
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(np.diff(values[order]) == 0)
    yield from zip(places[order[same]].tolist(), places[order[same + 1]].tolist(), strict=True)


def _root(parents: list[int], place: int) -> int:
    """Follow the parents to the first place of the ring, and shorten the way for the next time."""
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _unite(parents: list[int], place: int, other: int) -> None:
    """Make one ring of two: the earlier root is the root of both."""
    first, second = sorted((_root(parents, place), _root(parents, other)))
    parents[second] = first


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
