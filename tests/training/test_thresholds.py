import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.configuration import CostSettings, PolicySettings
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.rules import Policy
from scoring_model.evaluation.cost import expected_cost
from scoring_model.training.certification import certify
from scoring_model.training.thresholds import choose_policy

THRESHOLDS = np.arange(1, 1002)


def choose(genuine: IntArray, frauds: IntArray, *, settings: PolicySettings) -> Policy:
    """Choose without costs."""
    return choose_policy(certify(genuine, frauds, settings=settings))


def _spread(records: int, low: int, high: int) -> IntArray:
    return np.linspace(low, high, records).astype(np.int64)


def _certified(errors: BoolArray, limit: float | None, delta: float) -> BoolArray:
    """Compute the thresholds that scipy certifies for errors of shape (records, 1001); all without a limit."""
    if limit is None:
        return np.ones(len(THRESHOLDS), dtype=np.bool_)
    return np.asarray(binom.cdf(errors.sum(axis=0), len(errors), limit) <= delta)


def _certified_pairs(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> BoolArray:
    """Compute the ordered pairs, shape (1001, 1001), that keep all limits at an equal share of 5 %."""
    delta = 0.05 / max(sum(limit is not None for limit in (reject, step_up, missed)), 1)
    at_or_above = genuine[:, None] >= THRESHOLDS
    fails = _certified(at_or_above, reject, delta) if reject is not None else THRESHOLDS == 1001
    steps = _certified(at_or_above, step_up, delta) & _certified(frauds[:, None] < THRESHOLDS, missed, delta)
    return np.asarray(steps[:, None] & fails[None, :] & (THRESHOLDS[:, None] <= THRESHOLDS[None, :]))


samples = st.builds(
    lambda seed, size, low, high: np.random.default_rng(seed).integers(low, high + 1, size),
    st.integers(0, 2**32),
    st.integers(20, 300),
    st.integers(0, 400),
    st.integers(400, 1000),
)
limits = st.one_of(st.none(), st.floats(0.02, 0.6))


@settings(max_examples=60)
@given(samples, samples, limits, limits, limits)
def test_choice_is_that_of_a_search_over_all_pairs(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> None:
    """Of all ordered pairs that scipy certifies, the lowest for genuine bounds is chosen; shortfalls if none."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    pairs = _certified_pairs(genuine, frauds, reject, step_up, missed)
    if not pairs.any():
        assert certify(genuine, frauds, settings=chosen).shortfalls()
        return
    assert not certify(genuine, frauds, settings=chosen).shortfalls()
    policy = choose(genuine, frauds, settings=chosen)
    assert pairs[policy.step_up_from - 1, policy.fail_from - 1]
    rows, columns = np.nonzero(pairs)
    if step_up is not None:
        lowest = int(rows.min())
        assert policy.step_up_from == lowest + 1
        assert policy.fail_from == int(columns[rows == lowest].min()) + 1
    else:
        assert policy.fail_from == columns.min() + 1
        assert policy.step_up_from == rows[columns == columns.min()].max() + 1


def test_nobody_fails_or_is_stepped_up_where_nothing_is_promised() -> None:
    """Without a reject bound nobody fails; without a step-up bound nobody is stepped up."""
    genuine, frauds = _spread(5000, 0, 800), _spread(500, 300, 1000)
    nothing = choose(genuine, frauds, settings=PolicySettings(max_false_reject=None, max_step_up=None))
    assert (nothing.step_up_from, nothing.fail_from) == (1001, 1001)
    reject = choose(genuine, frauds, settings=PolicySettings(max_step_up=None))
    assert reject.step_up_from == reject.fail_from < 1001
    step_up = choose(genuine, frauds, settings=PolicySettings(max_false_reject=None))
    assert step_up.step_up_from < step_up.fail_from == 1001


@settings(max_examples=60)
@given(samples, samples, limits, limits, limits, st.floats(0, 1), st.floats(0, 50))
def test_costs_choose_the_cheapest_of_all_certified_pairs(
    genuine: IntArray,
    frauds: IntArray,
    reject: float | None,
    step_up: float | None,
    missed: float | None,
    effect: float,
    friction: float,
) -> None:
    """With costs the chosen pair is certified by scipy, and no certified pair is cheaper."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    prices = CostSettings(
        fraud_loss=100, reject_cost=30, step_up_cost=friction, step_up_effectiveness=effect, prevalence=0.1
    )
    cost = expected_cost(genuine, frauds, prices)
    pairs = _certified_pairs(genuine, frauds, reject, step_up, missed)
    if not pairs.any():
        return
    policy = choose_policy(certify(genuine, frauds, settings=chosen), cost=cost)
    assert pairs[policy.step_up_from - 1, policy.fail_from - 1]
    every = np.where(pairs, cost.step_up_parts[:, None] + cost.fail_parts[None, :], np.inf)
    assert cost.at(policy.step_up_from, policy.fail_from) == every.min()
    for promise in policy.promises:
        assert promise.p_value <= promise.delta


costs = st.builds(
    CostSettings,
    fraud_loss=st.floats(0.1, 1000),
    reject_cost=st.floats(0, 100),
    step_up_cost=st.floats(0, 10),
    step_up_effectiveness=st.floats(0, 1),
    prevalence=st.one_of(st.none(), st.floats(0.001, 0.5)),
)
scored = st.builds(
    lambda seed, size: np.random.default_rng(seed).integers(0, 1001, size),
    st.integers(0, 2**32),
    st.integers(1, 60),
)
thresholds = st.tuples(st.integers(1, 1001), st.integers(1, 1001)).map(sorted)


def walked(genuine: IntArray, frauds: IntArray, settings: CostSettings, policy: Policy) -> float:
    """Compute the mean cost of an applicant by a loop, with the genuine and the frauds weighted by prevalence."""
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
@given(scored, scored, costs, thresholds)
def test_cost_is_the_mean_over_applicants(
    genuine: IntArray, frauds: IntArray, prices: CostSettings, pair: list[int]
) -> None:
    """The cost of any ordered pair equals that of a loop over all records."""
    policy = Policy(step_up_from=pair[0], fail_from=pair[1])
    expected = walked(genuine, frauds, prices, policy)
    assert expected_cost(genuine, frauds, prices).at(*pair) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(scored, scored, costs, thresholds, thresholds)
def test_cheapest_pair_is_that_of_a_search(
    genuine: IntArray, frauds: IntArray, prices: CostSettings, low: list[int], high: list[int]
) -> None:
    """No ordered pair of the two ranges is cheaper, and no higher pair has the same cost."""
    step_up, fail = range(low[0], low[1] + 1), range(high[0], max(high[1], low[0]) + 1)
    step_up, fail = step_up[-30:], fail[-30:]
    if step_up[0] > fail[-1]:
        step_up = range(1, 20)
    cost = expected_cost(genuine, frauds, prices)
    pairs = [(first, last) for first in step_up for last in fail if first <= last]
    assert cost.cheapest(step_up, fail) == min(pairs, key=lambda pair: (cost.at(*pair), -pair[0], -pair[1]))


def test_a_class_without_records_costs_nothing() -> None:
    """Without frauds the prevalence is 0 and only genuine records have costs."""
    prices = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.5)
    cost = expected_cost(np.array([0, 500, 1000]), np.zeros(0, dtype=np.int64), prices)
    assert cost.prevalence == 0.0
    assert cost.at(400, 900) == pytest.approx((1 + 10) / 3)
