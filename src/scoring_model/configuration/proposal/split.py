"""Proposes the parts of the split by the frauds and genuine records that each of them would hold."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.configuration.training import SplitSettings
from scoring_model.records import NEVER
from scoring_model.records.times import DAY

_USUAL: Final = SplitSettings()
_SHARES: Final = (
    (float(_USUAL.train), float(_USUAL.validation), float(_USUAL.test)),
    (0.6, 0.2, 0.2),
    (0.5, 0.25, 0.25),
    (0.4, 0.3, 0.3),
    (0.7, 0.3, 0.0),
    (0.5, 0.5, 0.0),
)
_WEEKS: Final = 29 * DAY
"""Validation part that has four of each weekday, from whatever hour: `monitor` judges drift beside no fewer."""
FEWER: Final = 10
"""Fewest frauds of each part where no split has those that a training needs."""
_BOUNDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def provable_bound(genuine: float) -> float:
    """Return the bound on false rejections that a validation part proves with room for some errors.

    ln(60) / b records without an error prove a bound b at 95 % shared by three bounds; this takes twice as many.
    """
    possible = 2 * math.log(60) / max(genuine, 1)
    return next((bound for bound in _BOUNDS if bound >= possible), _BOUNDS[-1])


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The proposed parts.

    Parameters
    ----------
    shares : tuple of float
        Of train, validation and test; no test part if the last is 0.
    frauds : tuple of int
        In each part; empty if no time is left for them or the times of the events are unknown.
    genuine : int
        Records of the validation part that are no frauds; -1 if unknown.
    enough : bool
        Whether each part has as many frauds as a training needs.
    is_for_weeks : bool
        Whether the validation part is longer than usual for four of each weekday alone.
    """

    shares: tuple[float, float, float] = _SHARES[0]
    frauds: tuple[int, ...] = ()
    genuine: int = -1
    enough: bool = True
    is_for_weeks: bool = False

    @property
    def few(self) -> bool:
        """Return whether they suffice for a training that asks for `FEWER` frauds alone."""
        return not self.enough and min(self.frauds, default=0) >= FEWER

    @property
    def usual(self) -> bool:
        """Return whether the shares are those of the defaults."""
        return self.shares == _SHARES[0]


def propose_parts(
    times: IntArray,
    targets: IntArray,
    *,
    known: IntArray,
    persons: IntArray | None = None,
    stopped: BoolArray | None = None,
    as_of: int,
    maturity: int,
    gap: int,
    burn_in: int,
) -> Parts:
    """Propose the usual parts if each has enough frauds and validation proves the lowest bound, else the first others.

    A validation part of less than four weeks is lengthened to them, by at most two thirds. The others, whose validation
    part is longer, need enough frauds alone.

    Parameters
    ----------
    times : ndarray of shape (n,), int64
        Times of the events, microseconds; `NEVER` where missing, or empty if they are unknown.
    targets : ndarray of shape (n,), int64
        1 fraud, 0 genuine, -1 none.
    known : ndarray of shape (n,), int64
        Times from which labels are known, microseconds. The train part has the frauds known where validation begins.
    persons : ndarray of shape (n,), int64, optional
        Codes of persons, negative where unknown. The train part has no records of persons of later parts.
    stopped : ndarray of shape (n,), bool, optional
        Records that were not observed: validation and test have none of them.
    as_of, maturity, gap, burn_in : int
        Microseconds, as in `SplitSettings`.
    """
    if not (times != NEVER).any() or len(targets) != len(times):
        return Parts()
    seen = times != NEVER
    persons = np.full(len(times), -1) if persons is None else persons
    stopped = np.zeros(len(times), dtype=np.bool_) if stopped is None else stopped
    records = (times[seen], targets[seen], known[seen], persons[seen], stopped[seen])
    every = list(_counted(*records, as_of, maturity, gap, burn_in))
    fitting = (parts for parts in every if parts.enough)
    best = max(every, key=lambda parts: min(parts.frauds, default=0), default=Parts(enough=False))
    return next(fitting, best)


def _with_weeks(usable: int) -> tuple[float, float, float]:
    """Return the usual shares, with a validation part of four weeks where a fifth of the time suffices for it."""
    train, validation, test = _SHARES[0]
    needed = math.ceil(100 * _WEEKS / max(usable, 1)) / 100
    if not validation < needed <= _SHARES[1][1]:
        return _SHARES[0]
    return round(train + validation - needed, 2), needed, test


def _counted(
    times: IntArray,
    targets: IntArray,
    known: IntArray,
    persons: IntArray,
    stopped: BoolArray,
    as_of: int,
    maturity: int,
    gap: int,
    burn_in: int,
) -> Iterator[Parts]:
    span, given = as_of - int(times.min()), replace(_USUAL, label_maturity=maturity, gap=gap, burn_in=burn_in)
    usual = _with_weeks(span - given.overhead)
    for shares in (usual, *_SHARES[1:]):
        train, validation, test = shares
        settings = replace(given, train=train, validation=validation, test=test)
        usable = span - settings.overhead
        if usable <= 0:
            continue
        edge, inside, starts = int(times.min()) + burn_in, {}, {}
        for part, length in settings.part_lengths(usable).items():
            starts[part], inside[part] = edge, (times >= edge) & (times < edge + length)
            edge += length + settings.gap_length
        first, *later = inside.values()
        judged = np.logical_or.reduce(later)
        first &= known < starts["validation"]
        first &= (persons < 0) | ~np.isin(persons, persons[judged])
        for rows in later:
            rows &= ~stopped
        counts = tuple(int((targets[rows] == 1).sum()) for rows in inside.values())
        genuine = int((targets[inside["validation"]] != 1).sum())
        enough = min(counts) >= _USUAL.min_frauds
        if shares == usual:
            enough &= provable_bound(genuine) == _BOUNDS[0]
        weeks = shares == usual != _SHARES[0]
        yield Parts(shares=shares, frauds=counts, genuine=genuine, enough=enough, is_for_weeks=weeks)
