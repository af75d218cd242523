"""The time-ordered split into training, validation and test, with the labels known at each moment.

Decision record: docs/adr/0013-labels-and-splits.md.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.configuration import SplitSettings
from scoring_model.evaluation.stopped import ControlGroup
from scoring_model.records.observation import NOT_OBSERVED, known_targets
from scoring_model.records.times import DAY, to_the_minute
from scoring_model.training.boundaries import SplitBoundaries, SplitError, days, find_boundaries, instant_text

SEGMENTS: Final = (
    "burn-in",
    "train",
    "gap",
    "validation",
    "gap",
    "test",
    "label maturity window",
    "after as-of",
)
BURN_IN, TRAIN, VALIDATION, GAP_BEFORE_TEST, TEST = 0, 1, 3, 4, 5
"""Numbers of segments."""
JUDGED: Final = (VALIDATION, TEST)
"""Segments that are kept whole."""
SHARED: Final = "the person also appears in validation or test"
_THINNED: Final = "left out by chance, so that each record stands for equally many"
NO_TEST_PART: Final = (
    "There is no test part (training.split.test is 0): the evaluation rests on the validation part. Scale, "
    "calibration and thresholds were chosen on the same records, so results on later records may be worse; fit and "
    "search did not use them. The promises rest on the validation part as in every training. How models of this "
    "configuration do on later records is shown by a training with a test part."
)
REASONS: Final = {
    "burn-in": "feeds history and fitted tables only",
    "train": "not known to be fraud or genuine at the start of validation",
    "gap": "lies between two parts",
    "validation": "not known to be fraud or genuine at the as-of instant",
    "test": "not known to be fraud or genuine at the as-of instant",
    "label maturity window": "too young at the as-of instant to be called genuine",
    "after as-of": "happened at the as-of instant or later",
}


_SPENT_BY: Final = {
    "burn-in": "are burn-in (training.split.burn_in)",
    "gap": "lie in gaps (training.split.gap)",
    "validation": "are validation (training.split.validation)",
    "test": "are test (training.split.test)",
    "label maturity window": "are too young (training.split.label_maturity)",
}


_FOUR_WEEKS: Final = 28 * DAY
_SHORT: Final = (
    "The validation part is shorter than four weeks, so that monitor may give no verdict on drift."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PartSummary:
    """The records of one segment of the split.

    Attributes
    ----------
    part : str
        'burn-in', 'train', 'gap', 'validation', 'test', 'label maturity window' or 'after as-of'.
    start, end : str
        The segment [start, end), ISO 8601 in UTC.
    records : int
        Records whose event falls into it; the sum over all segments is the number of records.
    genuine, frauds : int
        Records that the part uses.
    left_out : Mapping[str, int]
        Unused records by reason; with `genuine` and `frauds` they sum to `records`.
    """

    part: str
    start: str
    end: str
    records: int
    genuine: int
    frauds: int
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        left_out = "".join(f"; {count:,}: {reason}" for reason, count in self.left_out.items())
        used = f"{self.genuine:,} genuine, {self.frauds:,} frauds{left_out}"
        start, end = map(to_the_minute, (self.start, self.end))
        return f"{self.part} {start} to {end}: {self.records:,} records; {used}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NotSeen:
    """Records of a period that were not observed.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Rows of the table, in order of event time.
    targets : ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    """

    rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    targets: Int8Array = field(default_factory=lambda: np.empty(0, dtype=np.int8))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EvaluatedPart:
    """The part on which a model is evaluated: test, or validation if the split has no test part.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Rows of the table.
    targets : ndarray of shape (n,), int8
        1 fraud, 0 genuine.
    start, end : int
        The part [start, end), microseconds since 1970-01-01 UTC.
    not_observed : NotSeen
        Records of its period that were not observed. Empty where a control group stands for them.
    """

    name: Literal["test", "validation"]
    rows: IntArray
    targets: Int8Array
    start: int
    end: int
    not_observed: NotSeen


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Split:
    """The rows of each part.

    Attributes
    ----------
    burn_in, train, validation, test : ndarray of int64
        Rows of the table in order of event time; ties in order of the table. `test` may be empty.
    train_targets, validation_targets, test_targets : ndarray of int8
        1 fraud, 0 genuine, in the order of their part.
    train_weights : ndarray of float64, or None
        How many records each training record stands for, in relation to their mean. None: all count alike.
    stopped : ndarray of int64
        Rows of the validation period that were not observed and are no known frauds, in order of event time.
    spare : ndarray of int64
        Its genuine rows that were left out by chance, so that a control group stands for the stopped ones.
    validation_not_observed, test_not_observed : NotSeen
        Records of these periods that were not observed. Empty where a control group stands for them.
    control : ControlGroup, or None
        That of the validation period. None: the records have no propensities, or nobody was stopped.
    """

    burn_in: IntArray
    train: IntArray
    validation: IntArray
    test: IntArray
    train_targets: Int8Array
    validation_targets: Int8Array
    test_targets: Int8Array
    boundaries: SplitBoundaries
    summaries: tuple[PartSummary, ...]
    train_weights: FloatArray | None = None
    stopped: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    spare: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    validation_not_observed: NotSeen = field(default_factory=NotSeen)
    test_not_observed: NotSeen = field(default_factory=NotSeen)
    control: ControlGroup | None = None

    @property
    def is_sample(self) -> bool:
        """Return whether validation and test are samples of all applicants, since a control group stands for some."""
        return self.control is not None and self.control.stands_for_all

    @property
    def evaluated(self) -> EvaluatedPart:
        """Return the part on which the model is evaluated."""
        b = self.boundaries
        is_test = b.has_test
        return EvaluatedPart(
            name="test" if is_test else "validation",
            rows=self.test if is_test else self.validation,
            targets=self.test_targets if is_test else self.validation_targets,
            start=b.test_from if is_test else b.validation_from,
            end=b.test_to if is_test else b.validation_to,
            not_observed=self.test_not_observed if is_test else self.validation_not_observed,
        )


def describe_use(parts: Split, settings: SplitSettings) -> str:
    """Say how many records train, and which settings spend most of the others.

    Records after the as-of instant are not counted.
    """
    spent = Counter[str]()
    for row in parts.summaries:
        if row.part in _SPENT_BY:
            spent[_SPENT_BY[row.part]] += row.records
    train = next(row for row in parts.summaries if row.part == "train")
    more = (
        "A longer training.split.train takes records of the burn-in."
        if settings.by_duration
        else "A smaller value of one of them leaves more for the train part; if it is a share, add the difference to "
        "training.split.train."
    )
    others = [f"{count:,} {name}" for name, count in spent.most_common() if count]
    used, total = train.genuine + train.frauds, train.records + spent.total()
    validated = parts.boundaries.validation_to - parts.boundaries.validation_from
    weeks = "" if validated >= _FOUR_WEEKS else f" {_SHORT}"
    return f"{used:,} of {total:,} records train the model; {', '.join(others)}. {more}{weeks}"


def split(
    event_times: IntArray,
    labels: Int8Array,
    label_times: IntArray,
    persons: IntArray,
    settings: SplitSettings,
    *,
    propensities: FloatArray | None = None,
    observed: BoolArray | None = None,
    boundaries: SplitBoundaries | None = None,
    usable: BoolArray | None = None,
) -> Split:
    """Split a labelled history into parts without leakage of the future or of persons.

    Training uses the labels known at the start of validation, like a training at that moment; validation and test use
    those known at the as-of instant. Persons in validation or test are removed from the training rows.

    A record that was not observed has no class with age alone, and is in neither validation nor test, whatever its
    label: those whose label is known are selected. With a label it may train.

    Where records have propensities, those without one are in no part, except in training those that were observed
    before the first that is below 1: these count once each. Training weights the others by 1 / propensity.
    Validation and test keep each with a probability of the lowest propensity in them / its own: what is left is a
    sample of all applicants, on which tests and intervals for plain records hold. A control group that is
    too small in the validation period (`ControlGroup.stands_for_all`) stands for nobody: then both keep all that were
    observed, as without a control group.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC
    labels : ndarray of shape (n,), int8, 1 fraud, 0 genuine, -1 none
    label_times : ndarray of shape (n,), int64, microseconds, the instant from which a label is known
    persons : ndarray of shape (n,), int64, code of the person; negative: unknown, different from all others
    propensities : ndarray of shape (n,), float64, in (0, 1], NaN where there is none, optional
    observed : ndarray of shape (n,), bool, optional
        Records that were observed until they were mature (`records.observation`); by default all.
    boundaries : SplitBoundaries, optional
        Those of the whole history, if these are only some of its records.
    usable : ndarray of shape (n,), bool, optional
        Records that a part may use; by default all.

    Raises
    ------
    SplitError
        If the time span is too short, or parts lack genuine records or have too few frauds; lists all reasons.
    ValueError
        If the columns differ in length.
    """
    if len({len(event_times), len(labels), len(label_times), len(persons)}) != 1:
        raise ValueError("event_times, labels, label_times and persons must have one length")
    boundaries = boundaries or find_boundaries(event_times, label_times, settings)
    records = _Records(
        times=(event_times, labels, label_times),
        order=np.argsort(event_times, kind="stable"),
        segments=segments_of(event_times, boundaries),
        present=np.ones(len(event_times), np.bool_) if usable is None else usable,
        boundaries=boundaries,
        maturity=settings.label_maturity,
    )
    seen, control, is_sample = records.seen(observed, propensities)
    targets, segments = records.targets(seen), records.segments
    left_out = _left_out(segments, targets, seen, records.present, persons, weighted=propensities is not None)
    if propensities is not None and is_sample:
        kept = np.isin(segments, JUDGED) & ~left_out[NOT_OBSERVED] & (targets >= 0)
        left_out[_THINNED] = kept & ~thinned(propensities, kept, records.order)
    summaries = _summaries(event_times, segments, targets, left_out, boundaries)
    _refuse_thin_parts(summaries, boundaries, settings)
    used = ((targets >= 0) & ~_any_of(left_out)) | ((segments == BURN_IN) & records.present)
    burn_in, train, validation, test = (
        records.in_order(used & (segments == part)) for part in (BURN_IN, TRAIN, VALIDATION, TEST)
    )
    unseen, validating = ~seen & records.present, segments == VALIDATION
    not_observed = [records.in_order(unseen & (segments == part) & (not is_sample)) for part in JUDGED]
    spare = left_out.get(_THINNED, np.zeros_like(seen)) & (targets == 0) & validating
    return Split(
        burn_in=burn_in,
        train=train,
        validation=validation,
        test=test,
        train_targets=targets[train],
        validation_targets=targets[validation],
        test_targets=targets[test],
        boundaries=boundaries,
        summaries=_existing(summaries, settings),
        train_weights=None if propensities is None else _relative(1.0 / propensities[train]),
        stopped=records.in_order(unseen & (targets != 1) & validating),
        spare=records.in_order(spare),
        validation_not_observed=NotSeen(rows=not_observed[0], targets=targets[not_observed[0]]),
        test_not_observed=NotSeen(rows=not_observed[1], targets=targets[not_observed[1]]),
        control=control,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Records:
    """The records that are split.

    Parameters
    ----------
    times : tuple of ndarray of shape (n,)
        Event times, labels and label times.
    order : ndarray of shape (n,), int64
        The rows in order of event time; ties in order of the table.
    """

    times: tuple[IntArray, Int8Array, IntArray]
    order: IntArray
    segments: NDArray[np.intp]
    present: BoolArray
    boundaries: SplitBoundaries
    maturity: int

    def in_order(self, rows: BoolArray) -> IntArray:
        """Return the rows of a mask in order of event time."""
        return self.order[rows[self.order]]

    def targets(self, seen: BoolArray) -> Int8Array:
        """Return the class of each record where these are the observed ones; -1 for all that no part may use."""
        known = targets_of(*self.times, seen, self.segments, self.boundaries, self.maturity)
        return np.where(self.present, known, np.int8(-1))

    def seen(
        self, observed: BoolArray | None, propensities: FloatArray | None
    ) -> tuple[BoolArray, ControlGroup | None, bool]:
        """Return who counts as observed in its part, the control group, and whether the judged are a sample of all."""
        seen = np.ones(len(self.segments), np.bool_) if observed is None else observed
        if propensities is None:
            return seen, None, False
        drawn = seen & ~np.isnan(propensities)
        of_control = drawn & self.present & (self.segments == VALIDATION)
        control = ControlGroup.of(1.0 / propensities, np.where(of_control, self.targets(drawn), -1))
        is_sample = control is None or control.stands_for_all
        if observed is None:
            return drawn, control, is_sample
        # As without a control group, all that were observed are judged.
        as_without = np.isin(self.segments, JUDGED) & (not is_sample)
        before = (self.segments == TRAIN) & _before_control(self.times[0], propensities)
        return np.where(as_without | before, seen, drawn), control, is_sample


def _left_out(
    segments: NDArray[np.intp],
    targets: Int8Array,
    seen: BoolArray,
    present: BoolArray,
    persons: IntArray,
    *,
    weighted: bool,
) -> dict[str, BoolArray]:
    """Return by reason which records no part uses."""
    judged, in_train = np.isin(segments, JUDGED), segments == TRAIN
    shared = present & in_train & _seen_in(persons, judged)
    if not weighted:
        stopped = ~seen & present & (judged | (in_train & (targets < 0))) & ~shared
        return {SHARED: shared} | ({NOT_OBSERVED: stopped} if stopped.any() else {})
    # A weight is known of the observed alone.
    return {SHARED: shared, NOT_OBSERVED: ~seen & (judged | in_train) & ~shared}


def thinned(propensities: FloatArray, kept: BoolArray, order: IntArray) -> BoolArray:
    """Draw some records so that all have the same chance of having passed and being drawn; returns their mask.

    The draws depend on the number of records alone, so that they can't be repeated until a bound is kept.
    """
    drawn = np.zeros(len(kept), dtype=np.bool_)
    rows = order[kept[order]]
    lowest = propensities[rows].min(initial=1.0)
    drawn[rows] = np.random.default_rng(0).random(len(rows)) * propensities[rows] < lowest
    return drawn


def _before_control(event_times: IntArray, propensities: FloatArray) -> BoolArray:
    """Return the mask of records before the first whose propensity is below 1, when there was no control group."""
    began = event_times[propensities < 1].min(initial=np.iinfo(np.int64).max)
    before: BoolArray = event_times < began
    return before


def _relative(weights: FloatArray) -> FloatArray:
    """Divide weights by their mean, so that limits on leaves mean what they mean without weights; NaN counts once."""
    weights = np.nan_to_num(weights, nan=1.0)
    return weights / weights.mean() if len(weights) else weights


def _any_of(masks: Mapping[str, BoolArray]) -> BoolArray:
    found: BoolArray = np.logical_or.reduce(list(masks.values()))
    return found


def segments_of(event_times: IntArray, boundaries: SplitBoundaries) -> NDArray[np.intp]:
    """Return the number of the segment of each record."""
    return np.searchsorted(boundaries.edges, event_times, side="right") - 1


def targets_of(
    event_times: IntArray,
    labels: Int8Array,
    label_times: IntArray,
    observed: BoolArray,
    segments: NDArray[np.intp],
    boundaries: SplitBoundaries,
    maturity: int,
) -> Int8Array:
    """Return the target of each record of a part known at the part's instant, -1 for all others."""
    to_train, to_judge = (
        known_targets(event_times, labels, label_times, instant, maturity, observed=observed)
        for instant in (boundaries.validation_from, boundaries.as_of)
    )
    judged = np.isin(segments, JUDGED)
    return np.where(segments == TRAIN, to_train, np.where(judged, to_judge, np.int8(-1)))


def _seen_in(persons: IntArray, chosen: BoolArray) -> BoolArray:
    """Return the mask of records whose person has a chosen record."""
    return (persons >= 0) & np.isin(persons, persons[chosen])


def _summaries(
    event_times: IntArray,
    segments: NDArray[np.intp],
    targets: Int8Array,
    left_out: Mapping[str, BoolArray],
    boundaries: SplitBoundaries,
) -> tuple[PartSummary, ...]:
    edges = [*boundaries.edges.tolist(), max(boundaries.as_of, int(event_times.max()) + 1)]
    rows = []
    for number, part in enumerate(SEGMENTS):
        inside = segments == number
        used = inside & ~_any_of(left_out)
        unused = used & (targets < 0)
        reasons = {
            REASONS[part]: int(unused.sum()),
            **{reason: int((inside & mask).sum()) for reason, mask in left_out.items()},
        }
        rows.append(
            PartSummary(
                part=part,
                start=instant_text(edges[number]),
                end=instant_text(edges[number + 1]),
                records=int(inside.sum()),
                genuine=int((used & (targets == 0)).sum()),
                frauds=int((used & (targets == 1)).sum()),
                left_out={reason: count for reason, count in reasons.items() if count},
            )
        )
    return tuple(rows)


def _existing(summaries: tuple[PartSummary, ...], settings: SplitSettings) -> tuple[PartSummary, ...]:
    """Leave out the empty segments of a gap and a test part that do not exist."""
    return summaries if settings.gaps != 1 else summaries[:GAP_BEFORE_TEST] + summaries[TEST + 1 :]


def _refuse_thin_parts(
    summaries: tuple[PartSummary, ...], boundaries: SplitBoundaries, settings: SplitSettings
) -> None:
    reasons = []
    total = sum(settings.parts.values())
    for part, given in zip((TRAIN, VALIDATION, TEST), settings.parts.values(), strict=False):
        summary = summaries[part]
        length = int(boundaries.edges[part + 1] - boundaries.edges[part])
        left = "".join(
            f"; {count:,} of {summary.records:,}: {why}" for why, count in summary.left_out.items()
        )
        where = f"{summary.part} ({summary.start} to {summary.end}, {days(length)} days{left})"
        if summary.genuine == 0:
            reasons.append(f"{where} has no genuine record")
        if summary.frauds < settings.min_frauds:
            reasons.append(
                f"{where} has {summary.frauds} frauds, needs {settings.min_frauds}: "
                + _span_needed(summary.frauds, length, given / total, settings)
            )
    if reasons:
        raise SplitError(tuple(reasons))


def _span_needed(frauds: int, length: int, share: float, settings: SplitSettings) -> str:
    """Estimate from a part's rate of frauds how long it, or the history that it is a share of, has to be."""
    if frauds == 0:
        return "without frauds the length of history that is needed cannot be estimated"
    needed = length * settings.min_frauds / frauds
    if settings.by_duration:
        return f"at its rate it would have to span about {days(needed)} days"
    needed = settings.overhead + needed / share
    return f"at its rate the history would have to span about {days(needed)} days before the as-of instant"
