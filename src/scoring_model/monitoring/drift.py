"""Drift of the features, the score and the outcomes of a window from the reference period of a bundle.

Decision record: docs/adr/0024-monitoring.md.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import Profile, ReferenceDays
from scoring_model.bundle.profile import SCORE_BINS, CodeProfile, NumberProfile
from scoring_model.bundle.reference_days import bin_counts, count_by_day, names_of_bins
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.evaluation.importance import sample_rows
from scoring_model.features import FeatureMatrix
from scoring_model.monitoring.categories import CategoryChange, category_changes
from scoring_model.monitoring.shifts import (
    BLOCK_DAYS,
    MIN_BLOCKS,
    MIN_DAYS,
    MIN_WEEKS,
    DayCounts,
    Shifts,
    measure_shifts,
    missing_weekdays,
    weekday_of,
    whole_days,
    without_strays,
)
from scoring_model.monitoring.window_records import Window
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer

SCORE: Final = "score"
OUTCOME: Final = "outcome"
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

EXPLAINED: Final = 2000
"""Most records of the window whose contributions to the margin are averaged."""

FamilyName: TypeAlias = Literal["decisions", "categories", "numbers"]
"""Of subjects with one limit: score and outcome; categories and yes or no; numbers."""

_FAMILIES: Final[tuple[FamilyName, ...]] = ("decisions", "categories", "numbers")
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
        """Write the property for people; `names` are those of the codes, empty where they have none."""
        if self.kind == "above":
            return f"above {self.value:g}"
        if self.kind == "at_least":
            return f"at least {self.value:g}"
        if self.kind == "code":
            code = int(self.value or 0)
            if not names:
                return f"code {code}"
            return names[code] if code < len(names) else "a category that the training lacks"
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
    family : {"decisions", "categories", "numbers"}
    limit : float or None
        Of its statistic; None: the window or the reference is too short for a verdict.
    found : bool or None
        Whether the statistic exceeds the limit; None without a limit.
    suspect : bool
        Whether it is not found, but moved more than chance alone makes about one subject in a window move.
    reference, window : float
        Share of records with the property; of the reference on the weekdays of the window.
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
    family: FamilyName
    limit: float | None
    found: bool | None
    suspect: bool
    reference: float
    window: float
    smallest_share: float | None
    smallest_shift: float | None
    reference_missing: float | None
    window_missing: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class WeekdayTraffic:
    """Records a day on one weekday; None where a sample has no such day.

    Parameters
    ----------
    weekday : str
    reference, window : float or None
    """

    weekday: str
    reference: float | None
    window: float | None


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
        Features, score and outcome, the largest statistic first, over its limit.
    limits : mapping of str to float
        Largest limit of each family. Without any drift one subject or more exceeds its limit in 5 % of windows. Empty:
        the window or the reference is too short for a verdict.
    traffic : tuple of WeekdayTraffic
        From Monday on.
    reference_records, window_records : int
        Records that were compared: those of whole days.
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
    limits: Mapping[FamilyName, float]
    traffic: tuple[WeekdayTraffic, ...]
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
    def suspects(self) -> tuple[str, ...]:
        """Names of the subjects that moved more than about one does by chance, the largest statistic first."""
        return tuple(subject.name for subject in self.subjects if subject.suspect)

    @property
    def limit(self) -> float | None:
        """Largest limit of all families, in standard errors; None without a verdict."""
        return max(self.limits.values(), default=None)

    @property
    def smallest_share(self) -> float | None:
        """Change of a share that would have been found in half of the categories; without any, of the features."""
        features = [
            one for one in self.subjects if one.family != "decisions" and one.smallest_share is not None
        ]
        chosen = [one for one in features if one.family == "categories"] or features
        return float(np.median([one.smallest_share or 0.0 for one in chosen])) if chosen else None

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
        return {
            **asdict(self),
            "found": list(self.found),
            "suspects": list(self.suspects),
            "limit": self.limit,
            "smallest_share": self.smallest_share,
            "smallest_shift": self.smallest_shift,
        }


def measure_drift(scorer: Scorer, window: Window, profile: Profile, days: ReferenceDays) -> Drift:
    """Compare a window with the reference of its bundle."""
    matrix, policy, rows = scorer.matrix, scorer.rules.policy, window.rows
    comparable = tuple(days.thresholds.tolist()) == (policy.step_up_from, policy.fail_from)
    weekday = "eventDay" if matrix.settings.time_zone is None else "localDay"
    constant = {one.name for one in matrix.features if one.inputs == (weekday,)}
    parts = _parts(profile, constant, with_features=rows is not None, with_outcomes=comparable)
    compared = _window_days(parts, profile, matrix, window)
    hits = _hits(parts, {"bins": days.bins, "scores": days.scores, "outcomes": days.outcomes})
    reference = DayCounts(days=days.days, records=days.records, hits=hits)
    cut = len(window.table) - compared.total
    compared = without_strays(reference, compared)
    families = [_FAMILIES.index(part.family) for part in parts for _ in part.properties]
    shifts = measure_shifts(reference, compared, np.array(families, dtype=np.int64))
    words = {one.name: matrix.code_words(one) for one in matrix.features}
    subjects = tuple(_subjects(parts, compared.shares, shifts, words))
    weekdays = constant & profile.features.keys() if rows is not None else set()
    contributions = None if rows is None else _explained(scorer, rows)
    strays = len(window.table) - cut - compared.total
    notes = _notes(cut, strays, weekdays, comparable=comparable, with_features=rows is not None)
    return Drift(
        subjects=tuple(sorted(subjects, key=_strength)),
        limits=_limits(subjects),
        traffic=tuple(_traffic(reference, compared)),
        reference_records=profile.records,
        window_records=compared.total,
        reference_blocks=shifts.reference_blocks,
        window_blocks=shifts.window_blocks,
        block_days=shifts.block_days,
        categories=() if rows is None else tuple(category_changes(profile, matrix, rows, window.table)),
        contributors=_contributors(days, contributions, matrix.names),
        explained=(0, 0) if contributions is None else (int(days.explained[0]), len(contributions)),
        notes=(*_verdict_notes(reference, compared, shifts), *notes),
    )


def _explained(scorer: Scorer, rows: FloatArray) -> FloatArray:
    """Explain the margins of some records of the window, drawn at random."""
    return np.array([scorer.contributions(row) for row in rows[sample_rows(len(rows), limit=EXPLAINED)]])


def _window_days(
    parts: "Sequence[_Part]", profile: Profile, matrix: FeatureMatrix, window: Window
) -> DayCounts:
    """Count the days of a window but for those that are cut; all if no verdict is possible without these.

    They begin at midnight of the features' time zone, as those of the reference do.
    """
    event_times = matrix.state.zone.local_of(window.table.event_times)
    held, code = np.unique(event_times // DAY, return_inverse=True)
    counts = _window_counts(profile, matrix, window, code, len(held))
    days = DayCounts(days=held, records=np.bincount(code, minlength=len(held)), hits=_hits(parts, counts))
    whole = whole_days(event_times)
    return days.chosen(whole) if np.count_nonzero(whole) >= MIN_DAYS else days


def _strength(one: SubjectDrift) -> tuple[float, float]:
    return -one.statistic / (one.limit or 1.0), -abs(one.window - one.reference)


def _limits(subjects: Sequence[SubjectDrift]) -> dict[FamilyName, float]:
    found: dict[FamilyName, float] = {}
    for one in subjects:
        if one.limit is not None:
            found[one.family] = max(found.get(one.family, 0.0), one.limit)
    return found


def _traffic(reference: DayCounts, window: DayCounts) -> Iterator[WeekdayTraffic]:
    for number, name in enumerate(WEEKDAYS):
        means = [
            float(days.records[own].mean()) if own.any() else None
            for days in (reference, window)
            for own in [weekday_of(days.days) == number]
        ]
        yield WeekdayTraffic(weekday=name, reference=means[0], window=means[1])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """Properties of one subject, and how their counts follow from those of its bins."""

    source: Literal["bins", "scores", "outcomes"]
    family: FamilyName
    columns: slice
    properties: tuple[Property, ...]
    holds: NDArray[np.int64]


def _parts(
    profile: Profile, constant: Collection[str], *, with_features: bool, with_outcomes: bool
) -> list[_Part]:
    slices = names_of_bins(profile)
    parts = [
        _feature_part(name, feature, slices[name])
        for name, feature in (sorted(profile.features.items()) if with_features else ())
        if name not in constant
    ]
    above = np.triu(np.ones((SCORE_BINS, SCORE_BINS), dtype=np.int64)).T
    scores = tuple(
        Property(subject=SCORE, kind="at_least", value=10.0 * place) for place in range(1, SCORE_BINS)
    )
    parts.append(
        _Part(
            source="scores",
            family="decisions",
            columns=slice(0, SCORE_BINS),
            properties=scores,
            holds=above[:, 1:],
        )
    )
    if with_outcomes:
        outcomes = (Property(subject=OUTCOME, kind="not_passed"), Property(subject=OUTCOME, kind="failed"))
        parts.append(
            _Part(
                source="outcomes",
                family="decisions",
                columns=slice(0, len(OUTCOMES)),
                properties=outcomes,
                holds=np.array([[0, 0], [1, 0], [1, 1]]),
            )
        )
    return parts


def _feature_part(name: str, feature: NumberProfile | CodeProfile, columns: slice) -> _Part:
    """Describe a feature by its values above each border, or with each code, and without a value."""
    bins = len(feature.shares) + 1
    family: FamilyName = "categories"
    if isinstance(feature, NumberProfile):
        family = "numbers" if len(feature.borders) > 1 else family
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
    return _Part(
        source="bins", family=family, columns=columns, properties=tuple(kinds), holds=np.hstack([holds, last])
    )


def _hits(parts: Sequence[_Part], counts: Mapping[str, IntArray]) -> IntArray:
    """Count the records of each day with each property, of shape (days, c)."""
    return np.concatenate([counts[part.source][:, part.columns] @ part.holds for part in parts], axis=1)


def _window_counts(
    profile: Profile, matrix: FeatureMatrix, window: Window, code: IntArray, size: int
) -> dict[str, IntArray]:
    rows, decisions = window.rows, window.decisions
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


def _verdict_notes(reference: DayCounts, window: DayCounts, found: Shifts) -> Iterator[str]:
    """Say why there is no verdict, or what a limit does not know."""
    if len(window.days) < MIN_DAYS:
        yield (
            f"The window has {len(window.days):,} days. Counts and rates are shown, without a verdict on drift: fewer "
            f"than {MIN_DAYS} days say nothing of how days differ."
        )
    elif len(missing := missing_weekdays(reference, window)):
        yield (
            f"The window has a {WEEKDAYS[missing[0]]}, of which the reference period has fewer than {MIN_WEEKS}. "
            "Counts and rates are shown, without a verdict on drift."
        )
    elif found.limits is None:
        yield "Differences have no limit here: the samples are too small for a verdict on drift."
    elif found.block_days < BLOCK_DAYS:
        yield (
            f"The reference period is shorter than {MIN_BLOCKS} weeks: limits rest on variation between single days, "
            "and variation from week to week is unknown."
        )


def _notes(
    cut: int, strays: int, constant: Collection[str], *, comparable: bool, with_features: bool
) -> Iterator[str]:
    if cut:
        yield f"Records of a first or last day that is not whole are not compared: {cut:,}."
    if strays:
        yield (
            f"Records of a weekday of which the reference period has fewer than {MIN_WEEKS} are not compared: "
            f"{strays:,}."
        )
    if constant:
        yield (
            "Both samples have the same weekdays, so these features cannot drift and are not compared: "
            f"{', '.join(sorted(constant))}."
        )
    if not comparable:
        yield "The policy changed after the training: outcomes are not compared with those of the reference period."
    if not with_features:
        yield (
            "The records were scored earlier, and the file holds no features: only the score and the outcomes are "
            "compared. Pass the records themselves for the features."
        )


def _subjects(
    parts: "Sequence[_Part]",
    window: FloatArray,
    found: Shifts,
    names: Mapping[str, Sequence[str]],
) -> Iterator[SubjectDrift]:
    properties, stop = [one for part in parts for one in part.properties], 0
    for part in parts:
        start, stop = stop, stop + len(part.properties)
        own, name = np.arange(start, stop), part.properties[0].subject
        if found.limits is None:  # what moved most, without a verdict
            strengths = np.abs(window[own] - found.reference[own])
        else:
            strengths = found.statistics[own] / np.where(found.tested[own], found.limits[own], 1.0)
        top = int(own[np.argmax(strengths)])
        judged = found.limits is not None
        limit = _known(found.limits[top]) if found.limits is not None else None
        suspected = _known(found.suspect_limits[top]) if found.suspect_limits is not None else None
        statistic = float(found.statistics[top])
        drifted = limit is not None and statistic > limit
        missing = next((place for place in own.tolist() if properties[place].kind == "missing"), None)
        yield SubjectDrift(
            name=name,
            share_of=properties[top].describe(names.get(name, ())),
            statistic=statistic,
            family=part.family,
            limit=limit,
            found=drifted if judged else None,
            suspect=suspected is not None and statistic > suspected and not drifted,
            reference=float(found.reference[top]),
            window=float(window[top]),
            smallest_share=_known(found.smallest[top]),
            smallest_shift=_smallest_shift(properties, own, found.reference, found),
            reference_missing=None if missing is None else float(found.reference[missing]),
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
