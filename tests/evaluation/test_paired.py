"""Differences of two models on the same records."""

import numpy as np
import pytest
from scipy.stats import t as student

from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import (
    EvaluatedRecords,
    Evaluation,
    EvaluationError,
    evaluate_records,
    paired_differences,
)
from scoring_model.evaluation.rates import RATES
from scoring_model.records.times import DAY

RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=563, fail_from=700),
)


def pair(gain: float, *, days: int = 40) -> tuple[Evaluation, Evaluation]:
    """Two models that share most of their noise, the first one better by a gain."""
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < 0.2).astype(np.int8)
    noise, own = rng.normal(0, 1, 2000), rng.normal(0, 0.1, (2, 2000))
    times = rng.integers(0, days * DAY, 2000)
    one, other = (
        evaluate_records(
            EvaluatedRecords(
                decisions=RULES.decide((1.0 + more) * labels + noise + extra),
                labels=labels,
                event_times=times,
            ),
            rules=RULES,
        )
        for more, extra in zip((gain, 0.0), own, strict=True)
    )
    return one, other


def test_differences_are_those_of_each_draw() -> None:
    """A difference has the ends of the differences of the draws, and they are nearer than those of the models apart.

    Those of rates are at least as wide.
    """
    one, other = pair(0.3)
    for name, found in paired_differences(one, other).items():
        drawn, blocks = one.draws[name] - other.draws[name], found.independent
        assert blocks is not None
        value, base = one.figures[name].value, other.figures[name].value
        assert value is not None
        assert base is not None
        assert found.value == value - base
        if name == "ks":
            assert (found.low, found.absence) == (None, "no interval")
            continue
        reach = student.ppf(0.975, blocks - 1) * np.std(drawn, ddof=1) * np.sqrt(blocks / (blocks - 1))
        low, high = found.value - reach, found.value + reach
        if name not in RATES and not name.startswith("applicants_"):
            assert (found.low, found.high) == pytest.approx((low, high), rel=1e-4)
            continue
        assert found.low is not None
        assert found.high is not None
        assert found.low <= low + 1e-6
        assert high - 1e-6 <= found.high
    area, apart = paired_differences(one, other)["roc_auc"], one.figures["roc_auc"]
    assert area.low is not None
    assert area.high is not None
    assert apart.low is not None
    assert apart.high is not None
    assert area.low > 0
    assert area.high - area.low < (apart.high - apart.low) / 2


def test_rates_without_a_flip_are_not_certain() -> None:
    """Where no record has another outcome, the rates may still differ: by about two records."""
    one, _ = pair(0.0)
    found = paired_differences(one, one)["false_reject"]
    width = 1.96 / (found.records + 2)
    assert found.value == 0
    assert (found.low, found.high) == pytest.approx((-width, width), rel=1e-3)


def test_few_days_have_no_difference() -> None:
    """With fewer than ten days the difference has a value and no ends."""
    found = paired_differences(*pair(0.3, days=9))["roc_auc"]
    assert found.value is not None
    assert found.low is found.high is None


def test_other_records_are_refused() -> None:
    """Evaluations of other records, or in another order, are no pair."""
    one, other = pair(0.0)
    records = one.records
    order = np.arange(2000)[::-1]
    turned = EvaluatedRecords(
        decisions=records.decisions.take(order),
        labels=records.labels[order],
        event_times=records.event_times[order],
    )
    with pytest.raises(EvaluationError, match="different records"):
        paired_differences(evaluate_records(turned, rules=RULES), other)
