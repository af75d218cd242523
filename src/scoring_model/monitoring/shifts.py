"""Drift between reference and window: shares of records, compared on the weekdays of the window.

Every comparison is a share: of the records whose feature lies above a border, has one code or is missing, whose score
is at least s, or which are not passed. Shares differ between weekdays, so both samples are weighted to the weekdays of
the window (direct standardisation). Records of one week have more in common than records of different weeks, so the
unit of variation is a block of days: a week, and for the rest of a window that is not whole weeks the same weekdays of
each reference week. The difference of each share is divided by its standard error, which has two parts: independent
records, and blocks that differ.

A dozen weeks say little about the variation of a single share, so each estimate is drawn towards the mean over all
shares, the more the less the shares differ (Smyth 2004, doi:10.2202/1544-6115.1027). The quotients then follow
Student's t with more degrees of freedom. Each family of shares has a limit of its own (Bonferroni), so that the many
shares of one family do not hide a change in another.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
from scipy.special import polygamma, stdtrit

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.uncertainty import CONFIDENCE
from scoring_model.records.times import DAY

BLOCK_DAYS: Final = 7
MIN_BLOCKS: Final = 6
"""Fewest blocks of the reference from which the variation between blocks is measured."""

MIN_DAYS: Final = 3
"""Fewest days of a window that is judged."""

MIN_WEEKS: Final = 4
"""Fewest reference weeks with each weekday of a window that is judged."""

_STRAY: Final = 0.01
"""Largest share of a window's records on weekdays that the reference hardly has that keeps no verdict."""

MIN_EXPECTED: Final = 10
"""Fewest records with and without a property, expected in both samples, of a share that is tested."""

POWER: Final = 0.8
"""Probability with which the smallest visible shift exceeds the limit."""

_MOST_PRIOR: Final = 60.0
"""Most degrees of freedom that all shares lend to the variation of each."""

_LEAST_RATIO: Final = 0.05
"""Least variance of a share between blocks, over that of independent records, whose logarithm counts."""

_LEAST_COVERED: Final = 0.5
"""Least share of a pattern of weekdays that a reference week must have so that its variation can be measured."""

_MOST_CORRELATION: Final = 0.9
_LEAST_VARIANCE: Final = 1e-12
_LEAST_REST: Final = 0.1

_CUT_SHARE: Final = 1 / 24
_CUT_RECORDS: Final = 5
"""From both on a day is taken for cut: five expected records are absent by chance in one of 150 days."""

_MONDAY: Final = 3
"""1970-01-01 was a Thursday; 0 is Monday."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DayCounts:
    """Records of k days, and how many have each of c properties.

    Parameters
    ----------
    days : ndarray of shape (k,), int64, ascending
        Days since 1970-01-01; those without records are left out.
    records : ndarray of shape (k,), int64, positive
    hits : ndarray of shape (k, c), int64, from 0 to `records`
    """

    days: IntArray
    records: IntArray
    hits: IntArray

    @property
    def total(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    @property
    def by_weekday(self) -> IntArray:
        """Records on each weekday from Monday on, of shape (7,)."""
        return np.bincount(weekday_of(self.days), self.records, minlength=BLOCK_DAYS).astype(np.int64)

    @property
    def shares(self) -> FloatArray:
        """Share of all records with each property, of shape (c,)."""
        shares: FloatArray = self.hits.sum(axis=0) / max(self.total, 1)
        return shares

    def chosen(self, kept: BoolArray) -> "DayCounts":
        """Return some of the days."""
        return DayCounts(days=self.days[kept], records=self.records[kept], hits=self.hits[kept])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shifts:
    """Differences of c shares between window and reference, with the limit of each.

    Parameters
    ----------
    reference : ndarray of shape (c,), float64
        Shares of the reference on the weekdays of the window.
    differences, errors : ndarray of shape (c,), float64
        Window minus reference, and standard errors; NaN where a share is not tested.
    statistics : ndarray of shape (c,), float64
        Absolute differences in standard errors; 0 where a share is not tested.
    tested : ndarray of shape (c,), bool
    limits : ndarray of shape (c,), float64, or None
        Of the family of each share. Without drift a statistic exceeds its limit in 5 % of windows at most. None: the
        window or the reference is too short for a verdict.
    suspect_limits : ndarray of shape (c,), float64, or None
        Without drift, as many statistics exceed theirs as are expected: one in each window.
    smallest : ndarray of shape (c,), float64
        Smallest difference that exceeds the limit with a probability of `POWER`; NaN without limit.
    reference_blocks, window_blocks, block_days : int
        Blocks of days that vary, and their length.
    """

    reference: FloatArray
    differences: FloatArray
    errors: FloatArray
    statistics: FloatArray
    tested: BoolArray
    limits: FloatArray | None
    suspect_limits: FloatArray | None
    smallest: FloatArray
    reference_blocks: int
    window_blocks: int
    block_days: int


def weekday_of(days: IntArray) -> IntArray:
    """Return the weekday of days since 1970-01-01; 0 is Monday."""
    return (days + _MONDAY) % BLOCK_DAYS


def block_of_days(days: IntArray, *, length: int = BLOCK_DAYS) -> IntArray:
    """Return the block of each day: `length` days from the first one; a short rest belongs to the last block.

    Parameters
    ----------
    days : ndarray of shape (k,), int64, ascending
        Days since 1970-01-01; those without records are left out.

    Returns
    -------
    ndarray of shape (k,), int64
        Codes from 0, ascending; blocks without records have none.
    """
    if not len(days):
        return np.zeros(0, dtype=np.int64)
    whole = max((int(days[-1] - days[0]) + 1 + length // 2) // length, 1)
    found = np.minimum((days - days[0]) // length, whole - 1)
    return np.unique(found, return_inverse=True)[1]


def whole_days(event_times: IntArray) -> BoolArray:
    """Return which days with records are whole: all but a first or last one that is cut.

    A day is cut if on the other days more than an hour's part of the records, and more than a few, come before its
    first record or after its last one.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    ndarray of shape (k,), bool
        For each day with records, in order.
    """
    days = event_times // DAY
    held = np.unique(days)
    whole = np.ones(len(held), dtype=np.bool_)
    if len(held) < MIN_DAYS:
        return whole
    inner, moments = (days > held[0]) & (days < held[-1]), event_times % DAY
    usual, typical = moments[inner], np.count_nonzero(inner) / (len(held) - 2)
    for place, missed in (
        (0, np.mean(usual < moments[days == held[0]].min())),
        (-1, np.mean(usual > moments[days == held[-1]].max())),
    ):
        whole[place] = missed < _CUT_SHARE or missed * typical < _CUT_RECORDS
    return whole


def missing_weekdays(reference: DayCounts, window: DayCounts) -> IntArray:
    """Return the weekdays of the window that fewer than `MIN_WEEKS` weeks of the reference have."""
    weeks = np.bincount(weekday_of(reference.days), minlength=BLOCK_DAYS)
    return np.flatnonzero((window.by_weekday > 0) & (weeks < MIN_WEEKS))


def without_strays(reference: DayCounts, window: DayCounts) -> DayCounts:
    """Leave out days on weekdays that the reference hardly has, where they hold hardly any of the window's records.

    Few records of a night before a first working day, or after a last one, are no reason to judge nothing.
    """
    stray = np.isin(weekday_of(window.days), missing_weekdays(reference, window))
    return window.chosen(~stray) if window.records[stray].sum() <= _STRAY * window.total else window


def measure_shifts(reference: DayCounts, window: DayCounts, families: IntArray) -> Shifts:
    """Compare shares of two samples on the weekdays of the window, with a limit for each family of shares.

    Parameters
    ----------
    reference, window : DayCounts
        Of the same c properties.
    families : ndarray of shape (c,), int64
        Code of the family of each property.
    """
    length = BLOCK_DAYS if len(np.unique(block_of_days(reference.days))) >= MIN_BLOCKS else 1
    blocks = _Blocks.of(reference, window, length)
    shares = blocks.weighted(blocks.weights)
    pooled = (shares * reference.total + window.hits.sum(axis=0)) / max(reference.total + window.total, 1)
    tested = min(reference.total, window.total) * np.minimum(pooled, 1 - pooled) >= MIN_EXPECTED
    differences = np.where(tested, window.shares - shares, np.nan)
    chunks = (window.days - window.days[0]) // length if len(window.days) else window.days
    errors, statistics = np.full(len(tested), np.nan), np.zeros(len(tested))
    smallest, limits, suspect_limits = errors.copy(), None, None
    judged = len(window.days) >= MIN_DAYS and not len(missing_weekdays(reference, window))
    if judged and len(blocks.sizes) >= MIN_BLOCKS and tested.any():
        errors[tested], degrees = _variation(blocks.chosen(tested), window, chunks, pooled[tested])
        statistics[tested] = np.abs(differences[tested]) / errors[tested]
        limits, suspect_limits = errors.copy(), errors.copy()
        parts = _levels(families[tested])
        limits[tested] = -stdtrit(degrees, (1 - CONFIDENCE) * parts / 2)
        suspect_limits[tested] = -stdtrit(degrees, parts / 2)
        smallest = (limits + NormalDist().inv_cdf(POWER)) * errors
    return Shifts(
        reference=shares,
        differences=differences,
        errors=errors,
        statistics=statistics,
        tested=tested,
        limits=limits,
        suspect_limits=suspect_limits,
        smallest=smallest,
        reference_blocks=len(blocks.sizes),
        window_blocks=len(np.unique(chunks)),
        block_days=length,
    )


def _levels(families: IntArray) -> FloatArray:
    """Return the part of each share in what all may do by chance: families have equal parts, and the shares in one."""
    codes, code, counts = np.unique(families, return_inverse=True, return_counts=True)
    return 1 / (len(codes) * counts[code])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Blocks:
    """Blocks of the reference by weekday, whose weeks begin on the weekday on which the window begins.

    Parameters
    ----------
    length : int
        Of a block, in days.
    weights : ndarray of shape (7,), float64
        Share of the window's records on each weekday that the reference has.
    sizes : ndarray of shape (b, 7), int64
    shares : ndarray of shape (7, c), float64
        Of all records of a weekday.
    residuals : ndarray of shape (b, 7, c), float64
        Share of the records of a weekday in a block, minus `shares`; 0 without records.
    """

    length: int
    weights: FloatArray
    sizes: IntArray
    shares: FloatArray
    residuals: FloatArray

    @classmethod
    def of(cls, reference: DayCounts, window: DayCounts, length: int) -> "_Blocks":
        first = int(window.days[0]) if len(window.days) else 0
        held, block = np.unique((reference.days - first) // length, return_inverse=True)
        weekday, properties = weekday_of(reference.days), reference.hits.shape[1]
        sizes = np.zeros((len(held), BLOCK_DAYS), dtype=np.int64)
        hits = np.zeros((len(held), BLOCK_DAYS, properties), dtype=np.int64)
        np.add.at(sizes, (block, weekday), reference.records)
        np.add.at(hits, (block, weekday), reference.hits)
        shares = hits.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1)[:, np.newaxis]
        residuals = hits / np.maximum(sizes, 1)[..., np.newaxis] - shares
        residuals[sizes == 0] = 0
        common = np.where(sizes.sum(axis=0) > 0, window.by_weekday, 0)
        weights = common / max(int(common.sum()), 1)
        return cls(length=length, weights=weights, sizes=sizes, shares=shares, residuals=residuals)

    def chosen(self, properties: BoolArray) -> "_Blocks":
        """Return some of the properties."""
        return replace(self, shares=self.shares[:, properties], residuals=self.residuals[..., properties])

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the share of each property with these shares of weekdays; no bit depends on the other properties."""
        shares: FloatArray = np.sum(weights[:, np.newaxis] * self.shares, axis=0)
        return shares

    def pattern(self, weights: FloatArray) -> "_Pattern":
        """Measure how much blocks differ when they have these shares of weekdays."""
        held = (self.sizes > 0) * weights
        covered = held.sum(axis=1)
        kept = covered >= (_LEAST_COVERED if self.length == BLOCK_DAYS else np.finfo(float).tiny)
        held, sizes = held[kept] / covered[kept, np.newaxis], self.sizes[kept]
        deviations = np.einsum("bw,bwc->bc", held, self.residuals[kept])
        effective = 1 / np.sum(held**2 / np.maximum(sizes, 1), axis=1)
        leverage = np.sum(held * sizes / np.maximum(self.sizes.sum(axis=0), 1), axis=1)
        shares = self.weighted(weights)
        alone = np.maximum(shares * (1 - shares), _LEAST_VARIANCE)
        scale = np.outer(effective / np.maximum(1 - leverage, _LEAST_REST), 1 / alone)
        ratios = np.mean(scale * deviations**2, axis=0)
        degrees = max(len(effective) * (1 - float(leverage.mean())), 1.0)
        known = shares * sizes.sum() >= MIN_EXPECTED
        logs = np.log(np.maximum(ratios[known], _LEAST_RATIO))
        prior = min(prior_degrees(logs, degrees), _MOST_PRIOR)
        mean = max(float(ratios[known].mean()), 1.0) if known.any() else 1.0
        return _Pattern(
            ratios=np.maximum((degrees * ratios + prior * mean) / (degrees + prior), 1.0),
            degrees=degrees + prior,
            size=float(effective.mean()),
            deviations=_placed(deviations[:, known] / np.sqrt(alone[known]), kept),
            known=known,
        )


def prior_degrees(logs: FloatArray, degrees: float) -> float:
    """Return how many degrees of freedom all variances lend to each; infinite if they differ by chance alone.

    The method of moments of Smyth (2004, doi:10.2202/1544-6115.1027), section 6.2.

    Parameters
    ----------
    logs : ndarray of shape (c,), float64
        Logarithms of estimated variances.
    degrees : float
        Degrees of freedom of each.
    """
    if len(logs) < 2:
        return 0.0
    excess = float(logs.var(ddof=1) - polygamma(1, degrees / 2))
    if excess <= 0:
        return float("inf")
    low, high = 1e-3, 1e6
    for _ in range(80):  # trigamma falls
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if polygamma(1, middle) > excess else (low, middle)
    return 2 * low


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Pattern:
    """How much blocks with some shares of weekdays differ.

    Parameters
    ----------
    ratios : ndarray of shape (c,), float64, at least 1
        Variance of the share of a block, over that of independent records.
    degrees : float
        Degrees of freedom of `ratios`.
    size : float
        Mean number of independent records that vary as much as a block would without variation between blocks.
    deviations : ndarray of shape (b, k), float64
        Of each block from the mean, in standard deviations of a record; NaN for blocks without this pattern.
    known : ndarray of shape (c,), bool
        The k shares of which blocks have enough records to differ.
    """

    ratios: FloatArray
    degrees: float
    size: float
    deviations: FloatArray
    known: BoolArray


def _placed(rows: FloatArray, kept: BoolArray) -> FloatArray:
    whole = np.full((len(kept), rows.shape[1]), np.nan)
    whole[kept] = rows
    return whole


def _correlation(first: _Pattern, second: _Pattern) -> float:
    """Return the correlation of a block with the next one beside the chance of records, common to all shares."""
    both = first.known & second.known
    before, after = (one.deviations[:, both[one.known]] for one in (first, second))
    blocks = int(np.count_nonzero(~np.isnan(before * after).any(axis=1)))
    following = ~np.isnan(before[:-1] * after[1:])
    if blocks < MIN_WEEKS or not following.any():
        return 0.0
    between = [
        float(np.nanmean(rows**2)) * blocks / (blocks - 1) - 1 / one.size
        for rows, one in ((before, first), (after, second))
    ]
    # Deviations from a mean of b blocks have a covariance of -1/b of that within a block.
    shared = float(np.nanmean(before[:-1] * after[1:])) + float(np.nanmean(before * after)) / (blocks - 1)
    if min(between) <= 0:
        return 0.0
    return min(max(shared / math.sqrt(between[0] * between[1]), 0.0), _MOST_CORRELATION)


def _variation(
    blocks: _Blocks, window: DayCounts, chunks: IntArray, pooled: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add the variances of reference and window: of independent records, and of blocks that differ.

    Returns
    -------
    errors, degrees : ndarray of shape (c,), float64
        Standard errors of c differences, and the degrees of freedom of each.
    """
    totals = np.maximum(blocks.sizes.sum(axis=0), 1)
    parts = np.sum(blocks.weights * blocks.sizes / totals, axis=1)
    alone = 1 / window.total + float(np.sum(blocks.weights**2 / totals))
    overall = blocks.pattern(blocks.weights)
    shared = [
        (overall, _together(parts, _correlation(overall, overall))),
        *_of_window(blocks, window, chunks),
    ]
    between = [part / pattern.size * pattern.ratios for pattern, part in shared]
    variances = alone + sum(between) - sum(part / pattern.size for pattern, part in shared)
    # Satterthwaite 1946, doi:10.2307/3002019: only the ratios are estimated.
    doubt = sum(one**2 / pattern.degrees for one, (pattern, _) in zip(between, shared, strict=True))
    return np.sqrt(pooled * (1 - pooled) * variances), variances**2 / np.maximum(doubt, 1e-300)


def _together(parts: FloatArray, correlation: float) -> float:
    """Return the variance of a mean of blocks with these parts, over that of a block."""
    return float(np.sum(parts**2) + 2 * correlation * np.sum(parts[1:] * parts[:-1]))


def _of_window(blocks: _Blocks, window: DayCounts, chunks: IntArray) -> Iterator[tuple[_Pattern, float]]:
    """Return the pattern of whole blocks of the window and that of its rest, with their parts in its variance."""
    sizes = np.bincount(chunks, window.records) / window.total
    has_rest = (int(window.days[-1] - window.days[0]) + 1) % blocks.length > 0
    last = int(chunks[-1]) if has_rest else int(chunks[-1]) + 1
    whole, rest = (
        blocks.pattern(own.by_weekday / own.total) if own.total else None
        for own in (window.chosen(chunks < last), window.chosen(chunks >= last))
    )
    common = 0.0
    if whole is not None and rest is not None:
        # The variance of a sum has twice the covariance, at most the sum of both variances times the correlation.
        common = _correlation(whole, rest) * float(sizes[last - 1] * sizes[last])
    if whole is not None:
        yield whole, _together(sizes[:last], _correlation(whole, whole)) + common
    if rest is not None:
        yield rest, float(sizes[-1] ** 2) + common
