"""The forecast of what a control group costs, against a simulation of it."""

from dataclasses import replace

import numpy as np
import pytest

from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.cost import forecast_control_cost
from scoring_model.records.times import DAY

CONTROL = Control(
    failed=ControlArm(share=0.1, most_per_day=100),
    stepped_up=ControlArm(share=0.3, most_per_day=100),
    fraud_loss=50.0,
)


def drawn(rng: np.random.Generator, *, days: int = 60, attempts: int = 1) -> EvaluatedRecords:
    """Persons with some records of one day, whose frauds come as their probabilities say."""
    per_day = rng.poisson(40 * rng.gamma(40.0, 1 / 40, days))
    persons = np.repeat(np.arange(per_day.sum()), attempts)
    probabilities = np.repeat(rng.random(per_day.sum()), attempts)
    frauds = np.repeat(rng.random(per_day.sum()), attempts) < probabilities
    return EvaluatedRecords(
        decisions=Decisions(
            probabilities,
            np.zeros(len(persons), dtype=np.int64),
            np.digitize(probabilities, (0.4, 0.8)).astype(np.int8),
            probabilities,
        ),
        labels=frauds.astype(np.int8),
        event_times=np.repeat(np.arange(days), per_day * attempts) * DAY,
        persons=persons,
    )


def cost_of(rng: np.random.Generator, records: EvaluatedRecords) -> float:
    """What a control group of such records cost: each person is drawn once."""
    shares = np.array([0.0, 0.3, 0.1])[records.decisions.outcomes]
    assert records.persons is not None
    passes = rng.random(records.persons.max() + 1)[records.persons] < shares
    return float(50.0 * (passes & (records.labels == 1)).sum())


@pytest.mark.parametrize("attempts", [1, 4])
def test_costs_lie_inside_their_forecast(attempts: int) -> None:
    """In 95 % of 300 pairs of periods, to four standard errors; also where persons come four times."""
    inside = 0
    for number in range(300):
        rng = np.random.default_rng(number)
        found = forecast_control_cost(drawn(rng, attempts=attempts), CONTROL, days=30)
        cost = cost_of(rng, drawn(rng, days=30, attempts=attempts))
        inside += (found.low or 0.0) <= cost <= (found.high or 0.0)
    assert 270 <= inside <= 299


def test_the_mean_is_that_of_probabilities_and_shares() -> None:
    """By hand: expected frauds that pass, in the time that is forecast."""
    records = drawn(np.random.default_rng(1))
    expected = 0.0
    for outcome, probability in zip(records.decisions.outcomes, records.decisions.probabilities, strict=True):
        expected += (0.0, 0.3, 0.1)[outcome] * probability * 50.0
    found = forecast_control_cost(records, CONTROL, days=30)
    assert found.value == pytest.approx(expected / 2)
    assert found.records == int((records.decisions.outcomes > 0).sum())


def test_records_that_stand_for_others_count_so() -> None:
    """Their costs are those of the records for which they stand."""
    records = drawn(np.random.default_rng(2))
    twice = replace(records, weights=np.full(len(records), 2.0))
    found = [forecast_control_cost(one, CONTROL, days=60).value for one in (records, twice)]
    assert found[1] == pytest.approx(2 * (found[0] or 0.0))


def test_few_days_have_no_interval() -> None:
    """With fewer than ten days their variation is not known."""
    found = forecast_control_cost(drawn(np.random.default_rng(3), days=9), CONTROL, days=9)
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
