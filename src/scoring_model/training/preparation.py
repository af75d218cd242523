"""Prepares records for the model: split, features and their state."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration, PolicySettings
from scoring_model.evaluation.bounds import MISSED_FRAUD, room
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState, fit_state
from scoring_model.history import person_codes
from scoring_model.history.rings import rings_of, rings_of_frauds
from scoring_model.records import RecordTable
from scoring_model.records.observation import observed
from scoring_model.training.certification import delta_of
from scoring_model.training.fitting import FeatureOptions, genuine_weights
from scoring_model.training.split import EvaluatedPart, Split, split
from scoring_model.training.thinning import KeptRecords, Thinning, keep
from scoring_model.training.useless import find_useless


def one_of_each(groups: IntArray) -> IntArray:
    """Choose one record of each group at random.

    The first in time would have no links to the others, so its score would not represent theirs. The draw depends only
    on the number of records, so that it cannot be repeated until a bound is kept.

    Returns
    -------
    ndarray of shape (g,), int64
        Indices, ascending.
    """
    order = np.random.default_rng(0).permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first]).astype(np.int64, copy=False)


def feature_options(matrix: FeatureMatrix) -> FeatureOptions:
    """Return names, categorical columns and directions of the features in use."""
    return FeatureOptions(
        feature_names=matrix.names,
        categorical=tuple(i for i, feature in enumerate(matrix.features) if feature.categorical),
        monotone=tuple(feature.direction for feature in matrix.features),
    )


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Records prepared for the model.

    Parameters
    ----------
    persons : ndarray of shape (n,), int64
        Codes; a record without a known person counts as a separate person.
    matrix : FeatureMatrix
        Its state is fitted on the burn-in, its categories are numbered on the train part too.
    rows : ndarray of shape (n, d), float64
    useless : mapping of str to str
        Features left out as useless, with the reason.
    thinning : Thinning or None
        How the records were chosen, if they are not all of the history.
    beside : ndarray of int64, optional
        Rows of the validation period that are in no part, and that bounds on the errors of genuine applicants count as
        genuine; see `counted_as_genuine`. None: those who were stopped.
    """

    table: RecordTable
    persons: IntArray
    split: Split
    matrix: FeatureMatrix
    rows: FloatArray
    useless: Mapping[str, str] = field(default_factory=dict)
    thinning: Thinning | None = None
    beside: IntArray | None = None

    @property
    def counted(self) -> IntArray:
        """Return the rows that count as genuine beside the validation part."""
        return self.split.stopped if self.beside is None else self.beside

    @property
    def genuine_weight(self) -> float:
        """Return the weight of a genuine record of the train part."""
        return 1.0 if self.thinning is None else self.thinning.weight

    @property
    def train_weights(self) -> FloatArray | None:
        """Return how much each record of the train part counts, if they differ."""
        if self.thinning is None:
            return self.split.train_weights
        return genuine_weights(self.split.train_targets, self.thinning.weight)

    @property
    def feature_options(self) -> FeatureOptions:
        """Return names, categorical columns and directions."""
        return feature_options(self.matrix)

    @cached_property
    def genuine_persons(self) -> IntArray:
        """Return one record for each person that is genuine or may be, since it was stopped.

        Returns
        -------
        ndarray of int64
            Indices in the validation part, followed by `counted`.
        """
        places, rows = self._validated(0)
        places = np.concatenate([places, len(self.split.validation) + np.arange(len(self.counted))])
        return places[one_of_each(self.persons[np.concatenate([rows, self.counted])])]

    @cached_property
    def fraud_rings(self) -> IntArray:
        """Return the indices in the validation part of one record per ring of frauds."""
        places, rows = self._validated(1)
        return places[one_of_each(rings_of(self.table, self.persons, self.matrix.link_keys, rows))]

    def rings(self, part: EvaluatedPart) -> IntArray:
        """Return the rings of the frauds of a part, of shape (n,); -1 for genuine records."""
        found, frauds = np.full(len(part.rows), -1), part.targets == 1
        found[frauds] = rings_of_frauds(self.table, self.persons, self.matrix.link_keys, part.rows[frauds])
        return found

    def _validated(self, target: int) -> tuple[IntArray, IntArray]:
        """Return the indices in the validation part of records with a target, and their rows in the table."""
        places = np.flatnonzero(self.split.validation_targets == target)
        return places, self.split.validation[places]


def prepare(records: RecordTable | KeptRecords, configuration: Configuration) -> Prepared:
    """Split a labelled history, fit the state of the features, and build all rows.

    Every record is history for later ones, including those in the gaps and in the label maturity window. Only the
    split determines the training records. With a configured as-of instant the result is that of a table without the
    records that happened then or later, and without the labels that became known then or later.

    Parameters
    ----------
    records : RecordTable or KeptRecords
        The whole history, of which `training.thinning` may keep some records, or those kept.
    """
    if isinstance(records, RecordTable):
        as_of = configuration.training.split.as_of
        records = records if as_of is None else records.before(as_of)
        if configuration.training.thinning is not None:
            records = keep(records, configuration)
    table = records if isinstance(records, RecordTable) else records.table
    persons = person_codes(table, alone=True)
    parts = (
        split(
            table.event_times,
            table.labels,
            table.label_times,
            persons,
            configuration.split,
            propensities=table.propensities,
            observed=observed(table, configuration.split.label_maturity),
        )
        if isinstance(records, RecordTable)
        else records.split(persons, configuration.split)
    )
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_before(parts, table, settings))
    rows, useless = records.rows(matrix) if isinstance(records, KeptRecords) else matrix.rows(table), {}
    if configuration.features.drop_useless:
        factors = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
        useless = find_useless(rows, parts.train, matrix.names, factors, configuration.features.keep)
        rows, matrix = _without(useless, rows, matrix)
    return Prepared(
        table=table,
        persons=persons,
        split=parts,
        matrix=matrix,
        rows=rows,
        useless=useless,
        thinning=records.thinning if isinstance(records, KeptRecords) else None,
        beside=counted_as_genuine(parts, persons, configuration.policy),
    )


def counted_as_genuine(parts: Split, persons: IntArray, settings: PolicySettings) -> IntArray:
    """Choose the rows that bounds on the errors of genuine applicants count as genuine beside the validation part.

    Where no control group stands for the stopped ones these are. Where one does, the validation part is a sample of all
    applicants, with as few records as its share is small. Then all who were observed, and each stopped one as genuine,
    may leave a policy more room, as most that a policy stops are few. That is chosen by numbers of persons and frauds
    alone, before any score is known, so that the tests stay exact.

    Returns
    -------
    ndarray of int64
        Rows of the table, `parts.stopped` first; empty where the validation part alone leaves more room.
    """
    control, limits = parts.control, settings.limits()
    if control is None or not control.stands_for_all:
        return parts.stopped
    every = np.concatenate([parts.stopped, parts.spare])
    genuine = parts.validation[parts.validation_targets == 0]
    alone, together = (len(np.unique(persons[rows])) for rows in (genuine, np.concatenate([genuine, every])))
    frauds = len(parts.stopped) * control.frauds / (control.genuine + control.frauds)
    delta = delta_of(settings.confidence) / max(len(limits), 1)
    rooms = [
        (room(together, limit=limit, delta=delta, certain=frauds), room(alone, limit=limit, delta=delta))
        for bound, limit in limits.items()
        if bound != MISSED_FRAUD
    ]
    return every if all(more >= less for more, less in rooms) else every[:0]


def fit_before(parts: Split, table: RecordTable, settings: FeatureSettings) -> FittedState:
    """Fit the state of the features before the first row of validation: categories on all, the rest on the burn-in."""
    learnt = table.take(np.concatenate([parts.burn_in, parts.train]))
    return fit_state(table.take(parts.burn_in), settings, categories=learnt)


def _without(
    useless: Collection[str], rows: FloatArray, matrix: FeatureMatrix
) -> tuple[FloatArray, FeatureMatrix]:
    """Remove columns in place, since a second matrix might not fit in memory."""
    kept = [place for place, name in enumerate(matrix.names) if name not in useless]
    for new, old in enumerate(kept):
        if new != old:
            rows[:, new] = rows[:, old]
    return rows[:, : len(kept)], without_features(matrix, useless)


def without_features(matrix: FeatureMatrix, names: Collection[str]) -> FeatureMatrix:
    """Return the matrix without some of its features."""
    settings = replace(matrix.settings, exclude=(*matrix.settings.exclude, *names))
    return FeatureMatrix(settings, matrix.state)
