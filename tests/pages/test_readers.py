"""What readers need: a sentence first, words instead of codes and names, and a result that fits a terminal."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgb
from matplotlib.figure import Figure

import made_results as made
from scoring_model.configuration import LookSettings
from scoring_model.estimates import Estimate
from scoring_model.evaluation import Comparison
from scoring_model.evaluation.flips import changed
from scoring_model.evaluation.report import html, markdown
from scoring_model.evaluation.report.comparison_page import headline
from scoring_model.evaluation.report.evaluation_page import evaluation_report
from scoring_model.evaluation.report.markdown import overview
from scoring_model.evaluation.report.plots.importance import draw_dependence
from scoring_model.evaluation.report.section import Grid, Section
from scoring_model.evaluation.report.section import made as made_drawing
from scoring_model.evaluation.report.sections.importance import importance_section
from scoring_model.evaluation.report.style import DARK, LIGHT
from scoring_model.evaluation.report.words import in_days, on_two_lines, shared_counts
from scoring_model.evaluation.sequential import needed_text, planned_information
from scoring_model.evaluation.stability import Verdict
from scoring_model.monitoring.report import headline as window_headline
from scoring_model.monitoring.report import monitoring_report
from scoring_model.training.backtest.report import backtest_summary

NEITHER: Final = (0.01, -0.02, 0.04)


def with_changes(**changes: tuple[float, float, float]) -> Comparison:
    """The made comparison with these differences, and no other that is clear."""
    found = made.made_comparison()
    differences = {name: made.estimate(*changes.get(name, NEITHER)) for name in found.differences}
    return replace(found, table=found.table | changed(differences))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"roc_auc": (0.04, 0.01, 0.07)}, "Better: clearly better in ROC AUC, and in no figure"),
        ({"step_up": (-0.04, -0.07, -0.01)}, "Better: clearly better in Genuine stepped up or failed, and"),
        ({"roc_auc": (0.04, 0.01, 0.07), "step_up": (0.04, 0.01, 0.07)}, "Not better: clearly worse in Genuine"),
        ({"brier": (0.04, 0.01, 0.07)}, "Can’t know yet: no difference is larger than chance. If"),
    ],
)  # fmt: skip
def test_a_comparison_begins_with_better_or_not(
    changes: dict[str, tuple[float, float, float]], sentence: str
) -> None:
    """Better, worse or neither, by the figures of ranking and errors alone."""
    assert headline(with_changes(**changes), None).startswith(sentence)


def test_a_comparison_says_how_many_frauds_are_missing() -> None:
    """An interval three times as wide as twice its difference needs nine times the frauds."""
    frauds = made.made_comparison().champion.overall.frauds
    text = headline(with_changes(), None)
    assert text.endswith(f"about {8 * frauds:,} more frauds would show the clearest of them.")
    few = headline(made.small_comparison(), made.passing_gates())
    assert few == "Can’t know yet: intervals need 10 days with records, 5 more than there are."


def test_a_comparison_with_gates_begins_with_what_they_decide() -> None:
    """The same word as the gates, and the names of those that failed."""
    found = made.made_comparison()
    assert headline(found, made.passing_gates()).startswith("Better: every gate passed, with Brier score")
    assert headline(found, made.comparison_gates()).startswith(
        "Not better: 13 of 28 gates failed (ap fails, "
    )
    assert headline(found, made.unproved_gates()).startswith("Not better: every gate passed, but no figure")
    undecided = replace(
        made.passing_gates(),
        results=tuple(
            one for one in made.comparison_gates().results if one.verdict in ("passed", "not_enough_data")
        ),
    )
    assert headline(found, undecided).startswith("Can’t know yet: not enough data for capacity unknown, ")


def test_a_window_begins_with_whether_promises_are_kept() -> None:
    """One broken promise is worse than promised; else one that nobody can judge says what is missing."""
    window = made.made_monitoring()
    assert window_headline(window) == "Worse than promised: Genuine who fail, Genuine stepped up or failed."
    calm = replace(window, early=(), matured=None)
    assert window_headline(calm) == (
        "Can’t know yet: Genuine who fail, Genuine stepped up or failed, Frauds that pass; 300 records are too young "
        "for their labels."
    )
    assert window.matured is not None
    few = replace(calm, matured=replace(window.matured, stability=()))
    assert window_headline(few).endswith("; the matured records are too few for a verdict.")
    open_ = replace(
        window.matured.stability[0],
        limit=0.05,
        share=Estimate(value=0.042, low=0.036, high=0.049, records=3_976),
        possible=Estimate(value=None, low=0.035, high=0.053, records=3_976, method="labellings"),
    )
    assert open_.waits_for_stopped
    stopped = replace(calm, matured=replace(window.matured, stability=(open_,)), promises=window.promises[:1])
    assert window_headline(stopped) == (
        "Can’t know yet: Genuine who fail; nobody knows what those were who were stopped."
    )
    assert not replace(open_, limit=0.045).waits_for_stopped
    (kept,) = (one for one in window.promises if one.bound == "max_false_reject")
    early = tuple(one for one in window.early if one.verdict is Verdict.KEPT and one.bound == kept.bound)
    assert window_headline(replace(calm, promises=(kept,), early=early)) == (
        "As promised: every promise is kept, as the rates of outcomes show before all labels are known."
    )
    labelled = replace(calm, promises=(kept,), matured=window.matured)
    assert window_headline(labelled) == "As promised: every promise is kept."
    assert "nothing is judged" in window_headline(replace(calm, promises=()))


def test_more_frauds_than_assumed_are_more_by_the_whole_interval() -> None:
    """An estimate above the cap whose lower end is not refutes nothing; without ends the estimate itself counts."""
    found = made.made_monitoring().prevalence
    assert found.matured is not None
    assert (found.matured.low, found.matured.value) == (0.04, 0.055)
    assert [replace(found, cap=cap).refuted for cap in (0.05, 0.04, 0.039)] == [False, False, True]
    bare = replace(found, matured=replace(found.matured, low=None, high=None))
    assert [replace(bare, cap=cap).refuted for cap in (0.06, 0.05)] == [False, True]


def test_a_backtest_says_what_is_undecided_and_what_is_clear() -> None:
    """None broken is not all kept, a change that chance explains is not one, and findings are not left to the end."""
    text = backtest_summary(made.made_backtest())
    assert "trained every 1m, 2 of 4 promises were kept, 1 undecided, 1 broken;" in text
    assert "frauds that pass +4.00 points (95% interval +1.00 to +7.00), clearly worse;" in text
    assert "−0.0200 (95% interval −0.0400 to +0.0000), no clear change." in text
    assert "−3.00 points (95% interval –), no verdict;" in text
    assert text.count("docs/findings.md#sm") == 3


def test_features_of_a_window_have_titles() -> None:
    """Sentences, tables and drawings say what a feature says; its name in files stands beside it."""
    window = replace(made.made_monitoring(), titles={"email_age": "Days since the address was new"})
    text = markdown(monitoring_report(window))
    assert (
        "Drift in 2 of 4 subjects (features, score and outcome): Days since the address was new, score."
        in text
    )
    assert "| Days since the address was new | email_age |" in text
    assert "Days since the address was new" in html(monitoring_report(window))


def test_names_that_differ_at_the_end_differ_beside_a_drawing() -> None:
    """Features of link keys begin alike: what is left of a long name on two lines says which key and window."""
    names = [
        f"Mean of the signal importo_primo_ordine over earlier records with the same {key} in the {window} before"
        for key in ("address", "categoria_merceologica")
        for window in ("7d", "166d")
    ]
    shown = [on_two_lines(name) for name in names]
    assert len(set(shown)) == 4
    assert max(len(line) for name in shown for line in name.split("\n")) <= 30
    assert shown[0].endswith("address in the 7d before")


def test_categories_are_words() -> None:
    """Where codes have words, axes and tables name them; other codes are any other."""
    found = made.made_evaluation().importance
    assert found is not None
    features = tuple(
        replace(one, categories=("web", "app")) if one.name == "signal_channel" else one
        for one in found.features
    )
    named = replace(found, features=features)
    ax = Figure().subplots()
    draw_dependence(ax, named, "signal_channel")
    assert sorted(label.get_text() for label in ax.get_xticklabels()) == ["any other", "app", "web"]
    assert ax.get_xlabel() == "category"
    evaluation = replace(made.made_evaluation(), explain=lambda: named)
    grid = made_drawing(importance_section(evaluation).drawings[3]).grid
    assert grid is not None
    cells = [cell.text for cell in grid.rows[1]]
    means = {word: -0.3 * code for code, word in enumerate(("web", "app", "any other"))}
    assert set(cells[1:4]) == {
        f"{'+' if mean == 0 else '−'}{abs(mean):.2f} ({word})" for word, mean in means.items()
    }
    assert cells[4:6] == ["–", "–"]


def test_a_model_that_looks_at_nothing_says_so() -> None:
    """Without features, and where none of them moves a score; no picture is drawn."""
    evaluation = made.made_evaluation()
    found = evaluation.importance
    assert found is not None
    nothing = replace(found.features[0], weight=made.estimate(0.0, 0.0, 0.0))
    for features in ((), (nothing,)):
        section = importance_section(replace(evaluation, explain=partial(replace, found, features=features)))
        assert section.texts == ("No feature contributes to the score of any explained record.",)
        assert not section.drawings


def test_seconds_are_days_or_hours() -> None:
    """Hours where half of the values lie below two days; other units stay."""
    unit, values = in_days("seconds", np.array([3600.0, 7200.0, np.nan]))
    assert (unit, values[:2].tolist()) == ("hours", [1.0, 2.0])
    unit, values = in_days("seconds", np.array([86_400.0 * 9, 86_400.0 * 3]))
    assert (unit, values.tolist()) == ("days", [9.0, 3.0])
    assert in_days("seconds", np.array([86_400.0 * 2]))[0] == "days"
    assert in_days("years", np.array([1.0]))[0] == "years"


@pytest.mark.parametrize("shares", [[1 / 3, 1 / 3, 1 / 3], [0.98335, 0.01335, 0.0033], [1.0, 0.0, 0.0]])
def test_applicants_add_up(shares: list[float]) -> None:
    """Rounded numbers sum to the whole, and each is off by less than one."""
    counts = shared_counts(shares, 10_000)
    assert sum(counts) == 10_000
    assert all(abs(count - 10_000 * share) < 1 for count, share in zip(counts, shares, strict=True))


@pytest.mark.parametrize(
    "result",
    [made.made_evaluation, made.made_comparison, made.made_monitoring, made.made_backtest, made.empty_evaluation],
)  # fmt: skip
def test_a_result_is_shown_in_forty_lines(result: Any) -> None:
    """It begins with the use and what the result rests on, and ends in time."""
    lines = repr(result()).splitlines()
    assert 5 < len(lines) <= 40
    assert any(line.startswith("### ") for line in lines)
    assert max(map(len, lines)) < 700


def test_what_is_longer_is_cut() -> None:
    """A report of just as many lines is shown whole; one line fewer ends with an ellipsis."""
    report = evaluation_report(made.made_evaluation(), brief=True)
    whole = overview(report, most=10_000)
    lines = whole.splitlines()
    assert overview(report, most=len(lines)) == whole
    assert overview(report, most=len(lines) - 1).splitlines() == [*lines[:-2], "…"]


def test_a_report_names_the_split_that_chose_its_records() -> None:
    """It refers to its part on the split where it has one, and to nothing where it has only others."""
    for name, said in (("split", "by the split of the training"), ("tuning", "before the evaluation")):
        part = Section(name=name, title="A part", texts=("Text.",))
        report = evaluation_report(made.bare_evaluation(), further=[part])
        assert f"The records were chosen {said}" in markdown(report)


def test_a_retraining_says_before_what_a_promotion_takes() -> None:
    """Thirty days, and the frauds that give the planned information if one in ten is decided otherwise."""
    plan = LookSettings()
    text = needed_text(plan)
    assert text.startswith("a promotion takes matured records of at least 30 days, and about ")
    frauds = int(text.split("about ")[1].split(" ")[0].replace(",", ""))
    assert frauds - 1 < planned_information(plan) / 10 <= frauds


def test_a_summary_computes_no_importance() -> None:
    """The terminal has every section but that one, which takes seconds."""

    def explain() -> Any:
        raise AssertionError("the summary needs no contributions")

    evaluation = replace(made.made_evaluation(), explain=explain)
    names = [one.name for one in evaluation_report(evaluation, brief=True).sections]
    assert "importance" not in names
    assert {"thresholds", "ranking", "probabilities", "time", "findings"} <= set(names)


def test_a_change_a_day_is_a_clause() -> None:
    """It counts frauds among the changed ones, or both classes where they change in different directions."""
    assert [str(one) for one in made.made_comparison().daily] == [
        "12 fewer passes a day, 1.5 of them fraud",
        "2.5 more step-ups a day: 0.6 fewer of frauds, 3.1 more of genuine records",
        "1,234 more failures a day, 1,200 of them fraud",
    ]


def test_a_comparison_that_shows_nothing_names_the_frauds_that_would() -> None:
    """An interval is three times as wide to each side as the difference: it takes nine times the frauds."""
    found = with_changes()
    said = headline(found, None).split("about ")[1].split(" ")[0]
    assert int(said.replace(",", "")) == pytest.approx(8 * found.champion.overall.frauds, abs=1)


def test_columns_of_numbers_are_those_without_words() -> None:
    """Numbers, dashes and what stands where a number is missing; a list of names with numbers is text."""
    columns = {"number": "12", "dash": "–", "missing": "no records", "word": "Passed", "list": "0 DE: 3"}
    grid = Grid.of(
        "more", "More", {"a": "A"} | {name: name for name in columns}, [("row", *columns.values())]
    )
    assert list(grid.numeric[1:]) == [True, True, True, False, False]


def test_dark_pages_have_all_colours() -> None:
    """Each name of a light page stands for another shade of its hue in the dark; ink and paper change places."""
    light, dark = (
        {name: rgb_to_hsv(to_rgb(one)) for name, one in colours.items()} for colours in (LIGHT, DARK)
    )
    assert light.keys() == dark.keys()
    for name in ("genuine", "fraud", "accent"):
        assert light[name][0] == pytest.approx(dark[name][0], abs=0.03), name
    for shades, order in ((light, 1), (dark, -1)):
        brightness = [shades[name][2] for name in ("ink", "muted", "rule", "paper")]
        assert brightness == sorted(brightness, reverse=order < 0)


def test_probabilities_may_be_contradicted_before_any_label_of_the_window_is_mature() -> None:
    """The headline then says what is missing instead of a share."""
    found = replace(made.made_monitoring().prevalence, matured=None, contradicted=True)
    assert found.problem == (
        "Matured labels contradict the probabilities of the model: no label of the window is mature."
    )
