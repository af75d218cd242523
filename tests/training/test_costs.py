"""Expected costs against a walk over the records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.arrays import IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.policy import Policy
from scoring_model.training.costs import expected_cost

costs = st.builds(
    CostSettings,
    fraud_loss=st.floats(0.1, 1000),
    reject_cost=st.floats(0, 100),
    step_up_cost=st.floats(0, 10),
    step_up_effectiveness=st.floats(0, 1),
    prevalence=st.one_of(st.none(), st.floats(0.001, 0.5)),
)
samples = st.builds(
    lambda seed, size: np.random.default_rng(seed).integers(0, 1001, size),
    st.integers(0, 2**32),
    st.integers(1, 60),
)
thresholds = st.tuples(st.integers(1, 1001), st.integers(1, 1001)).map(sorted)


def walked(genuine: IntArray, frauds: IntArray, settings: CostSettings, policy: Policy) -> float:
    """The mean cost of a genuine applicant and of a fraud, weighted by how many of each apply."""
    prices = {
        Outcome.PASSED: (0.0, settings.fraud_loss),
        Outcome.STEPPED_UP: (
            settings.step_up_cost,
            settings.fraud_loss * (1 - settings.step_up_effectiveness),
        ),
        Outcome.FAILED: (settings.reject_cost, 0.0),
    }
    means = [
        sum(prices[policy.outcome(score)][kind] for score in scores.tolist()) / len(scores)
        for kind, scores in enumerate((genuine, frauds))
    ]
    share = settings.prevalence
    if share is None:
        share = len(frauds) / (len(genuine) + len(frauds))
    return (1 - share) * means[0] + share * means[1]


@settings(max_examples=100)
@given(samples, samples, costs, thresholds)
def test_cost_is_the_mean_over_applicants(
    genuine: IntArray, frauds: IntArray, prices: CostSettings, pair: list[int]
) -> None:
    """At any ordered pair the cost is what a walk over the outcomes of all records gives."""
    policy = Policy(step_up_from=pair[0], fail_from=pair[1])
    expected = walked(genuine, frauds, prices, policy)
    assert expected_cost(genuine, frauds, prices).at(*pair) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(samples, samples, costs, thresholds, thresholds)
def test_cheapest_pair_is_that_of_a_search(
    genuine: IntArray, frauds: IntArray, prices: CostSettings, low: list[int], high: list[int]
) -> None:
    """No ordered pair of the two ranges is cheaper, and no higher one is as cheap."""
    step_up, fail = range(low[0], low[1] + 1), range(high[0], max(high[1], low[0]) + 1)
    step_up, fail = step_up[-30:], fail[-30:]
    if step_up[0] > fail[-1]:
        step_up = range(1, 20)
    cost = expected_cost(genuine, frauds, prices)
    pairs = [(first, last) for first in step_up for last in fail if first <= last]
    assert cost.cheapest(step_up, fail) == min(pairs, key=lambda pair: (cost.at(*pair), -pair[0], -pair[1]))


def test_a_class_without_records_costs_nothing() -> None:
    """Without frauds the prevalence is 0 and only the genuine cost something."""
    prices = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.5)
    cost = expected_cost(np.array([0, 500, 1000]), np.zeros(0, dtype=np.int64), prices)
    assert cost.prevalence == 0.0
    assert cost.at(400, 900) == pytest.approx((1 + 10) / 3)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_costs_out_of_range_are_all_named(bad: float) -> None:
    """Every cost that is negative, infinite or no number is named at once."""
    with pytest.raises(
        ValueError, match=r"fraud_loss .*reject_cost .*step_up_cost .*step_up_effectiveness .*prevalence "
    ):
        CostSettings(
            fraud_loss=bad, reject_cost=bad, step_up_cost=bad, step_up_effectiveness=bad, prevalence=bad
        )


def test_costs_may_be_nothing_but_fraud_costs_something() -> None:
    """Costs of 0 are allowed, and no effectiveness or a full one; a loss of 0 is refused."""
    for effect in (0, 1):
        CostSettings(fraud_loss=1, reject_cost=0, step_up_cost=0, step_up_effectiveness=effect)
    with pytest.raises(ValueError, match=r"^fraud_loss must be above 0, got 0$"):
        CostSettings(fraud_loss=0, reject_cost=0, step_up_cost=0, step_up_effectiveness=0)
