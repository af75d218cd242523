"""Promises before labels: what a cap on the prevalence proves, and estimates beside what is realised."""

from dataclasses import replace

import numpy as np
import pytest

from scoring_model.arrays import IntArray
from scoring_model.bundle import ReferenceDays
from scoring_model.bundle.profile import SCORE_BINS
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation.stability import Verdict
from scoring_model.monitoring.early import Estimates, Knowledge, early_verdicts, estimate_errors

DAY = 86_400_000_000


def policy(**limits: float) -> Policy:
    """A policy with promises."""
    return Policy(
        step_up_from=600,
        fail_from=900,
        promises=tuple(
            Promise(bound=bound, limit=limit, delta=0.05, observed=0.0, records=9, p_value=0.01)
            for bound, limit in limits.items()
        ),
    )


@pytest.mark.parametrize(
    ("rate", "verdict"), [(0.045, Verdict.KEPT), (0.06, Verdict.UNDECIDED), (0.09, Verdict.BROKEN)]
)
def test_a_promise_is_judged_by_the_rate_of_step_ups(rate: float, verdict: Verdict) -> None:
    """Kept if even without frauds the rate is low enough, broken if frauds cannot explain it, else undecided."""
    outcomes = (np.arange(100_000) % 1000 < 1000 * rate).astype(np.int8)
    times = np.arange(100_000) * DAY // 1000
    (found,) = early_verdicts(policy(max_step_up=0.05, max_missed_fraud=0.3), outcomes, times, cap=0.02)
    assert found.verdict is verdict
    assert found.rate.low is not None
    assert found.rate.high is not None
    assert found.genuine.high == pytest.approx(found.rate.high / 0.98)
    assert found.genuine.low == pytest.approx(max(found.rate.low - 0.02, 0) / 0.98)
    assert (found.alarm is not None) == (verdict is Verdict.BROKEN)
    assert found.is_silent == (verdict is Verdict.UNDECIDED)
    assert (found.undecidable_from, found.undecidable_to) == pytest.approx((0.049, 0.069))


def test_such_a_bound_says_nothing_of_a_rare_error() -> None:
    """With a false reject of 0.2 % any prevalence of failures near that of frauds stays undecided for ever."""
    outcomes = np.where(np.arange(1_000_000) % 1000 < 12, 2, 0).astype(np.int8)
    times = np.arange(1_000_000) * DAY // 10_000
    (found,) = early_verdicts(policy(max_false_reject=0.002), outcomes, times, cap=0.02)
    assert found.verdict is Verdict.UNDECIDED
    assert found.is_silent
    assert found.genuine.low == 0


RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-9, 3, 1000), extrapolated_from=1001),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=policy(max_missed_fraud=0.5),
)
BORDERS = np.linspace(-8, 0, 30)


def drawn(
    seed: int, size: int, days: int, *, centre: float, more: float = 0.0
) -> tuple[Decisions, IntArray, np.ndarray]:
    """Decisions, times and true classes of records whose margins are log-odds."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(centre, 1.5, size)
    frauds = rng.random(size) < 1 / (1 + np.exp(-margins - more))
    return RULES.decide(margins), np.sort(rng.integers(0, days * DAY, size)), frauds.astype(np.int8)


def reference() -> ReferenceDays:
    """The matured records of a reference period by group of margin."""
    decisions, times, frauds = drawn(0, 25_000, 98, centre=-5.6)
    days, groups = times // DAY, np.searchsorted(BORDERS, decisions.margins)
    cells, bins = days * 31 + groups, 98 * 31
    counts = np.bincount(cells, minlength=bins).reshape(98, 31)
    empty = np.zeros((98, 0), dtype=np.int64)
    return ReferenceDays(
        days=np.arange(98),
        records=counts.sum(axis=1),
        bins=empty,
        scores=np.zeros((98, SCORE_BINS), dtype=np.int64),
        outcomes=np.zeros((98, 3), dtype=np.int64),
        thresholds=np.array([600, 900]),
        margin_borders=BORDERS,
        margins=np.bincount(groups, decisions.margins, minlength=31) / np.maximum(counts.sum(axis=0), 1),
        by_margin=counts,
        frauds=np.bincount(cells[frauds == 1], minlength=bins).reshape(98, 31),
        contributions=np.zeros(0),
        explained=np.array([0]),
    )


def estimated(*, more: float = 0.0, matured_days: int = 0, known: int = 1) -> tuple[Estimates, float]:
    """Estimates of a window with other applicants, and the realised share of missed frauds."""
    decisions, times, frauds = drawn(1, 15_000, 84, centre=-5.2, more=more)
    targets = np.where(times < matured_days * DAY, frauds * known, -1).astype(np.int8)
    missed = float(np.mean(decisions.outcomes[frauds == 1] == 0))
    return estimate_errors(reference(), RULES.calibration, decisions, times, targets), missed


def test_estimates_hold_under_covariate_shift() -> None:
    """The realised share of missed frauds is inside; so it is of most weeks, once these are mature."""
    found, missed = estimated(matured_days=84)
    assert found.knowledge is Knowledge.ESTIMATED
    one = found.overall["missed_fraud"]
    assert one.low is not None
    assert one.high is not None
    assert one.low <= missed <= one.high
    inside = [
        (period.estimated["missed_fraud"].low or 0)
        <= (period.realised["missed_fraud"].value or 0)
        <= (period.estimated["missed_fraud"].high or 1)
        for period in found.periods
    ]
    assert len(inside) == 12
    assert sum(inside) >= 10


def test_matured_labels_that_contradict_end_the_estimates() -> None:
    """With doubled odds of fraud nothing is known, and the periods show it."""
    found, _ = estimated(more=np.log(2), matured_days=42)
    assert found.knowledge is Knowledge.CANNOT_KNOW
    assert (found.contradiction or 0) > 1
    assert found.overall == {}
    assert "contradict" in found.reason
    assert [bool(period.realised) for period in found.periods] == [True] * 6 + [False] * 6


def test_mature_records_without_any_fraud_contradict_where_some_were_expected() -> None:
    """Labels that no longer arrive make every record genuine once it is mature; of a day's records it may be chance."""
    found, _ = estimated(matured_days=42, known=0)
    assert (found.knowledge, found.overall, found.matured_frauds) == (Knowledge.CANNOT_KNOW, {}, 0)
    assert found.reason.startswith("None of 7,")
    assert "labels may no longer arrive" in found.reason
    few, _ = estimated(matured_days=1, known=0)
    assert (few.knowledge, few.contradiction) == (Knowledge.ESTIMATED, None)
    assert few.reason.startswith("No matured fraud of the window")


def test_few_matured_frauds_are_no_agreement() -> None:
    """Labels that do not contradict are not said to agree, and few of them could hardly contradict."""
    many, few = (estimated(matured_days=days)[0] for days in (84, 2))
    assert many.reason.endswith(" matured frauds of the window do not contradict the probabilities.")
    assert 0 < few.matured_frauds < 20
    assert few.reason.endswith(" do not contradict the probabilities; so few could hardly do so.")


def test_a_period_is_realised_only_when_all_its_records_are_mature() -> None:
    """Half a mature week is no realised week."""
    found, _ = estimated(matured_days=10)
    assert [bool(period.realised) for period in found.periods[:3]] == [True, False, False]


def test_too_few_frauds_to_know() -> None:
    """A reference of a handful of frauds gives no estimate."""
    few = replace(reference(), frauds=np.zeros((98, 31), dtype=np.int64))
    decisions, times, _ = drawn(1, 500, 14, centre=-5.2)
    found = estimate_errors(few, RULES.calibration, decisions, times, np.full(500, -1, dtype=np.int8))
    assert found.knowledge is Knowledge.CANNOT_KNOW
    assert "0 frauds" in found.reason
