"""Rings: records that shared values of link keys join."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.history.keys import PERSON, LinkKey, key_codes
from scoring_model.records import RecordTable

MOST_SHARED: Final = 256
"""Maximum number of records per link key value that joins rings; excludes large buildings, placeholder images."""

LEAST_SHARED: Final = 20
"""Records that share a value are few, however small the table; their frauds are joined."""


def find_rings(keys: Sequence[IntArray], rows: IntArray, *, most_shared: int = MOST_SHARED) -> IntArray:
    """Find the connected components of some records, joined by shared values of link keys.

    Components use only these records: a genuine record between two frauds does not join them, since that would in the
    end join nearly everything. The number of records with a value is counted over the whole table, so a ring of more
    than `most_shared` records joined by a single value is not detected.

    Parameters
    ----------
    keys : sequence of ndarray of shape (n,), int64
        Codes of one link key for every record of the table; negative where a record has no key.
    rows : ndarray of shape (r,), int64
        Records to group into rings.

    Returns
    -------
    ndarray of shape (r,), int64
        Equal for records of one ring: the index in `rows` of its first record.
    """
    parents = list(range(len(rows)))
    for codes in keys:
        for place, other in _joined(codes, rows, most_shared):
            _unite(parents, place, other)
    return np.array([_root(parents, place) for place in range(len(rows))], dtype=np.int64)


def rings_of(table: RecordTable, persons: IntArray, keys: Sequence[LinkKey], rows: IntArray) -> IntArray:
    """Find the rings of some records of a table by person and link keys; see `find_rings`."""
    others = [key_codes(table, key) for key in keys if key.name != PERSON]
    return find_rings([persons, *others], rows)


def few_records(records: int) -> int:
    """Return how many records of a table may share a value that still says something of each."""
    return max(records // 100, LEAST_SHARED)


def _joined(codes: IntArray, rows: IntArray, most_shared: int) -> Iterator[tuple[int, int]]:
    """Return enough pairs of indices to connect all records that share a value of this key."""
    holders = np.bincount(codes[codes >= 0])
    places = np.flatnonzero(codes[rows] >= 0)
    places = places[holders[codes[rows[places]]] <= most_shared]
    values = codes[rows[places]]
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(np.diff(values[order]) == 0)
    yield from zip(places[order[same]].tolist(), places[order[same + 1]].tolist(), strict=True)


def _root(parents: list[int], place: int) -> int:
    """Find the root of a ring, with path compression."""
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _unite(parents: list[int], place: int, other: int) -> None:
    """Join two rings; the earlier root becomes the root of both."""
    first, second = sorted((_root(parents, place), _root(parents, other)))
    parents[second] = first
