"""Drawings lie at their values, in the colour of their tone."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Annotation

import made_results as made
from made_pages import page
from scoring_model.evaluation.report.html import picture
from scoring_model.evaluation.report.plots.importance import draw_dependence
from scoring_model.evaluation.report.plots.thresholds import draw_threshold_map, has_pair
from scoring_model.evaluation.report.section import made as made_drawing
from scoring_model.evaluation.report.sections.decisions import decisions_section
from tone_oracle import BLUE, COLOUR, FIGURES, GREY, ORANGE, PLAIN, numbers, tone


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


def test_costs_are_drawn_as_rises_of_the_lowest() -> None:
    """Lines lie at what each costs more; nothing rises from a lowest cost of 0."""
    pairs = made.made_evaluation().curves.thresholds
    assert pairs.cost is not None
    for cost, lines in ((pairs.cost, True), (pairs.cost - np.nanmin(pairs.cost), False)):
        ax = Figure().subplots()
        draw_threshold_map(ax, replace(pairs, cost=cost), None)
        assert any(text.get_text().startswith("+") for text in ax.texts) is lines


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


def label(ax: Axes, word: str) -> Annotation:
    """The label that begins with a word."""
    return next(one for one in ax.texts if isinstance(one, Annotation) and one.get_text().startswith(word))


def test_labels_stand_where_there_is_room() -> None:
    """The chosen pair in the right half is named to its left, frauds end at the right, above their last bin."""
    plot = made.made_evaluation().plot
    chosen = label(plot.threshold_map(Figure().subplots()), "chosen")
    assert (chosen.xy, chosen.get_horizontalalignment(), chosen.xyann[0] < 0) == ((563, 700), "right", True)
    ax = plot.score_distribution(Figure().subplots())
    frauds = label(ax, "frauds")
    *_, last = (
        one for one in ax.patches if isinstance(one, StepPatch) and to_hex(one.get_edgecolor()) == ORANGE
    )
    heights, edges, _ = last.get_data()
    assert frauds.xy == (edges[-1], heights[-1])
    assert frauds.get_horizontalalignment() == "right"
