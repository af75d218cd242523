"""Choose the policy's thresholds so that its promises hold: Learn then Test (arXiv 2110.01052)."""

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import PolicySettings
from scoring_model.decision.policy import NEVER_REACHED, Policy
from scoring_model.training.bounds import BoundTest, fraud_test, genuine_test, records_needed

FALSE_REJECT = "max_false_reject"
STEP_UP = "max_step_up"
MISSED_FRAUD = "max_missed_fraud"


class InfeasiblePolicy(ValueError):
    """No thresholds keep the bounds that were asked for.

    Parameters
    ----------
    bounds : tuple of str
        Those that cannot be kept.
    problems : tuple of str
        Why, what could be kept instead, and how many records it would take.
    """

    def __init__(self, bounds: tuple[str, ...], problems: tuple[str, ...]) -> None:
        super().__init__("no policy keeps the bounds: " + "; ".join(problems))
        self.bounds = bounds
        self.problems = problems


def choose_policy(genuine_scores: IntArray, fraud_scores: IntArray, *, settings: PolicySettings) -> Policy:
    """Choose the lowest thresholds that are certified to keep the bounds on genuine applicants.

    Each bound is certified apart, at its share of 1 - confidence, so that all hold together with the
    confidence, whichever certified thresholds are then taken. What is promised is about persons
    drawn as those of the sample were: give one record per person (`one_per_person`) and, for frauds,
    one per ring, since repeats are not independent.

    Where a bound is unset:

    - `max_false_reject`: nobody fails, `fail_from` is 1001.
    - `max_step_up`: `step_up_from` is the highest score that keeps `max_missed_fraud`, or, when that
      is unset too, `fail_from`: nobody is stepped up.
    - all: both thresholds are 1001, and the scores decide nothing.

    `fail_from` is never below `step_up_from`.

    Parameters
    ----------
    genuine_scores : ndarray of shape (n,), int64, 0 to 1000
    fraud_scores : ndarray of shape (m,), int64, 0 to 1000
    settings : PolicySettings

    Returns
    -------
    Policy
        With a promise for each bound that is set.

    Raises
    ------
    InfeasiblePolicy
        If a bound has too few records to be certified anywhere, or two have no threshold in common.
    ValueError
        If a score is out of range.
    """
    tests = _tests(genuine_scores, fraud_scores, settings)
    _refuse_untestable(tests)
    _refuse_conflict(tests)
    fail_from = tests[FALSE_REJECT].certified().start if FALSE_REJECT in tests else NEVER_REACHED
    step_up_from = _step_up_from(tests, fail_from)
    fail_from = max(fail_from, step_up_from)
    at = {FALSE_REJECT: fail_from, STEP_UP: step_up_from, MISSED_FRAUD: step_up_from}
    promises = tuple(test.promise(at[bound]) for bound, test in tests.items())
    return Policy(step_up_from=step_up_from, fail_from=fail_from, promises=promises)


def one_per_person(persons: IntArray, event_times: IntArray) -> IntArray:
    """Keep each person's first record.

    Parameters
    ----------
    persons : ndarray of shape (n,), int64
        Codes; a negative one is an unknown person, who stands for nobody else.
    event_times : ndarray of shape (n,), int64
        Microseconds; of two records at the same instant the one in the earlier row is kept.

    Returns
    -------
    ndarray of shape (p,), int64
        Rows, ascending.
    """
    order = np.lexsort((event_times, persons))  # stable: rows of one instant stay in order
    ordered = persons[order]
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = (ordered[1:] != ordered[:-1]) | (ordered[1:] < 0)
    return np.sort(order[first]).astype(np.int64, copy=False)


def _tests(
    genuine_scores: IntArray, fraud_scores: IntArray, settings: PolicySettings
) -> dict[str, BoundTest]:
    """Set up the tests of the bounds that are set, each at its share of delta."""
    limits = settings.limits()
    delta = round(1 - settings.confidence, 12) / max(len(limits), 1)  # 1 - 0.95 is not quite 0.05
    return {
        bound: fraud_test(bound, fraud_scores, limit=limit, delta=delta)
        if bound == MISSED_FRAUD
        else genuine_test(bound, genuine_scores, limit=limit, delta=delta)
        for bound, limit in limits.items()
    }


def _step_up_from(tests: dict[str, BoundTest], fail_from: int) -> int:
    """Take the lowest threshold certified for `max_step_up`, or what stands in for it when that is unset."""
    if STEP_UP in tests:
        return tests[STEP_UP].certified().start
    if MISSED_FRAUD in tests:
        return min(tests[MISSED_FRAUD].certified()[-1], fail_from)
    return fail_from


def _refuse_untestable(tests: dict[str, BoundTest]) -> None:
    """Refuse bounds that are certified at no threshold, not even the safest."""
    problems = {
        bound: f"{bound} {test.limit:g} is certified nowhere: {_remedy(test, test.safest())}"
        for bound, test in tests.items()
        if not test.certified()
    }
    if problems:
        raise InfeasiblePolicy(tuple(problems), tuple(problems.values()))


def _refuse_conflict(tests: dict[str, BoundTest]) -> None:
    """Refuse `max_step_up` and `max_missed_fraud` that certify no threshold in common."""
    if STEP_UP not in tests or MISSED_FRAUD not in tests:
        return
    step_up, missed = tests[STEP_UP], tests[MISSED_FRAUD]
    lowest, highest = step_up.certified().start, missed.certified()[-1]
    if lowest > highest:
        problems = (
            f"{MISSED_FRAUD} {missed.limit:g} needs step_up_from <= {highest}: {_remedy(missed, lowest)}",
            f"{STEP_UP} {step_up.limit:g} needs step_up_from >= {lowest}: {_remedy(step_up, highest)}",
        )
        raise InfeasiblePolicy((MISSED_FRAUD, STEP_UP), problems)


def _remedy(test: BoundTest, threshold: int) -> str:
    """Say what a bound could be at a threshold where it is not certified, and what it would take."""
    kind = "fraud" if test.bound == MISSED_FRAUD else "genuine"
    needed = records_needed(test.observed(threshold), limit=test.limit, delta=test.delta)
    takes = "no number of such records" if needed is None else f"{needed} such records"
    return (
        f"at {threshold} it could be {test.attainable(threshold):.3g} "
        f"({test.records} {kind} records, {test.observed(threshold):.2%} errors, delta {test.delta:.3g}); "
        f"{takes} would certify {test.limit:g}"
    )
