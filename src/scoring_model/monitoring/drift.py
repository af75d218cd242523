"""Drift of the features, the score and the outcomes of a window from the reference period of a bundle.

Decision record: docs/adr/0024-monitoring.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import Profile, ReferenceDays
from scoring_model.bundle.profile import SCORE_BINS, NumberProfile
from scoring_model.bundle.reference_days import bin_counts, count_by_day, names_of_bins
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.rules import Decisions
from scoring_model.features import FeatureMatrix
from scoring_model.monitoring.categories import CategoryChange, category_changes, code_names
from scoring_model.monitoring.shifts import (
    BLOCK_DAYS,
    MIN_BLOCKS,
    Blocks,
    Shifts,
    block_of_days,
    gather_blocks,
    measure_shifts,
)
from scoring_model.records import RecordTable
from scoring_model.records.times import DAY

SCORE: Final = "score"
OUTCOME: Final = "outcome"
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, kw_only=True, slots=True)
class Property:
    """What a share counts: records whose feature, score or outcome is such.

    Parameters
    ----------
    subject : str
        Name of the feature, `score` or `outcome`.
    kind : str
        Whether the feature lies `above` a border, has a `code`, has an `other` code or is `missing`; whether the score
        is `at_least` a value; whether the outcome is one of those `not_passed` or `failed`.
    value : float or None
        The border, code or score.
    """

    subject: str
    kind: Literal["above", "code", "other", "missing", "at_least", "not_passed", "failed"]
    value: float | None = None

    def describe(self, names: Sequence[str] = ()) -> str:
        """Write the property for people; `names` are those of the codes."""
        if self.kind == "above":
            return f"above {self.value:g}"
        if self.kind == "at_least":
            return f"at least {self.value:g}"
        if self.kind == "code":
            code = int(self.value or 0)
            return names[code] if code < len(names) else f"code {code}, a category that the training lacks"
        return {"other": "any other category", "not_passed": "stepped up or failed"}.get(self.kind, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectDrift:
    """Drift of one feature, of the score or of the outcome: of its share that moved most, in standard errors.

    Parameters
    ----------
    name : str
        Of the feature, or `score` or `outcome`.
    share_of : str
        The property whose share moved most, for people.
    statistic : float
        Its difference in standard errors; 0 without a limit.
    found : bool or None
        Whether the statistic exceeds the limit of all subjects; None without a limit.
    reference, window : float
        Share of records with the property.
    smallest_share : float or None
        Smallest difference of this share that would have been found with a probability of 80 %; None without limit.
    smallest_shift : float or None
        The same for a shift of the whole subject, in standard deviations of a normal one; None without limit, or
        where the subject has no order.
    reference_missing, window_missing : float or None
        Shares of records without a value; None for score and outcome.
    """

    name: str
    share_of: str
    statistic: float
    found: bool | None
    reference: float
    window: float
    smallest_share: float | None
    smallest_shift: float | None
    reference_missing: float | None
    window_missing: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Contributor:
    """What the drift of a feature adds to the mean margin.

    Parameters
    ----------
    shift : float
        Mean contribution in the window minus that in the reference, in log-odds. Over all features the shifts sum to
        the shift of the mean margin.
    """

    name: str
    shift: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """Drift of a window.

    Parameters
    ----------
    subjects : tuple of SubjectDrift
        Features, score and outcome, the largest statistic first.
    limit : float or None
        Without any drift one statistic or more exceeds it in 5 % of windows; None if there is no such limit.
    reference_records, window_records : int
    reference_blocks, window_blocks, block_days : int
        Blocks of days that vary, and their length; 0 without a limit.
    categories : tuple of CategoryChange
    contributors : tuple of Contributor
        Largest first; empty where contributions are not known.
    explained : tuple of (int, int)
        Records of reference and window behind the contributions.
    notes : tuple of str
        Sentences on what could not be compared.
    """

    subjects: tuple[SubjectDrift, ...]
    limit: float | None
    reference_records: int
    window_records: int
    reference_blocks: int
    window_blocks: int
    block_days: int
    categories: tuple[CategoryChange, ...]
    contributors: tuple[Contributor, ...]
    explained: tuple[int, int]
    notes: tuple[str, ...]

    @property
    def found(self) -> tuple[str, ...]:
        """Names of the subjects that drifted, the largest statistic first."""
        return tuple(subject.name for subject in self.subjects if subject.found)

    @property
    def smallest_shift(self) -> float | None:
        """Shift, in standard deviations, that would have been found in half of the ordered features."""
        known = [
            one.smallest_shift
            for one in self.subjects
            if one.smallest_shift is not None and one.name not in (SCORE, OUTCOME)
        ]
        return float(np.median(known)) if known else None

    def to_json(self) -> dict[str, Any]:
        """Give the drift as a JSON document."""
        return {**asdict(self), "found": list(self.found), "smallest_shift": self.smallest_shift}


def measure_drift(
    *,
    profile: Profile,
    days: ReferenceDays,
    decisions: Decisions,
    event_times: IntArray,
    thresholds: tuple[int, int],
    rows: FloatArray | None,
    matrix: FeatureMatrix,
    table: RecordTable,
    contributions: FloatArray | None,
) -> Drift:
    """Compare a window with the reference of a bundle.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    rows : ndarray of shape (n, d), float64, or None
        Inputs of the model; None for decisions that were made earlier.
    contributions : ndarray of shape (e, d), float64, or None
        To the margins of some records of the window, drawn at random.
    """
    held, code = np.unique(event_times // DAY, return_inverse=True)
    comparable = tuple(days.thresholds.tolist()) == thresholds
    parts = _parts(profile, with_features=rows is not None, with_outcomes=comparable)
    counts = _window_counts(profile, matrix, rows, decisions, code.astype(np.int64), len(held))
    hits, records = _hits(parts, counts), np.bincount(code, minlength=len(held)).astype(np.int64)
    compared = _compare(parts, days, held, records, hits)
    subjects = _subjects(
        [one for part in parts for one in part.properties],
        compared.reference.shares,
        hits.sum(axis=0) / max(len(event_times), 1),
        compared.shifts,
        code_names(matrix),
    )
    explained = None if contributions is None else (int(days.explained[0]), len(contributions))
    return Drift(
        subjects=tuple(sorted(subjects, key=lambda one: (-one.statistic, -abs(one.window - one.reference)))),
        limit=compared.shifts.limit,
        reference_records=profile.records,
        window_records=len(event_times),
        reference_blocks=len(compared.reference.records),
        window_blocks=len(compared.window.records),
        block_days=compared.length,
        categories=() if rows is None else tuple(category_changes(profile, matrix, rows, table)),
        contributors=_contributors(days, contributions, matrix.names),
        explained=explained or (0, 0),
        notes=tuple(_notes(compared, comparable=comparable, with_features=rows is not None)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """Blocks of reference and window, and their differences; `length` is that of the blocks in days."""

    reference: Blocks
    window: Blocks
    shifts: Shifts
    length: int


def _compare(
    parts: "Sequence[_Part]", days: ReferenceDays, held: IntArray, records: IntArray, hits: IntArray
) -> _Compared:
    length = _block_length(days)
    before = _hits(parts, {"bins": days.bins, "scores": days.scores, "outcomes": days.outcomes})
    reference = gather_blocks(days.records, before, block_of_days(days.days, length=length))
    window = gather_blocks(records, hits, block_of_days(held, length=length))
    shifts = measure_shifts(reference, window)
    return _Compared(reference=reference, window=window, shifts=shifts, length=length)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """Properties of one subject, and how their counts follow from those of its bins."""

    source: Literal["bins", "scores", "outcomes"]
    columns: slice
    properties: tuple[Property, ...]
    holds: NDArray[np.int64]


def _parts(profile: Profile, *, with_features: bool, with_outcomes: bool) -> list[_Part]:
    slices = names_of_bins(profile)
    parts = []
    for name, feature in sorted(profile.features.items()) if with_features else ():
        bins = len(feature.shares) + 1
        if isinstance(feature, NumberProfile):
            kinds = [Property(subject=name, kind="above", value=border) for border in feature.borders]
            holds = np.triu(np.ones((bins, bins), dtype=np.int64), 1).T[:, : len(kinds)]
            holds[-1] = 0
        else:
            kinds = [Property(subject=name, kind="code", value=float(code)) for code in feature.codes]
            kinds.append(Property(subject=name, kind="other"))
            holds = np.eye(bins, dtype=np.int64)[:, : len(kinds)]
        kinds.append(Property(subject=name, kind="missing"))
        last = np.zeros((bins, 1), dtype=np.int64)
        last[-1] = 1
        parts.append(
            _Part(
                source="bins",
                columns=slices[name],
                properties=tuple(kinds),
                holds=np.hstack([holds, last]),
            )
        )
    above = np.triu(np.ones((SCORE_BINS, SCORE_BINS), dtype=np.int64)).T
    scores = tuple(
        Property(subject=SCORE, kind="at_least", value=10.0 * place) for place in range(1, SCORE_BINS)
    )
    parts.append(_Part(source="scores", columns=slice(0, SCORE_BINS), properties=scores, holds=above[:, 1:]))
    if with_outcomes:
        outcomes = (Property(subject=OUTCOME, kind="not_passed"), Property(subject=OUTCOME, kind="failed"))
        parts.append(
            _Part(
                source="outcomes",
                columns=slice(0, len(OUTCOMES)),
                properties=outcomes,
                holds=np.array([[0, 0], [1, 0], [1, 1]]),
            )
        )
    return parts


def _hits(parts: Sequence[_Part], counts: Mapping[str, IntArray]) -> IntArray:
    """Count the records of each day with each property, of shape (days, c)."""
    return np.concatenate([counts[part.source][:, part.columns] @ part.holds for part in parts], axis=1)


def _window_counts(
    profile: Profile,
    matrix: FeatureMatrix,
    rows: FloatArray | None,
    decisions: Decisions,
    code: IntArray,
    size: int,
) -> dict[str, IntArray]:
    bins = (
        np.zeros((size, 0), dtype=np.int64)
        if rows is None
        else bin_counts(rows, profile, code, size, names=matrix.names)
    )
    return {
        "bins": bins,
        "scores": count_by_day(decisions.scores // 10, code, SCORE_BINS, size),
        "outcomes": count_by_day(decisions.outcomes.astype(np.int64), code, len(OUTCOMES), size),
    }


def _block_length(days: ReferenceDays) -> int:
    """Return the length of blocks: a week, or a day where the reference has too few weeks."""
    weeks = len(np.unique(block_of_days(days.days)))
    return BLOCK_DAYS if weeks >= MIN_BLOCKS else 1


def _notes(compared: _Compared, *, comparable: bool, with_features: bool) -> Iterator[str]:
    if not comparable:
        yield "The policy changed after the training: outcomes are not compared with those of the reference period."
    if compared.length < BLOCK_DAYS:
        yield (
            f"The reference period is shorter than {MIN_BLOCKS} weeks: limits rest on variation between single days, "
            "and variation from week to week is unknown."
        )
    if not with_features:
        yield (
            "The records were scored earlier, and the file holds no features: only the score and the outcomes are "
            "compared. Pass the records themselves for the features."
        )


def _subjects(
    properties: Sequence[Property],
    reference: FloatArray,
    window: FloatArray,
    found: Shifts,
    names: Mapping[str, Sequence[str]],
) -> Iterator[SubjectDrift]:
    places: dict[str, list[int]] = {}
    for place, one in enumerate(properties):
        places.setdefault(one.subject, []).append(place)
    for name, own in places.items():
        own_places = np.array(own)
        top = int(own_places[np.argmax(found.statistics[own_places])])
        missing = next((place for place in own if properties[place].kind == "missing"), None)
        yield SubjectDrift(
            name=name,
            share_of=properties[top].describe(names.get(name, ())),
            statistic=0.0 if found.limit is None else float(found.statistics[top]),
            found=None if found.limit is None else bool(found.statistics[top] > found.limit),
            reference=float(reference[top]),
            window=float(window[top]),
            smallest_share=_known(found.smallest[top]),
            smallest_shift=_smallest_shift(properties, own_places, reference, found),
            reference_missing=None if missing is None else float(reference[missing]),
            window_missing=None if missing is None else float(window[missing]),
        )


def _smallest_shift(
    properties: Sequence[Property], places: IntArray, reference: FloatArray, found: Shifts
) -> float | None:
    """Turn the smallest visible difference of a share into a shift of a normal variable; the best share counts."""
    shifts = []
    for place in places.tolist():
        share, least = float(reference[place]), float(found.smallest[place])
        if properties[place].kind in ("above", "at_least") and 0 < share < 1 and share + least < 1:
            shifts.append(_NORMAL.inv_cdf(share + least) - _NORMAL.inv_cdf(share))
    return min(shifts, default=None)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _contributors(
    days: ReferenceDays, contributions: FloatArray | None, names: Sequence[str]
) -> tuple[Contributor, ...]:
    if contributions is None or not len(contributions):
        return ()
    shifts = contributions.mean(axis=0) - days.contributions
    found = [Contributor(name=name, shift=shift) for name, shift in zip(names, shifts.tolist(), strict=True)]
    return tuple(sorted(found, key=lambda one: (-abs(one.shift), one.name)))
