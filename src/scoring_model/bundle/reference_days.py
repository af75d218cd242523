"""Counts by day of the reference period: what limits of drift need beside the profile.

Shares alone do not say how much they vary from week to week. A day of fewer than five persons is merged with the next
one, so that every row of the counts is of at least five; both count for the day that has more records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.bundle.codec import npz_bytes, read_npz
from scoring_model.bundle.contents import REFERENCE_DAYS
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.k_anonymity import MIN_GROUP_SIZE
from scoring_model.bundle.profile import SCORE_BINS, Profile
from scoring_model.bundle.reader import SealedFiles
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.rules import Decisions
from scoring_model.records.times import DAY

PROBABILITY_BINS: Final = 40
"""Most groups of equal margins whose frauds are counted."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ReferenceDays:
    """Counts of the reference rows by day.

    Parameters
    ----------
    days : ndarray of shape (k,), int64, ascending
        Days since 1970-01-01 in the time zone of the features, in UTC without one; each stands for itself and for the
        days that were merged into it.
    records : ndarray of shape (k,), int64
        All applicants, those too who were stopped.
    bins : ndarray of shape (k, b), int64
        Records in each bin of each feature of the profile, by name; after the bins of a feature those without a
        value.
    scores : ndarray of shape (k, 101), int64
        By score, as `Profile.scores`.
    outcomes : ndarray of shape (k, 3), int64
    thresholds : ndarray of shape (2,), int64
        The policy's step_up_from and fail_from that gave the outcomes.
    margin_borders : ndarray of shape (m - 1,), float64, ascending
        Between groups of margins; a margin equal to a border is below it.
    margins : ndarray of shape (m,), float64
        Mean margin of each group.
    by_margin, frauds : ndarray of shape (k, m), int64
        Observed records and frauds in each group.
    contributions : ndarray of shape (d,), float64
        Mean contribution of each feature to the margin, in log-odds, of some reference rows drawn at random.
    explained : ndarray of shape (1,), int64
        Number of these rows.
    """

    days: IntArray
    records: IntArray
    bins: IntArray
    scores: IntArray
    outcomes: IntArray
    thresholds: IntArray
    margin_borders: FloatArray
    margins: FloatArray
    by_margin: IntArray
    frauds: IntArray
    contributions: FloatArray
    explained: IntArray

    def __post_init__(self) -> None:
        days, groups = len(self.days), len(self.margins)
        shapes = {
            "days": (days,),
            "records": (days,),
            "bins": (days, *self.bins.shape[1:]),
            "scores": (days, SCORE_BINS),
            "outcomes": (days, len(OUTCOMES)),
            "thresholds": (2,),
            "margin_borders": (max(groups - 1, 0),),
            "margins": (groups,),
            "by_margin": (days, groups),
            "frauds": (days, groups),
            "contributions": self.contributions.shape[:1],
            "explained": (1,),
        }
        wrong = [name for name, shape in shapes.items() if getattr(self, name).shape != shape]
        if wrong or self.bins.ndim != 2:
            raise ContentInvalid(
                f"reference days: arrays that do not fit together: {', '.join(wrong) or 'bins'}"
            )

    @property
    def not_observed(self) -> int:
        """Return the number of applicants who were stopped, so that their class is not known."""
        return int(self.records.sum() - self.by_margin.sum())

    def to_bytes(self) -> bytes:
        """Return the counts as one file of arrays."""
        return npz_bytes({field.name: _small(getattr(self, field.name)) for field in fields(self)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of `to_bytes`.

        Raises
        ------
        ContentInvalid
            If the bytes are anything else.
        """
        arrays = read_npz(data)
        if arrays.keys() != {field.name for field in fields(cls)}:
            raise ContentInvalid("reference days: not the arrays that they should be")
        plain: dict[str, Any] = {name: _large(array) for name, array in arrays.items()}
        return cls(**plain)

    @classmethod
    def of(cls, sealed: SealedFiles) -> Self:
        """Read the counts of a bundle."""
        return cls.from_bytes(sealed.file(REFERENCE_DAYS))


def bin_counts(
    rows: FloatArray, profile: Profile, days: IntArray, size: int, *, names: Sequence[str]
) -> IntArray:
    """Count rows by day and bin of the profile.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    days : ndarray of shape (n,), int64
        Code of the day of each row, from 0 to `size` - 1.
    names : sequence of str
        Names of the columns: the features of the profile, in any order.

    Returns
    -------
    ndarray of shape (size, b), int64
        As `ReferenceDays.bins`.
    """
    places = {name: place for place, name in enumerate(names)}
    counted = [np.zeros((size, 0), dtype=np.int64)]
    for name, feature in sorted(profile.features.items()):
        bins = len(feature.shares) + 1
        counted.append(count_by_day(feature.places(rows[:, places[name]]), days, bins, size))
    return np.concatenate(counted, axis=1)


def count_by_day(codes: IntArray, days: IntArray, bins: int, size: int) -> IntArray:
    """Count codes from 0 to `bins` - 1 by day, of shape (size, bins)."""
    return np.bincount(days * bins + codes, minlength=size * bins).reshape(size, bins)


def measure_reference_days(
    rows: FloatArray,
    *,
    profile: Profile,
    names: Sequence[str],
    persons: IntArray,
    event_times: IntArray,
    decisions: Decisions,
    targets: Int8Array,
    thresholds: tuple[int, int],
    contributions: FloatArray,
) -> ReferenceDays:
    """Count reference rows by day.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    persons, event_times : ndarray of shape (n,), int64
        Code of the person, local microseconds since 1970-01-01.
    targets : ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 for those who were not observed, who count by margin nowhere.
    contributions : ndarray of shape (e, d), float64
        Of some rows drawn at random.
    """
    days, code = _merged_days(event_times // DAY, persons)
    margins, seen = decisions.margins, targets >= 0
    size, borders = len(days), _margin_borders(margins[seen])
    groups = np.searchsorted(borders, margins[seen], side="left")
    held = np.bincount(groups, minlength=len(borders) + 1)
    return ReferenceDays(
        days=days,
        records=np.bincount(code, minlength=size),
        bins=bin_counts(rows, profile, code, size, names=names),
        scores=count_by_day(decisions.scores // 10, code, SCORE_BINS, size),
        outcomes=count_by_day(decisions.outcomes.astype(np.int64), code, len(OUTCOMES), size),
        thresholds=np.array(thresholds, dtype=np.int64),
        margin_borders=borders,
        margins=np.bincount(groups, margins[seen], minlength=len(borders) + 1) / np.maximum(held, 1),
        by_margin=count_by_day(groups, code[seen], len(borders) + 1, size),
        frauds=count_by_day(groups[targets[seen] == 1], code[targets == 1], len(borders) + 1, size),
        contributions=contributions.mean(axis=0),
        explained=np.array([len(contributions)], dtype=np.int64),
    )


def _merged_days(days: IntArray, persons: IntArray) -> tuple[IntArray, IntArray]:
    """Merge neighbouring days until each group is of at least five persons; return the days, and each row's code.

    A group has the day, and so the weekday, of most of its records: a few on a Sunday make no Sunday of the Monday.
    """
    held, code = np.unique(days, return_inverse=True)
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code, minlength=len(held))
    ends = np.cumsum(counts)
    group, groups, start = np.zeros(len(held), dtype=np.int64), 0, 0
    for day, end in enumerate(ends.tolist()):
        group[day] = groups
        if len(np.unique(persons[order[start:end]])) >= MIN_GROUP_SIZE:
            groups, start = groups + 1, end
    group = np.minimum(group, max(groups - 1, 0))  # the last days, of too few persons, join the group before
    largest = np.lexsort((-counts, group))
    return held[largest[np.unique(group[largest], return_index=True)[1]]], group[code]


def _margin_borders(margins: FloatArray) -> FloatArray:
    """Return borders of groups that each hold half of what lies above them, the finer the riskier."""
    if not len(margins):
        return np.zeros(0)
    shares = 1 - 0.75 ** np.arange(1, PROBABILITY_BINS)
    ranks = (shares * len(margins)).astype(np.int64)
    ranks = ranks[ranks < len(margins) - 2 * MIN_GROUP_SIZE]
    ordered = np.sort(margins)
    middles = (ordered[ranks] + ordered[ranks + 1]) / 2
    return np.unique(middles)


def _small(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Store counts in the least type that holds them."""
    is_count = array.dtype.kind == "i" and array.ndim == 2
    return array.astype(np.min_scalar_type(int(array.max(initial=0)))) if is_count else array


def _large(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(np.float64)


def names_of_bins(profile: Profile) -> Mapping[str, slice]:
    """Return the columns of `ReferenceDays.bins` of each feature; the last one counts the rows without a value."""
    found, start = {}, 0
    for name, feature in sorted(profile.features.items()):
        found[name] = slice(start, start + len(feature.shares) + 1)
        start = found[name].stop
    return found
