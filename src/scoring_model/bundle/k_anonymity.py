"""k-anonymity: every summary in a bundle covers at least five persons.

Values that few persons share are grouped with their neighbours (microaggregation, Domingo-Ferrer and
Mateo-Sanz 2002, doi 10.1109/69.979982).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray

MIN_GROUP_SIZE: Final = 5
"""Minimum number of persons per summary."""

_FIRST_ROWS: Final = 50


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """One feature's values in groups.

    Parameters
    ----------
    values : ndarray of shape (m,), float64, strictly ascending
        One value for each group: the one that at least five of its persons share, if there is any, else the
        mean of its persons' values without the least and the greatest.
    shares : ndarray of shape (m,), float64, summing to 1
        Number of finite rows in each group.
    """

    values: FloatArray
    shares: FloatArray


def is_k_anonymous(persons: IntArray) -> bool:
    """Return whether these rows are of at least five distinct persons."""
    # The first rows nearly always answer it, in a tenth of the time.
    return (
        len(set(persons[:_FIRST_ROWS].tolist())) >= MIN_GROUP_SIZE
        or int(np.unique(persons).size) >= MIN_GROUP_SIZE
    )


def k_anonymous_quantiles(values: FloatArray, persons: IntArray, *, most: int) -> Levels:
    """Group the finite values of one feature, each group being of at least five persons.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        NaN and infinities are left out.
    persons : ndarray of shape (n,), int64
        Code of the person of each row.
    most : int, at least 1
        Maximum number of groups. With at most that many distinct values, each value shared by enough persons is a
        group; with more, the groups have about equal size.

    Returns
    -------
    Levels
        Without groups if fewer than five persons have a finite value.
    """
    finite = np.isfinite(values)
    order = np.argsort(values[finite], kind="stable")
    ordered, owners = values[finite][order], persons[finite][order]
    bounds = _group_bounds(ordered, owners, most)
    groups = list(itertools.pairwise(bounds))
    centres = [_centre(ordered[low:high], owners[low:high]) for low, high in groups]
    sizes = [high - low for low, high in groups]
    return Levels(
        np.array(centres, dtype=np.float64), np.array(sizes, dtype=np.float64) / max(len(ordered), 1)
    )


def _group_bounds(ordered: FloatArray, owners: IntArray, most: int) -> list[int]:
    """Return where groups of rows start, and the end of the last; equal values are never split."""
    if not is_k_anonymous(owners):
        return []
    few = np.unique(ordered).size <= most
    bounds = [0]
    while (start := bounds[-1]) < len(ordered):
        wanted = 1 if few else -(-(len(ordered) - start) // max(most + 1 - len(bounds), 1))
        bounds.append(_group_end(ordered, owners, start, wanted))
    if not is_k_anonymous(owners[bounds[-2] :]):
        del bounds[-2]  # the last rows are of too few persons and join the group before
    return bounds


def _group_end(ordered: FloatArray, owners: IntArray, start: int, wanted: int) -> int:
    """Return the end of the shortest run of whole ties from `start` with enough rows and persons."""
    end = _end_of_tie(ordered, start + wanted - 1)
    if is_k_anonymous(owners[start:end]):
        return end
    first_rows = np.sort(np.unique(owners[start:], return_index=True)[1])
    if first_rows.size < MIN_GROUP_SIZE:
        return len(ordered)
    return _end_of_tie(ordered, start + int(first_rows[MIN_GROUP_SIZE - 1]))


def _end_of_tie(ordered: FloatArray, row: int) -> int:
    return int(np.searchsorted(ordered, ordered[row], side="right"))


def _centre(ordered: FloatArray, owners: IntArray) -> float:
    """Return a representative value of a group; integers stay integers."""
    bits = ordered.view(np.int64)
    if (bits == bits[0]).all() and is_k_anonymous(owners):
        return float(ordered[0])
    own = np.sort(ordered[np.unique(owners, return_index=True)[1]])  # one value a person, their least
    distinct, counts = np.unique(own, return_counts=True)
    if counts.max() >= MIN_GROUP_SIZE:
        return float(distinct[np.argmax(counts)])
    middle = own[1:-1]
    with np.errstate(over="ignore"):  # by rounding, at the largest floats; the limits below hold then
        mean = float(np.sum(middle / middle.size))
    if np.array_equal(own, np.rint(own)):
        mean = float(np.rint(mean))
    return min(max(mean, float(own[0])), float(own[-1]))
