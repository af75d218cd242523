"""Prepares records for the model: split, features and their state."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration, PolicySettings
from scoring_model.evaluation.bounds import MISSED_FRAUD, room
from scoring_model.evaluation.fraud_rings import rings_of_frauds
from scoring_model.evaluation.stopped import ControlGroup
from scoring_model.features import FeatureMatrix, FittedState, KnownLabels, fit_known_labels, fit_state
from scoring_model.history import person_codes
from scoring_model.history.rings import rings_of
from scoring_model.records import RecordTable
from scoring_model.records.observation import observed, unsampled
from scoring_model.records.times import DAY
from scoring_model.training.boundaries import span_of
from scoring_model.training.certification import delta_of
from scoring_model.training.fitting import FeatureOptions, genuine_weights
from scoring_model.training.folds import FoldError, LearntColumns, cut_folds
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
    return np.sort(order[first])


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
    learnt : LearntColumns or None
        Columns of the train part that differ between the folds of a search.
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
    learnt: LearntColumns | None = None
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
        return rings_of_frauds(self.table, self.persons, self.matrix.link_keys, part.rows, part.targets)

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
    parts = _split(records, persons, configuration)
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_before(parts, table, configuration))
    rows = records.rows(matrix) if isinstance(records, KeptRecords) else matrix.rows(table)
    useless = useless_features(matrix, rows, parts.train, configuration)
    if configuration.features.drop_useless:
        rows, matrix = _without(useless, rows, matrix)
    return Prepared(
        table=table,
        persons=persons,
        split=parts,
        matrix=matrix,
        rows=rows,
        useless=useless,
        thinning=records.thinning if isinstance(records, KeptRecords) else None,
        learnt=learnt_columns(matrix, table, parts, configuration),
        beside=counted_as_genuine(
            parts.control,
            genuine=parts.validation[parts.validation_targets == 0],
            stopped=parts.stopped,
            spare=parts.spare,
            persons=persons,
            settings=configuration.policy,
        ),
    )


def useless_features(
    matrix: FeatureMatrix, rows: FloatArray, train: IntArray, configuration: Configuration
) -> Mapping[str, str]:
    """Return the features that a training leaves out since they help nobody, each with the reason."""
    if not configuration.features.drop_useless:
        return {}
    factors = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
    return find_useless(rows, train, matrix.names, factors, configuration.features.keep)


def _split(records: RecordTable | KeptRecords, persons: IntArray, configuration: Configuration) -> Split:
    if isinstance(records, KeptRecords):
        return records.split(persons, configuration.split_over(records.thinning.boundaries.span))
    as_of = configuration.training.split.as_of
    settings = configuration.split_over(span_of(records.event_times, records.label_times, as_of))
    return split(
        records.event_times,
        records.labels,
        records.label_times,
        persons,
        settings,
        propensities=records.propensities,
        observed=observed(unsampled(records), settings.label_maturity),
    )


def counted_as_genuine(
    control: ControlGroup | None,
    *,
    genuine: IntArray,
    stopped: IntArray,
    spare: IntArray,
    persons: IntArray,
    settings: PolicySettings,
) -> IntArray:
    """Choose the rows that bounds on the errors of genuine applicants count as genuine beside the tested sample.

    Where no control group stands for the stopped ones these are. Where one does, the sample is one of all applicants,
    with as few records as its share is small. Then all who were observed, and each stopped one as genuine, may leave a
    policy more room, as most that a policy stops are few. That is chosen by numbers of persons and frauds alone, before
    any score is known, so that the tests stay exact.

    Parameters
    ----------
    genuine, stopped, spare : ndarray of int64
        Rows of the table: the genuine ones of the sample, those that were not observed, and the genuine ones that were
        left out by chance.
    persons : ndarray of shape (n,), int64
        Codes of the rows of the table.

    Returns
    -------
    ndarray of int64
        Rows of the table, `stopped` first; empty where the sample alone leaves more room.
    """
    limits = settings.limits()
    if control is None or not control.stands_for_all:
        return stopped
    every = np.concatenate([stopped, spare])
    alone, together = (len(np.unique(persons[rows])) for rows in (genuine, np.concatenate([genuine, every])))
    frauds = len(stopped) * control.frauds / (control.genuine + control.frauds)
    delta = delta_of(settings.confidence) / max(len(limits), 1)
    rooms = [
        (room(together, limit=limit, delta=delta, certain=frauds), room(alone, limit=limit, delta=delta))
        for bound, limit in limits.items()
        if bound != MISSED_FRAUD
    ]
    return every if all(more >= less for more, less in rooms) else every[:0]


def fit_before(parts: Split, table: RecordTable, configuration: Configuration) -> FittedState:
    """Fit the state of the features before the first row of validation: tables of frequencies on the burn-in alone."""
    return _fit(table, parts.burn_in, parts.train, parts.boundaries.validation_from, configuration)


def _fit(
    table: RecordTable, burn_in: IntArray, train: IntArray, until: int, configuration: Configuration
) -> FittedState:
    settings = configuration.feature_settings
    learnt = table.take(np.concatenate([burn_in, train]))
    state = fit_state(table.take(burn_in), settings, categories=learnt)
    if not settings.has_label_statistics:
        return state
    delay = (
        configuration.training.split.label_maturity if settings.links.delay is None else settings.links.delay
    )
    known = fit_known_labels(table, settings.categories, delay=delay, until=until)
    return replace(state, known_labels=known)


def learnt_columns(
    matrix: FeatureMatrix, table: RecordTable, parts: Split, configuration: Configuration
) -> LearntColumns | None:
    """Return the columns that the train part teaches as each fold of a search sees them; None for those of all.

    A fold learns them from what was known at its origin, and reads them after it as a served model does. Without label
    statistics, or where no folds can be cut, there are none: codes of categories hold no label.
    """
    if not statistic_names(matrix):
        return None
    names = tuple(feature.name for feature in matrix.features if feature.learnt)
    others = [name for name in matrix.names if name not in names]
    times, values = table.event_times[parts.train], []
    try:
        cuts = cut_folds(times, parts.train_targets, configuration.training.tuning.folds)
    except FoldError:
        return None
    for before, after in cuts:
        state = _fit(table, parts.burn_in, parts.train[before], int(times[after].min()), configuration)
        own = without_features(FeatureMatrix(matrix.settings, state), others)
        values.append(own.value_rows(table.take(parts.train[np.concatenate([before, after])])))
    return LearntColumns(names=names, values=tuple(values))


def statistic_names(matrix: FeatureMatrix) -> tuple[str, ...]:
    """Return the names of the label statistics in use."""
    return tuple(feature.name for feature in matrix.features if feature.learnt and feature.fitted)


def relearnt(matrix: FeatureMatrix, table: RecordTable) -> FeatureMatrix:
    """Return a matrix whose label statistics are those of other labels or records."""
    known = matrix.state.known_labels
    if not known.fields:
        return matrix
    again = fit_known_labels(
        table, tuple(known.fields), delay=known.delay, until=known.last * DAY, weights=known.weights
    )
    return FeatureMatrix(matrix.settings, replace(matrix.state, known_labels=again))


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
    """Return the matrix without some of its features, and without tables that no other feature reads."""
    settings = replace(matrix.settings, exclude=(*matrix.settings.exclude, *names))
    found = FeatureMatrix(settings, matrix.state)
    if not matrix.state.known_labels.fields or statistic_names(found):
        return found
    return FeatureMatrix(settings, replace(matrix.state, known_labels=KnownLabels()))
