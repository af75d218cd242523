"""How late frauds become known, from those that are known by now.

A fraud is seen only if its delay is at most its age, so delays are right-truncated: recent frauds show short delays
alone. The reversed-time product limit (Lagakos, Barraj and De Gruttola 1988, doi:10.1093/biomet/75.3.515) estimates
their distribution up to the largest age that is seen. It rests on known frauds alone, so it does not matter how the
share of frauds moves. Nothing says how many become known later than that age.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.estimates import Estimate
from scoring_model.evaluation.uncertainty import CONFIDENCE, effective_share

MIN_OLD_FRAUDS: Final = 10
"""Fewest known frauds that are at least as old as the largest age that is seen."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DelayDistribution:
    """Distribution of the delays of frauds that become known within an age.

    Parameters
    ----------
    delays : ndarray of shape (k,), int64, microseconds, ascending
        Distinct delays up to `oldest`.
    shares : ndarray of shape (k,), float64, ascending to 1
        Of these frauds, how many are known after each delay.
    doubts : ndarray of shape (k,), float64
        Variance of the logarithm of each share.
    at_risk : ndarray of shape (k,), int64
        Frauds with at most this delay that were old enough to show it.
    oldest : int
        Largest age that is seen, microseconds: that of enough known frauds.
    """

    delays: IntArray
    shares: FloatArray
    doubts: FloatArray
    at_risk: IntArray
    oldest: int

    @property
    def frauds(self) -> int:
        """Number of known frauds whose delay counts."""
        return int(self.at_risk.max(initial=0))

    def known_by(self, ages: IntArray) -> FloatArray:
        """Return the share of frauds that are known at each age (microseconds), of shape (n,)."""
        places = np.searchsorted(self.delays, ages, side="right")
        return np.concatenate([[0.0], self.shares])[places]

    def quantile(self, share: float) -> int:
        """Return the delay (microseconds) after which a share of the frauds, in (0, 1], is known."""
        place = int(np.searchsorted(self.shares, share))
        return int(self.delays[min(place, len(self.delays) - 1)])

    def share_at(self, age: int) -> Estimate:
        """Return the share of frauds that are known at an age (microseconds), with its interval."""
        place = int(np.searchsorted(self.delays, age, side="right")) - 1
        if place < 0:
            return effective_share(0.0, self.frauds)
        share, doubt = float(self.shares[place]), float(self.doubts[place])
        if not 0 < share < 1 or doubt == 0:
            return effective_share(share, float(self.at_risk[place]))
        return effective_share(share, (1 - share) / (share * doubt))

    def doubt_at(self, ages: IntArray) -> float:
        """Return the mean variance of the logarithm of the shares at some ages, 0 without any."""
        places = np.searchsorted(self.delays, ages, side="right") - 1
        return float(np.mean(self.doubts[np.maximum(places, 0)])) if len(ages) and len(self.delays) else 0.0


def delay_distribution(
    delays: IntArray, ages: IntArray, *, fewest: int = MIN_OLD_FRAUDS
) -> DelayDistribution | None:
    """Estimate the distribution of delays from frauds that are known by now.

    Parameters
    ----------
    delays, ages : ndarray of shape (n,), int64, microseconds
        Of known frauds: from the event until it was known and until now; 0 <= delay <= age.
    fewest : int
        Known frauds, at least 1, that are as old as the largest age that counts as seen.

    Returns
    -------
    DelayDistribution or None
        None with fewer than `fewest` frauds.

    Examples
    --------
    >>> ages = np.array([90] * 10 + [30] * 10)
    >>> delays = np.array([10, 50] * 5 + [10] * 10)
    >>> delay_distribution(delays, ages).shares.tolist()  # half of the old ones, though 15 of 20 are known after 10
    [0.5, 1.0]
    """
    if len(ages) < fewest:
        return None
    oldest = int(np.sort(ages)[-fewest])
    seen = delays <= oldest
    distinct, counts = np.unique(delays[seen], return_counts=True)
    if not len(distinct):
        return None
    at_risk = _at_risk(delays, ages, distinct)
    hazards = counts / at_risk  # in reversed time
    steps = np.log1p(-np.minimum(hazards, 1 - 1e-12))
    doubts = counts / (at_risk * np.maximum(at_risk - counts, 1))
    return DelayDistribution(
        delays=distinct,
        shares=np.exp(_after(steps)),
        doubts=_after(doubts),
        at_risk=at_risk,
        oldest=oldest,
    )


def score_dependence(delays: IntArray, ages: IntArray, scores: FloatArray) -> float | None:
    """Test whether frauds with higher scores become known earlier or later than others.

    The score test of a proportional hazard in reversed time, with ranks of the scores.

    Parameters
    ----------
    delays, ages : ndarray of shape (n,), int64, microseconds
    scores : ndarray of shape (n,), float64

    Returns
    -------
    float or None
        Two-sided p-value; None where no fraud could be compared with another.
    """
    ranks = np.searchsorted(np.sort(scores), scores) / max(len(scores), 1)
    distinct, code, counts = np.unique(delays, return_inverse=True, return_counts=True)
    if not len(distinct):
        return None
    at_risk = _at_risk(delays, ages, distinct)
    means, squares = (_sums(delays, ages, distinct, ranks**power) / at_risk for power in (1, 2))
    variances = np.maximum(squares - means**2, 0.0)
    rest = (at_risk - counts) / np.maximum(at_risk - 1, 1)
    variance = float(np.sum(counts * variances * rest))
    if variance <= 0:
        return None
    moved = float(np.sum(np.bincount(code, ranks) - counts * means))
    return 2 * NormalDist().cdf(-abs(moved) / math.sqrt(variance))


def estimated_frauds(distribution: DelayDistribution, ages: IntArray) -> Estimate:
    """Estimate how many frauds there are where some are known: each stands for those of its age that are not yet.

    Parameters
    ----------
    ages : ndarray of shape (n,), int64, microseconds
        Of the known frauds.

    Returns
    -------
    Estimate
        Of all frauds that become known within the largest age that is seen. The interval holds the chance of the known
        ones and the doubt about their share; its lower end is at least their number.
    """
    known = distribution.known_by(ages)
    if not len(known) or known.min() <= 0:
        return Estimate(value=None, records=len(ages), count=len(ages), absence="no value")
    weights = 1 / known
    total = float(weights.sum())
    spread = math.sqrt(float(np.sum(weights**2)) / total**2 + distribution.doubt_at(ages))
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * spread
    return Estimate(
        value=total,
        low=max(total * math.exp(-half), float(len(ages))),
        high=total * math.exp(half),
        records=len(ages),
        count=len(ages),
        method="delays",
    )


def _at_risk(delays: IntArray, ages: IntArray, at: IntArray) -> IntArray:
    """Count the frauds with at most each delay that are old enough to show it."""
    started = np.searchsorted(np.sort(delays), at, side="right")
    return started - np.searchsorted(np.sort(ages), at, side="left")


def _sums(delays: IntArray, ages: IntArray, at: IntArray, values: FloatArray) -> FloatArray:
    """Sum values of the frauds that `_at_risk` counts."""
    started = _sums_before(delays, at, values, side="right")
    return started - _sums_before(ages, at, values, side="left")


def _sums_before(
    times: IntArray, at: IntArray, values: FloatArray, *, side: Literal["left", "right"]
) -> FloatArray:
    order = np.argsort(times, kind="stable")
    sums: FloatArray = np.concatenate([[0.0], np.cumsum(values[order])])
    return sums[np.searchsorted(times[order], at, side=side)]


def _after(steps: FloatArray) -> FloatArray:
    """Sum what comes after each position."""
    return np.concatenate([np.cumsum(steps[::-1])[::-1][1:], [0.0]])
