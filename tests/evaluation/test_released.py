"""Two models where applicants were stopped: whom the challenger releases, and what no labelling of them can change."""

from itertools import product
from typing import Final

import numpy as np
import pytest

from report_use import Page
from scoring_model.configuration import (
    CostSettings,
    DifferenceGate,
    FigureGate,
    FlipGate,
    GateSettings,
    GroupChangeGate,
    LookSettings,
)
from scoring_model.decision.flips import SHAPE, UNLABELLED
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import (
    Comparison,
    EvaluatedRecords,
    check_gates,
    compare_evaluations,
    evaluate_records,
)
from scoring_model.evaluation.figures import ranking_figures
from scoring_model.evaluation.metrics import Ranking, brier, log_loss
from scoring_model.evaluation.paired import least_variances, paired_differences
from scoring_model.evaluation.possible_ranking import ranking_ends
from scoring_model.evaluation.rates import CLASS_RATES, RATES
from scoring_model.evaluation.report import comparison_report
from scoring_model.evaluation.report import html as rendered
from scoring_model.evaluation.sequential import Answer, look_again
from scoring_model.evaluation.stopped import NotObserved, Possible, Released
from scoring_model.figures import ERRORS, ErrorName
from scoring_model.records import Column
from scoring_model.records.labels import FRAUD
from scoring_model.records.times import DAY

STOPS: Final = {"false_reject": (2,), "step_up": (1, 2), "missed_fraud": (0,)}
"""Outcomes that each error counts, by hand."""

LABEL: Final = {"false_reject": 0, "step_up": 0, "missed_fraud": 1}

RULES: Final = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=400, fail_from=700, promises=()),
)


def rate(name: ErrorName, outcomes: np.ndarray, labels: np.ndarray) -> float:
    """An error rate, by hand."""
    return float(np.isin(outcomes[labels == LABEL[name]], STOPS[name]).mean())


COSTS: Final = {"fraud_loss": 100.0, "step_up_cost": 3.0, "reject_cost": 10.0, "step_up_effectiveness": 0.8}


def measured(
    margins: np.ndarray, outcomes: np.ndarray, labels: np.ndarray, prevalence: float | None = None
) -> dict[str, float]:
    """Figures of all records, as if all labels were known."""
    ranking = ranking_figures(Ranking.of(margins, labels))
    ranked = {name: one or 0.0 for name, one in ranking.items() if not name.startswith("precision")}
    probabilities = 1 / (1 + np.exp(-margins))
    frauds, genuine = (outcomes[labels == label] for label in (1, 0))
    share = labels.mean() if prevalence is None else prevalence
    losses = {
        "brier": brier(probabilities, labels) or 0.0,
        "log_loss": log_loss(probabilities, labels) or 0.0,
        "cost": share * np.mean(100 * (frauds == 0) + 20 * (frauds == 1))
        + (1 - share) * np.mean(3 * (genuine == 1) + 10 * (genuine == 2)),
    }
    rates: dict[str, float] = {name: rate(name, outcomes, labels) for name in ERRORS}
    rates["fraud_share"] = float(labels.mean())
    for code, outcome in enumerate(("passed", "stepped_up", "failed")):
        rates |= {outcome: float((outcomes == code).mean())}
        rates |= {f"{outcome}_frauds": float(((outcomes == code) & (labels == 1)).mean())}
        rates |= {f"genuine_{outcome}": float((outcomes[labels == 0] == code).mean())}
        rates |= {f"fraud_{outcome}": float((outcomes[labels == 1] == code).mean())}
    return rates | ranked | losses


def stricter(old: np.ndarray, new: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Shares of each class with a stricter or milder outcome, by hand."""
    classes = {"genuine": labels == 0, "fraud": labels == 1}
    return {f"{name}_stricter": float((new > old)[own].mean()) for name, own in classes.items()} | {
        f"{name}_milder": float((new < old)[own].mean()) for name, own in classes.items()
    }


EXACT: Final = {*RATES, "brier", "log_loss", "cost", "roc_auc"}
OBSERVED, STOPPED, LABELLED = 150, 9, 2


@pytest.mark.parametrize("seed", range(4))
def test_no_labelling_of_the_stopped_ones_leaves_the_ends(seed: int) -> None:
    """Of all labellings, tried one by one, every figure and difference lies inside; sums and rates attain both ends.

    Costs are tried with the share of frauds of the records, and with one that the settings give.
    """
    drawn = np.random.default_rng(seed)
    size = OBSERVED + STOPPED
    labels = (drawn.random(size) < 0.3).astype(np.int8)
    known = np.where(np.arange(size) < OBSERVED + LABELLED, labels, -1).astype(np.int8)
    # Few values, so that margins tie; the stopped ones have high ones, or low ones, whose frauds these models miss.
    shift = -1.0 if seed == 2 else 2.0
    base = np.round(drawn.normal(labels + shift * (np.arange(size) >= OBSERVED), 1, size), 1)
    margins = base, np.round(base + drawn.normal(0, 0.5, size), 1)
    decided = [RULES.decide(one) for one in margins]
    prevalence = (None, 0.01)[seed % 2]

    def records(place: int) -> EvaluatedRecords:
        one = decided[place]
        return EvaluatedRecords(
            decisions=one.take(np.arange(OBSERVED)),
            labels=known[:OBSERVED],
            event_times=(np.arange(OBSERVED) // 5) * DAY,
            not_observed=NotObserved(
                outcomes=one.outcomes[OBSERVED:].astype(np.int8),
                margins=one.margins[OBSERVED:],
                probabilities=one.probabilities[OBSERVED:],
                labels=known[OBSERVED:],
                event_times=np.zeros(STOPPED, dtype=np.int64),
            ),
        )

    costs = CostSettings(**COSTS, prevalence=prevalence)
    champion, challenger = (evaluate_records(records(place), rules=RULES, costs=costs) for place in (0, 1))
    released = compare_evaluations(champion, challenger).released
    assert released is not None
    assert challenger.stopped is not None
    changes: dict[str, list[float]] = {}
    figures: dict[str, list[float]] = {}
    for chosen in product((0, 1), repeat=STOPPED - LABELLED):
        everyone = known.copy()
        everyone[known < 0] = chosen
        old, new = (measured(one.margins, one.outcomes, everyone, prevalence) for one in decided)
        for name in old:
            changes.setdefault(name, []).append(new[name] - old[name])
            figures.setdefault(name, []).append(new[name])
        for name, share in stricter(decided[0].outcomes, decided[1].outcomes, everyone).items():
            changes.setdefault(name, []).append(share)
    assert changes.keys() == released.possible.keys()
    assert figures.keys() - set(CLASS_RATES) == challenger.stopped.possible.keys()
    for possible, tried in ((released.possible, changes), (challenger.stopped.possible, figures)):
        for name, one in possible.items():
            check_ends(name, one, min(tried[name]), max(tried[name]))


def test_ends_of_the_ranking_hold_for_tied_margins() -> None:
    """Tiny samples, all labellings, margins of four values: no figure and no difference of the ranking lies outside."""
    drawn = np.random.default_rng(7)
    # A fraud that ties with frauds below adds more to average precision than one that ties with genuine records above.
    samples = [(np.repeat([0, 1], [50, 10]), np.tile(np.repeat([1, 0, 3, 1, 0], [50, 9, 1, 2, 2]), (2, 1)))]
    samples += [
        (np.append([0, 1], drawn.integers(0, 2, 5)), drawn.integers(0, 4, (2, 11))) for _ in range(30)
    ]
    for seen, margins in samples:
        old, new = margins.astype(np.float64)
        known = np.append(seen, np.full(4, -1)).astype(np.int8)
        tried: dict[str, list[tuple[float, float]]] = {}
        for chosen in product((0, 1), repeat=4):
            labels = np.concatenate([known[:-4], chosen]).astype(np.int8)
            before, after = (ranking_figures(Ranking.of(one, labels)) for one in (old, new))
            for name, value in after.items():
                tried.setdefault(name, []).append((value or 0.0, (value or 0.0) - (before[name] or 0.0)))
        for place, champion in enumerate((None, old)):
            for name, (low, high) in ranking_ends(known, champion, new).items():
                values = [one[place] for one in tried[name]]
                assert low.value <= min(values) + 1e-9, name
                assert high.value >= max(values) - 1e-9, name


def test_ends_of_groups_hold_for_every_label_of_the_stopped_ones() -> None:
    """Every kind of stopped applicant, by group and outcomes, is all fraud or all genuine: extremes are among these."""
    drawn = np.random.default_rng(3)
    labels, groups = (drawn.random(400) < 0.5).astype(np.int8), np.arange(400, dtype=np.int32) % 2
    kinds = np.array(list(product((0, 1), (0, 2), (0, 2))))[np.arange(80) % 8]  # group and both outcomes
    decided = [np.where(drawn.random(400) < 0.9, 2 * labels, 2 * (1 - labels)) for _ in range(2)]

    def records(place: int) -> EvaluatedRecords:
        outcomes = decided[place]
        scores = np.choose(outcomes, (100, 500, 800))
        return EvaluatedRecords(
            decisions=Decisions(outcomes.astype(np.float64), scores, outcomes, np.full(400, 0.5)),
            labels=labels,
            event_times=(np.arange(400) // 10) * DAY,
            columns={"kind": Column(("a", "b"), groups)},
            not_observed=NotObserved(
                outcomes=kinds[:, place + 1].astype(np.int8),
                margins=np.zeros(80),
                probabilities=np.full(80, 0.5),
                labels=np.full(80, -1, dtype=np.int8),
                event_times=np.zeros(80, dtype=np.int64),
                columns={"kind": Column(("a", "b"), kinds[:, 0].astype(np.int32))},
            ),
        )

    found = compare_evaluations(
        *(evaluate_records(records(place), rules=RULES, by={"kind": None}) for place in (0, 1))
    )
    rates_of = {one.value: one.rates for one in found.challenger.groups[0].groups}
    changes_of = {one.value: one.changes for one in found.groups[0].groups}
    everyone = np.concatenate([groups, kinds[:, 0]])
    outcomes = [np.concatenate([decided[place], kinds[:, place + 1]]) for place in (0, 1)]
    tried: dict[tuple[str, ErrorName, str], list[float]] = {}
    for chosen in product((0, 1), repeat=8):
        known = np.concatenate([labels, np.array(chosen)[np.arange(80) % 8]])
        for name in ERRORS:
            rates = [
                [rate(name, one[everyone == group], known[everyone == group]) for group in (0, 1)]
                for one in outcomes
            ]
            for place, value in enumerate("ab"):
                own, other = rates[1][place], rates[1][1 - place]
                numbers = own, own - other, own / other, own - rates[0][place]
                for what, number in zip(("rate", "gap", "ratio", "change"), numbers, strict=True):
                    tried.setdefault((value, name, what), []).append(number)
    for (value, name, what), several in tried.items():
        group, change = rates_of[value][name], changes_of[value][name]
        one = {"rate": group.estimate, "gap": group.gap, "ratio": group.ratio, "change": change}[what]
        assert one.low is not None
        assert one.high is not None
        assert one.low < min(several) <= max(several) < one.high
        if what == "ratio":
            assert min(several) / 3 < one.low < one.high < 3 * max(several)
        else:
            assert one.high - one.low < max(several) - min(several) + 0.35


def check_ends(name: str, possible: Possible, low: float, high: float) -> None:
    """Ends lie outside the extremes of all labellings, near them, and at them where they are exact."""
    if name in EXACT or name.endswith(("stricter", "milder")):
        assert possible.lowest == pytest.approx(low, abs=1e-9)
        assert possible.highest == pytest.approx(high, abs=1e-9)
    assert possible.lowest <= low + 1e-9
    assert possible.highest >= high - 1e-9
    assert possible.highest - possible.lowest < 2 * (high - low) + 0.1, name
    if possible.ends.low is not None and possible.ends.high is not None:
        assert possible.ends.low < possible.lowest or possible.lowest == 0
        assert possible.ends.high > possible.highest


def compared(*, stopped: int = 400, released: int = 100, caught: int = 30, more: int = 0) -> Comparison:
    """Compare on 4,000 observed records of 40 days, of which 80 are frauds, all of whom the champion let pass.

    The challenger steps up the first of them (`caught`), and lets the first of the stopped ones pass (`released`).
    Something else than the champion stopped the last of these, whom the challenger steps up (`more`).
    """
    labels = (np.arange(4_000) % 50 == 0).astype(np.int8)
    frauds = np.flatnonzero(labels)
    times = (np.arange(4_000) // 100) * DAY

    def evaluation(outcomes: np.ndarray, others: np.ndarray) -> EvaluatedRecords:
        scores = np.choose(outcomes, (100, 500, 800))
        return EvaluatedRecords(
            decisions=Decisions(np.zeros(4_000), scores, outcomes, np.full(4_000, 0.02)),
            labels=labels,
            event_times=times,
            columns={"kind": Column(("a", "b"), (np.arange(4_000) % 2).astype(np.int32))},
            not_observed=NotObserved(
                outcomes=others,
                margins=others.astype(np.float64),
                probabilities=np.full(stopped, 0.5),
                labels=np.full(stopped, -1, dtype=np.int8),
                event_times=(np.arange(stopped) % 40) * DAY,
                columns={"kind": Column(("a", "b"), np.repeat([0, 1], [stopped, 0]).astype(np.int32))},
            )
            if stopped
            else None,
        )

    outcomes, others = np.zeros(4_000, dtype=np.int8), np.full(stopped, 2, dtype=np.int8)
    after, let = outcomes.copy(), others.copy()
    after[frauds[:caught]] = 1
    let[:released] = 0
    others[stopped - more :], let[stopped - more :] = 0, 1
    records = evaluation(outcomes, others), evaluation(after, let)
    return compare_evaluations(*(evaluate_records(one, rules=RULES, by={"kind": None}) for one in records))


def test_the_released_and_the_newly_stopped_are_counted() -> None:
    """Who passes the challenger alone, who does not any more, and below which share of frauds that is a gain."""
    found = compared().released
    assert found is not None
    assert (found.stopped, found.released, found.unknown) == (400, 100, 100)
    assert (found.newly_stopped, found.newly_stopped_frauds) == (30, 30)
    assert (found.newly_passed, found.newly_passed_frauds) == (0, 0)
    assert found.break_even == 0.3
    assert compared(stopped=0, released=0).released is None


@pytest.mark.parametrize(
    ("released", "caught", "sentence"),
    [
        (100, 30, "It finds more frauds if fewer than 30.0% of the 100 that it releases are frauds."),
        (100, 0, "Whatever the released ones were, it finds no more frauds than the champion."),
        (
            20,
            30,
            "Even if all that it releases were frauds, it would find at least as many frauds as the champion.",
        ),
    ],
)
def test_the_page_names_the_break_even(released: int, caught: int, sentence: str) -> None:
    """The first screen has the numbers of released and newly stopped applicants, and what decides."""
    text = Page.of(rendered(comparison_report(compared(released=released, caught=caught)))).text
    assert sentence in text
    assert "400 applicants were not observed, so nobody knows what they were." in text
    assert f"The challenger lets {released} of them pass whom the champion stops or steps up." in text
    assert f"It stops or steps up {caught} observed applicants whom the champion lets pass" in text


@pytest.mark.parametrize(
    ("caught", "sentence"),
    [
        (
            30,
            "It finds more frauds if fewer than 30.0% of the 100 that it releases are frauds, even if none of those",
        ),
        (
            0,
            "It finds more frauds only if at least 1 more are among those 7 than among the 100 without a label that it",
        ),
    ],
)
def test_frauds_that_the_challenger_finds_among_the_stopped_ones_count(caught: int, sentence: str) -> None:
    """Whom something else stopped, and the champion lets pass, may be frauds: "whatever they were" would be untrue."""
    found = compared(caught=caught, more=7).released
    assert found is not None
    said = ". ".join(found.sentences())
    assert "and stops or steps up 7 without a label whom the champion lets pass" in said
    assert sentence in said
    assert "Whatever" not in said


def test_known_frauds_that_something_else_stopped_count_where_the_challenger_alone_finds_them() -> None:
    """They move the share of frauds below which it finds more."""
    stopped = np.zeros(SHAPE, dtype=np.int64)
    stopped[UNLABELLED, 2, 0] = 100  # failed by the champion, let pass by the challenger
    stopped[FRAUD, 0, 1] = 7  # let pass by the champion, stepped up by the challenger
    assert Released.of(np.zeros_like(stopped), stopped, {}).break_even == 0.07


def test_shares_of_all_applicants_count_the_stopped_ones() -> None:
    """Of 4,400 applicants the champion fails 400, the challenger 300, whatever is known of them."""
    found = compared()
    failed = found.differences["applicants_failed"]
    assert failed.records == 4_400
    assert failed.value == pytest.approx(-100 / 4_400)
    assert failed.low is not None
    assert failed.low < -100 / 4_400
    assert found.differences["failed"].value == 0
    assert found.daily[2].everyone.value == pytest.approx(-100 / 40)
    assert str(found.daily[1]) == "0.8 more step-ups a day; 0.8 more known frauds among them"
    assert str(found.daily[2]) == "2.5 fewer failures a day; no more and no fewer known frauds among them"
    assert found.flip_rates["all"].value == pytest.approx(130 / 4_400)
    page = Page.of(rendered(comparison_report(found)))
    rows = next(table for table in page.tables if table[0] == ["Outcome", "Champion", "Challenger", "Change"])
    assert [row[:3] for row in rows[1:4]] == [
        ["Passed", "9,091", "9,250"],
        ["Stepped up", "0", "68"],
        ["Failed", "909", "682"],
    ]
    assert [row[0] for row in rows[4:]] == [
        f"Known frauds {one}" for one in ("passed", "stepped up", "failed")
    ]
    figures = next(table for table in page.tables if table[0][5:6] == ["Whatever the stopped ones were"])
    bounds = {row[0]: row[5] for row in figures}
    assert bounds["Genuine who fail"] == "−2.97 to +0.05"
    assert bounds["Frauds that pass"] == "can’t know"
    assert bounds["Recall of 10 reviews a day"] == "no bound"
    # On the observed ones alone it would be "clearly better in frauds that pass".
    assert "Can’t know yet: chance, and the labels that the stopped applicants could have" in page.text
    assert "No figure is clearly better or worse." in page.text


GATES: Final = GateSettings(
    gates={
        "failures": DifferenceGate(difference="applicants_failed", below=0.01),
        "flips": FlipGate(flips="all", below=0.05),
        "rejections": DifferenceGate(difference="false_reject", below=0.03),
        "misses": DifferenceGate(difference="missed_fraud", below=0.0),
        "own rejections": FigureGate(figure="false_reject", below=0.12),
        "few rejections": FigureGate(figure="false_reject", below=0.03),
        "ranking": DifferenceGate(difference="roc_auc", above=-0.5),
        "genuine": FlipGate(flips="genuine_stricter", below=0.5),
        "average": DifferenceGate(difference="average_precision", above=-0.5),
        "reviews": DifferenceGate(difference="recall_at_capacity_10", above=-0.5),
        "groups": GroupChangeGate(group_change="kind", rate="step_up", below=0.5),
        "frauds of groups": GroupChangeGate(
            group_change="kind", rate="missed_fraud", below=0.0, min_group=50
        ),
    }
)


def test_gates_on_labels_need_what_no_labelling_changes() -> None:
    """Shares of all applicants decide, bounded figures by their ends over all labels; others not."""
    found = {one.name: one for one in check_gates(GATES, compared(released=2)).results}
    assert {name: one.verdict.value for name, one in found.items()} == {
        "failures": "passed",
        "flips": "passed",
        "rejections": "passed",
        "misses": "passed",
        "own rejections": "passed",
        "few rejections": "failed",
        "ranking": "passed",
        "genuine": "passed",
        "average": "passed",
        "reviews": "not_enough_data",
        "groups": "passed",
        "frauds of groups": "passed",
    }
    assert found["reviews"].detail == (
        "recall_at_capacity_10 has no bound over the labels of the stopped applicants, and no control group"
    )
    more = {one.name: one.verdict.value for one in check_gates(GATES, compared(released=100)).results}
    assert more["misses"] == "failed"
    assert more["frauds of groups"] == "failed"
    observed = {
        one.name: one.verdict.value for one in check_gates(GATES, compared(stopped=0, released=0)).results
    }
    assert set(observed.values()) == {"passed"}


def test_a_benefit_holds_for_every_labelling() -> None:
    """A challenger that catches more than it can release is better; one that may release more frauds is not."""
    settings = GateSettings(gates={"misses": DifferenceGate(difference="missed_fraud", below=0.5)})
    assert check_gates(settings, compared(released=0)).improved == ("missed_fraud",)
    assert not check_gates(settings, compared(released=100)).improved
    shares = GateSettings(gates={"all": DifferenceGate(difference="applicants_passed", above=-0.5)})
    assert not check_gates(shares, compared(released=400, caught=0)).improved


def test_no_look_decides_on_those_who_passed() -> None:
    """Where applicants were stopped and no control group stands for them, a look waits and says why."""
    plan = LookSettings(figure="recall_at_capacity_10")
    found = look_again(LookSettings(gain=0.1), (), compared())
    possible = compared().released
    assert possible is not None
    ends = possible.possible["recall_at_fpr_0.01"]
    assert (found.difference, found.highest, found.answer) == (ends.lowest, ends.highest, Answer.WAIT)
    assert str(found) == (
        f"wait: the labels of stopped applicants decide, the difference may be {ends.lowest:+.3f} to "
        f"{ends.highest:+.3f}; more frauds do not show which, a control group would"
    )
    look = look_again(plan, (), compared())
    assert look.answer is Answer.WAIT
    assert str(look) == (
        "wait: the labels do not give the difference: no fraud has matured, or applicants were stopped, and neither "
        "bounds nor a control group show what they were"
    )
    assert look_again(plan, (), compared(stopped=0, released=0)).difference is not None


def weighted(*, heavy: float, swapped: int) -> tuple[EvaluatedRecords, EvaluatedRecords]:
    """Records of which the challenger stops some frauds that the champion lets pass; those of a control group weigh."""
    labels = (np.arange(4_000) % 10 == 0).astype(np.int8)
    frauds = np.flatnonzero(labels)
    old = np.zeros(4_000, dtype=np.int8)
    old[frauds[-40:]] = 2
    new = old.copy()
    new[frauds[: 10 * swapped : 10]] = 2  # spread over the days
    weights = np.where(old > 0, heavy, 1.0)
    one, other = (
        EvaluatedRecords(
            decisions=Decisions(
                outcomes.astype(np.float64),
                np.choose(outcomes, (100, 500, 800)),
                outcomes,
                np.full(4_000, 0.1),
            ),
            labels=labels,
            event_times=(np.arange(4_000) // 100) * DAY,
            weights=weights,
        )
        for outcomes in (old, new)
    )
    return one, other


def test_the_variance_of_a_weighted_difference_is_that_of_equal_models() -> None:
    """Nobody of the control group is decided otherwise, but as many might be as were seen with weight 1."""
    champion, challenger = weighted(heavy=20.0, swapped=36)
    total = 360 + 40 * 20
    assert least_variances(champion, challenger)["missed_fraud"] == pytest.approx(21 * 36 / total**2)
    assert least_variances(*weighted(heavy=20.0, swapped=0))["missed_fraud"] == pytest.approx(
        21 * 0.5 / total**2
    )
    evaluations = [evaluate_records(one, rules=RULES) for one in (challenger, champion)]
    found = paired_differences(*evaluations)["missed_fraud"]
    assert found.value == pytest.approx(-36 / total)
    assert found.high is not None
    assert found.high == pytest.approx(-36 / total + 1.959964 * (21 * 36) ** 0.5 / total, abs=1e-6)
    plain = [
        EvaluatedRecords(decisions=one.decisions, labels=one.labels, event_times=one.event_times)
        for one in (champion, challenger)
    ]
    assert least_variances(*plain) == {}


def test_recall_at_a_rate_of_false_positives_has_a_least_variance() -> None:
    """Frauds that only one model finds where 1 % of the genuine are found too."""
    drawn = np.random.default_rng(0)
    labels = (np.arange(2_000) % 20 == 0).astype(np.int8)
    margins = drawn.permutation(2_000).astype(np.float64)
    moved = margins.copy()
    moved[np.flatnonzero(labels)[:30]] += 5_000
    weights = np.where(drawn.random(2_000) < 0.1, 10.0, 1.0)
    one, other = (
        EvaluatedRecords(
            decisions=RULES.decide(part),
            labels=labels,
            event_times=(np.arange(2_000) // 50) * DAY,
            weights=weights,
        )
        for part in (margins, moved)
    )
    order = np.argsort(-margins[labels == 0])
    share = np.cumsum(weights[labels == 0][order]) / weights[labels == 0].sum()
    limit = margins[labels == 0][order][np.count_nonzero(share <= 0.01)]
    found, again = (part[labels == 1] > limit for part in (margins, moved))
    gained = weights[labels == 1][again & ~found].sum()
    expected = 11 * gained / weights[labels == 1].sum() ** 2
    assert least_variances(one, other)["recall_at_fpr_0.01"] == pytest.approx(expected)
