"""What is better, what is worse and what nobody can know: said by hand here, and compared with every page and drawing.

Nothing in this file reads the registry of figures, a page's table of words or a plot's table of colours, except to
compare it with what stands here.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Final

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import made_results as made
from made_pages import REPORTS, page, page_html, report
from page_text import PageText, markdown_grids
from scoring_model.evaluation.report.html import picture
from scoring_model.evaluation.report.markdown import markdown
from scoring_model.evaluation.report.plots.importance import draw_dependence
from scoring_model.evaluation.report.plots.thresholds import has_pair
from scoring_model.evaluation.report.section import made as made_drawing
from scoring_model.evaluation.report.sections.decisions import decisions_section
from scoring_model.evaluation.report.style import LIGHT
from scoring_model.evaluation.report.words import tone_of
from scoring_model.figures import FIGURES as REGISTRY
from scoring_model.monitoring.result import promise_bases

HIGHER, LOWER, NEITHER = "higher is better", "lower is better", "neither"

FIGURES: Final = {
    "roc_auc": (HIGHER, "ROC AUC"),
    "average_precision": (HIGHER, "Average precision"),
    "ks": (HIGHER, "Kolmogorov-Smirnov distance"),
    "recall_at_fpr_0.001": (HIGHER, "Recall at 0.1% false positives"),
    "recall_at_fpr_0.005": (HIGHER, "Recall at 0.5% false positives"),
    "recall_at_fpr_0.01": (HIGHER, "Recall at 1% false positives"),
    "recall_at_fpr_0.05": (HIGHER, "Recall at 5% false positives"),
    "precision_at_fpr_0.001": (HIGHER, "Precision at 0.1% false positives"),
    "precision_at_fpr_0.005": (HIGHER, "Precision at 0.5% false positives"),
    "precision_at_fpr_0.01": (HIGHER, "Precision at 1% false positives"),
    "precision_at_fpr_0.05": (HIGHER, "Precision at 5% false positives"),
    "brier": (LOWER, "Brier score"),
    "log_loss": (LOWER, "Log loss"),
    "passed": (NEITHER, "Passed"),
    "stepped_up": (NEITHER, "Stepped up"),
    "failed": (NEITHER, "Failed"),
    "passed_frauds": (LOWER, "Frauds that pass, of all records"),
    "stepped_up_frauds": (NEITHER, "Frauds stepped up, of all records"),
    "failed_frauds": (NEITHER, "Frauds that fail, of all records"),
    "genuine_passed": (HIGHER, "Genuine who pass"),
    "genuine_stepped_up": (NEITHER, "Genuine stepped up"),
    "fraud_stepped_up": (NEITHER, "Frauds stepped up"),
    "fraud_failed": (NEITHER, "Frauds that fail"),
    "false_reject": (LOWER, "Genuine who fail"),
    "step_up": (LOWER, "Genuine stepped up or failed"),
    "missed_fraud": (LOWER, "Frauds that pass"),
    "cost": (LOWER, "Expected cost of an applicant"),
    "recall_at_capacity_10": (HIGHER, "Recall of 10 reviews a day"),
    "recall_at_capacity_50": (HIGHER, "Recall of 50 reviews a day"),
    "recall_at_capacity_100": (HIGHER, "Recall of 100 reviews a day"),
    "recall_at_capacity_500": (HIGHER, "Recall of 500 reviews a day"),
}
"""Every figure with its direction and its title. To fail a fraud is no better than a step-up that it leaves."""

HIDDEN: Final = {
    "genuine_failed": "Genuine who fail",
    "fraud_passed": "Frauds that pass",
    "fraud_share": "Share of frauds",
    "applicants_passed": "Applicants who pass",
    "applicants_stepped_up": "Applicants stepped up",
    "applicants_failed": "Applicants who fail",
}
"""What no list of figures shows or judges.

Second names of `false_reject` and `missed_fraud`, what no model changes, and shares of all applicants, which have a
table of their own.
"""

PLAIN: Final = {"roc_auc", "average_precision", "ks", "brier", "log_loss", "cost"}
"""Written as numbers; all others are shares, whose differences are percentage points."""

TITLES: Final = {title: name for name, (_, title) in FIGURES.items()}
ERRORS: Final = ("false_reject", "step_up", "missed_fraud")
GREEN, ORANGE, GREY, BLUE = (LIGHT[name] for name in ("accent", "fraud", "muted", "genuine"))
COLOUR: Final = {"better": GREEN, "worse": ORANGE, "": GREY}


def tone(name: str, low: float | None, high: float | None) -> str:
    """What the interval of a difference says: better, worse, or nothing."""
    if low is None or high is None or FIGURES[name][0] == NEITHER:
        return ""
    if low > 0:
        return "better" if FIGURES[name][0] == HIGHER else "worse"
    if high < 0:
        return "better" if FIGURES[name][0] == LOWER else "worse"
    return ""


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers in a text as people read them, each with half a unit of its last digit; a percentage as a share."""
    found = []
    for sign, digits, percent in re.findall(r"([+−-]?)(\d[\d,]*(?:\.\d+)?)(%?)", text):
        plain = digits.replace(",", "")
        scale = 100 if percent else 1
        half = 0.5 * 10 ** -len(plain.partition(".")[2])
        found.append((float(plain) / scale * (-1 if sign in ("−", "-") else 1), half / scale))
    return found


def ends_in(text: str) -> list[float | None]:
    """The last two numbers in a text, the ends of an interval; unknown ones without two."""
    found: list[float | None] = [value for value, _ in numbers(text)]
    return found[-2:] if len(found) > 1 else [None, None]


@pytest.fixture(scope="module")
def comparison() -> PageText:
    """The page of the comparison."""
    return page("comparison")


@pytest.fixture(scope="module")
def evaluation() -> PageText:
    """The page of the evaluation."""
    return page("evaluation")


def test_every_figure_has_a_direction_and_a_title() -> None:
    """The registry knows the figures above, each with its direction and title, and an evaluation measures no others."""
    assert set(made.made_comparison().differences) == FIGURES.keys() | HIDDEN.keys()
    assert REGISTRY.keys() == FIGURES.keys() | HIDDEN.keys()
    directions = {HIGHER: "more", LOWER: "less", NEITHER: None}
    for name, (direction, title) in FIGURES.items():
        found = REGISTRY[name]
        assert (name, found.better, found.title) == (name, directions[direction], title)
    assert {name: REGISTRY[name].title for name in HIDDEN} == HIDDEN
    assert all(REGISTRY[name].better is None for name in HIDDEN)


@pytest.mark.parametrize(
    "ends", [(0.01, 0.07), (-0.07, -0.01), (-0.02, 0.04), (0.0, 0.04), (-0.04, 0.0), (None, None)]
)
def test_a_tone_is_an_interval_on_one_side(ends: tuple[float | None, float | None]) -> None:
    """Only an interval that leaves out 0 is better or worse, by the direction of its figure."""
    for name in FIGURES:
        assert (name, tone_of(name, *ends)) == (name, tone(name, *ends))
    assert tone_of("roc_auc", 0.01, None) == tone_of("roc_auc", None, -0.01) == ""


def test_the_page_of_a_comparison_calls_better_what_is_better(comparison: PageText) -> None:
    """Under each forest stand exactly the figures whose printed intervals are better or worse by the oracle."""
    for title, drawing in (("Finding frauds", 0), ("Errors of the policy", 2)):
        grid = comparison.grid(f"{title}: challenger minus champion")
        expected = {"better": [], "worse": [], "": []}  # type: dict[str, list[str]]
        for row in grid.rows:
            expected[tone(TITLES[row[0]], *ends_in(grid.cell(row[0], "95% interval")))].append(row[0])
        words = [
            f"Clearly {kind}: {', '.join(expected[kind])}." for kind in ("better", "worse") if expected[kind]
        ]
        text = " ".join(words)
        assert expected["better"]
        assert expected["worse"]
        (label,) = (
            one.label
            for one in comparison.drawings
            if one.label.startswith("Differences") and one.title == title
        )
        assert label.endswith(f". {text}"), drawing
        assert any(
            one.startswith(f"{text} Green: the challenger is clearly better; orange")
            for one in comparison.texts
        )


def test_the_page_of_a_comparison_says_the_numbers_of_the_comparison(comparison: PageText) -> None:
    """Each figure has its values, its difference and its ends, in points where it is a share."""
    found = made.made_comparison()
    grid = comparison.grid("All figures")
    assert [TITLES[row[0]] for row in grid.rows] == [one for one in found.differences if one not in HIDDEN]
    for row in grid.rows:
        name = TITLES[row[0]]
        unit = 1.0 if name in PLAIN else 0.01
        change = found.differences[name]
        assert says(row[1], found.champion.figures[name].value), name
        assert says(row[2], found.challenger.figures[name].value), name
        assert says(row[3], change.value, scale=unit), name
        assert says(row[4], change.low, change.high, scale=unit), name
        assert re.match(r"[+−–]", row[3]), name
    counts = [
        [int(n) for cell in row[1:] for n in re.findall(r"\d+", cell)]
        for row in comparison.grid("Flip matrix").rows
    ]
    matrix = found.matrix
    assert counts == [
        [int(n) for there in range(3) for n in (matrix[:, here, there].sum(), matrix[1, here, there])]
        for here in range(3)
    ]


def says(cell: str, *values: float | None, scale: float = 1.0) -> bool:
    """Whether a cell says these numbers in units of `scale`, as far as it is written; a dash says none."""
    written = numbers(cell)
    known = [value for value in values if value is not None]
    return len(written) == len(known) and all(
        abs(number * scale - value) <= half * scale * 1.001
        for (number, half), value in zip(written, known, strict=True)
    )


def test_groups_change_in_the_page_as_in_the_comparison(comparison: PageText) -> None:
    """Each change of a group has its numbers, and its clear ones are named with their direction."""
    (table,) = made.made_comparison().groups
    grid, clear = comparison.grid("Changes by country"), []
    for row, group in zip(grid.rows, table.groups, strict=True):
        assert row[0] == group.value
        for title, cell in zip(grid.heads[1:], row[1:], strict=True):
            change = group.changes[TITLES[title]]
            assert (cell == "no records") == (change.value is None)
            assert ("not enough data" in cell) == (
                change.value is not None and change.simultaneous_low is None
            )
            assert says(cell, change.value, change.simultaneous_low, change.simultaneous_high, scale=0.01)
            if found := tone(TITLES[title], *ends_in(cell)):
                clear.append(f"{row[0]}: {title.lower()} {'more' if found == 'worse' else 'less'} often")
    assert any("more" in one for one in clear)
    assert any("less" in one for one in clear)
    assert any(
        one.startswith(f"Clear changes: {'; '.join(clear)}. Green: clearly fewer errors")
        for one in comparison.texts
    )
    flips = comparison.grid("Records with another outcome, by country")
    for row, group in zip(flips.rows, table.groups, strict=True):
        assert row[1:] == (
            f"{group.records}",
            f"{group.stricter} ({group.stricter_frauds} frauds)",
            f"{group.milder} ({group.milder_frauds} frauds)",
        )


def marks(ax: Axes) -> Iterator[tuple[str, float, str, bool, tuple[float, float]]]:
    """Each row of a forest: name, value, colour, whether it is hollow, ends of its interval."""
    rows = dict(zip(ax.get_yticks(), (label.get_text() for label in ax.get_yticklabels()), strict=True))
    lines = [line for line in ax.lines if np.shape(line.get_xydata()) == (2, 2)][1:]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    for line, dot in zip(lines, dots, strict=True):
        ((x, y),) = np.asarray(dot.get_xydata()).tolist()
        (low, left), (high, right) = np.asarray(line.get_xydata()).tolist()
        assert line.get_color() == dot.get_color()
        assert left == right == y
        yield rows[y], x, to_hex(dot.get_color()), dot.get_markerfacecolor() == "none", (low, high)


def same(number: float, value: float | None) -> bool:
    """Whether a drawn number is a value in hundredths, or both are absent."""
    return math.isnan(number) if value is None else math.isclose(number, 100 * value, abs_tol=1e-9)


def test_a_forest_is_green_where_the_challenger_is_better() -> None:
    """Each mark lies at its value, in the colour of its tone by the oracle; hollow where there is none."""
    found = made.made_comparison()
    ax = found.plot.differences(tuple(FIGURES), ax=Figure().subplots())
    drawn = {row[0]: row for row in marks(ax)}
    known = {name: found.differences[name] for name in FIGURES if found.differences[name].value is not None}
    assert len(drawn) == len(known)
    for name, one in known.items():
        _, value, colour, hollow, ends = drawn[FIGURES[name][1][:34]]
        said = tone(name, one.low, one.high)
        assert (name, colour, hollow) == (name, COLOUR[said], not said)
        assert same(value, one.value)
        assert same(ends[0], one.low)
        assert same(ends[1], one.high)
    assert {row[2] for row in drawn.values()} == set(COLOUR.values())
    assert ax.get_xlabel() == "Challenger minus champion, hundredths"


@pytest.mark.parametrize("rate", made.RATES)
def test_a_change_of_a_group_is_green_where_errors_are_fewer(rate: str) -> None:
    """Marks of groups lie at their values with simultaneous ends, in the colour of the oracle."""
    found = made.made_comparison()
    (table,) = found.groups
    drawn = {row[0]: row for row in marks(found.plot.changes("country", rate, ax=Figure().subplots()))}
    for group in table.groups:
        change = group.changes[rate]
        if change.simultaneous_low is None:
            assert group.value not in drawn
            continue
        _, value, colour, hollow, ends = drawn[group.value]
        said = tone(rate, change.simultaneous_low, change.simultaneous_high)
        assert (group.value, colour, hollow) == (group.value, COLOUR[said], not said)
        assert same(value, change.value)
        assert same(ends[0], change.simultaneous_low)
        assert same(ends[1], change.simultaneous_high)


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
    ("open", "Unknown", "Frauds that pass"),
)
EARLY: Final = (
    ("bad", "Broken: alarm", "Genuine stepped up or failed"),
    ("good", "Kept", "Genuine who fail"),
    ("open", "Undecided", "Genuine stepped up or failed"),
    ("bad", "Broken", "Genuine who fail"),
    ("bad", "Broken: alarm", "Genuine who fail"),
)


def said(found: PageText, under: str) -> tuple[tuple[str, str, str], ...]:
    """Tone, head and title of the cards under a heading."""
    return tuple((one.tone, one.head, one.title) for one in found.cards if one.under.startswith(under))


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


def test_no_pair_is_certified_where_the_records_are_too_few() -> None:
    """The map says so, and shades nothing; with certified pairs it names their ends."""
    evaluation = made.uncertified_evaluation()
    drawing = made_drawing(decisions_section(evaluation).drawings[0])
    assert "certify no pair to keep all promises" in drawing.caption
    assert "certified" not in picture(drawing)
    pairs = (
        (range(5, 5), range(9, 12)),
        (range(5, 9), range(9, 9)),
        (range(5, 9), range(2, 5)),
        (range(5, 9), range(5, 6)),
    )
    assert [has_pair(*pair) for pair in pairs] == [False, False, False, True]


@pytest.mark.parametrize(("least", "scale"), [(0.0, "symlog"), (1.0, "symlog"), (-1.0, "linear")])
def test_a_long_tail_is_drawn_on_a_logarithm(least: float, scale: str) -> None:
    """A few values far above all others would hide them; a logarithm needs values that are not negative."""
    values = np.concatenate([[least], np.full(200, 2.0), [1e4]])
    ax = Figure().subplots()
    found = made.made_evaluation().importance
    assert found is not None
    one = replace(
        found,
        features=found.features[:1],
        values=values[:, np.newaxis],
        contributions=values[:, np.newaxis] / 1e4,
    )
    draw_dependence(ax, one, one.features[0].name)
    assert ax.get_xscale() == scale


def test_a_window_is_drawn_in_the_colour_of_its_drift() -> None:
    """Bars of subjects that drifted are orange, others grey; contributions that make records riskier orange."""
    plots = made.made_monitoring().plot
    drift = bars(plots.drift(ax=Figure().subplots()))
    assert [colour for _, colour in drift] == [GREY, GREY, ORANGE, ORANGE]
    assert bars(plots.contributors(ax=Figure().subplots())) == [(-0.125, BLUE), (0.25, ORANGE)]


def bars(ax: Axes) -> list[tuple[float, str]]:
    """Length and colour of each bar."""
    return [
        (bar.get_width(), to_hex(bar.get_facecolor())) for bar in ax.patches if isinstance(bar, Rectangle)
    ]


def test_a_backtest_has_its_signs_and_crosses() -> None:
    """Differences have the sign of the more frequent cadence minus the other; a cross marks what is broken."""
    backtest = made.made_backtest()
    grid = page("backtest").grid("Differences of cadences")
    for pair, row in zip(backtest.differences, grid.rows, strict=True):
        for name, cell in zip(made.BACKTEST_FIGURES, row[1:], strict=True):
            one, unit = pair.figures[name], 1.0 if name in PLAIN else 0.01
            ends = [end for end in (one.value, one.low, one.high) if end is not None]
            found = [value * unit for value, _ in numbers(cell)]
            assert found == pytest.approx(ends, abs=1e-4), (name, cell)
    (cross,) = (
        line
        for line in backtest.plot.promise("1m", "max_step_up", ax=Figure().subplots()).lines
        if line.get_marker() == "x"
    )
    assert np.asarray(cross.get_ydata()).tolist() == [0.1]
    verdicts = page("backtest").grid("Promises, trained every 1m")
    assert [row[-1] for row in verdicts.rows] == ["kept", "broken", "undecided", "kept"]


def test_an_evaluation_says_the_numbers_of_the_evaluation(evaluation: PageText) -> None:
    """Ranking, losses, months and 10,000 applicants have their numbers; the applicants add up."""
    found = made.made_evaluation()
    for row in evaluation.grid("Ranking, with").rows:
        one = found.figures[TITLES[row[0]]]
        assert says(row[1], one.value), row
        assert says(row[2], one.low, one.high), row
        assert says(row[3], one.records), row
    losses = evaluation.grid("Losses and their parts")
    for name in ("brier", "log_loss"):
        one = found.figures[name]
        assert says(losses.cell("Value", FIGURES[name][1]), one.value)
        assert says(losses.cell("95% interval", FIGURES[name][1]), one.low, one.high)
    for row, (month, measures) in zip(
        evaluation.grid("By calendar month").rows, found.months.items(), strict=True
    ):
        assert row[0].replace("\N{NON-BREAKING HYPHEN}", "-") == month
        assert says(" ".join(row[1:3]), measures.genuine, measures.frauds)
        for cell, error in zip(row[3:6], ERRORS, strict=True):
            share = measures.figures[error]
            assert says(cell, share.value, share.low, share.high)
        assert says(row[6], measures.figures["roc_auc"].value)
    outcomes = evaluation.grid("What happens to 10,000").by_name
    for outcome, name in (("Passed", "passed"), ("Stepped up", "stepped_up"), ("Failed", "failed")):
        for cell, key in zip(outcomes[outcome][1:3], (name, f"{name}_frauds"), strict=True):
            one = found.figures[key]
            values = [10_000 * (end or 0.0) for end in (one.value, one.low, one.high)]
            assert [value for value, _ in numbers(cell)] == pytest.approx(values, abs=1.01)
    assert sum(numbers(row[1])[0][0] for row in outcomes.values()) == 10_000


def test_an_evaluation_says_what_scores_and_promises_are_worth(evaluation: PageText) -> None:
    """The meaning of the score, the calibration by bins, the errors with promises and what is left out."""
    found = made.made_evaluation()
    for row, share in zip(
        evaluation.grid("Meaning of the score").rows, found.score_shares.values(), strict=True
    ):
        assert says(row[2], share.value, share.low, share.high)
        assert says(row[1], 10 ** (-int(row[0]) / 250))
    for row, part in zip(evaluation.grid("Calibration").rows, found.calibration, strict=True):
        assert says(" ".join(row[1:3]), part.observed.records, part.probability)
        assert says(row[3], part.observed.value, part.observed.low, part.observed.high)
    for row, error in zip(evaluation.grid("Errors of the policy").rows, found.stability, strict=True):
        assert says(" ".join(row[1:3]), error.limit, error.share.value, error.share.low, error.share.high)
        assert says(" ".join(row[3:5]), error.share.independent, error.days)
    assert found.coverage is not None
    left_out = evaluation.grid("Records left out")
    assert [row[1] for row in left_out.rows] == [str(n) for n in found.coverage.left_out.values() if n]


def test_groups_differ_in_the_page_as_in_the_evaluation(evaluation: PageText) -> None:
    """Rates, gaps and their ends are the numbers; more often and less often follow the signs of the ends."""
    (table,) = (one for one in made.made_evaluation().groups if one.column == "country")
    rates, gaps = evaluation.grid("Rates by country"), evaluation.grid("Gaps, in percentage points")
    clear = []
    for row, gap, group in zip(rates.rows, gaps.rows, table.groups, strict=True):
        assert row[0] == gap[0] == group.value
        for title, cell, against in zip(gaps.heads[1:], row[3:], gap[1:], strict=True):
            rate = group.rates[TITLES[title]]
            if rate.gap.absence:
                assert against == "not enough data"
                continue
            one = rate.gap
            assert says(cell, rate.estimate.value, rate.estimate.low, rate.estimate.high)
            assert says(against, one.value, one.simultaneous_low, one.simultaneous_high, scale=0.01)
            _, low, high = (value for value, _ in numbers(against))
            if low > 0 or high < 0:
                clear.append(f"{row[0]}: {title.lower()} {'more' if low > 0 else 'less'} often")
    assert any(text.endswith("more often") for text in clear)
    assert any(text.endswith("less often") for text in clear)
    assert any(f"leave out 0): {'; '.join(clear)}." in text for text in evaluation.texts)


WORDS: Final = {
    "kept": "good", "broken": "bad", "undecided": "open", "no promise": "none", "–": "none",
    "drift": "bad", "suspect": "open", "no": "good", "unknown": "open",
}  # fmt: skip
"""Tone of a verdict in words."""


def tone_of_cell(key: str, row: dict[str, str], verdicts: dict[str, str]) -> str:
    """The tone that a cell must have, by what stands in its row, or by the card of its promise."""
    grid, name, column = key.split("/")
    text = row[column]
    if column == "difference" and name in FIGURES:
        return tone(name, *ends_in(row["ends"]))
    if grid.startswith("changes-") or grid in ("differences", "ageing-difference"):
        return tone(column, *ends_in(text)) if column in FIGURES else ""
    if grid == "learning" and column.endswith("_difference"):
        return tone(column.removesuffix("_difference"), *ends_in(text))
    if grid.startswith("cadences-") and column == "difference":
        names = {re.sub("[._]", "-", one): one for one in FIGURES}
        return tone(names[grid.removeprefix("cadences-")], *ends_in(text))
    if (grid, column) == ("errors", "observed"):
        return verdicts[name]
    if grid == "both-promises" and column != "error":
        return WORDS[text.partition(":")[0].lower()]
    return WORDS[text] if column in ("verdict", "drift") else ""


@pytest.mark.parametrize("name", REPORTS)
def test_each_cell_says_in_html_what_it_says_in_markdown(name: str) -> None:
    """A cell has its key, which no other has, the text of the Markdown, and the tone of the oracle as its class."""
    shown, plain = page(name), markdown_grids(markdown(report(name)))
    full = [grid for grid in shown.grids if grid.keys]
    promises = {title: tone for tone, _, title in said(shown, "Promises")}
    verdicts = {error: promises.get(FIGURES[error][1], "") for error in ERRORS}
    seen: set[str] = set()
    for grid, text in zip(full, plain, strict=True):
        assert (grid.caption, grid.heads) == (bare(text.caption), tuple(map(bare, text.heads)))
        for cells, keys, tones, written in zip(grid.rows, grid.keys, grid.tones, text.rows, strict=True):
            assert cells == tuple(map(bare, written))
            row = {key.split("/")[2]: cell for key, cell in zip(keys, cells, strict=True)}
            assert len(row) == len(cells)
            for key, found in zip(keys, tones, strict=True):
                assert key not in seen
                seen.add(key)
                assert (key, found) == (key, tone_of_cell(key, row, verdicts))
    assert len(seen) > 10


def bare(text: str) -> str:
    """The words of Markdown without its escapes."""
    return " ".join(unescape(re.sub(r"\\(.)", r"\1", text)).split())


def test_a_tone_has_its_colour_and_mark() -> None:
    """Good is green with a tick, bad orange with a cross, open neither of both with a question mark."""
    html = page_html("evaluation-empty")
    colours = dict(re.findall(r"\.card\.(\w+) \{ border-color: var\(--(\w+)\)", html))
    heads = dict(re.findall(r"\.card\.(\w+) h3 \{ color: var\(--(\w+)\)", html))
    signs = dict(re.findall(r'\.card\.(\w+) \.mark::before \{ content: "(.)"', html))
    assert colours == heads == {"good": "accent", "bad": "fraud", "open": "open"}
    assert signs == {"good": "✓", "bad": "✗", "open": "?"}
    light = dict(re.findall(r"--(\w+): (#\w+);", html.partition("@media")[0]))
    assert (light["accent"], light["fraud"]) == (GREEN, ORANGE)
    for name, order in (("accent", "gbr"), ("fraud", "rgb"), ("genuine", "bgr"), ("open", "rgb")):
        red, green, blue = (int(light[name][place : place + 2], 16) for place in (1, 3, 5))
        strength = {"r": red, "g": green, "b": blue}
        assert "".join(sorted(strength, key=lambda one: -strength[one])) == order, name
