"""k-anonymity: every summary in a bundle covers at least five persons.

Values that few persons share are grouped with their neighbours (microaggregation, Domingo-Ferrer and
Mateo-Sanz 2002, doi 10.1109/69.979982).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray

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
    seen = set(owners[start:end].tolist())
    for row in range(end, len(ordered)):
        seen.add(int(owners[row]))
        if len(seen) == MIN_GROUP_SIZE:
            return _end_of_tie(ordered, row)
    return len(ordered)


def _end_of_tie(ordered: FloatArray, row: int) -> int:
    return int(np.searchsorted(ordered, ordered[row], side="right"))


def _centre(ordered: FloatArray, owners: IntArray) -> float:
    """Return a representative value of a group; integers stay integers."""
    bits = ordered.view(np.int64)
    if bits[0] == bits[-1] and (bits == bits[0]).all() and is_k_anonymous(owners):
        return float(ordered[0])
    rows = np.argsort(owners, kind="stable")
    # One value a person, their least. Adding zero leaves one kind of zero, whichever comes first after sorting.
    own = np.sort(ordered[rows[_begins_run(owners[rows])]] + 0.0)
    starts = np.flatnonzero(_begins_run(own))
    counts = np.append(starts[1:], own.size) - starts
    most = int(counts.argmax())
    if counts[most] >= MIN_GROUP_SIZE:
        return float(own[starts[most]])
    middle = own[1:-1]
    with np.errstate(over="ignore"):  # by rounding, at the largest floats; the limits below hold then
        mean = float((middle / middle.size).sum())
    if (own == np.rint(own)).all():
        mean = float(np.rint(mean))
    return min(max(mean, float(own[0])), float(own[-1]))


def _begins_run(values: FloatArray | IntArray) -> BoolArray:
    """Mark the first of equal neighbours."""
    begins = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins
