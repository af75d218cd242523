"""The glossary of a report: what each figure in it says, so that the page explains itself wherever it is opened."""

from dataclasses import replace
from typing import Final

from scoring_model.evaluation.report.section import Cell, Grid, Report, Section
from scoring_model.figures import MEASURED, Figure

NAME: Final = "glossary"


def with_glossary(report: Report) -> Report:
    """Add the figures that rows and columns of a report's grids name by their keys, in the order of the registry."""
    if report.sections and report.sections[-1].name == NAME:
        return report
    grids = [grid for section in (*report.first, *report.sections) for grid in section.grids]
    cells = [cell for grid in grids for row in grid.rows for cell in row]
    named = {figure_named(cell.key, part) for cell in cells for part in (1, 2)}
    shown = [figure for key, figure in MEASURED.items() if key in named]
    return replace(report, sections=(*report.sections, _section(shown))) if shown else report


def figure_named(key: str, part: int) -> str:
    """Return the figure that the row (part 1) or column (part 2) of a cell's key names, or an empty text."""
    name = key.split("/")[part].removesuffix("_difference")
    return name if name in MEASURED else ""


def _section(figures: list[Figure]) -> Section:
    rows = ((Cell(text=one.title, key=one.key), one.sentence, one.reading) for one in figures)
    heads = {"figure": "Figure", "sentence": "What it says", "reading": "How to read it"}
    grid = Grid.of(NAME, "The figures of this report", heads, rows)
    return Section(name=NAME, title="What the figures say", grids=(grid,))
