"""Law 7 in simulation: thresholds chosen on a sample, held against the population that it came from."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import logistic

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import PolicySettings
from scoring_model.decision.policy import NEVER_REACHED, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.training.scale import fit_scale
from scoring_model.training.thresholds import choose_policy, one_per_person

DRAWS = 600
GENUINE, FRAUDS = 3000, 300
SHIFT = 3.0  # frauds' margins are logistic like genuine ones, and so much higher
NOMINAL = 0.05
FOUR_ERRORS = 4 * (NOMINAL * (1 - NOMINAL) / DRAWS) ** 0.5

MISSED_FRAUD_ALONE = PolicySettings(max_false_reject=None, max_step_up=None, max_missed_fraud=0.5)
Choose = Callable[[IntArray, IntArray], Policy]


def _on_grid(margins: FloatArray) -> FloatArray:
    return np.asarray(np.round(margins * 2.0**40) / 2.0**40)


def _risk(scale: ScoreScale, policy: Policy, bound: str) -> float:
    """Find the error in the population that a bound is about."""
    threshold = policy.fail_from if bound == "max_false_reject" else policy.step_up_from
    cut = np.inf if threshold == NEVER_REACHED else scale.cuts[threshold - 1]
    return float(logistic.cdf(cut, SHIFT) if bound == "max_missed_fraud" else logistic.sf(cut))


def _draws(choose: Choose, *, ring: int = 1) -> Iterator[tuple[ScoreScale, Policy]]:
    """Draw samples whose frauds come in rings of one margin; fit the scale and choose on each of them."""
    rng = np.random.default_rng(20)
    for _ in range(DRAWS):
        genuine = _on_grid(rng.logistic(size=GENUINE))
        frauds = _on_grid(np.repeat(rng.logistic(SHIFT, size=FRAUDS // ring), ring))
        scale = fit_scale(genuine)
        yield scale, choose(scale.scores(genuine), scale.scores(frauds))


def _broken(limits: dict[str, float], choose: Choose, *, ring: int = 1) -> float:
    """Count the share of draws in which any bound is broken in the population."""
    broken = [
        any(_risk(scale, policy, bound) > limit for bound, limit in limits.items())
        for scale, policy in _draws(choose, ring=ring)
    ]
    return float(np.mean(broken))


def _plug_in(genuine_scores: IntArray, fraud_scores: IntArray) -> Policy:
    """Take the lowest threshold whose observed share of step-ups keeps 5 %, without a test."""
    shares = np.array([np.mean(genuine_scores >= threshold) for threshold in range(1, 1002)])
    return Policy(step_up_from=int(np.argmax(shares <= 0.05)) + 1, fail_from=NEVER_REACHED)


@pytest.mark.parametrize(
    "chosen",
    [
        PolicySettings(max_false_reject=None),
        PolicySettings(max_false_reject=0.005, max_step_up=0.15, max_missed_fraud=0.5),
        MISSED_FRAUD_ALONE,
    ],
)
def test_bounds_hold_with_the_stated_confidence(chosen: PolicySettings) -> None:
    """Law 7: scale and thresholds of one sample of independent records break a promise in 5 % of draws."""
    broken = _broken(chosen.limits(), lambda genuine, frauds: choose_policy(genuine, frauds, settings=chosen))
    assert 0 < broken <= NOMINAL + FOUR_ERRORS


def test_simulation_tells_a_plug_in_quantile() -> None:
    """Thresholds read off the sample without a test break the bound in a third of the draws or more."""
    assert _broken({"max_step_up": 0.05}, _plug_in) > 0.3


def test_rings_break_the_promise_unless_one_record_stands_for_each() -> None:
    """Rings of ten counted as ten records break it in over 15 % of draws; one per ring keeps it."""
    rings = np.repeat(np.arange(FRAUDS // 10), 10)
    first = one_per_person(rings, np.zeros(FRAUDS, dtype=np.int64))

    def counted(genuine: IntArray, frauds: IntArray) -> Policy:
        return choose_policy(genuine, frauds, settings=MISSED_FRAUD_ALONE)

    def thinned(genuine: IntArray, frauds: IntArray) -> Policy:
        return choose_policy(genuine, frauds[first], settings=MISSED_FRAUD_ALONE)

    assert _broken(MISSED_FRAUD_ALONE.limits(), counted, ring=10) > 0.15
    assert _broken(MISSED_FRAUD_ALONE.limits(), thinned, ring=10) <= NOMINAL + FOUR_ERRORS
