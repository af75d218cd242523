"""The page of a report: one HTML file without scripts, fonts or other files.

Decision record: docs/adr/0022-reports.md.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.evaluation.report.cards import promise_cards, promises_note
from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.first_screen import applicant_texts, left_out_texts
from scoring_model.evaluation.report.plot import Plots
from scoring_model.evaluation.report.scales import day, percent
from scoring_model.evaluation.report.sections.decisions import decisions_section
from scoring_model.evaluation.report.sections.findings import findings_section, limiting
from scoring_model.evaluation.report.sections.groups import groups_sections
from scoring_model.evaluation.report.sections.importance import importance_section
from scoring_model.evaluation.report.sections.over_time import time_section
from scoring_model.evaluation.report.sections.probabilities import probabilities_section
from scoring_model.evaluation.report.sections.ranking import ranking_section
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.report.style import DARK, LIGHT
from scoring_model.evaluation.result import EvaluationResult, Provenance
from scoring_model.findings import Code
from scoring_model.records import rfc3339
from scoring_model.records.atomic import atomic_file

if TYPE_CHECKING:
    from jinja2 import Environment


def write_report(evaluation: EvaluationResult, path: str | Path, *, further: Sequence[Section] = ()) -> None:
    """Write the report of an evaluation as one HTML file, whole or not at all.

    Parameters
    ----------
    further : sequence of Section
        Parts before the provenance, such as the split of a training.

    Raises
    ------
    MissingExtra
        Without matplotlib or Jinja2, which the extra ``[train]`` brings.
    """
    write_page(render_report(evaluation, further=further), path)


def write_page(html: str, path: str | Path) -> None:
    """Write a page, whole or not at all; it may name values of categories, so only its owner can read it."""
    with atomic_file(Path(path), private=True) as partial:
        partial.write_text(html, encoding="utf-8")


def render_report(evaluation: EvaluationResult, *, further: Sequence[Section] = ()) -> str:
    """Return the report of an evaluation as HTML; equal evaluations give equal text."""
    plots = Plots(evaluation)
    sections = [
        decisions_section(evaluation, plots),
        ranking_section(evaluation, plots),
        probabilities_section(evaluation, plots),
        time_section(evaluation, plots),
        *groups_sections(evaluation, plots),
        importance_section(evaluation, plots),
        findings_section(evaluation.findings),
        *(further or [_training_elsewhere(evaluation.provenance)]),
        _provenance(evaluation.provenance),
    ]
    return render_page(
        "evaluation.html.j2",
        kicker="Evaluation report",
        title=f"{_name(evaluation)}: evaluation",
        name=_name(evaluation),
        basis=_basis(evaluation),
        applicants=applicant_texts(evaluation),
        promises=promise_cards(evaluation.stability),
        promises_note=promises_note(evaluation),
        left_out=left_out_texts(
            evaluation.coverage,
            split=any(part.name == "split" for part in further),
            warnings=limiting(evaluation.findings, Code.MIXED_MATURITY),
        ),
        sections=sections,
    )


def render_page(template: str, **values: object) -> str:
    """Render a page from its own template, with the style of all."""
    environment = _environment()
    css = environment.get_template("report.css").render(light=_variables(LIGHT), dark=_variables(DARK))
    return environment.get_template(template).render(css=css, **values)


@cache
def _environment() -> "Environment":
    """Compiles each template once in a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scoring_model.evaluation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = percent
    return environment


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def _name(evaluation: EvaluationResult) -> str:
    return "Evaluation" if evaluation.provenance is None else evaluation.provenance.name


def _basis(evaluation: EvaluationResult) -> str:
    """Say which model decided on which records, and what limits the figures."""
    overall, provenance = evaluation.overall, evaluation.provenance
    limits = limiting(evaluation.findings, Code.TRAINING_PERIOD, Code.TRAINING_RECORDS)
    records = f"{overall.records:,} records, {overall.genuine:,} genuine and {overall.frauds:,} frauds"
    if provenance is None:
        return " ".join((f"{records}, on {evaluation.days:,} days.", *limits))
    model = f"Model {provenance.model_version}, policy {provenance.policy_version}."
    period = f"from {day(provenance.since)} to {day(provenance.until)}."
    return " ".join((f"{model} {records}, {period}", *limits, *provenance.notes))


def _training_elsewhere(provenance: Provenance | None) -> Section:
    """Say where the split of the training is."""
    text = (
        "This is not the report of a training. Data and split of the training are in its own report and in the card "
        "of the bundle, which “scoring-model inspect” shows."
        if provenance is not None
        else "The evaluation was made from arrays, without a training."
    )
    return Section(name="training", title="Data and split", texts=(text,))


def _provenance(found: Provenance | None) -> Section:
    name, title = "provenance", "Provenance"
    if found is None:
        text = "The evaluation was made from arrays, which name neither files nor a bundle."
        return Section(name=name, title=title, texts=(text,))
    decided = "earlier, and read from the scored file" if found.scored_earlier else "by this evaluation"
    rows = (
        ("Use", found.name),
        ("Model version", found.model_version),
        ("Policy version", found.policy_version),
        ("Files", ", ".join(found.files) or "none: records were passed as a frame"),
        ("First event", rfc3339(found.since)),
        ("Last event", rfc3339(found.until)),
        ("Decisions were made", decided),
    )
    table = Table(caption="Where the numbers come from", heads=("What", "Value"), rows=rows)
    return Section(name=name, title=title, texts=found.notes, tables=(table,))
