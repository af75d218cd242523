"""Rings: records that link keys join. One stands for all where independent records are needed."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray

MOST_SHARED: Final = 256
"""A value of a link key that more records share joins none: a large building, a placeholder image."""


def find_rings(keys: Sequence[IntArray], rows: IntArray) -> IntArray:
    """Find the connected components of some records, of which two are joined that share a value of a link key.

    Components are found among these records alone: two frauds are not joined because of a genuine record between
    them, which would in the end join nearly everything. How many records hold a value is counted over the whole
    table. So a ring of more than 256 records that only one value joins is not seen as one.

    Parameters
    ----------
    keys : sequence of ndarray of shape (n,), int64
        Codes of one link key for every record of the table; negative where a record has no such key.
    rows : ndarray of shape (r,), int64
        Records among which rings are found.

    Returns
    -------
    ndarray of shape (r,), int64
        Equal for records of one ring: the first place in `rows` of a record of that ring.
    """
    parents = list(range(len(rows)))
    for codes in keys:
        for place, other in _joined(codes, rows):
            _unite(parents, place, other)
    return np.array([_root(parents, place) for place in range(len(rows))], dtype=np.int64)


def one_of_each(groups: IntArray) -> IntArray:
    """Choose one record of each group at random.

    Not the first in time: it has no links to the others yet, so that its score does not represent theirs. The draw is
    the same for equally many records, so that it cannot be repeated until a bound is kept.

    Parameters
    ----------
    groups : ndarray of shape (n,), int64
        Codes.

    Returns
    -------
    ndarray of shape (g,), int64
        Places, ascending.
    """
    order = np.random.default_rng(0).permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first]).astype(np.int64, copy=False)


def _joined(codes: IntArray, rows: IntArray) -> Iterator[tuple[int, int]]:
    """Give pairs of places, enough to connect all that share a value of this key."""
    holders = np.bincount(codes[codes >= 0], minlength=1)
    places = np.flatnonzero(codes[rows] >= 0)
    places = places[holders[codes[rows[places]]] <= MOST_SHARED]
    values = codes[rows[places]]
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(np.diff(values[order]) == 0)
    yield from zip(places[order[same]].tolist(), places[order[same + 1]].tolist(), strict=True)


def _root(parents: list[int], place: int) -> int:
    """Follow the parents to the first place of the ring, and shorten the way for the next time."""
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _unite(parents: list[int], place: int, other: int) -> None:
    """Make one ring of two: the earlier root is the root of both."""
    first, second = sorted((_root(parents, place), _root(parents, other)))
    parents[second] = first
