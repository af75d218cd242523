"""A report as one HTML file without scripts, fonts or other files.

Decision record: docs/adr/0022-reports.md.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.escaping import singular
from scoring_model.evaluation.report.section import Drawing, Report, made, texts_of
from scoring_model.evaluation.report.sections.glossary import NAME, figure_named, with_glossary
from scoring_model.evaluation.report.style import (
    DARK,
    LIGHT,
    figure_of,
    new_axes,
    require_libraries,
    styled,
    to_svg,
)
from scoring_model.records.atomic import atomic_file

if TYPE_CHECKING:
    from jinja2 import Environment


def write_html(report: Report, path: str | Path) -> None:
    """Write a page, whole or not at all; it may name values of categories, so only its owner can read it.

    Raises
    ------
    MissingExtra
        Without matplotlib or Jinja2, which the extra ``[train]`` brings.
    """
    text = html(report)
    with atomic_file(Path(path), private=True) as partial:
        partial.write_text(text, encoding="utf-8")


def html(report: Report) -> str:
    """Render a report and what its figures say; equal reports give equal text.

    Raises
    ------
    MissingExtra
    """
    require_libraries()
    environment = _environment()
    css = environment.get_template("report.css").render(light=_variables(LIGHT), dark=_variables(DARK))
    return environment.get_template("page.html.j2").render(report=with_glossary(report), css=css)


@cache
def _environment() -> "Environment":
    """Compiles each template once in a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scoring_model.evaluation.report"),
        autoescape=True,
        finalize=_said,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"figure_named": figure_named, "made": made, "picture": picture, "texts": texts_of}
    environment.globals["GLOSSARY"] = NAME
    return environment


def _said(value: object) -> object:
    """Make a sentence one about 1; what is escaped already, such as a value of a user, stays."""
    return singular(value) if type(value) is str else value


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def picture(drawing: Drawing) -> str:
    """Draw a picture in the style of the report, as SVG; nothing where its numbers are missing."""
    if drawing.draw is None:
        return ""
    with styled():
        axes = new_axes(height=drawing.height, rows=drawing.rows, columns=drawing.columns)
        drawing.draw(*axes)
        return to_svg(figure_of(axes[0]), name=drawing.name, label=drawing.alt)
