"""Bootstrap of blocks: how often each draw holds each block, and counts of records under every draw.

Records of one day have more in common than records of different days, and so have the frauds of a ring, which may last
for weeks. So days of genuine records are drawn (block bootstrap, Künsch 1989, doi:10.1214/aos/1176347265), and rings of
frauds. Each ring is drawn as often as a Poisson number says: a fixed number of them would hide that the number of
frauds varies (Poisson bootstrap, Chamandy et al. 2012, Estimating Uncertainty for Massive Data Streams, section 2).
Decision record: docs/adr/0021-intervals-and-groups.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.compiled import compiled
from scoring_model.records.times import DAY

MIN_BLOCKS: Final = 10
"""Minimum number of days, or of rings, for a bootstrap."""

REPEATS: Final = 1000

_CELLS: Final = 1 << 22
"""Most counts that are held at a time."""


class Basis(NamedTuple):
    """What a number rests on.

    Parameters
    ----------
    blocks : int
        Days of genuine records, or rings of frauds.
    alike : int
        Records that may be taken for independent where all of them, or none, are errors: rings count once.
    """

    blocks: int
    alike: int


def draw_blocks(days: int, rings: int = 0, *, repeats: int = REPEATS) -> IntArray:
    """Draw days with replacement, and rings independently.

    Returns
    -------
    ndarray of shape (repeats, days + rings), int64
        How often each draw holds each block. Without rows with fewer than ten days. Draws depend only on the numbers of
        blocks, so that results on the same records are paired.
    """
    if days < MIN_BLOCKS:
        return np.zeros((0, days + rings), dtype=np.int64)
    rng = np.random.default_rng(0)
    of_days = resamples(rng, days, repeats)
    return np.concatenate([of_days, rng.poisson(1.0, (repeats, rings))], axis=1) if rings else of_days


def resamples(rng: np.random.Generator, blocks: int, repeats: int) -> IntArray:
    """Draw blocks with replacement: how often each resample holds each, of shape (repeats, blocks)."""
    drawn = rng.integers(0, blocks, (repeats, blocks)) + np.arange(repeats)[:, None] * blocks
    return np.bincount(drawn.ravel(), minlength=repeats * blocks).reshape(repeats, blocks)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Draws:
    """Records by block, and the draws of these blocks: first days, then rings of frauds.

    Parameters
    ----------
    day_of : ndarray of shape (n,), int64
        Code of the day of each record, ascending with the day; only days with records have one.
    days : int
        Number of such days.
    block_of : ndarray of shape (n,), int64
        Code of the block of each record. Without rings that is its day.
    blocks, rings : int
        Number of blocks, and of those among them that are rings.
    weights : ndarray of shape (r, blocks), int64
        How often each draw holds each block; r = 0 with fewer than ten days.
    even : ndarray of shape (r, blocks), float64
        The same, with days so much heavier or lighter that each draw has as many genuine records as there are.
    """

    day_of: IntArray
    days: int
    block_of: IntArray
    blocks: int
    rings: int
    weights: IntArray
    even: FloatArray

    @classmethod
    def of(
        cls,
        event_times: IntArray,
        *,
        rings: IntArray | None = None,
        frauds: BoolArray | None = None,
        repeats: int = REPEATS,
    ) -> Self:
        """Draw the days of genuine records, and the rings of frauds.

        Parameters
        ----------
        event_times : ndarray of shape (n,), int64
            Microseconds since 1970-01-01 UTC.
        rings : ndarray of shape (n,), int64, optional
            Equal for the frauds of one ring; that of other records does not count. None: frauds are drawn by day too.
        frauds : ndarray of shape (n,), bool
            Which records are frauds; needed with `rings`.
        """
        days, day_of = _coded(event_times // DAY)
        if rings is None or frauds is None or not frauds.any():
            weights = draw_blocks(days, repeats=repeats)
            even = weights.astype(np.float64)
            return cls(
                day_of=day_of, days=days, block_of=day_of, blocks=days, rings=0, weights=weights, even=even
            )
        held, own = _coded(day_of[~frauds])
        found, ring_of = _coded(rings[frauds])
        block_of = np.empty(len(event_times), dtype=np.int64)
        block_of[~frauds], block_of[frauds] = own, held + ring_of
        weights = draw_blocks(held, found, repeats=repeats)
        even = weights.astype(np.float64)
        drawn = even[:, :held] @ np.bincount(own, minlength=held)
        even[:, :held] *= (len(own) / drawn)[:, None]
        return cls(
            day_of=day_of,
            days=days,
            block_of=block_of,
            blocks=held + found,
            rings=found,
            weights=weights,
            even=even,
        )

    def basis(self, totals: IntArray | FloatArray, counts: IntArray | FloatArray | None = None) -> Basis:
        """Count what a number rests on: where both kinds of blocks hold some, rings, since frauds decide most.

        Parameters
        ----------
        totals : ndarray of shape (blocks,)
            Of each block the number of records, or of what is divided by.
        counts : ndarray of shape (blocks,), optional
            What is divided, of a share of records: where days hold some of it, days count.
        """
        split = self.blocks - self.rings
        days, rings = np.count_nonzero(totals[:split]), np.count_nonzero(totals[split:])
        of_days = days and (not rings or (counts is not None and counts[:split].any()))
        if of_days or not self.rings:
            return Basis(int(days), round(float(totals.sum())))
        # Of a share of both classes: all records, fewer by as much as rings are fewer than their frauds.
        held = float(totals[split:].sum())
        return Basis(int(rings), round(float(totals.sum()) * int(rings) / held) if held else 0)

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum a value of the records by block, of shape (blocks,); the order of the records changes no bit."""
        order = np.lexsort((values, self.block_of))
        return np.bincount(self.block_of[order], values[order], minlength=self.blocks).astype(np.float64)

    def counts(self, codes: IntArray, size: int) -> IntArray:
        """Count the records of each block by code.

        Parameters
        ----------
        codes : ndarray of shape (n,), int64
            From 0 to size - 1.

        Returns
        -------
        ndarray of shape (blocks, size), int64
        """
        counts = np.bincount(self.block_of * size + codes, minlength=self.blocks * size)
        return counts.reshape(self.blocks, size)

    def weighted_counts(self, codes: IntArray, size: int, weights: FloatArray) -> FloatArray:
        """Sum weights of the records of each block by code, of shape (blocks, size); see `counts`."""
        cells = self.block_of * size + codes
        order = np.lexsort((weights, cells))  # the order of the records changes no bit
        sums = np.bincount(cells[order], weights[order], minlength=self.blocks * size)
        return sums.astype(np.float64).reshape(self.blocks, size)

    def drawn(self, by_block: NDArray[np.int64] | FloatArray) -> FloatArray:
        """Sum blocks under every draw, for ratios of such sums.

        Rings are drawn apart from days, so that a draw of quiet days would have more frauds for each genuine record.
        That is no chance: on which weekdays people sign up is the same in the next sample. So days are weighted.

        Parameters
        ----------
        by_block : ndarray of shape (blocks, ...)

        Returns
        -------
        ndarray of shape (r, ...), float64
            Exact for counts where frauds are drawn by day.
        """
        return np.tensordot(self.even, by_block.astype(np.float64), axes=1)

    def drawn_counts(self, codes: IntArray, size: int) -> Iterator[IntArray]:
        """Count all records by code under every draw, a chunk of draws at a time.

        The same as `drawn(counts(codes, size))` for many codes, of which each block has few.

        Yields
        ------
        ndarray of shape (c, size), int64
            For the next c draws.
        """
        order = np.argsort(codes, kind="stable")  # neighbours share the cache
        codes, blocks = codes[order], self.block_of[order]
        step = max(1, _CELLS // max(size, 1))
        for start in range(0, len(self.weights), step):
            weights = np.ascontiguousarray(self.weights[start : start + step].T, dtype=np.int32)
            sums = np.zeros((size, weights.shape[1]), dtype=np.int32)
            _add_weights(codes, blocks, weights, sums)
            yield np.ascontiguousarray(sums.T, dtype=np.int64)

    def drawn_weights(self, codes: IntArray, size: int, weights: FloatArray) -> Iterator[FloatArray]:
        """Sum weights of all records by code under every draw, a chunk of draws at a time; see `drawn_counts`."""
        order = np.lexsort((weights, codes))
        codes, blocks, own = codes[order], self.block_of[order], weights[order]
        step = max(1, _CELLS // max(size, 1))
        for start in range(0, len(self.weights), step):
            of_blocks = np.ascontiguousarray(self.weights[start : start + step].T, dtype=np.float64)
            sums = np.zeros((size, of_blocks.shape[1]))
            _add_own_weights(codes, blocks, own, of_blocks, sums)
            yield np.ascontiguousarray(sums.T)


def _coded(values: IntArray) -> tuple[int, IntArray]:
    """Number different values, ascending; return how many there are, and the number of each."""
    held, codes = np.unique(values, return_inverse=True)
    return len(held), codes


@compiled
def _add_own_weights(
    codes: IntArray, blocks: IntArray, own: FloatArray, weights: FloatArray, sums: FloatArray
) -> None:
    """Add the weights of each record's block, times its own, to the sums of its code."""
    for i in range(len(codes)):
        code, block = codes[i], blocks[i]
        for j in range(weights.shape[1]):
            sums[code, j] += own[i] * weights[block, j]


@compiled
def _add_weights(
    codes: IntArray, blocks: IntArray, weights: NDArray[np.int32], sums: NDArray[np.int32]
) -> None:
    """Add the weights of each record's block to the sums of its code."""
    for i in range(len(codes)):
        code, block = codes[i], blocks[i]
        for j in range(weights.shape[1]):
            sums[code, j] += weights[block, j]
