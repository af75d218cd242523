"""Drift between reference and window: shares of records, compared under one limit for all of them.

Every comparison is a share: of the records whose feature lies above a border, has one code or is missing, whose score
is at least s, or which are not passed. Records of one week have more in common than records of different weeks, so the
unit of variation is a block of days. The difference of each share is divided by its standard error, which has two
parts: independent records, and blocks that differ. The limit is the 95 % quantile of the largest of all such
quotients when whole blocks are drawn with replacement (max-t: Westfall and Young 1993, ISBN 978-0-471-55761-6;
studentised in each draw, so that few blocks widen the limit: Hall 1992, doi:10.1007/978-1-4612-4384-7).
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.uncertainty import CONFIDENCE

BLOCK_DAYS: Final = 7
MIN_BLOCKS: Final = 6
"""Fewest blocks of the reference from which the variation between blocks is measured."""

MIN_EXPECTED: Final = 10
"""Fewest records with and without a property, expected in both samples, of a share that is tested."""

POWER: Final = 0.8
"""Probability with which the smallest visible shift exceeds the limit."""

DRAWS: Final = 1000

_PRIOR_BLOCKS: Final = 8
"""Weight, in blocks, of the mean over all shares in the variation between blocks of one share."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Blocks:
    """Records of b blocks of days, and how many have each of c properties.

    Parameters
    ----------
    records : ndarray of shape (b,), int64, positive
    hits : ndarray of shape (b, c), int64, from 0 to `records`
    """

    records: IntArray
    hits: IntArray

    @property
    def total(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    @property
    def shares(self) -> FloatArray:
        """Share of all records with each property, of shape (c,)."""
        shares: FloatArray = self.hits.sum(axis=0) / max(self.total, 1)
        return shares

    @property
    def concentration(self) -> float:
        """Sum of squared shares of the blocks: 1 / b if they are equal."""
        return float(np.sum((self.records / max(self.total, 1)) ** 2))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shifts:
    """Differences of c shares between window and reference, with their common limit.

    Parameters
    ----------
    differences, errors : ndarray of shape (c,), float64
        Window minus reference, and standard errors; NaN where a share is not tested.
    statistics : ndarray of shape (c,), float64
        Absolute differences in standard errors; 0 where a share is not tested.
    tested : ndarray of shape (c,), bool
    limit : float or None
        Without drift the largest statistic exceeds it in 5 % of windows; None with too few blocks.
    smallest : ndarray of shape (c,), float64
        Smallest difference that exceeds the limit with a probability of `POWER`; NaN without limit.
    """

    differences: FloatArray
    errors: FloatArray
    statistics: FloatArray
    tested: BoolArray
    limit: float | None
    smallest: FloatArray


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
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def gather_blocks(records: IntArray, hits: IntArray, blocks: IntArray) -> Blocks:
    """Sum days, of shape (k,) and (k, c), by the block of each."""
    size = int(blocks.max()) + 1 if len(blocks) else 0
    summed = np.zeros((size, hits.shape[1]), dtype=np.int64)
    np.add.at(summed, blocks, hits)
    return Blocks(records=np.bincount(blocks, records, minlength=size).astype(np.int64), hits=summed)


def measure_shifts(reference: Blocks, window: Blocks, *, draws: int = DRAWS) -> Shifts:
    """Compare shares of two samples with a limit for the largest difference.

    Parameters
    ----------
    reference, window : Blocks
        Of the same c properties, with blocks of the same number of days.
    """
    pooled = (reference.hits.sum(axis=0) + window.hits.sum(axis=0)) / max(reference.total + window.total, 1)
    least = min(reference.total, window.total) * np.minimum(pooled, 1 - pooled)
    tested = least >= MIN_EXPECTED
    differences = np.where(tested, window.shares - reference.shares, np.nan)
    absent = np.full(len(tested), np.nan)
    if len(reference.records) < MIN_BLOCKS or not tested.any():
        return Shifts(
            differences=differences,
            errors=absent,
            statistics=np.zeros(len(tested)),
            tested=np.zeros_like(tested) if not tested.any() else tested,
            limit=None,
            smallest=absent,
        )
    resampling = _Resampling.of(reference, window, pooled, tested)
    errors = absent.copy()
    errors[tested] = resampling.errors
    # At least the limit of one share of independent records: blocks that agree by chance would give less.
    limit = max(
        float(np.quantile(resampling.largest(draws), CONFIDENCE)), NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    )
    return Shifts(
        differences=differences,
        errors=errors,
        statistics=np.where(tested, np.abs(differences) / np.where(tested, errors, 1.0), 0.0),
        tested=tested,
        limit=limit,
        smallest=(limit + NormalDist().inv_cdf(POWER)) * errors,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Resampling:
    """Standardised deviations of the reference's blocks, drawn anew for both samples.

    Parameters
    ----------
    reference, window : ndarray of shape (b,) and (w,), float64
        Sizes of the blocks.
    variances : ndarray of shape (c,), float64
        Of a record's property.
    between : ndarray of shape (c,), float64
        Variance between blocks, as a multiple of `variances`.
    deviations : ndarray of shape (b, c), float64
        Of each reference block from the mean, over its standard deviation.
    """

    reference: FloatArray
    window: FloatArray
    variances: FloatArray
    between: FloatArray
    deviations: FloatArray

    @classmethod
    def of(cls, reference: Blocks, window: Blocks, pooled: FloatArray, tested: BoolArray) -> "_Resampling":
        sizes, shares = reference.records.astype(np.float64), reference.shares[tested]
        variances = pooled[tested] * (1 - pooled[tested])
        residuals = reference.hits[:, tested] - sizes[:, np.newaxis] * shares
        own = np.maximum(shares * (1 - shares), 1e-12)
        between = _between_blocks(np.sum(residuals**2, axis=0) / own, sizes)
        spread = np.sqrt(own * _block_variances(sizes, between) * (1 - 1 / len(sizes)))
        return cls(
            reference=sizes,
            window=window.records.astype(np.float64),
            variances=variances,
            between=between,
            deviations=residuals / spread,
        )

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the differences, of shape (c,)."""
        return np.sqrt(self.variances * self._unit_variances(self.between))

    def _unit_variances(self, between: FloatArray) -> FloatArray:
        both = (self.reference, self.window)
        alone = sum(1 / sizes.sum() for sizes in both)
        shared = sum(float(np.sum((sizes / sizes.sum()) ** 2)) for sizes in both)
        variances: FloatArray = alone + between * shared
        return variances

    def largest(self, draws: int) -> FloatArray:
        """Return the largest statistic of each draw of blocks."""
        generator, blocks = np.random.default_rng(0), len(self.reference)
        old, new = (np.sqrt(_block_variances(sizes, self.between)) for sizes in (self.reference, self.window))
        found = np.empty(draws)
        for draw in range(draws):
            drawn = old * self.deviations[generator.integers(0, blocks, blocks)]
            fresh = new * self.deviations[generator.integers(0, blocks, len(self.window))]
            shift = drawn.sum(axis=0) / self.reference.sum()
            residuals = drawn - self.reference[:, np.newaxis] * shift
            between = _between_blocks(np.sum(residuals**2, axis=0), self.reference)
            difference = fresh.sum(axis=0) / self.window.sum() - shift
            found[draw] = np.max(np.abs(difference) / np.sqrt(self._unit_variances(between)))
        return found


def _block_variances(sizes: FloatArray, between: FloatArray) -> FloatArray:
    """Return the variance of each block's hits, over that of a record, of shape (b, c)."""
    variances: FloatArray = sizes[:, np.newaxis] + np.outer(sizes**2, between)
    return variances


def _between_blocks(squares: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the variance between blocks from sums of squared residuals, both over the variance of a record.

    The estimate by moments of each share is drawn towards the mean over all shares (as Smyth 2004,
    doi:10.2202/1544-6115.1027, does with variances), and at least 0.
    """
    total = sizes.sum()
    concentration = float(np.sum((sizes / total) ** 2))
    alone = total * (1 - concentration)
    shared = float(np.sum(sizes**2) * (1 + concentration) - 2 * np.sum(sizes**3) / total)
    own = (squares - alone) / shared
    weight = (len(sizes) - 1) / (len(sizes) - 1 + _PRIOR_BLOCKS)
    mean = max(float(own.mean()), 0.0)
    between: FloatArray = np.maximum(weight * own + (1 - weight) * mean, 0.0)
    return between
