"""Stopped applicants: their labels can't be known, so promises allow for every label that they could have."""

from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records
from scoring_model.evaluation.checks import check_control, check_stopped
from scoring_model.evaluation.coverage import LeftOut, select
from scoring_model.evaluation.possible import assumed_share, possible_share
from scoring_model.evaluation.report.first_screen import promise_cards
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.stopped import (
    ASSUMED,
    CONTROL_SHARE,
    ControlGroup,
    NotObserved,
    control_days,
    population,
    whom,
)
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.figures import ERRORS, ErrorName
from scoring_model.findings import State
from scoring_model.monitoring.report import _matured_errors
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.observation import STOPPED
from scoring_model.records.schema import RecordSchema
from scoring_model.records.times import DAY

STOPS: Final = {"false_reject": (2,), "step_up": (1, 2), "missed_fraud": (0,)}
"""Outcomes that each error counts, by hand."""

LABEL: Final = {"false_reject": 0, "step_up": 0, "missed_fraud": 1}


def rate(name: ErrorName, outcomes: np.ndarray, labels: np.ndarray) -> tuple[int, int]:
    """Count errors and records of a rate, by hand."""
    own = outcomes[labels == LABEL[name]]
    return int(np.isin(own, STOPS[name]).sum()), len(own)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_the_worst_and_the_best_labelling(name: ErrorName, seed: int) -> None:
    """Of all labellings of the stopped ones, tried one by one, no rate lies outside, and two attain the ends."""
    drawn = np.random.default_rng(seed)
    observed, labels = drawn.integers(0, 3, 30).astype(np.int8), drawn.integers(0, 2, 30).astype(np.int8)
    stopped = drawn.integers(0, 3, 8).astype(np.int8)
    known = np.where(np.arange(8) < 2, drawn.integers(0, 2, 8), -1).astype(np.int8)
    counts = []
    for chosen in product((0, 1), repeat=6):
        each = known.copy()
        each[known < 0] = chosen
        counts.append(rate(name, np.concatenate([observed, stopped]), np.concatenate([labels, each])))
    shares = [share_of(*one) for one in counts]
    missing = NotObserved(
        outcomes=stopped,
        margins=np.zeros(8),
        probabilities=np.zeros(8),
        labels=known,
        event_times=np.zeros(8, dtype=np.int64),
    )
    found = possible_share(name, observed[labels == LABEL[name]], missing)
    lowest, highest = (choose(shares, key=lambda one: one.value or 0.0) for choose in (min, max))
    assert found.low == pytest.approx(lowest.low, abs=1e-12)
    assert found.high == pytest.approx(highest.high, abs=1e-12)
    assert found.value is None


@pytest.mark.parametrize("name", ERRORS)
def test_assumed_rates_take_the_probabilities_for_shares(name: ErrorName) -> None:
    """Four like each stopped one, of which as many are frauds as its odds say, give the same rates; labels count."""
    observed = np.array([0, 0, 1, 2, 0], dtype=np.int8)
    outcomes, known = np.array([2, 0, 1, 0], dtype=np.int8), np.array([-1, -1, -1, 1], dtype=np.int8)
    missing = NotObserved(
        outcomes=outcomes,
        margins=np.zeros(4),
        probabilities=np.array([0.5, 0.2, 0.5, 0.9]),
        labels=known,
        event_times=np.zeros(4, dtype=np.int64),
    )
    found = assumed_share(name, observed, missing, days=30)
    assert found is not None
    for odds, value in ((1.0, found.value), (0.5, found.halved), (2.0, found.doubled)):
        fraud = np.array([odds / (odds + 1), odds / (odds + 4), odds / (odds + 1), 1.0])
        own = fraud if name == "missed_fraud" else 1 - fraud
        errors = np.isin(observed, STOPS[name]).sum() + own[np.isin(outcomes, STOPS[name])].sum()
        assert value == pytest.approx(errors / (5 + own.sum()), rel=1e-12)


def test_a_control_group_of_the_named_length_gives_the_named_interval() -> None:
    """Drawn again and again, 95 % of its estimates lie within ten points of the rate."""
    rng = np.random.default_rng(5)
    stopped, days = 6_000, 30
    probabilities = rng.uniform(0.1, 0.6, stopped)
    passes = rng.random(stopped) < 0.3
    missing = NotObserved(
        outcomes=np.where(passes, 0, 1).astype(np.int8),
        margins=np.zeros(stopped),
        probabilities=probabilities,
        labels=np.full(stopped, -1, dtype=np.int8),
        event_times=np.zeros(stopped, dtype=np.int64),
    )
    missed = assumed_share("missed_fraud", np.zeros(400, dtype=np.int8), missing, days=days)
    assert missed is not None
    assert missed.control_days is not None
    scale, errors = missed.control_days / days, []
    for _ in range(400):
        fraud = (rng.random(stopped) < probabilities) & (
            rng.random(stopped) < scale
        )  # as many days as were named
        drawn = fraud & (rng.random(stopped) < CONTROL_SHARE)
        own, weight = rng.binomial(400, scale), 1 / CONTROL_SHARE
        estimate = (own + weight * (drawn & passes).sum()) / max(own + weight * drawn.sum(), 1)
        errors.append(abs(estimate - missed.value))
    assert 0.07 < np.quantile(errors, 0.95) < 0.13
    assert scale < 1


def test_a_control_group_for_a_small_bound_is_as_long_as_the_bound_needs() -> None:
    """Half of what is promised is the interval's half: ten points say nothing about half a percent."""
    missing = NotObserved(
        outcomes=np.full(60, 2, dtype=np.int8),
        margins=np.zeros(60),
        probabilities=np.full(60, 0.6),
        labels=np.full(60, -1, dtype=np.int8),
        event_times=np.zeros(60, dtype=np.int64),
    )
    outcomes = np.zeros(3_500, dtype=np.int8)
    wide, fine = (
        assumed_share("false_reject", outcomes, missing, days=34, limit=limit) for limit in (None, 0.005)
    )
    assert wide is not None
    assert fine is not None
    assert wide.control_days is not None
    assert fine.control_days is not None
    assert (wide.within, fine.within) == (0.1, 0.0025)
    assert fine.control_days > 100 >= wide.control_days


def test_a_control_group_tells_on_which_side_of_a_promise_a_rate_lies() -> None:
    """With a rate of 4.3 % and a promise of 4.8 % the interval's half is their distance: 3.7 to 5.1 % are known."""
    missing = NotObserved(
        outcomes=np.zeros(100, dtype=np.int8),
        margins=np.zeros(100),
        probabilities=np.zeros(100),
        labels=np.full(100, -1, dtype=np.int8),
        event_times=np.zeros(100, dtype=np.int64),
    )
    outcomes = np.repeat(np.array([0, 2], dtype=np.int8), [4_684, 216])
    near = assumed_share("step_up", outcomes, missing, days=100, limit=0.048)
    at = assumed_share("step_up", outcomes, missing, days=100, limit=216 / 5_000)
    assert near is not None
    assert at is not None
    assert near.within == pytest.approx(0.048 - 216 / 5_000)
    assert at.within < 216 / 5_000 / 4


def evaluated(limits: dict[str, float], *, stopped: int, fail: int = 0) -> Evaluation:
    """Evaluate 2,000 observed records on 20 days, of which 40 are frauds that pass, with stopped ones beside them."""
    labels = (np.arange(2_000) % 51 == 0).astype(np.int8)
    policy = Policy(
        step_up_from=400,
        fail_from=700,
        promises=tuple(
            Promise(bound=bound, limit=limit, delta=0.05, observed=limit, records=1000, p_value=0.01)
            for bound, limit in limits.items()
        ),
    )
    return evaluate_records(
        EvaluatedRecords(
            decisions=Decisions(
                np.zeros(2_000), np.full(2_000, 100), np.zeros(2_000, dtype=np.int8), np.full(2_000, 0.02)
            ),
            labels=labels,
            event_times=(np.arange(2_000) % 20) * DAY,
            not_observed=NotObserved(
                outcomes=np.where(np.arange(stopped) < fail, 2, 0).astype(np.int8),
                margins=np.zeros(stopped),
                probabilities=np.full(stopped, 0.3),
                labels=np.full(stopped, -1, dtype=np.int8),
                event_times=(np.arange(stopped) % 20) * DAY,
            )
            if stopped
            else None,
        ),
        rules=DecisionRules(
            scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
            calibration=Platt(slope=1.0, intercept=0.0),
            policy=policy,
        ),
    )


def verdicts(found: Evaluation) -> dict[str, Verdict | None]:
    """Verdict of each promise."""
    return {one.bound: one.verdict for one in found.stability}


def test_a_champion_on_its_own_records_breaks_no_promise_about_frauds() -> None:
    """All frauds that can be known passed, since the others were stopped: that says nothing of its promise."""
    limits = {"max_missed_fraud": 0.5}
    assert verdicts(evaluated(limits, stopped=0))["max_missed_fraud"] is Verdict.BROKEN
    assert verdicts(evaluated(limits, stopped=120, fail=120))["max_missed_fraud"] is Verdict.UNDECIDED


def test_a_promise_to_genuine_applicants_is_kept_without_their_labels() -> None:
    """If all stopped ones were genuine, and the promise were kept even then, it is kept; else it is open."""
    kept = evaluated({"max_false_reject": 0.08}, stopped=120, fail=120)
    assert verdicts(kept)["max_false_reject"] is Verdict.KEPT
    unknown = evaluated({"max_false_reject": 0.05}, stopped=120, fail=120)
    assert verdicts(unknown)["max_false_reject"] is Verdict.UNDECIDED
    assert verdicts(evaluated({"max_false_reject": 0.05}, stopped=0))["max_false_reject"] is Verdict.KEPT


def test_the_stopped_are_counted() -> None:
    """Their number, and what this model decides about them, stand beside the figures; those on labels do not change."""
    found, alone = evaluated({}, stopped=120, fail=90), evaluated({}, stopped=0)
    assert found.stopped is not None
    assert found.stopped.outcomes == {Outcome.PASSED: 30, Outcome.STEPPED_UP: 0, Outcome.FAILED: 90}
    assert (found.stopped.records, found.stopped.frauds, found.stopped.genuine) == (120, 0, 0)
    everyone = {"applicants_passed": 2_030, "applicants_stepped_up": 0, "applicants_failed": 90}
    assert {name: (found.figures[name].count, found.figures[name].records) for name in everyone} == {
        name: (count, 2_120) for name, count in everyone.items()
    }
    assert all(one == alone.figures[name] for name, one in found.figures.items() if name not in everyone)
    assert alone.stopped is None
    assert found.to_json()["stopped"]["records"] == 120
    finding, clear = (next(row for row in one.findings if row.code == "SM013") for one in (found, alone))
    assert finding.is_open
    assert finding.sentence.startswith("120 applicants (5.7% of all) were stopped, or left before maturity")
    assert "this model would pass 30 of them" in finding.sentence
    assert not clear.is_open
    sample = check_stopped(replace(alone.records, is_sample=True))
    assert (sample.state, sample.sentence) == (
        State.NOT_APPLICABLE,
        "records of a control group stand for those whom a policy stopped; nobody stands for those whom a list or "
        "rule stopped",
    )


def cards(found: Evaluation) -> dict[str, tuple[str, str, str]]:
    """Head, sentence and end of the detail of each promise on the first screen."""
    made = promise_cards(found.stability)
    errors = zip(found.stability, made, strict=True)
    return {error.bound: (card.head, card.sentence, card.detail or "") for error, card in errors}


def test_the_page_says_what_the_stopped_leave_open() -> None:
    """A range of all applicants, or that nothing can be known; never an interval that is none."""
    limits = {"max_false_reject": 0.08, "max_missed_fraud": 0.5}
    found = cards(evaluated(limits, stopped=120, fail=120))
    head, sentence, detail = found["max_false_reject"]
    assert head == "Kept"
    assert sentence == (
        "At most 8.0% promised. 0% of those who were observed; 0% to 6.9% of all, whatever the stopped ones were."
    )
    assert detail.endswith("Even the worst labels that the stopped applicants could have keep it.")
    head, sentence, detail = found["max_missed_fraud"]
    assert head == "Undecided"
    assert sentence.endswith("100% of those who were observed; of all applicants: can’t know.")
    assert "The labels of the stopped applicants decide. A control group of 5% for about" in detail
    assert (
        "would give the share to within 10 percentage points. If the probabilities of the model held"
        in detail
    )
    assert detail.endswith("with half or twice the odds): an assumption that no label has tested.")
    assert "95% interval" in cards(evaluated(limits, stopped=0))["max_false_reject"][1]


@pytest.mark.parametrize(
    ("limit", "head", "said"), [(1.0, "Kept", "at most 100%"), (0.02, "Broken", "at least 19%")]
)
def test_a_promise_that_is_decided_whatever_the_stopped_were_says_the_end_that_decides(
    limit: float, head: str, said: str
) -> None:
    """A range that is too wide to say anything else may decide a promise: then "can't know" would contradict it."""
    found = cards(evaluated({"max_missed_fraud": limit}, stopped=120, fail=120))["max_missed_fraud"]
    assert found[0] == head
    assert f"100% of those who were observed; {said}" in found[1]
    assert found[1].endswith("% of all, whatever the stopped ones were.")


def test_an_undecided_promise_says_what_keeps_it_open() -> None:
    """The labels of the stopped decide only where those who were observed would have decided without them."""
    for limit, said in (
        (0.05, "The labels of the stopped applicants decide. A control group"),
        (
            0.0005,
            "The interval of those who were observed contains the limit, and the labels of the stopped ones are ",
        ),
    ):
        detail = cards(evaluated({"max_false_reject": limit}, stopped=120, fail=120))["max_false_reject"][2]
        assert said in detail


def test_the_errors_of_a_window_say_what_the_stopped_leave_open() -> None:
    """Beside an observed share that keeps its promise stands the range for which the verdict is undecided."""
    limits = {"max_false_reject": 0.05}
    grids = {
        stopped: _matured_errors(evaluated(limits, stopped=stopped, fail=stopped)) for stopped in (120, 0)
    }
    rows = {stopped: [cell.text for cell in next(iter(grid.rows))] for stopped, grid in grids.items()}
    assert rows[120][4:] == ["undecided", "0% to 6.9%"]
    assert rows[0][4:] == ["kept"]


def table(until: list[int], labels: list[int]) -> RecordTable:
    """Records on day 0, labelled on day 1."""
    count = len(until)
    return RecordTable(
        record_ids=tuple(map(str, range(count))),
        event_times=np.zeros(count, dtype=np.int64),
        columns={},
        labels=np.array(labels, dtype=np.int8),
        label_times=np.where(np.array(labels) < 0, NEVER, DAY),
        source_rows=np.arange(count),
        observed_until=np.array(until),
    )


def test_labels_of_stopped_ones_are_selected() -> None:
    """Whoever was stopped is not evaluated, even with a label; the label counts in the bounds."""
    records = table([NEVER, NEVER, STOPPED, STOPPED, 30 * DAY], [-1, 1, -1, 1, 0])
    found = select(records, as_of=100 * DAY, maturity=60 * DAY)
    assert (found.rows.tolist(), found.targets.tolist()) == ([0, 1], [0, 1])
    assert (found.stopped.tolist(), found.stopped_labels.tolist()) == ([2, 3, 4], [-1, 1, 0])
    assert found.coverage.left_out[LeftOut.NOT_OBSERVED] == 3
    assert found.coverage.rows == 5
    known = replace(records, observed_until=None)
    assert select(known, as_of=100 * DAY, maturity=60 * DAY).rows.tolist() == [0, 1, 2, 3, 4]


def test_propensities_of_1_stand_for_nobody_who_was_stopped() -> None:
    """Without a member of a control group the stopped ones are counted and bound, as in a file without propensities."""
    records = table([NEVER, NEVER, STOPPED, STOPPED, 30 * DAY], [-1, 1, -1, 1, 0])
    sure = replace(records, propensities=np.array([1, 1, np.nan, np.nan, 1]))
    plain, found = (select(one, as_of=100 * DAY, maturity=60 * DAY) for one in (records, sure))
    assert found.weights is None
    assert (found.rows.tolist(), found.stopped.tolist()) == (plain.rows.tolist(), plain.stopped.tolist())
    unsaid = select(replace(sure, observed_until=None), as_of=100 * DAY, maturity=60 * DAY)
    assert (unsaid.weights, unsaid.stopped.tolist()) == (None, [2, 3])
    drawn = replace(sure, propensities=np.array([1, 1, 0.05, np.nan, 1]), observed_until=None)
    weighed = select(drawn, as_of=100 * DAY, maturity=60 * DAY)
    assert weighed.weights is not None
    assert weighed.stopped.tolist() == []
    everyone = replace(sure, propensities=np.ones(5), observed_until=None)
    assert select(everyone, as_of=100 * DAY, maturity=60 * DAY).weights is not None


def test_pages_say_whom_labels_are_about() -> None:
    """Nothing said is an assumption; the stopped are counted; a control group weighs; without either it is everyone."""
    records = table([NEVER, NEVER, STOPPED, STOPPED, 30 * DAY], [-1, 1, -1, 1, 0])
    assert population(replace(records, observed_until=None), 60 * DAY, RecordSchema()) == f"{ASSUMED}."
    said = population(records, 60 * DAY, RecordSchema())
    assert said.startswith(
        "3 of 5 applicants were stopped, or left before maturity. 1 of them is a known fraud;"
    )
    assert said.endswith(": figures that need labels are about the others.")
    assert population(table([NEVER, NEVER], [-1, 1]), 60 * DAY, RecordSchema()) == ""
    weighed = replace(records, propensities=np.array([1, 1, 1, 1, np.nan]), observed_until=None)
    assert "by 1 / propensity" in population(weighed, 60 * DAY, RecordSchema())
    assert whom(weighed, 60 * DAY, RecordSchema()).startswith(
        "1 of 5 applicants were stopped, left before maturity, or have no propensity where others have one. 0 of them "
    )


def test_the_days_of_a_control_group_begin_with_it() -> None:
    """Ten months without one say nothing of how long it takes until it is large enough."""
    records = replace(table([NEVER] * 3, [-1] * 3), event_times=np.array([0, 30, 40]) * DAY)
    assert control_days(records, since=0, until=50 * DAY) == 50
    begun = replace(records, propensities=np.array([np.nan, 1, 0.05]))
    assert control_days(begun, since=0, until=50 * DAY) == 20
    assert control_days(begun, since=35 * DAY, until=50 * DAY) == 15
    after_past = replace(table([NEVER] * 5, [-1] * 5), event_times=np.array([0, 30, 40, 43, 47]) * DAY)
    after_past = replace(after_past, propensities=np.array([1, np.nan, 0.05, 0.05, 0.05]))
    assert control_days(after_past, since=0, until=49 * DAY) == 12
    assert control_days(after_past, since=40 * DAY, until=49 * DAY) == 9


@pytest.mark.parametrize(
    ("genuine", "frauds", "said"),
    [
        (30, 10, None),
        (29, 10, "about 63 days, or a share 1.0 times as large"),
        (300, 4, "about 150 days, or a share 2.5 times as large"),
        (300, 0, "nobody can say how long that takes"),
    ],
)
def test_a_small_control_group_is_found(genuine: int, frauds: int, said: str | None) -> None:
    """Below 30 genuine or 10 fraudulent records, with how long it takes to have them."""
    weights = np.repeat([20.0, 20.0, 1.0], [genuine, frauds, 50])
    targets = np.repeat([0, 1, 0], [genuine, frauds, 50]).astype(np.int8)
    finding = check_control(ControlGroup.of(weights, targets), days=60, records=len(targets))
    assert finding.state is (State.CLEAR if said is None else State.FOUND)
    assert finding.sentence.startswith(
        f"the control group has {genuine} genuine records and {frauds} known frauds"
    )
    assert (said or "30 and 10 suffice") in finding.sentence


def test_nobody_was_stopped_is_no_control_group() -> None:
    """Without weights, or where each record has one of 1."""
    targets = np.zeros(5, dtype=np.int8)
    for weights in (None, np.ones(5)):
        assert check_control(ControlGroup.of(weights, targets), days=1, records=5).state is State.CLEAR
