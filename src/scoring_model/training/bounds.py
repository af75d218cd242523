"""One bound on one error of the policy, tested at every threshold by exact binomial tests."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.policy import NEVER_REACHED, Promise
from scoring_model.decision.scale import MAX_SCORE

_MOST_RECORDS = 2**40  # more than anyone will ever label
_ROUNDING = 1e-9  # k / n * n may be a little more than k


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundTest:
    """The tests of "the share of errors exceeds the limit" at the thresholds 1 to 1001.

    Parameters
    ----------
    bound : str
        Name of the bound.
    limit : float
        Share of errors, in (0, 1), that is to be certified.
    delta : float
        Chance, in (0, 1), with which a broken bound may be certified.
    errors : ndarray of shape (1001,), int64
        Records that the policy gets wrong at threshold t, at index t - 1; monotone in t.
    records : int
        Records tested.
    """

    bound: str
    limit: float
    delta: float
    errors: IntArray
    records: int

    def p_values(self) -> FloatArray:
        """Chance, at each threshold, of so few errors if their share were the limit."""
        return np.asarray(binom.cdf(self.errors, self.records, self.limit), dtype=np.float64)

    def certified(self) -> range:
        """Thresholds that keep the bound with chance 1 - delta or more: all of them at once.

        They are tested in fixed sequence from the safest on, each at the whole of delta,
        until one fails: arXiv 2110.01052, section 3. The range is empty if the first fails.
        """
        passed = self.p_values() <= self.delta
        if self._errors_fall():
            failures = np.flatnonzero(~passed)
            return range(int(failures[-1]) + 2 if len(failures) else 1, NEVER_REACHED + 1)
        return range(1, 1 + (NEVER_REACHED if passed.all() else int(np.argmin(passed))))

    def promise(self, threshold: int) -> Promise:
        """Say what is promised of the errors at a certified threshold."""
        return Promise(
            bound=self.bound,
            limit=self.limit,
            delta=self.delta,
            observed=self.observed(threshold),
            records=self.records,
            p_value=float(f"{self.p_values()[threshold - 1]:.6g}"),  # digits on which all machines agree
        )

    def observed(self, threshold: int) -> float:
        """Share of errors at a threshold, 0 when there are no records."""
        return int(self.errors[threshold - 1]) / max(self.records, 1)

    def attainable(self, threshold: int) -> float:
        """Lowest limit that these records certify at a threshold: Clopper and Pearson's upper bound."""
        errors = int(self.errors[threshold - 1])
        return (
            float(betaincinv(errors + 1, self.records - errors, 1 - self.delta))
            if errors < self.records
            else 1.0
        )

    def safest(self) -> int:
        """Give the threshold with the fewest errors."""
        return NEVER_REACHED if self._errors_fall() else 1

    def _errors_fall(self) -> bool:
        """Whether a higher threshold has fewer errors."""
        return bool(self.errors[-1] == 0)


def genuine_test(bound: str, scores: IntArray, *, limit: float, delta: float) -> BoundTest:
    """Test a bound on genuine records that score a threshold or more."""
    return BoundTest(bound=bound, limit=limit, delta=delta, errors=_at_or_above(scores), records=len(scores))


def fraud_test(bound: str, scores: IntArray, *, limit: float, delta: float) -> BoundTest:
    """Test a bound on frauds that score below a threshold."""
    errors = len(scores) - _at_or_above(scores)
    return BoundTest(bound=bound, limit=limit, delta=delta, errors=errors, records=len(scores))


def records_needed(share: float, *, limit: float, delta: float) -> int | None:
    """How many records would certify a limit if this share of them were errors.

    Parameters
    ----------
    share : float
        Share of errors, in [0, 1].
    limit, delta : float
        As in `BoundTest`.

    Returns
    -------
    int or None
        The least number for a share of 0. For another share, whose errors come in whole records and
        are rounded up, a number that certifies the limit, of which a smaller one may do too. None if
        no number would, as when the share is not below the limit.
    """

    def certifies(records: int) -> bool:
        errors = math.ceil(share * records - _ROUNDING)
        return bool(binom.cdf(errors, records, limit) <= delta)

    high = 1
    while not certifies(high):
        high *= 2
        if high > _MOST_RECORDS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certifies(middle) else (middle, high)
    return high


def _at_or_above(scores: IntArray) -> IntArray:
    """How many scores reach each threshold 1..1001."""
    if len(scores) and not 0 <= int(scores.min()) <= int(scores.max()) <= MAX_SCORE:
        raise ValueError(f"scores: must be integers in 0..{MAX_SCORE}")
    counts = np.bincount(scores, minlength=MAX_SCORE + 1)
    return np.append(np.cumsum(counts[::-1])[::-1][1:], 0).astype(np.int64)
