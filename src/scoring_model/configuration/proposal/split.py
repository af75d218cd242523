"""Proposes the parts of the split by the frauds and genuine records that each of them would hold."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.configuration.training import SplitSettings
from scoring_model.records import NEVER

_USUAL: Final = SplitSettings()
_SHARES: Final = (
    (float(_USUAL.train), float(_USUAL.validation), float(_USUAL.test)),
    (0.6, 0.2, 0.2),
    (0.5, 0.25, 0.25),
    (0.4, 0.3, 0.3),
    (0.7, 0.3, 0.0),
)
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
    """

    shares: tuple[float, float, float] = _SHARES[0]
    frauds: tuple[int, ...] = ()
    genuine: int = -1
    enough: bool = True

    @property
    def usual(self) -> bool:
        """Return whether the shares are those of the defaults."""
        return self.shares == _SHARES[0]


def propose_parts(
    times: IntArray, targets: IntArray, *, as_of: int, maturity: int, gap: int, burn_in: int
) -> Parts:
    """Propose the usual parts if each has enough frauds and validation proves the lowest bound, else the first others.

    The others, whose validation part is longer, need enough frauds alone.

    Parameters
    ----------
    times : ndarray of shape (n,), int64
        Times of the events, microseconds; `NEVER` where missing, or empty if they are unknown.
    targets : ndarray of shape (n,), int64
        1 fraud, 0 genuine, -1 none.
    as_of, maturity, gap, burn_in : int
        Microseconds, as in `SplitSettings`.
    """
    if not (times != NEVER).any() or len(targets) != len(times):
        return Parts()
    every = list(_counted(times, targets, as_of, maturity, gap, burn_in))
    fitting = (parts for parts in every if parts.enough)
    best = max(every, key=lambda parts: min(parts.frauds, default=0), default=Parts(enough=False))
    return next(fitting, best)


def _counted(
    times: IntArray, targets: IntArray, as_of: int, maturity: int, gap: int, burn_in: int
) -> Iterator[Parts]:
    seen = times != NEVER
    times, targets = times[seen], targets[seen]
    for shares in _SHARES:
        train, validation, test = shares
        settings = SplitSettings(
            label_maturity=maturity,
            gap=gap,
            burn_in=burn_in,
            train=train,
            validation=validation,
            test=test,
        )
        usable = as_of - int(times.min()) - settings.overhead
        if usable <= 0:
            continue
        edge, counts, genuine = int(times.min()) + burn_in, [], -1
        for part, length in settings.part_lengths(usable).items():
            inside = (times >= edge) & (times < edge + length)
            counts.append(int((targets[inside] == 1).sum()))
            genuine = int((targets[inside] != 1).sum()) if part == "validation" else genuine
            edge += length + settings.gap_length
        enough = min(counts) >= _USUAL.min_frauds
        if shares == _SHARES[0]:
            enough &= provable_bound(genuine) == _BOUNDS[0]
        yield Parts(shares=shares, frauds=tuple(counts), genuine=genuine, enough=enough)
