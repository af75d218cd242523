"""Each cell of a page has the text, the tone and the colour that `tone_oracle` and the words here ask for."""

import re
from typing import Final

import pytest

from made_pages import REPORTS, page, page_html, report
from page_text import bare, markdown_grids, said
from scoring_model.evaluation.report.markdown import markdown
from tone_oracle import ERRORS, FIGURES, GREEN, ORANGE, ends_in, tone

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
        return tone(name, *ends_in(row.get("possible", row["ends"])))
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


@pytest.mark.parametrize("name", REPORTS)
def test_each_figure_leads_to_what_it_says(name: str) -> None:
    """The names of figures at rows are links to their row of the glossary; no link leads nowhere."""
    html = page_html(name)
    body, _, glossary = html.partition('id="glossary-title"')
    explained = dict(re.findall(r'id="figure-([\w.]+)">([^<]*)</th>', glossary))
    assert set(explained) == set(re.findall(r'<a href="#figure-([\w.]+)">', body))
    assert "#figure-" not in glossary
    titles = {key: FIGURES[key][1] for key in explained.keys() & FIGURES.keys()}
    assert titles == {key: explained[key] for key in titles}
    firsts = [keys[0] for grid in page(name).grids for keys in grid.keys]
    named = [(key, *key.split("/")[:2]) for key in firsts]
    unlinked = [
        key
        for key, grid, row in named
        if row in FIGURES and grid != "glossary" and f'data-key="{key}"><a href="#figure-{row}">' not in html
    ]
    assert unlinked == []
