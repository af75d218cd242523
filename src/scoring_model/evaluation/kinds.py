"""Kinds of stopped applicants of whom nobody was observed: what a model that releases them can't have learnt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.findings import Code, Finding, checked

FEW: Final = 20
"""Records of a kind below which a model can't have learnt what it is."""

_BINS: Final = 10
_MOST_ROWS: Final = 50_000
"""Rows from which the ranges of a feature are taken, evenly spread."""

_SHOWN: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Kinds:
    """Ranges of the features that a model reads, and how many observed records lie in each.

    A kind is a range of one feature: about a tenth of all records, a single value where many share it, or a missing
    value; at least `FEW` records in all, most of whom were stopped.

    Parameters
    ----------
    features : ndarray of shape (u,), int64
        Columns of the feature matrix.
    borders : tuple of ndarray
        Ascending upper ends of the ranges of each feature; the last range has none.
    unknown : tuple of ndarray
        Whether each range of each feature, and a missing value, is a kind with fewer than `FEW` observed records.
    """

    features: IntArray
    borders: tuple[FloatArray, ...]
    unknown: tuple[BoolArray, ...]

    @classmethod
    def of(cls, rows: FloatArray, observed: BoolArray, features: IntArray) -> Self:
        """Count the observed records.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
            Feature rows of all records, NaN where a value is missing.
        observed : ndarray of shape (n,), bool
        """
        chosen = np.unique(np.linspace(0, max(len(rows) - 1, 0), min(len(rows), _MOST_ROWS)).astype(np.int64))
        borders = tuple(_borders(rows[chosen, feature]) for feature in features.tolist())
        unknown = []
        for feature, ends in zip(features.tolist(), borders, strict=True):
            places = _places(rows[:, feature], ends)
            every, seen = (np.bincount(held, minlength=len(ends) + 2) for held in (places, places[observed]))
            unknown.append((every >= FEW) & (seen < FEW) & (2 * seen < every))
        return cls(features=features, borders=borders, unknown=tuple(unknown))

    def unseen(self, rows: FloatArray) -> dict[int, BoolArray]:
        """Mask the rows of a kind with fewer than `FEW` observed records, by column; columns without any are absent.

        Parameters
        ----------
        rows : ndarray of shape (m, d), float64
        """
        found = {
            feature: self.unknown[place][_places(rows[:, feature], self.borders[place])]
            for place, feature in enumerate(self.features.tolist())
        }
        return {feature: mask for feature, mask in found.items() if mask.any()}


def _borders(values: FloatArray) -> FloatArray:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return np.empty(0)
    ends = known[(np.arange(1, _BINS) * len(known)) // _BINS]
    # A value that many share has a range of its own: one ends at it, and one before it.
    before = known[np.maximum(np.searchsorted(known, ends, side="left") - 1, 0)]
    return np.unique(np.concatenate([ends, before]))


def _places(values: FloatArray, borders: FloatArray) -> IntArray:
    """Return the range of each value; that after the last for a missing one."""
    places = np.searchsorted(borders, values, side="left")
    return np.where(np.isnan(values), len(borders) + 1, places).astype(np.int64)


def check_released(
    kinds: Kinds, released: FloatArray, names: Sequence[str], titles: Mapping[str, str], *, records: int
) -> Finding:
    """Count the released applicants of a kind of which nearly nobody was observed.

    Parameters
    ----------
    released : ndarray of shape (m, d), float64
        Feature rows of the stopped applicants whom a challenger lets pass, and its champion does not.
    names : sequence of str
        Features by column.
    titles : mapping of str to str
        What they say, by name.
    records : int
        Observed records.
    """
    code, unseen = Code.UNSEEN_KINDS, kinds.unseen(released)
    if not unseen:
        sentence = f"of each kind of the {len(released):,} released applicants at least {FEW} were observed"
        return checked(code, sentence, records=records)
    count = int(np.any(np.stack(list(unseen.values())), axis=0).sum())
    most = sorted(unseen.items(), key=lambda item: (-int(item[1].sum()), item[0]))
    shown = [
        f"{titles.get(names[feature], names[feature])} ({mask.sum():,})" for feature, mask in most[:_SHOWN]
    ]
    others = f" and {len(most) - _SHOWN:,} other features" if len(most) > _SHOWN else ""
    return checked(
        code,
        f"{count:,} of the {len(released):,} stopped applicants whom the challenger releases are of a kind of "
        f"which fewer than {FEW} were observed, by {', '.join(shown)}{others}: it can't have learnt what they are",
        count=count,
        records=records,
    )
