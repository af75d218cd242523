"""Promises, gates and windows have the words and tones of their verdicts, which are said by hand here."""

from dataclasses import replace
from typing import Final

import pytest

import made_results as made
from made_pages import page
from page_text import PageText, said
from scoring_model.configuration import DriftGate, EarlyGate, EstimateGate, GateSettings
from scoring_model.estimates import Estimate, Method
from scoring_model.evaluation import GateVerdict
from scoring_model.evaluation.report.sections.groups import told
from scoring_model.evaluation.stability import Verdict
from scoring_model.monitoring.gates import check_window_gates
from scoring_model.monitoring.report import headline
from scoring_model.monitoring.result import promise_bases
from tone_oracle import FIGURES, LOWER

PROMISES: Final = (
    ("good", "Kept", "Genuine who fail"),
    ("bad", "Broken", "Genuine stepped up or failed"),
    ("open", "Undecided", "Frauds that pass"),
)
GATES: Final = {
    "auc passes": ("good", "Passed"),
    "ap fails": ("bad", "Failed"),
    "frauds at the limit": ("bad", "Failed"),
    "ks between": ("good", "Passed"),
    "friction passes": ("good", "Passed"),
    "brier reaches its limit": ("bad", "Failed"),
    "genuine at the limit": ("bad", "Failed"),
    "rejects fail": ("bad", "Failed"),
    "capacity unknown": ("open", "Not enough data"),
    "auc of the model": ("good", "Passed"),
    "stricter": ("bad", "Failed"),
    "milder": ("good", "Passed"),
    "unknown flips": ("open", "Not enough data"),
    "more frauds": ("good", "Passed"),
    "stricter for genuine": ("bad", "Failed"),
    "groups": ("bad", "Failed"),
    "large groups": ("open", "Not enough data"),
    "no group": ("open", "Not enough data"),
    "gaps": ("bad", "Failed"),
    "promise kept": ("good", "Passed"),
    "promise broken": ("bad", "Promise broken"),
    "all promises": ("bad", "Promise broken"),
    "promise undecided": ("open", "Not enough data"),
    "window": ("none", "Not applicable"),
    "nothing found": ("good", "Passed"),
    "no error": ("bad", "Failed"),
    "one check": ("bad", "Failed"),
    "not made": ("open", "Not enough data"),
}
RESTS: Final = (
    ("good", "No drift found", "Genuine who fail"),
    ("bad", "Rests on other data", "Genuine stepped up or failed"),
    ("open", "Drift not tested", "Frauds that pass"),
)
EARLY: Final = (
    ("bad", "Broken: alarm", "Genuine stepped up or failed"),
    ("good", "Kept", "Genuine who fail"),
    ("open", "Undecided", "Genuine stepped up or failed"),
    ("bad", "Broken", "Genuine who fail"),
    ("bad", "Broken: alarm", "Genuine who fail"),
)


def test_promises_have_the_tone_of_their_verdict(evaluation: PageText, comparison: PageText) -> None:
    """Kept is good, broken is bad, and undecided is neither, in words, in tone and for its reason."""
    assert said(evaluation, "Promises") == said(comparison, "Promises of the challenger") == PROMISES
    reasons = [one.texts[-1] for one in evaluation.cards]
    assert [text.partition(" days")[2] for text in reasons] == [
        ". The whole interval lies at or below the limit.",
        ". The whole interval lies above the limit.",
        ", 15 of them independent. The interval contains the limit.",
    ]
    bare = page("evaluation-bare")
    assert said(bare, "Promises") == (
        ("none", "No promise", "Genuine who fail"),
        ("open", "Undecided", "Genuine stepped up or failed"),
        ("none", "No promise", "Frauds that pass"),
    )
    assert bare.cards[1].texts[-1].endswith("Too few of them are independent for a verdict.")
    promises = comparison.grid("Promises on these records")
    assert [cell.partition(":")[0] for row in promises.rows for cell in row[1:]] == [
        "No promise", "Kept", "Undecided", "Broken", "Broken", "Undecided",
    ]  # fmt: skip


def test_gates_have_the_tone_of_their_verdict(comparison: PageText) -> None:
    """Each gate has the verdict that its numbers give by hand, in words and tone; only better figures promote."""
    found = {one.title: (one.tone, one.head) for one in comparison.cards if one.under == "Gates"}
    assert found == GATES
    report, passing, unproved = made.comparison_gates(), made.passing_gates(), made.unproved_gates()
    assert (report.exit_code, passing.exit_code, unproved.exit_code) == (12, 0, 0)
    assert (report.promotes, passing.promotes, unproved.promotes) == (False, True, False)
    for gates in (report, passing):
        for name, interval in gates.benefits.items():
            direction = -1 if FIGURES[name][0] == LOWER else 1
            value = made.made_comparison().differences[name].value
            low, high = interval.simultaneous_low, interval.simultaneous_high
            if low is not None and high is not None and value is not None:
                assert low < direction * value < high
    assert (report.improved, report.worsened) == (passing.improved, passing.worsened) == (("brier",), ())
    assert (unproved.improved, unproved.worsened) == ((), ("brier",))
    assert made.window_gates().exit_code == 12
    assert made.bare_window_gates().exit_code == made.evaluation_gates().exit_code == 11


def test_a_window_has_the_tone_of_its_verdicts() -> None:
    """What promises rest on, and what rates show before labels; an alarm is bad whatever the verdict says."""
    window = page("monitoring")
    assert said(window, "Promises: do they rest") == RESTS
    assert said(window, "Before labels") == EARLY
    errors = window.grid("Errors of matured records")
    assert [row[-1] for row in errors.rows] == ["kept", "broken", "–"]


FRAUDS, SCORES = "anything that the model reads", "the score or the outcomes"
PROMISED: Final = ("max_false_reject", "max_step_up", "max_missed_fraud")


@pytest.mark.parametrize(
    ("drifted", "others", "rests", "said"),
    [
        ((), True, (True, True, True), (SCORES, SCORES, FRAUDS)),
        (("email_age",), True, (True, True, False), (SCORES, SCORES, "found in email_age:")),
        (("unread",), True, (True, True, True), (SCORES, SCORES, FRAUDS)),
        (("score", "email_age"), True, (False, False, False), ("in score:", "in score:", "in score, email_age:")),
        (("outcome",), False, (False, False, False), ("in outcome:",) * 3),
        ((), False, (True, True, None), (SCORES, SCORES, f"{SCORES}; features were not compared")),
        (None, True, (None, None, None), ("no limit here",) * 3),
    ],
)  # fmt: skip
def test_a_promise_rests_on_data_like_those_that_certified_it(
    drifted: tuple[str, ...] | None,
    others: bool,
    rests: tuple[bool | None, ...],
    said: tuple[str, ...],
) -> None:
    """Promises to genuine applicants rest on scores and outcomes, those about frauds on all that the model reads."""
    names = ("score", "outcome", *(("email_age", "unread") if others else ()))
    subjects = tuple(
        replace(made.DRIFT.subjects[0], name=name, found=drifted is not None and name in drifted)
        for name in names
    )
    drift = replace(made.DRIFT, subjects=subjects, limits={} if drifted is None else {"numbers": 4.2})
    policy = made.rules(dict.fromkeys(PROMISED, 0.5)).policy
    found = list(
        promise_bases(policy, drift, frozenset({"email_age", "ip"}), made.made_monitoring().prevalence)
    )
    assert [(one.bound, one.limit, one.rests) for one in found] == [
        (bound, 0.5, rest) for bound, rest in zip(PROMISED, rests, strict=True)
    ]
    for one, words in zip(found, said, strict=True):
        assert words in one.reason
        if one.reason.startswith("No drift"):
            assert one.reason == f"No drift was found in 1,500 records, in {words}."
        assert not one.rests or one.reason.startswith("No drift")


@pytest.mark.parametrize(
    ("matured", "contradicted", "said"),
    [
        (0.3, False, "Promises about frauds, and verdicts before labels, rest on nothing then."),
        (0.05, True, "Promises about frauds, and estimates before labels, rest on nothing then."),
    ],
)
def test_a_headline_says_what_rests_on_nothing(matured: float, contradicted: bool, said: str) -> None:
    """More frauds than assumed end verdicts before labels, contradicted probabilities what is estimated from them."""
    window = made.made_monitoring()
    prevalence = replace(
        window.prevalence, matured=made.estimate(matured, matured, matured), contradicted=contradicted
    )
    kept = tuple(one for one in window.early if one.verdict is Verdict.KEPT and not one.alarm)
    found = headline(replace(window, prevalence=prevalence, early=kept, matured=None))
    assert found.endswith(said)


def test_a_window_of_trained_records_decides_no_gate() -> None:
    """Neither drift nor early rates of records that the model learnt from say anything; unless that is allowed."""
    window = replace(made.made_monitoring(), trained=1_200)
    of_window = (DriftGate, EarlyGate, EstimateGate)
    gates = {name: gate for name, gate in made.WINDOW_GATES.gates.items() if isinstance(gate, of_window)}
    report = check_window_gates(GateSettings(gates=gates), window)
    assert len(report.results) > 5
    assert {one.verdict for one in report.results} == {GateVerdict.NOT_ENOUGH_DATA}
    assert {one.detail for one in report.results} == {
        "1,200 records are from the period that the model was trained and validated on"
    }
    allowed = check_window_gates(GateSettings(gates=gates, allow_trained=True), window)
    assert {one.name: one.verdict for one in allowed.results}.items() <= {
        one.name: one.verdict for one in made.window_gates().results
    }.items()


@pytest.mark.parametrize(
    ("alarm", "verdict", "passes"),
    [
        (None, Verdict.KEPT, True),
        (None, Verdict.UNDECIDED, True),
        (None, Verdict.BROKEN, False),
        ("2026-02-03", Verdict.UNDECIDED, False),
    ],
)
def test_a_gate_before_labels_fails_where_a_promise_is_proved_broken(
    alarm: str | None, verdict: Verdict, passes: bool
) -> None:
    """By its ends, or by an alarm of an earlier day, which the gate names."""
    window = made.made_monitoring()
    window = replace(window, early=(replace(window.early[0], alarm=alarm, verdict=verdict),))
    (result,) = check_window_gates(GateSettings(gates={"early": EarlyGate(early="all")}), window).results
    assert result.verdict is (GateVerdict.PASSED if passes else GateVerdict.BROKEN_PROMISE)
    assert ("alarm on 2026-02-03" in result.detail) is (alarm is not None)


def test_a_benefit_holds_for_all_labels_of_the_stopped() -> None:
    """Its ends are those of the difference over all labels, turned where less is better; without them it has none."""
    gates, found = made.stopped_gates(), made.stopped_comparison()
    assert found.released is not None
    ended = 0
    for name, one in gates.benefits.items():
        direction = -1 if FIGURES[name][0] == LOWER else 1
        value = found.differences[name].value
        assert one.value == (None if value is None else direction * value)
        possible = found.released.possible.get(name)
        ends = None if possible is None else (possible.ends.simultaneous_low, possible.ends.simultaneous_high)
        if ends is None or None in ends:
            assert one.simultaneous_low is one.simultaneous_high is None
            continue
        ended += 1
        assert [one.simultaneous_low, one.simultaneous_high] == sorted(direction * end for end in ends if end)
    assert ended


@pytest.mark.parametrize(
    ("low", "high", "method", "expected"),
    [
        (0.2, 0.8, "labellings", "can’t know"),
        (0.2, 0.6, "labellings", "a number"),
        (0.2, 0.8, "wilson", "a number"),
        (None, None, "labellings", "a number"),
    ],
)
def test_a_number_that_labels_could_put_anywhere_is_not_shown(
    low: float | None, high: float | None, method: Method, expected: str
) -> None:
    """An interval over all labels that is wider than half of what is possible says nothing."""
    assert (
        told(Estimate(value=0.5, low=low, high=high, records=9, method=method), "a number", span=1)
        == expected
    )
