"""What the page of a comparison calls better and worse, against what is said by hand in `tone_oracle`."""

import re

import pytest

import made_results as made
from page_text import PageText
from scoring_model.estimates import Estimate
from scoring_model.evaluation.report.words import tone_of
from scoring_model.figures import FIGURES as REGISTRY
from tone_oracle import FIGURES, HIDDEN, HIGHER, LOWER, NEITHER, PLAIN, TITLES, ends_in, says, tone


def test_every_figure_has_a_direction_and_a_title() -> None:
    """The registry knows the figures above, each with its direction and title, and an evaluation measures no others."""
    assert set(made.made_comparison().differences) == FIGURES.keys() | HIDDEN.keys()
    assert REGISTRY.keys() == FIGURES.keys() | HIDDEN.keys()
    directions = {HIGHER: "more", LOWER: "less", NEITHER: None}
    for name, (direction, title) in (FIGURES | HIDDEN).items():
        found = REGISTRY[name]
        assert (name, found.better, found.title) == (name, directions[direction], title)


@pytest.mark.parametrize(
    "ends", [(0.01, 0.07), (-0.07, -0.01), (-0.02, 0.04), (0.0, 0.04), (-0.04, 0.0), (None, None)]
)
def test_a_tone_is_an_interval_on_one_side(ends: tuple[float | None, float | None]) -> None:
    """Only an interval that leaves out 0 is better or worse, by the direction of its figure."""
    for name in FIGURES:
        assert (name, tone_of(name, _difference(*ends))) == (name, tone(name, *ends))
    assert tone_of("roc_auc", _difference(0.01, None)) == tone_of("roc_auc", _difference(None, -0.01)) == ""


def _difference(low: float | None, high: float | None) -> Estimate:
    return Estimate(value=0.0, low=low, high=high, records=9)


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
