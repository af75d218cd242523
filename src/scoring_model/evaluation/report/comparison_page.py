"""The report of a comparison: two models on the same records."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.flips import FRAUD
from scoring_model.estimates import Estimate
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.draws import MIN_BLOCKS
from scoring_model.evaluation.flips import daily_changes
from scoring_model.evaluation.gates import GateReport, GateVerdict
from scoring_model.evaluation.report.first_screen import left_out_section, promise_cards, unknown_section
from scoring_model.evaluation.report.gate_section import gates_section
from scoring_model.evaluation.report.markdown import markdown
from scoring_model.evaluation.report.section import Cell, Grid, Report, Row, Section, Text
from scoring_model.evaluation.report.sections.changes import changes_sections
from scoring_model.evaluation.report.sections.differences import differences_section
from scoring_model.evaluation.report.sections.findings import findings_section, limiting
from scoring_model.evaluation.report.sections.flips import flips_section, matrix_grid
from scoring_model.evaluation.report.sections.models import models_section
from scoring_model.evaluation.report.words import (
    OUTCOME_TITLES,
    adding_up,
    capital,
    count_text,
    day,
    estimate_text,
    range_text,
    shared_counts,
    signed_count,
    tone_of,
)
from scoring_model.evaluation.result import APPLICANTS
from scoring_model.figures import ERRORS, FIGURES, RANKING
from scoring_model.findings import Code

_UNKNOWN: Final = (
    "The labels arose under the decisions of whichever model, or none, was deciding then. How applicants would act "
    "whom only the challenger steps up or fails, and which frauds it would deter, is not known."
)


def comparison_summary(comparison: ComparisonResult, *, gates: GateReport | None = None) -> str:
    """Describe a comparison in Markdown: its report without the numbers of curves."""
    return markdown(comparison_report(comparison, gates=gates), drawings=False)


def comparison_report(comparison: ComparisonResult, *, gates: GateReport | None = None) -> Report:
    """Describe a comparison, and what the gates decide about it."""
    name = "Two models" if not comparison.bundles else comparison.bundles[0].name
    return Report(
        kicker="Comparison of two models",
        title=f"{name}: comparison",
        name=f"{name}: champion and challenger",
        basis=_basis(comparison),
        first=(
            _changes(comparison, gates),
            gates_section(gates),
            Section(
                name="judged-promises",
                title="Promises of the challenger",
                cards=promise_cards(comparison.challenger.stability),
            ),
            unknown_section(_unknown(comparison)),
            left_out_section(comparison.challenger.coverage),
        ),
        sections=(
            differences_section(comparison),
            flips_section(comparison),
            *changes_sections(comparison),
            findings_section(comparison.findings),
            models_section(comparison),
        ),
    )


def _basis(comparison: ComparisonResult) -> str:
    """Say which records the figures rest on."""
    overall, provenance = comparison.champion.overall, comparison.champion.provenance
    counted = (
        f"{overall.records:,} records, {overall.genuine:,} genuine and {overall.frauds:,} frauds, "
        f"on {comparison.days:,} days"
    )
    limits = limiting(comparison.findings, Code.MIXED_MATURITY)
    if provenance is None:
        return " ".join((f"{counted}.", *limits))
    files = [f"Files: {', '.join(provenance.files)}."] if provenance.files else []
    period = f"{counted}, from {day(provenance.since)} to {day(provenance.until)} (UTC)."
    # Of those who were stopped "What changes" says more.
    notes = provenance.notes if comparison.released is None else ()
    return " ".join((period, *files, *limits, *(f"{capital(note.removesuffix('.'))}." for note in notes)))


def headline(comparison: ComparisonResult, gates: GateReport | None) -> str:
    """Say in one sentence whether the challenger is better, or what is missing to know."""
    if comparison.days < MIN_BLOCKS:
        missing = MIN_BLOCKS - comparison.days
        return (
            f"Can’t know yet: intervals need {MIN_BLOCKS} days with records, {missing} more than there are."
        )
    if gates is not None:
        return _by_gates(comparison, gates)
    tones = {name: tone_of(name, comparison.judged[name]) for name in (*RANKING, *ERRORS)}
    worse, better = ([name for name in tones if tones[name] == tone] for tone in ("worse", "better"))
    if worse:
        return f"Not better: clearly worse in {_named(worse)}."
    if better:
        return f"Better: clearly better in {_named(better)}, and in no figure of ranking or errors clearly worse."
    if comparison.released is not None:
        return "Can’t know yet: chance, and the labels that the stopped applicants could have, explain all differences."
    return f"Can’t know yet: no difference is larger than chance.{_missing(comparison)}"


def _by_gates(comparison: ComparisonResult, gates: GateReport) -> str:
    if gates.promotes:
        return f"Better: every gate passed, with {_named(gates.improved)} significantly better."
    failed = [
        one.name for one in gates.results if one.verdict in (GateVerdict.FAILED, GateVerdict.BROKEN_PROMISE)
    ]
    if failed:
        return f"Not better: {len(failed)} of {len(gates.results)} gates failed ({', '.join(failed)})."
    if gates.passes:
        return f"Not better: every gate passed, but no figure is significantly better.{_missing(comparison)}"
    open_ = [one.name for one in gates.results if one.verdict is GateVerdict.NOT_ENOUGH_DATA]
    return f"Can’t know yet: not enough data for {', '.join(open_)}.{_missing(comparison)}"


def _named(figures: Sequence[str]) -> str:
    return ", ".join(FIGURES[name].title for name in figures)


def _missing(comparison: ComparisonResult) -> str:
    """Say how many frauds more would tell the difference that is nearest to clear from chance, if it stays as it is.

    The width of an interval falls with the root of the number of records.
    """
    if comparison.released is not None:
        return " A control group would show what the stopped applicants are."
    frauds, least = comparison.champion.overall.frauds, math.inf
    for name in RANKING:
        found = comparison.differences[name]
        if found.value and found.low is not None and found.high is not None:
            least = min(least, ((found.high - found.low) / 2 / found.value) ** 2)
    more = frauds * (least - 1)
    if not 0 < more < math.inf:
        return ""
    return f" If differences stay as measured, about {math.ceil(more):,} more frauds would show the clearest of them."


def _changes(comparison: ComparisonResult, gates: GateReport | None) -> Section:
    """Say in natural numbers what changes."""
    counts = comparison.matrix
    cells = (
        [
            f"{count:,} ({frauds:,} {'fraud' if frauds == 1 else 'frauds'})"
            for count, frauds in zip(*row, strict=True)
        ]
        for row in zip(counts.sum(axis=0).tolist(), counts[FRAUD].tolist(), strict=True)
    )
    matrix = matrix_grid(
        cells,
        old="Champion",
        new="Challenger",
        caption="Flip matrix: records by the outcome from the champion and from the challenger",
    )
    return Section(
        name="changes",
        title="What changes",
        texts=tuple(
            Text(text=text, kind="lead") for text in (headline(comparison, gates), *_leads(comparison))
        ),
        grids=(_daily(comparison), _applicants(comparison), matrix),
        notes=(Text(text=_note(comparison), kind="note"),),
    )


def _leads(comparison: ComparisonResult) -> Iterator[str]:
    if not len(comparison.champion.records):
        yield "There are no evaluated records."
        return
    if not comparison.flip_rates["all"].value:
        yield "No record gets another outcome from the challenger."
        return
    yield from _natural(comparison)
    if comparison.released is not None:
        yield from (f"{sentence}." for sentence in comparison.released.sentences())
    flipped = estimate_text(comparison.flip_rates["all"].times(APPLICANTS), count_text, endless="")
    yield f"Out of 10,000 applicants {flipped} get another outcome from the challenger."


def _natural(comparison: ComparisonResult) -> Iterator[str]:
    """Describe changes a day, or of 10,000 applicants where a day has less than one."""
    changes, span = comparison.daily, "a day"
    if max(abs(change.everyone.value or 0.0) for change in changes) < 1:
        changes = daily_changes(
            comparison.differences,
            applicants=APPLICANTS,
            days=1,
            observed=comparison.champion.observed_share,
            estimated=changes[0].estimated,
        )
        span = "out of 10,000 applicants"
    for change in changes[1:]:
        yield f"{capital(change.describe(span, _interval(change.everyone)))}."


def _interval(change: Estimate) -> str:
    if change.low is None:
        return ""
    return f" (95% interval {range_text(change.low, change.high, signed_count)})"


def _daily(comparison: ComparisonResult) -> Grid:
    rows: list[Row] = [
        (
            Cell(text=OUTCOME_TITLES[change.outcome], key=change.outcome.lower()),
            *(estimate_text(one, signed_count, endless="") for one in (change.everyone, change.frauds)),
        )
        for change in comparison.daily
    ]
    heads = {"outcome": "Outcome", "applicants": "Applicants", "frauds": "Frauds among them"}
    return Grid.of("daily", "Changes a day: challenger minus champion, with 95% intervals", heads, rows)


def _applicants(comparison: ComparisonResult) -> Grid:
    """List the outcomes of 10,000 applicants, and of the frauds among them, under both models."""
    models = [model.applicants for model in (comparison.champion, comparison.challenger)]
    counts = [
        shared_counts([(one.everyone.value or 0.0) / APPLICANTS for one in model.values()], APPLICANTS)
        for model in models
    ]
    frauds = [adding_up([one.frauds.value or 0.0 for one in model.values()]) for model in models]
    known = "Frauds" if comparison.released is None else "Known frauds"
    rows: list[Row] = [
        (
            Cell(text=OUTCOME_TITLES[outcome], key=outcome.lower()),
            *(f"{model[place]:,}" for model in counts),
            _change(comparison, f"applicants_{outcome.lower()}"),
        )
        for place, outcome in enumerate(OUTCOMES)
    ]
    rows += [
        (
            Cell(text=f"{known} {OUTCOME_TITLES[outcome].lower()}", key=f"{outcome.lower()}_frauds"),
            *(count_text(model[place]) for model in frauds),
            _change(comparison, f"{outcome.lower()}_frauds", comparison.champion.observed_share),
        )
        for place, outcome in enumerate(OUTCOMES)
    ]
    heads = {
        "outcome": "Outcome",
        "champion": "Champion",
        "challenger": "Challenger",
        "change": "Change",
    }
    return Grid.of(
        "both-applicants", "Out of 10,000 applicants, with 95% intervals of the change", heads, rows
    )


def _change(comparison: ComparisonResult, figure: str, observed: float = 1.0) -> str:
    change = comparison.differences[figure].times(APPLICANTS * observed)
    return estimate_text(change, signed_count, endless="")


def _note(comparison: ComparisonResult) -> str:
    overall = comparison.champion.overall
    stopped = "" if comparison.released is None else f" and the {comparison.released.stopped:,} not observed"
    text = (
        f"Shares of the {overall.records:,} evaluated records{stopped}, scaled to 10,000 applicants; a day is a mean "
        f"day of the {comparison.days:,} with records."
    )
    if comparison.differences["passed"].low is None:
        return f"{text} There are too few days for intervals."
    return f"{text} Intervals are paired: both models are measured on the same draws of days and rings."


def _unknown(comparison: ComparisonResult) -> Iterator[str]:
    """List what limits the figures."""
    # Bundles that share their model say the same of their training.
    yield from dict.fromkeys(limiting(comparison.findings, Code.TRAINING_PERIOD, Code.TRAINING_RECORDS))
    yield from (f"{note[:1].upper()}{note[1:]}." for note in comparison.notes)
    if comparison.days < MIN_BLOCKS:
        yield f"The records lie on {comparison.days:,} days, too few for intervals."
    if not comparison.groups:
        yield "No groups were asked for: name columns with --by."
    if not comparison.bundles:
        yield "Size and latency are not known: the models came without bundles."
    yield _UNKNOWN
