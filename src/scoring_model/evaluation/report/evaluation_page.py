"""The report of an evaluation."""

from collections.abc import Sequence

from scoring_model.evaluation.report.first_screen import (
    applicants_section,
    left_out_section,
    promises_section,
)
from scoring_model.evaluation.report.markdown import markdown
from scoring_model.evaluation.report.section import Grid, Report, Section
from scoring_model.evaluation.report.sections.decisions import decisions_section
from scoring_model.evaluation.report.sections.findings import findings_section, limiting
from scoring_model.evaluation.report.sections.groups import groups_sections
from scoring_model.evaluation.report.sections.importance import importance_section
from scoring_model.evaluation.report.sections.over_time import time_section
from scoring_model.evaluation.report.sections.probabilities import probabilities_section
from scoring_model.evaluation.report.sections.ranking import ranking_section
from scoring_model.evaluation.report.words import capital, day
from scoring_model.evaluation.result import EvaluationResult, Provenance
from scoring_model.findings import Code
from scoring_model.records import rfc3339


def summary(evaluation: EvaluationResult, *, further: Sequence[Section] = ()) -> str:
    """Describe an evaluation in Markdown: its report without importance and without the numbers of curves."""
    return markdown(evaluation_report(evaluation, further=further, brief=True), drawings=False)


def evaluation_report(
    evaluation: EvaluationResult, *, further: Sequence[Section] = (), brief: bool = False
) -> Report:
    """Describe an evaluation.

    Parameters
    ----------
    further : sequence of Section
        Parts before the provenance, such as the split of a training.
    brief : bool
        Whether to leave out what the model looks at, which takes seconds, and where the records come from.
    """
    provenance = evaluation.provenance
    name = "Evaluation" if provenance is None else provenance.name
    has_split = any(part.name == "split" for part in further)
    sections = [
        decisions_section(evaluation),
        ranking_section(evaluation),
        probabilities_section(evaluation),
        time_section(evaluation),
        *groups_sections(evaluation),
        *([] if brief else [importance_section(evaluation)]),
        findings_section(evaluation.findings),
    ]
    sections += further
    if not brief:
        sections += [*([] if further else [_training_elsewhere(provenance)]), provenance_section(provenance)]
    return Report(
        kicker="Evaluation report",
        title=f"{name}: evaluation",
        name=name,
        basis=_basis(evaluation),
        first=(
            applicants_section(evaluation),
            promises_section(evaluation),
            left_out_section(evaluation.coverage, split=has_split),
        ),
        sections=tuple(sections),
    )


def _basis(evaluation: EvaluationResult) -> str:
    """Say which model decided on which records, and what limits the figures."""
    overall, provenance = evaluation.overall, evaluation.provenance
    limits = limiting(evaluation.findings, Code.TRAINING_PERIOD, Code.TRAINING_RECORDS, Code.MIXED_MATURITY)
    records = f"{overall.records:,} records, {overall.genuine:,} genuine and {overall.frauds:,} frauds"
    notes = evaluation.population if provenance is None else provenance.notes
    ended = (f"{capital(note.removesuffix('.'))}." for note in notes)
    if provenance is None:
        return " ".join((f"{records}, on {evaluation.days:,} days.", *limits, *ended))
    model = f"Model {provenance.model_version}, policy {provenance.policy_version}."
    period = f"from {day(provenance.since)} to {day(provenance.until)} (UTC)."
    return " ".join((f"{model} {records}, {period}", *limits, *ended))


def _training_elsewhere(provenance: Provenance | None) -> Section:
    """Say where the split of the training is."""
    text = (
        "This is not the report of a training. Data and split of the training are in its own report and in the card "
        "of the bundle, which “scoring-model inspect” shows."
        if provenance is not None
        else "The evaluation was made from arrays, without a training."
    )
    return Section(name="training", title="Data and split", texts=(text,))


def provenance_section(provenance: Provenance | None) -> Section:
    """Say where the numbers come from."""
    name, title = "provenance", "Provenance"
    if provenance is None:
        text = "The evaluation was made from arrays, which name neither files nor a bundle."
        return Section(name=name, title=title, texts=(text,))
    decided = "earlier, and read from the scored file" if provenance.scored_earlier else "by this command"
    rows = (
        ("Use", provenance.name),
        ("Model version", provenance.model_version),
        ("Policy version", provenance.policy_version),
        ("Files", ", ".join(provenance.files) or "none: records were passed as a frame"),
        ("First event", rfc3339(provenance.since)),
        ("Last event", rfc3339(provenance.until)),
        ("Decisions were made", decided),
    )
    grid = origin_grid(rows)
    return Section(name=name, title=title, texts=provenance.notes, grids=(grid,))


def origin_grid(rows: Sequence[tuple[str, str]]) -> Grid:
    """List where the numbers of a report come from."""
    return Grid.of("origin", "Where the numbers come from", {"what": "What", "value": "Value"}, rows)
