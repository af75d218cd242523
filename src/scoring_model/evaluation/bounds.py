"""Bounds on the errors of the policy, tested at every threshold by exact binomial tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import betaincinv

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import ScoreCounts
from scoring_model.decision.rules import NEVER_REACHED, Promise
from scoring_model.estimates import Estimate
from scoring_model.evaluation.cost import at_or_above


def _at_most(errors: IntArray | int, records: int, limit: float) -> Any:
    """Return the probability of at most so many errors."""
    from scipy.stats import binom  # longer to import than the rest of a training

    return binom.cdf(errors, records, limit)


def upper_limit(count: int, total: int, *, level: float) -> float:
    """Return the upper confidence limit of the share behind a count.

    Parameters
    ----------
    count, total : int
        0 <= count <= total.
    level : float
        Probability, in (0, 1), of so small a count if the share were the limit.

    Returns
    -------
    float
        In (0, 1]; 1 when count is total, also for 0 of 0.
    """
    return float(betaincinv(count + 1, total - count, 1 - level)) if count < total else 1.0


def lower_limit(count: int, total: int, *, level: float) -> float:
    """Return the lower confidence limit of the share behind a count; parameters as in `upper_limit`."""
    return float(betaincinv(count, total - count + 1, level)) if count else 0.0


def exact_share(count: int, total: int) -> Estimate:
    """Return the share of a count with its exact 95 % interval, 2.5 % on either side."""
    if total == 0:
        return Estimate(value=None, records=0, count=0, method="exact", absence="no records")
    low, high = lower_limit(count, total, level=0.025), upper_limit(count, total, level=0.025)
    return Estimate(value=count / total, low=low, high=high, records=total, count=count, method="exact")


FALSE_REJECT: Final = "max_false_reject"
STEP_UP: Final = "max_step_up"
MISSED_FRAUD: Final = "max_missed_fraud"

EVERY: Final = range(1, NEVER_REACHED + 1)
_MOST_RECORDS = 2**40  # more than will ever be labelled
_ROUNDING = 1e-9  # k / n * n may be a little more than k


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundTest:
    """The tests of "the share of errors exceeds the limit" at the thresholds 1 to 1001.

    Parameters
    ----------
    limit : float
        Share of errors, in (0, 1), to certify.
    delta : float
        Probability, in (0, 1), with which a broken bound may be certified.
    errors : ndarray of shape (1001,), int64
        Records that the policy gets wrong at threshold t, at index t - 1; monotone in t.
    safest : int
        The threshold, 1 or 1001, with the fewest errors.
    """

    bound: str
    limit: float
    delta: float
    errors: IntArray
    records: int
    safest: int

    def p_values(self) -> FloatArray:
        """Return the p-value at each threshold: the probability of so few errors if their share were the limit."""
        return np.asarray(_at_most(self.errors, self.records, self.limit), dtype=np.float64)

    def certified(self) -> range:
        """Return the thresholds that keep the bound, simultaneously with probability 1 - delta or more.

        Fixed-sequence testing starts at the safest threshold, each at the full delta, and stops at the first failure.
        This bounds the probability of any false certificate by delta (arXiv 2110.01052, theorem 1). The range is
        empty if the first test fails.

        This also holds for thresholds placed by the same sample. Let c be the margin at which the share of errors in
        the population first exceeds the limit. A certified threshold beyond c, wherever its cut lies, counts at least
        as many errors as there are at c, since errors are monotone. So the test at c passes too, which has probability
        at most delta, however the cuts are chosen.
        """
        passed = self.p_values() <= self.delta
        if self.safest == NEVER_REACHED:
            failures = np.flatnonzero(~passed)
            return range(int(failures[-1]) + 2 if len(failures) else 1, NEVER_REACHED + 1)
        return range(1, 1 + (NEVER_REACHED if passed.all() else int(np.argmin(passed))))

    def promise(self, threshold: int) -> Promise:
        """Make the promise of a certified threshold."""
        return Promise(
            bound=self.bound,
            limit=self.limit,
            delta=self.delta,
            observed=self.observed(threshold),
            records=self.records,
            p_value=float(
                f"{self._p_value(threshold, self.limit):.6g}"
            ),  # rounded to digits that are equal on all machines
        )

    def observed(self, threshold: int) -> float:
        """Return the share of errors at a threshold, 0 without records."""
        return int(self.errors[threshold - 1]) / max(self.records, 1)

    def attainable(self, threshold: int) -> float:
        """Return the lowest limit that these records certify at a threshold: Clopper and Pearson's upper bound."""
        return upper_limit(int(self.errors[threshold - 1]), self.records, level=self.delta)

    def passes(self, threshold: int, *, limit: float) -> bool:
        """Return True if the test of another limit would pass at a threshold."""
        return self._p_value(threshold, limit) <= self.delta

    def _p_value(self, threshold: int, limit: float) -> float:
        return float(_at_most(self.errors[threshold - 1], self.records, limit))


def genuine_test(bound: str, scores: IntArray, *, limit: float, delta: float) -> BoundTest:
    """Test a bound on genuine records that score a threshold or more."""
    return BoundTest(
        bound=bound,
        limit=limit,
        delta=delta,
        errors=at_or_above(scores),
        records=len(scores),
        safest=NEVER_REACHED,
    )


def fraud_test(bound: str, scores: IntArray, *, limit: float, delta: float) -> BoundTest:
    """Test a bound on frauds that score below a threshold."""
    errors = len(scores) - at_or_above(scores)
    return BoundTest(bound=bound, limit=limit, delta=delta, errors=errors, records=len(scores), safest=1)


def bound_test(
    bound: str, genuine_scores: IntArray, fraud_scores: IntArray, *, limit: float, delta: float
) -> BoundTest:
    """Test a bound on the records that it concerns."""
    if bound == MISSED_FRAUD:
        return fraud_test(bound, fraud_scores, limit=limit, delta=delta)
    return genuine_test(bound, genuine_scores, limit=limit, delta=delta)


def certified_thresholds(counts: ScoreCounts, promises: Sequence[Promise]) -> tuple[range, range]:
    """Return the thresholds that the records of a policy certify for its promises, each tested as it was then.

    Returns
    -------
    tuple of (range, range)
        The `step_up_from` and the `fail_from`, ascending: every ordered pair of the two keeps all promises. The second
        is only `NEVER_REACHED` if nothing is promised of genuine records that fail.
    """
    persons, rings = tested_scores(counts)
    found = {
        one.bound: bound_test(one.bound, persons, rings, limit=one.limit, delta=one.delta).certified()
        for one in promises
    }
    return step_up_thresholds(found), fail_thresholds(found)


def step_up_thresholds(certified: Mapping[str, range]) -> range:
    """Return the `step_up_from` that are certified for both bounds on them, ascending; may be empty."""
    lowest, highest = (certified.get(bound, EVERY) for bound in (STEP_UP, MISSED_FRAUD))
    return range(max(lowest.start, highest.start), min(lowest.stop, highest.stop))


def fail_thresholds(certified: Mapping[str, range]) -> range:
    """Return the `fail_from` that are certified; only `NEVER_REACHED` without a bound on them."""
    return certified.get(FALSE_REJECT, range(NEVER_REACHED, NEVER_REACHED + 1))


def tested_scores(counts: ScoreCounts) -> tuple[IntArray, IntArray]:
    """Return the scores of the tested records, ascending: one for each genuine person, and one for each ring."""
    return scores_of(counts.persons), scores_of(counts.rings)


def scores_of(counts: IntArray) -> IntArray:
    """Return the scores that were counted, ascending."""
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts)


def room(records: int, *, limit: float, delta: float, certain: float = 0.0) -> float:
    """Return the largest share of errors that certifies a limit, where some further errors are certain.

    Parameters
    ----------
    certain : float
        So many of the records are errors whatever the policy; the share is that among the others.

    Returns
    -------
    float
        Below 0 where even none suffices.
    """
    from scipy.stats import binom

    errors = float(binom.ppf(delta, records, limit)) - 1
    return (errors - certain) / max(records - certain, 1)


def records_needed(share: float, *, limit: float, delta: float) -> int | None:
    """Return the number of records that would certify a limit if this share of them were errors.

    Parameters
    ----------
    share : float
        Share of errors, in [0, 1].

    Returns
    -------
    int or None
        For a share of 0 the smallest such number. For another share, whose errors are rounded up to whole records,
        a sufficient number, but perhaps not the smallest. None if no number suffices, as when the share is not below
        the limit.
    """

    def certifies(records: int) -> bool:
        errors = math.ceil(share * records - _ROUNDING)
        return bool(_at_most(errors, records, limit) <= delta)

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
