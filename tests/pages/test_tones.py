"""What is better, what is worse and what nobody can know: said by hand here, and compared with every page and drawing.

Nothing in this file reads the registry of figures, a page's table of words or a plot's table of colours, except to
compare it with what stands here.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import made_results as made
from made_pages import PAGES, page
from page_text import Grid, PageText, markdown_grids
from scoring_model.evaluation import comparison_summary, summary
from scoring_model.evaluation.report.comparison_plot import tone_of
from scoring_model.evaluation.report.plots.importance import draw_dependence
from scoring_model.evaluation.report.plots.thresholds import has_pair
from scoring_model.evaluation.report.sections.decisions import decisions_section
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

HIDDEN: Final = {"genuine_failed", "fraud_passed", "fraud_share"}
"""Second names of `false_reject` and `missed_fraud`, and what no model changes: no page shows or judges them."""

PLAIN: Final = {"roc_auc", "average_precision", "ks", "brier", "log_loss", "cost"}
"""Written as numbers; all others are shares, whose differences are percentage points."""

TITLES: Final = {title: name for name, (_, title) in FIGURES.items()}
ERRORS: Final = ("false_reject", "step_up", "missed_fraud")
GREEN, ORANGE, GREY = "#12766a", "#b94a04", "#59636f"
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


def agree(one: str, other: str, *, scale: float = 1.0) -> bool:
    """Whether two texts say the same numbers, the first in units of `scale`, each as far as it is written."""
    pairs = numbers(one), numbers(other)
    return len(pairs[0]) == len(pairs[1]) > 0 and all(
        abs(a * scale - b) <= (half * scale + rest) * 1.001
        for (a, half), (b, rest) in zip(*pairs, strict=True)
    )


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
    assert set(made.made_comparison().differences) == FIGURES.keys() | HIDDEN
    assert REGISTRY.keys() == FIGURES.keys() | HIDDEN
    directions = {HIGHER: "more", LOWER: "less", NEITHER: None}
    for name, (direction, title) in FIGURES.items():
        found = REGISTRY[name]
        assert (name, found.better, found.title) == (name, directions[direction], title)
    assert {REGISTRY[name].title for name in HIDDEN} == {
        "Genuine who fail",
        "Frauds that pass",
        "Share of frauds",
    }
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


def test_the_page_of_a_comparison_says_the_numbers_of_its_markdown(comparison: PageText) -> None:
    """Each figure has the same values, difference and ends in HTML and in Markdown, in points where it is a share."""
    plain = next(
        one for one in markdown_grids(comparison_summary(made.made_comparison())) if one.under == "Figures"
    )
    grid = comparison.grid("All figures")
    assert [TITLES[row[0]] for row in grid.rows] == [row[0] for row in plain.rows if row[0] not in HIDDEN]
    for row in grid.rows:
        name = TITLES[row[0]]
        said = plain.by_name[name]
        assert agree(row[1], said[1]), name
        assert agree(row[2], said[2]), name
        unit = 1.0 if name in PLAIN else 0.01
        for cell, other in zip(row[3:5], said[3:], strict=True):
            assert (cell == other == "–") or agree(cell, other, scale=unit), (name, cell, other)
        assert re.match(r"[+−–]", row[3]), name
    same = markdown_grids(comparison_summary(made.made_comparison()))
    matrix = next(one for one in same if one.heads[0] == "Champion" and one.under == "Flips")
    for one, two in zip(comparison.grid("Flip matrix").rows, matrix.rows, strict=True):
        assert one[1:] == two[1:]


def test_groups_change_in_the_page_as_in_markdown(comparison: PageText) -> None:
    """Each change of a group has one text of numbers in both, and its clear ones are named with their direction."""
    plain = next(
        one for one in markdown_grids(comparison_summary(made.made_comparison())) if one.under == "By country"
    )
    grid, clear = comparison.grid("Changes by country"), []
    for row, said in zip(grid.rows, plain.rows, strict=True):
        assert row[0] == said[0]
        for title, cell, other in zip(grid.heads[1:], row[1:], said[4:], strict=True):
            if cell == "no records":
                assert other == "–"
                continue
            assert agree(cell, other)
            assert ("not enough data" in cell) == ("not enough data" in other)
            if found := tone(TITLES[title], *ends_in(cell)):
                clear.append(f"{row[0]}: {title.lower()} {'more' if found == 'worse' else 'less'} often")
    assert any("more" in one for one in clear)
    assert any("less" in one for one in clear)
    assert any(
        one.startswith(f"Clear changes: {'; '.join(clear)}. Green: clearly fewer errors")
        for one in comparison.texts
    )
    flips = comparison.grid("Records with another outcome, by country")
    assert [row[1:] for row in flips.rows] == [row[1:4] for row in plain.rows]


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
    ("good", "Rests on like data", "Genuine who fail"),
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
    assert [text.partition("days. ")[2] for text in reasons] == [
        "The whole interval lies at or below the limit.",
        "The whole interval lies above the limit.",
        "The interval contains the limit.",
    ]
    bare = page("evaluation-bare")
    assert said(bare, "Promises") == (
        ("none", "No promise", "Genuine who fail"),
        ("open", "Undecided", "Genuine stepped up or failed"),
        ("none", "No promise", "Frauds that pass"),
    )
    assert bare.cards[1].texts[-1].endswith("Too few days for a verdict.")
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
            if interval.low is not None and interval.high is not None and value is not None:
                assert interval.low < direction * value < interval.high
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
    drift = replace(made.DRIFT, subjects=subjects, limit=None if drifted is None else 4.2)
    policy = made.rules(dict.fromkeys(PROMISED, 0.5)).policy
    found = list(promise_bases(policy, drift, frozenset({"email_age", "ip"})))
    assert [(one.bound, one.limit, one.rests) for one in found] == [
        (bound, 0.5, rest) for bound, rest in zip(PROMISED, rests, strict=True)
    ]
    for one, words in zip(found, said, strict=True):
        assert words in one.reason


def test_no_pair_is_certified_where_the_records_are_too_few() -> None:
    """The map says so, and shades nothing; with certified pairs it names their ends."""
    evaluation = made.uncertified_evaluation()
    (figure, _) = decisions_section(evaluation, evaluation.plot).figures
    assert "certify no pair to keep all promises" in figure.caption
    assert "certified" not in str(figure.svg)
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
    draw_dependence(ax, name="email_age", unit="days", values=values, contributions=values / 1e4)
    assert ax.get_xscale() == scale


def test_a_window_is_drawn_in_the_colour_of_its_drift() -> None:
    """Bars of subjects that drifted are orange, others grey; contributions that make records riskier orange."""
    plots = made.made_monitoring().plot
    drift = bars(plots.drift(ax=Figure().subplots()))
    assert [colour for _, colour in drift] == [GREY, GREY, ORANGE, ORANGE]
    assert bars(plots.contributors(ax=Figure().subplots())) == [(-0.125, "#0a66a6"), (0.25, ORANGE)]


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


def test_an_evaluation_says_the_numbers_of_its_markdown(evaluation: PageText) -> None:
    """Ranking, losses, months, outcomes and coverage have the same numbers in HTML and in Markdown."""
    plain = {grid.under: grid for grid in markdown_grids(summary(made.made_evaluation()))}
    ranking = plain["Ranking and probability"]
    shown = {row[0]: row for row in evaluation.grid("Ranking, with").rows}
    losses = evaluation.grid("Losses and their parts")
    for title, value, ends in ranking.rows:
        row = shown.get(title)
        if row is not None:
            assert agree(row[1], value)
            assert agree(row[2], ends)
        elif title in losses.heads:
            assert agree(losses.cell("Value", title), value)
            assert agree(losses.cell("95% interval", title), ends)
    assert sum(title in losses.heads for title in ranking.by_name) == 2
    _same_rows(evaluation.grid("By calendar month"), plain["By month"])
    outcomes = evaluation.grid("What happens to 10,000").by_name
    found = made.made_evaluation()
    for outcome, name in (("Passed", "passed"), ("Stepped up", "stepped_up"), ("Failed", "failed")):
        for cell, key in zip(outcomes[outcome][1:3], (name, f"{name}_frauds"), strict=True):
            one = found.figures[key]
            values = [10_000 * (end or 0.0) for end in (one.value, one.low, one.high)]
            assert [value for value, _ in numbers(cell)] == pytest.approx(values, abs=0.51)
    left_out = evaluation.grid("Records left out")
    assert [row[1] for row in left_out.rows] == [row[1] for row in plain["Records"].rows]


def _same_rows(one: Grid, other: Grid) -> None:
    assert len(one.rows) == len(other.rows)
    for row, said in zip(one.rows, other.rows, strict=True):
        assert row[0].replace("\N{NON-BREAKING HYPHEN}", "-") == said[0]
        for cell, text in zip(row[1:], said[1:], strict=True):
            assert agree(cell, text)


def test_groups_differ_in_the_page_as_in_markdown(evaluation: PageText) -> None:
    """Rates, gaps and their ends are the same numbers; more often and less often follow the signs of the ends."""
    plain = next(one for one in markdown_grids(summary(made.made_evaluation())) if one.under == "By country")
    rates, gaps = evaluation.grid("Rates by country"), evaluation.grid("Gaps, in percentage points")
    clear = []
    for row, gap, texts in zip(rates.rows, gaps.rows, plain.rows, strict=True):
        assert row[0] == gap[0] == texts[0]
        for title, cell, against, text in zip(gaps.heads[1:], row[3:], gap[1:], texts[3:], strict=True):
            if "not enough" in text or text == "–":
                assert against == "not enough data"
                continue
            assert agree(cell.partition(" ")[0], text.partition(" ")[0])
            assert agree(against, text.partition("(")[2])
            _, low, high = (value for value, _ in numbers(against))
            if low > 0 or high < 0:
                clear.append(f"{row[0]}: {title.lower()} {'more' if low > 0 else 'less'} often")
    assert any(text.endswith("more often") for text in clear)
    assert any(text.endswith("less often") for text in clear)
    assert any(f"leave out 0): {'; '.join(clear)}." in text for text in evaluation.texts)


def test_a_tone_has_its_colour_and_mark() -> None:
    """Good is green with a tick, bad orange with a cross, open neither of both with a question mark."""
    html = PAGES["evaluation-empty"]()
    colours = dict(re.findall(r"\.card\.(\w+) \{ border-color: var\(--(\w+)\)", html))
    heads = dict(re.findall(r"\.card\.(\w+) h3 \{ color: var\(--(\w+)\)", html))
    signs = dict(re.findall(r'\.card\.(\w+) \.mark::before \{ content: "(.)"', html))
    assert colours == heads == {"good": "accent", "bad": "fraud", "open": "open"}
    assert signs == {"good": "✓", "bad": "✗", "open": "?"}
    light = dict(re.findall(r"--(\w+): (#\w+);", html.partition("@media")[0]))
    assert (light["accent"], light["fraud"], light["open"]) == (GREEN, ORANGE, "#8a6100")
