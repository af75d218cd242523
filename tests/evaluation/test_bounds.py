import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from scoring_model.arrays import IntArray
from scoring_model.evaluation.bounds import BoundTest, fraud_test, genuine_test, records_needed

score_lists = st.lists(st.integers(0, 1000), max_size=120).map(
    lambda scores: np.array(scores, dtype=np.int64)
)
shares = st.floats(0.01, 0.9)


@settings(max_examples=50)
@given(score_lists)
def test_errors_are_counted_at_every_threshold(scores: IntArray) -> None:
    """At t an error is a genuine record that scores t or more, or a fraud that scores less."""
    genuine = genuine_test("g", scores, limit=0.1, delta=0.05).errors
    fraud = fraud_test("f", scores, limit=0.1, delta=0.05).errors
    assert genuine.tolist() == [int(np.count_nonzero(scores >= t)) for t in range(1, 1002)]
    assert fraud.tolist() == [int(np.count_nonzero(scores < t)) for t in range(1, 1002)]


@settings(max_examples=50)
@given(score_lists, shares, st.floats(0.001, 0.2), st.booleans())
def test_certified_thresholds_are_a_fixed_sequence_of_exact_tests(
    scores: IntArray, limit: float, delta: float, fraud: bool
) -> None:
    """Thresholds pass one after another from the safe end until scipy's binomial CDF first exceeds delta."""
    test = (fraud_test if fraud else genuine_test)("b", scores, limit=limit, delta=delta)
    passed = set()
    for threshold in range(1, 1002) if fraud else range(1001, 0, -1):
        errors = int(np.count_nonzero(scores < threshold if fraud else scores >= threshold))
        if binom.cdf(errors, len(scores), limit) > delta:
            break
        passed.add(threshold)
    assert set(test.certified()) == passed


@settings(max_examples=50)
@given(score_lists.filter(len), shares, st.integers(1, 1001))
def test_promise_reports_the_exact_test(scores: IntArray, limit: float, threshold: int) -> None:
    """A promise has the p-value of scipy's binomial test, the observed share and the number of records."""
    promise = genuine_test("max_step_up", scores, limit=limit, delta=0.05).promise(threshold)
    errors = int(np.count_nonzero(scores >= threshold))
    assert promise.p_value == pytest.approx(
        binomtest(errors, len(scores), limit, alternative="less").pvalue, rel=1e-5, abs=1e-300
    )
    assert (promise.observed, promise.records) == (errors / len(scores), len(scores))


@settings(max_examples=50)
@given(score_lists.filter(len), st.integers(1, 1001), st.floats(0.001, 0.2))
def test_attainable_limit_is_where_the_test_turns(scores: IntArray, threshold: int, delta: float) -> None:
    """A limit just above the attainable one is certified, one just below is not."""
    test = fraud_test("b", scores, limit=0.5, delta=delta)
    attainable = test.attainable(threshold)
    errors = int(np.count_nonzero(scores < threshold))
    if attainable < 1:
        assert binom.cdf(errors, len(scores), min(attainable + 1e-9, 1)) <= delta
        assert binom.cdf(errors, len(scores), attainable - 1e-9) > delta
    else:
        assert errors == len(scores)


def test_known_number_of_records_that_a_reject_bound_needs() -> None:
    """A reject rate of 0.2 % under three bounds at 95 % needs at least 2,046 genuine records."""
    assert records_needed(0.0, limit=0.002, delta=0.05 / 3) == 2046


@settings(max_examples=50)
@given(st.floats(0, 0.4), st.floats(0.05, 0.9), st.floats(0.001, 0.2))
def test_records_needed_certify(share: float, limit: float, delta: float) -> None:
    """That number of records with that error rate passes the test; at the limit no number does."""
    needed = records_needed(share, limit=limit, delta=delta)
    if share >= limit:
        assert needed is None
    elif needed is not None:
        assert binom.cdf(math.ceil(share * needed - 1e-9), needed, limit) <= delta
        assert share > 0 or binom.cdf(0, needed - 1, limit) > delta


@pytest.mark.parametrize("scores", [[-1], [1001]])
def test_scores_out_of_range_are_refused(scores: list[int]) -> None:
    """A score outside the scale is refused."""
    with pytest.raises(ValueError, match=r"0\.\.1000"):
        genuine_test("b", np.array(scores), limit=0.1, delta=0.05)


@pytest.mark.parametrize("make", [genuine_test, fraud_test])
def test_no_records_certify_nothing(make: Callable[..., BoundTest]) -> None:
    """Without records no threshold is certified and the attainable limit is 1."""
    test = make("b", np.zeros(0, dtype=np.int64), limit=0.5, delta=0.05)
    assert not test.certified()
    assert test.attainable(test.safest) == 1.0
