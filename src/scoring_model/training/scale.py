"""Fit the score scale on the margins of genuine records, with its uncertainty."""

import math
from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.scale import MAX_SCORE, ScoreScale, nominal_share
from scoring_model.evaluation.bounds import lower_limit, upper_limit

MIN_GENUINE = 20
"""Minimum number of records: fewer leave less than ten ranks to extrapolate from."""

_SHOWN_RANK = 10  # the last rank from the top whose cut is empirical
_TAIL_RANKS = 100  # the tail is fitted on ranks 10 to 100: more of it pulls in the bulk
_MARGIN_STEP = 2.0**-40  # margins are multiples of this
_MARGIN_LIMIT = 2.0**13  # below this a further step is exact in float64


class ScaleError(ValueError):
    """No scale can be fitted on these margins."""


def fit_scale(genuine_margins: FloatArray) -> ScoreScale:
    """Fit the scale: a share of 10^(-s/250) of genuine applicants scores s or more.

    Down to the tenth highest margin the cuts are empirical: the smallest margin that at most the
    nominal share of the sample reaches. Margins tied at a cut all stay below it, so that the share
    never exceeds the nominal one. Beyond, the cuts follow a straight line of the margin over the
    logarithm of the rank, through rank 10 and fitted on ranks 10 to 100 by least squares. No such cut
    lies below the empirical one, so the bound also holds there. Cuts are multiples of 2^-40, like
    margins.

    Parameters
    ----------
    genuine_margins : ndarray of shape (n,), float64
        Multiples of 2^-40 below 2^13 in size, n >= 20, in any order.

    Raises
    ------
    ScaleError
        If there are fewer than 20 margins, if they are all equal, or if some are not finite or
        2^13 or more in size.
    """
    _check(genuine_margins)
    descending = np.sort(genuine_margins)[::-1]
    shown = _records_allowed(len(descending))
    cuts = _empirical_cuts(descending, shown)
    first = int(
        np.searchsorted(-shown, -_SHOWN_RANK, side="right")
    )  # the first cut that fewer than ten may reach
    cuts[first:] = np.maximum(cuts[first:], _tail_cuts(descending, np.arange(first + 1, MAX_SCORE + 1)))
    return ScoreScale(cuts=cuts, extrapolated_from=first + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleUncertainty:
    """Uncertainty of the meaning of one score.

    Parameters
    ----------
    low, high : float or None
        Interval, in points, for the score that a scale of the whole population would give at the
        same cut; `high` is None where the sample shows no bound.
    extrapolated : bool
        Whether the score rests on the extrapolated tail; its interval is then that of the records
        alone, without the line.
    """

    score: int
    low: float
    high: float | None
    extrapolated: bool


def scale_uncertainty(genuine: int, *, confidence: float = 0.95) -> tuple[ScaleUncertainty, ...]:
    """Return the uncertainty of each hundred points of a scale fitted on n genuine records.

    The population's share above the k-th highest of n margins is a beta variable for any
    distribution of margins (David and Nagaraja, Order Statistics, 3rd ed., section 2.1,
    doi 10.1002/0471722162); the interval is that of Clopper and Pearson for k of n
    (doi 10.1093/biomet/26.4.404), which also holds with ties.

    Parameters
    ----------
    genuine : int
        Records that fitted the scale, n >= 20.
    confidence : float
        Confidence of each individual interval, in (0, 1).

    Returns
    -------
    tuple of ScaleUncertainty
        For scores 100, 200, ..., 1000; intervals are rounded outwards to tenths of a point.
    """
    allowed = _records_allowed(genuine)
    return tuple(
        _uncertainty(score, int(allowed[score - 1]), genuine, (1 - confidence) / 2)
        for score in range(100, MAX_SCORE + 1, 100)
    )


def _check(margins: FloatArray) -> None:
    """Refuse margins on which no scale can be fitted, with all reasons."""
    problems = []
    if len(margins) < MIN_GENUINE:
        problems.append(f"needs at least {MIN_GENUINE} genuine records, got {len(margins)}")
    wild = int(np.count_nonzero(~(np.abs(margins) < _MARGIN_LIMIT)))
    if wild:
        problems.append(f"margins must be finite and below 2^13 in size, {wild} of {len(margins)} are not")
    elif len(margins) and margins.min() == margins.max():
        problems.append("the genuine margins are all equal: the model does not separate records")
    if problems:
        raise ScaleError("score scale: " + "; ".join(problems))


def _records_allowed(genuine: int) -> IntArray:
    """Return the number of sample records that may reach each score 1..1000: the nominal share, rounded down."""
    # Dividing by 10^(s/250) is exact where it is a power of ten; multiplying by 0.001 is not.
    return np.array([int(genuine / math.pow(10.0, s / 250)) for s in range(1, MAX_SCORE + 1)], dtype=np.int64)


def _empirical_cuts(descending: FloatArray, allowed: IntArray) -> FloatArray:
    """Find, for each allowed count k, the smallest margin that at most k records reach."""
    below = descending[allowed]  # the highest margin that may not reach the cut
    lowest_above = descending[np.maximum(allowed - 1, 0)]
    just_above = (np.floor(below / _MARGIN_STEP) + 1.0) * _MARGIN_STEP
    return np.where(lowest_above > below, lowest_above, just_above)


def _tail_cuts(descending: FloatArray, scores: IntArray) -> FloatArray:
    """Extrapolate cuts beyond rank 10: margin = m10 + slope * ln(10 / rank), with real ranks."""
    ranks = np.arange(_SHOWN_RANK, min(_TAIL_RANKS, len(descending)) + 1)
    depth = np.log(ranks / _SHOWN_RANK)
    anchor = descending[_SHOWN_RANK - 1]
    fall = anchor - descending[ranks - 1]
    # Sums rather than dot products: a dot product depends on the number of BLAS threads.
    slope = np.sum(depth * fall) / np.sum(depth * depth)
    nominal_ranks = len(descending) * np.array([nominal_share(int(score)) for score in scores])
    line: FloatArray = anchor + slope * np.log(_SHOWN_RANK / nominal_ranks)
    return np.asarray(np.ceil(line / _MARGIN_STEP) * _MARGIN_STEP)


def _uncertainty(score: int, count: int, total: int, level: float) -> ScaleUncertainty:
    """Turn Clopper and Pearson's interval for a share into points, rounded outwards to tenths."""
    highest_share = upper_limit(count, total, level=level)
    lowest_share = lower_limit(count, total, level=level)
    return ScaleUncertainty(
        score=score,
        low=math.floor(-2500 * math.log10(highest_share)) / 10,
        high=math.ceil(-2500 * math.log10(lowest_share)) / 10 if lowest_share else None,
        extrapolated=count < _SHOWN_RANK,
    )
