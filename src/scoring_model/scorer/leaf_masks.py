"""Margins of many rows at once, from the forest itself, many times faster than from its graph.

Each tree keeps for each row the set of leaves that the row may still reach, as bits, the leftmost leaf first. A split
that sends the row right removes the leaves on its left; the first leaf that is left at the end is the one of the row
(QuickScorer, doi:10.1145/2766462.2767733). Splits are evaluated in any order, each for a whole block of rows, so that
the processor compares several rows at a time and never guesses a branch.

Leaves are multiples of 2^-40, so sums are exact in any order and the margins are those of the graph, bit for bit.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.compiled import compiled, inner
from scoring_model.decision.forest import ZERO, Forest, Missing, check_rows

_BLOCK: Final = 256  # rows whose values and masks stay in the L2 cache
_BITS: Final = 64
_ALL: Final = np.uint64(2**64 - 1)
_ONE: Final = np.uint64(1)
# Multiplied by a power of two, it has another number in its upper six bits for each of them (a de Bruijn sequence).
_SEQUENCE: Final = np.uint64(0x03F79D71B4CB0A89)
_SHIFT: Final = np.uint64(58)

_MISSING_LEFT, _MISSING_RIGHT, _CATEGORY = 0, 1, 2


class LeafMasks:
    """A forest that gives the margins of many rows.

    Parameters
    ----------
    forest : Forest
        Its leaves are rounded (see `training.averaging`), and zero is missing in all splits on a feature or in none.
    """

    def __init__(self, forest: Forest) -> None:
        kind = np.where(forest.missing_left, _MISSING_LEFT, _MISSING_RIGHT)
        kind[forest.category_set >= 0] = _CATEGORY
        zero_missing = np.zeros(forest.feature_count, np.bool_)
        zero_missing[forest.feature[forest.missing == Missing.ZERO]] = True
        words = -(-np.diff(forest.tree_leaves) // _BITS)
        first_words = np.concatenate([[0], np.cumsum(words)])
        places, lefts = _leaf_places(
            forest.tree_splits, forest.tree_leaves, forest.left, forest.right, forest.roots()
        )
        numbers = (_ONE << np.arange(_BITS, dtype=np.uint64)) * _SEQUENCE >> _SHIFT
        tree = np.repeat(np.arange(forest.tree_count), np.diff(forest.tree_leaves))
        leaves = np.zeros((first_words[-1], _BITS))
        leaves[first_words[tree] + places // _BITS, numbers[places % _BITS]] = forest.leaf_value
        self._feature_count = forest.feature_count
        self._arrays = (
            zero_missing,
            forest.tree_splits,
            kind,
            forest.feature,
            forest.threshold,
            forest.category_set,
            lefts,
            _members(forest),
            first_words,
            leaves,
        )

    def margins(self, rows: FloatArray, *, threads: int = 1) -> FloatArray:
        """Return the margins of rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
            The features; categorical ones as integer codes or NaN.
        threads : int
            Threads that share the rows; results do not depend on them.

        Returns
        -------
        ndarray of shape (n,), float64
            In log-odds.

        Raises
        ------
        ValueError
            If the rows have another type or width.
        """
        check_rows(rows, self._feature_count)
        rows, margins = np.ascontiguousarray(rows), np.empty(len(rows))
        if threads == 1:
            _fill(rows, *self._arrays, margins)
            return margins
        with ThreadPoolExecutor(threads) as pool:
            shares = zip(np.array_split(rows, threads), np.array_split(margins, threads), strict=True)
            list(pool.map(lambda share: _fill(share[0], *self._arrays, share[1]), shares))
        return margins


def _members(forest: Forest) -> BoolArray:
    """Tabulate which codes each set holds; the last code, of everything else, is in none."""
    sets = len(forest.set_starts) - 1
    members = np.zeros((sets, forest.set_codes.max(initial=-1) + 2), np.bool_)
    members[np.repeat(np.arange(sets), np.diff(forest.set_starts)), forest.set_codes] = True
    return members


@compiled
def _leaf_places(
    tree_splits: IntArray, tree_leaves: IntArray, left: IntArray, right: IntArray, roots: IntArray
) -> tuple[IntArray, IntArray]:
    """Number the leaves of each tree from left to right.

    Returns
    -------
    places : ndarray of shape (leaves,), int64
    lefts : ndarray of shape (splits, 2), int64
        First place on the left of each split, and the place after its last one.
    """
    places = np.zeros(tree_leaves[-1], np.int64)
    below = np.zeros(tree_splits[-1], np.int64)
    lefts = np.zeros((tree_splits[-1], 2), np.int64)
    # A split leads to later ones only.
    for split in range(len(below) - 1, -1, -1):
        for child in (left[split], right[split]):
            below[split] += below[child] if child >= 0 else 1
    for split in range(len(below)):
        first, child = lefts[split, 0], left[split]
        lefts[split, 1] = first + (below[child] if child >= 0 else 1)
        if child >= 0:
            lefts[child, 0] = first
        else:
            places[~child] = first
        child = right[split]
        if child >= 0:
            lefts[child, 0] = lefts[split, 1]
        else:
            places[~child] = lefts[split, 1]
    return places, lefts


@compiled
def _fill(
    rows: FloatArray,
    zero_missing: BoolArray,
    tree_splits: IntArray,
    kind: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    category_set: IntArray,
    lefts: IntArray,
    members: BoolArray,
    first_words: IntArray,
    leaves: FloatArray,
    margins: FloatArray,
) -> None:
    """Compute margins in place, block by block."""
    columns = np.zeros((rows.shape[1], _BLOCK))
    widest = 0
    for tree in range(len(tree_splits) - 1):  # `np.diff` would take as long to compile as all the rest
        widest = max(widest, first_words[tree + 1] - first_words[tree])
    masks = np.empty((widest, _BLOCK), np.uint64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        _transpose(block, zero_missing, columns)
        totals = margins[start : start + _BLOCK]
        totals[:] = 0.0
        for tree in range(len(tree_splits) - 1):
            words = first_words[tree + 1] - first_words[tree]
            masks[:words] = _ALL
            for split in range(tree_splits[tree], tree_splits[tree + 1]):
                first, last = lefts[split]
                for word in range(first // _BITS, (last - 1) // _BITS + 1):
                    kept = ~_between(max(first - word * _BITS, 0), min(last - word * _BITS, _BITS))
                    values, mask = columns[feature[split]], masks[word]
                    if kind[split] == _MISSING_LEFT:
                        _keep_above(values, threshold[split], kept, mask)
                    elif kind[split] == _MISSING_RIGHT:
                        _keep_not_below(values, threshold[split], kept, mask)
                    else:
                        _keep_other(values, members[category_set[split]], kept, mask)
            _add_leaves(masks, leaves[first_words[tree] : first_words[tree + 1]], totals)


@inner
def _transpose(block: FloatArray, zero_missing: BoolArray, columns: FloatArray) -> None:
    """Copy rows to columns. LightGBM reads values of at most `ZERO` in size as 0."""
    for row in range(len(block)):
        for column in range(block.shape[1]):
            value = block[row, column]
            if abs(value) <= ZERO:
                value = np.nan if zero_missing[column] else 0.0
            columns[column, row] = value


@inner
def _between(first: int, last: int) -> np.uint64:
    """Return a mask of the bits `first` to `last - 1`."""
    upper = _ALL if last == _BITS else (_ONE << np.uint64(last)) - _ONE
    return upper & ~((_ONE << np.uint64(first)) - _ONE)


@inner
def _keep_above(values: FloatArray, threshold: float, kept: np.uint64, mask: NDArray[np.uint64]) -> None:
    for row in range(_BLOCK):
        mask[row] &= kept if values[row] > threshold else _ALL


@inner
def _keep_not_below(values: FloatArray, threshold: float, kept: np.uint64, mask: NDArray[np.uint64]) -> None:
    for row in range(_BLOCK):
        mask[row] &= _ALL if values[row] <= threshold else kept


@inner
def _keep_other(values: FloatArray, members: BoolArray, kept: np.uint64, mask: NDArray[np.uint64]) -> None:
    end = len(members) - 1
    for row in range(_BLOCK):
        value = values[row]
        code = int(value) if -1 < value < end else end
        mask[row] &= _ALL if members[code] else kept


@inner
def _add_leaves(masks: NDArray[np.uint64], leaves: FloatArray, totals: FloatArray) -> None:
    for row in range(len(totals)):
        word = 0
        while masks[word, row] == 0:
            word += 1
        mask = masks[word, row]
        lowest = mask & (~mask + _ONE)
        totals[row] += leaves[word, (lowest * _SEQUENCE) >> _SHIFT]
