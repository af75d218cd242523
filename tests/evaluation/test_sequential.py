"""Repeated looks at a challenger."""

import itertools
import json
import math
import re
from collections.abc import Iterator

import numpy as np
import pytest

from scoring_model.configuration import LookSettings
from scoring_model.contract.violation import Invalid
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import (
    Comparison,
    EvaluatedRecords,
    EvaluationError,
    compare_evaluations,
    evaluate_records,
)
from scoring_model.evaluation.sequential import (
    Answer,
    Look,
    Looks,
    limit_at,
    look_again,
    look_at,
    planned_information,
)
from scoring_model.figures import RANKING
from scoring_model.records.times import DAY

PLAN = LookSettings()
FINAL = 1 / planned_information(PLAN)
RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=563, fail_from=700),
)


def looks_of_a_walk(rng: np.random.Generator, truth: float, *, looks: int) -> Iterator[Look]:
    """Looks at equal steps of information, at a difference whose information is exactly that, until an answer."""
    earlier: list[Look] = []
    walked = 0.0
    for place in range(1, looks + 1):
        step = planned_information(PLAN) / looks
        walked += rng.normal(truth * step, math.sqrt(step))
        # The last one has a little more: rounding must not leave it just below the plan.
        information = place * step * (1 + 1e-9)
        found = look_at(
            PLAN,
            earlier,
            difference=walked / information,
            variance=1 / information,
            frauds=20 * place,
            days=30 + 7 * place,
        )
        earlier.append(found)
        yield found
        if found.answer is not Answer.WAIT:
            return


def compared(gain: float, *, days: int = 60, records: int = 3000) -> Comparison:
    """A challenger that ranks frauds higher by a gain."""
    rng = np.random.default_rng(0)
    labels = (rng.random(records) < 0.2).astype(np.int8)
    noise, times = rng.normal(0, 1, records), rng.integers(0, days * DAY, records)
    champion, challenger = (
        evaluate_records(
            EvaluatedRecords(
                decisions=RULES.decide((2.0 + more) * labels + noise), labels=labels, event_times=times
            ),
            rules=RULES,
        )
        for more in (0.0, gain)
    )
    return compare_evaluations(champion, challenger)


def test_limits_of_five_looks_are_the_published_ones() -> None:
    """Reboussin, DeMets, Kim and Lan 2000, doi:10.1016/S0197-2456(99)00057-X: five equal looks, one-sided 2.5 %."""
    shares = (0.2, 0.4, 0.6, 0.8, 1.0)
    found = tuple(limit_at(PLAN, shares[:looks]) for looks in range(1, 6))
    assert found == pytest.approx((4.8769, 3.3569, 2.6803, 2.2898, 2.0310), abs=2e-3)


def test_one_look_is_the_fixed_test() -> None:
    """A single look costs nothing."""
    assert limit_at(PLAN, (1.0,)) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize(("truth", "least", "most"), [(0.0, 0.0, 0.04), (PLAN.gain, 0.81, 0.91)])
def test_weekly_looks_keep_error_and_power(truth: float, least: float, most: float) -> None:
    """Of 1,000 challengers with 26 looks each, the planned share is promoted; every one gets an answer."""
    rng = np.random.default_rng(3)
    answers = [list(looks_of_a_walk(rng, truth, looks=26))[-1].answer for _ in range(1000)]
    assert Answer.WAIT not in answers
    assert least <= answers.count(Answer.PROMOTE) / len(answers) <= most


def test_an_equal_challenger_is_given_up_early() -> None:
    """Half of the challengers that are no better are kept out with less than the planned information."""
    rng = np.random.default_rng(4)
    shares = [list(looks_of_a_walk(rng, 0.0, looks=26))[-1].share for _ in range(200)]
    assert float(np.median(shares)) < 0.8


def test_a_wait_names_frauds_and_days() -> None:
    """Half of the information with 400 frauds in 201 days: 400 more in 201 more, and 13 % for an unsure variance."""
    found = look_at(PLAN, (), difference=0.03, variance=2 * FINAL, frauds=400, days=201)
    assert (found.answer, found.more_frauds) == (Answer.WAIT, 503)
    assert found.more_days == pytest.approx(503 * 201 / 400)
    assert str(found) == "wait: 503 more matured frauds, about 253 days"


def test_a_wait_beyond_a_year_is_named() -> None:
    """Ten frauds in 300 days with a thirtieth of the information take years."""
    found = look_at(PLAN, (), difference=0.03, variance=30 * FINAL, frauds=10, days=300)
    assert str(found) == "wait: 322 more matured frauds; this will not be known within a year"


def test_few_days_are_no_look() -> None:
    """With 29 days the variance between days is unknown, and no error is spent."""
    found = look_at(PLAN, (), difference=0.5, variance=FINAL, frauds=400, days=29)
    assert (found.answer, found.limit) == (Answer.WAIT, None)
    assert "29 days" in str(found)


def test_little_new_information_is_no_look() -> None:
    """A second look at the same records spends nothing and has the same answer."""
    first = look_at(PLAN, (), difference=0.03, variance=2 * FINAL, frauds=400, days=80)
    again = look_at(PLAN, (first,), difference=0.03, variance=2 * FINAL, frauds=400, days=80)
    assert again.limit is None
    assert again.answer is first.answer


def test_gates_delay_a_promotion_until_they_pass() -> None:
    """A challenger that was found better waits for its gates, and is promoted by a later look at which they pass."""
    closed = look_at(PLAN, (), difference=0.08, variance=2 * FINAL, frauds=400, days=80, gates_pass=False)
    assert (closed.answer, closed.better) == (Answer.WAIT, True)
    opened = look_at(PLAN, (closed,), difference=0.02, variance=1.5 * FINAL, frauds=500, days=100)
    assert opened.answer is Answer.PROMOTE
    last = look_at(PLAN, (closed,), difference=0.08, variance=FINAL, frauds=800, days=160, gates_pass=False)
    assert last.answer is Answer.KEEP


def test_a_comparison_is_looked_at() -> None:
    """A much better challenger is promoted, and the same model twice is kept out at once."""
    found = compared(0.8)
    better = look_again(PLAN, (), found)
    assert (better.answer, better.difference) == (Answer.PROMOTE, found.differences[PLAN.figure].value)
    assert look_again(PLAN, (), compared(0.0)).answer is Answer.KEEP


def test_looks_are_at_growing_records_of_one_pair() -> None:
    """Stored looks are continued by the same pair and plan alone, with at least as many frauds."""
    looks = Looks(champion="a", challenger="b", plan=PLAN).add(compared(0.1), gates_pass=True)
    stored = json.loads(json.dumps(looks.to_json()))
    assert Looks(champion="a", challenger="b", plan=PLAN).continued(stored) == looks
    with pytest.raises(EvaluationError, match="another challenger and another plan"):
        Looks(champion="a", challenger="c", plan=LookSettings(gain=0.1)).continued(stored)
    with pytest.raises(EvaluationError, match="a stored look cannot be read"):
        Looks(champion="a", challenger="b", plan=PLAN).continued(stored | {"looks": [{}]})
    with pytest.raises(EvaluationError, match=r"rests on .* records and on .* at the last look"):
        looks.add(compared(0.1, records=1000), gates_pass=True)


def test_figures_of_looks_rest_on_frauds_and_rise_with_the_ranking() -> None:
    """The allowed figures are all that measure the ranking; a much better ranking lowers none of them."""
    found = compared(0.8)
    frauds = found.challenger.overall.frauds
    ranked = {name for name in found.differences if re.match(r"roc_auc|average|ks$|recall|precision", name)}
    assert set(RANKING) == ranked
    for name in RANKING:
        difference = found.differences[name]
        assert (difference.records, (difference.value or 0.0) >= 0) == (frauds, True), name


def test_looks_survive_their_json() -> None:
    """Looks are stored between runs, with a wait of unknown length too."""
    known = look_at(PLAN, (), difference=0.03, variance=2 * FINAL, frauds=400, days=80)
    unknown = look_at(PLAN, (), difference=None, variance=math.inf, frauds=0, days=80)
    for look in (known, unknown):
        assert Look.from_json(look.to_json()) == look


def test_plans_out_of_range_are_refused_with_every_field() -> None:
    """All fields at once."""
    with pytest.raises(Invalid) as caught:
        LookSettings(figure="missed_fraud", gain=0.0, error=0.5, power=0.5)
    assert {one.pointer for one in caught.value.violations} == {"/figure", "/gain", "/error", "/power"}


def test_limits_fall_with_information() -> None:
    """Evidence that comes early has to be stronger."""
    shares = tuple(np.linspace(0.05, 1, 20).tolist())
    found = [limit_at(PLAN, shares[:looks]) for looks in range(1, 21)]
    assert all(one > other for one, other in itertools.pairwise(found))
