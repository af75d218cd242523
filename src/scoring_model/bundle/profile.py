"""The reference profile: distributions of features and scores on the validation period.

It is k-anonymous: bins, codes and shares of missing values of fewer than five persons are left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.contents import PROFILE
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.k_anonymity import Levels, is_k_anonymous, k_anonymous_quantiles
from scoring_model.bundle.reader import SealedFiles

MOST_BINS: Final = 10
MOST_LEVELS: Final = 200  # fine enough for bounds close to the deciles
ROUNDING: Final = 1e-9  # of sums of shares
SCORE_BINS: Final = 101
"""Scores 0 to 9, 10 to 19, ..., 990 to 999, and 1000."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureProfile(ABC):
    """Distribution of one feature over bins.

    Parameters
    ----------
    missing : float, in [0, 1]
        Share of all rows in which it is missing.
    shares : tuple of float
        Of the rows with a value, how many lie in each bin; all 0 when nearly everyone's is missing.
    """

    missing: float
    shares: tuple[float, ...]

    def places(self, values: FloatArray) -> IntArray:
        """Return the bin of each value, of shape (n,); for a missing one the number of bins."""
        return np.where(np.isnan(values), len(self.shares), self._bins(values))

    @abstractmethod
    def _bins(self, values: FloatArray) -> IntArray:
        """Return the bin of each value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberProfile(FeatureProfile):
    """Distribution of a number.

    Parameters
    ----------
    borders : tuple of float, strictly ascending, at most 9, one fewer than shares
        About the deciles: between the values of neighbouring groups, and so no person's value. A value
        equal to a bound is below it.
    """

    borders: tuple[float, ...]

    def _bins(self, values: FloatArray) -> IntArray:
        return _bin(values, self.borders)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeProfile(FeatureProfile):
    """Distribution of a category's codes: a bin for each, the last one for all other codes.

    Parameters
    ----------
    codes : tuple of int, ascending, one fewer than shares
        Those of at least five persons.
    """

    codes: tuple[int, ...]

    def _bins(self, values: FloatArray) -> IntArray:
        return _code(values, self.codes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """Distributions of all features and of the score on the reference rows.

    Parameters
    ----------
    scores : tuple of 101 floats
        Share of the scores 0 to 9, 10 to 19, ..., 990 to 999, and 1000.
    """

    records: int
    features: Mapping[str, NumberProfile | CodeProfile]
    scores: tuple[float, ...]

    def to_bytes(self) -> bytes:
        """Return the profile as canonical JSON."""
        features = {name: asdict(feature) for name, feature in self.features.items()}
        return json_bytes({"records": self.records, "features": features, "scores": self.scores})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of `to_bytes`.

        Raises
        ------
        ContentInvalid
            If the bytes are anything else.
        """
        document = read_json(data)
        try:
            features = {name: _read_feature(feature) for name, feature in document.pop("features").items()}
            profile = cls(features=features, scores=tuple(document.pop("scores")), **document)
        except (AttributeError, KeyError, TypeError) as error:
            raise ContentInvalid(f"not a profile ({type(error).__name__})") from None
        if profile.to_bytes() != data or len(profile.scores) != SCORE_BINS:
            raise ContentInvalid("not a profile in canonical form")
        return profile

    @classmethod
    def of(cls, sealed: SealedFiles) -> Self:
        """Read the profile of a bundle."""
        return cls.from_bytes(sealed.file(PROFILE))


def measure_profile(
    rows: FloatArray,
    scores: IntArray,
    *,
    names: Sequence[str],
    persons: IntArray,
    categorical: Collection[int] = (),
) -> Profile:
    """Measure the profile of reference rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    scores : ndarray of shape (n,), int64, 0 to 1000
    persons : ndarray of shape (n,), int64
        Code of the person of each row.

    Raises
    ------
    ValueError
        When the shapes do not fit together or a score is beyond its range.
    """
    shapes = {"rows": rows.shape, "scores": scores.shape, "persons": persons.shape}
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows) == len(scores) == len(persons):
        raise ValueError(f"a score and a person a row and a name a column are needed, got {shapes}")
    if scores.size and not (scores.min() >= 0 and scores.max() <= 1000):
        raise ValueError("scores must be from 0 to 1000")
    features = {
        name: _measured(rows[:, column], persons, coded=column in categorical)
        for column, name in enumerate(names)
    }
    bins = _suppress_few(scores // 10, persons)
    return Profile(records=len(rows), features=features, scores=tuple(_shares(bins, SCORE_BINS).tolist()))


def _measured(values: FloatArray, persons: IntArray, *, coded: bool) -> NumberProfile | CodeProfile:
    present = ~np.isnan(values)
    missing = _missing_share(present, persons)
    if missing == 1.0:
        present = np.zeros_like(present)  # nor are the values of too few persons counted
    values, persons = values[present], persons[present]
    if coded:
        codes = _common_codes(values, persons)
        shares = _shares(_code(values, codes), len(codes) + 1)
        return CodeProfile(missing=missing, codes=codes, shares=tuple(shares.tolist()))
    levels = k_anonymous_quantiles(values, persons, most=MOST_LEVELS)
    borders = _merge_small_bins(_borders(levels), values, persons)
    shares = _shares(_bin(values, borders), len(borders) + 1)
    return NumberProfile(missing=missing, borders=borders, shares=tuple(shares.tolist()))


def _missing_share(present: BoolArray, persons: IntArray) -> float:
    """Return the share of missing rows, as none or all where the others are of too few persons."""
    if not is_k_anonymous(persons[present]):
        return 1.0
    return float(1.0 - present.mean()) if is_k_anonymous(persons[~present]) else 0.0


def _common_codes(values: FloatArray, persons: IntArray) -> tuple[int, ...]:
    """Return the codes of at least five persons, less the rarest where the rest would be of too few."""
    distinct, counts = np.unique(values, return_counts=True)
    by_count = [float(code) for code in distinct[np.argsort(-counts, kind="stable")]]
    common = [code for code in by_count if is_k_anonymous(persons[values == code])]
    rest = persons[~np.isin(values, common)]
    if rest.size and not is_k_anonymous(rest):
        common = common[:-1]
    return tuple(sorted(map(int, common)))


def _borders(levels: Levels) -> FloatArray:
    """Return the borders of at most ten bins: of every level where they are few, else of about equal shares.

    Each bin takes its part of what is left, so that a common value does not cost the others their bins.
    """
    between = _midpoints(levels.values)
    if levels.values.size <= MOST_BINS:
        return between
    kept: list[int] = []
    done = 0.0
    for place, total in enumerate(np.cumsum(levels.shares)[:-1].tolist()):
        left = MOST_BINS - len(kept)
        if left > 1 and total - done >= (1.0 - done) / left - ROUNDING:
            kept.append(place)
            done = total
    return between[kept]


def _midpoints(levels: FloatArray) -> FloatArray:
    """Return a border between each two neighbours: at least the lower and less than the upper one."""
    low, high = levels[:-1], levels[1:]
    middle = low / 2 + high / 2  # halved first: no sum of finite values overflows
    return np.where((low <= middle) & (middle < high), middle, low)


def _merge_small_bins(borders: FloatArray, values: FloatArray, persons: IntArray) -> tuple[float, ...]:
    """Drop borders until each bin is of at least five persons."""
    kept = borders.tolist()
    while kept:
        bins = _bin(values, kept)
        small = [place for place in range(len(kept) + 1) if not is_k_anonymous(persons[bins == place])]
        if not small:
            break
        del kept[max(small[0] - 1, 0)]
    return tuple(kept)


def _suppress_few(bins: IntArray, persons: IntArray) -> IntArray:
    """Leave out the rows of bins that fewer than five persons are in."""
    kept = [int(place) for place in np.unique(bins) if is_k_anonymous(persons[bins == place])]
    return bins[np.isin(bins, kept)]


def _bin(values: FloatArray, borders: Sequence[float]) -> IntArray:
    return np.searchsorted(np.asarray(borders, dtype=np.float64), values, side="left")


def _code(values: FloatArray, codes: Sequence[int]) -> IntArray:
    """Return the place of each value among ascending codes, that of others being past the last."""
    known = np.asarray(codes, dtype=np.float64)
    places = np.searchsorted(known, values)
    inside = np.minimum(places, max(len(codes) - 1, 0))
    return np.where(known[inside] == values, places, len(codes)) if len(codes) else np.zeros_like(places)


def _shares(bins: IntArray, size: int) -> FloatArray:
    return np.bincount(bins, minlength=size) / max(len(bins), 1)


def _read_feature(document: dict[str, Any]) -> NumberProfile | CodeProfile:
    parts: dict[str, Any] = {
        name: tuple(part) if isinstance(part, list) else part for name, part in document.items()
    }
    return CodeProfile(**parts) if "codes" in parts else NumberProfile(**parts)
