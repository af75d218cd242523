"""The report of a backtest, in the words of the report of an evaluation."""

from collections.abc import Iterator
from typing import Final

from scoring_model.estimates import Estimate
from scoring_model.evaluation.report import Cell, Grid, Report, Section, Text
from scoring_model.evaluation.report.evaluation_page import origin_grid
from scoring_model.evaluation.report.markdown import section_markdown
from scoring_model.evaluation.report.section import Row
from scoring_model.evaluation.report.words import (
    change_writer,
    is_decimal,
    range_text,
    threshold_text,
    tone_of,
    unbroken,
)
from scoring_model.figures import FIGURES, bounded
from scoring_model.findings import State
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.result import NEVER_RETRAINED, BacktestResult, Fold, PromiseTally
from scoring_model.training.backtest.sections import (
    ageing_section,
    cadences_section,
    families_section,
    history_section,
    promises_section,
)

SUMMED_UP: Final = ("missed_fraud", "step_up", "cost")
"""Figures of cadences on the first screen."""


def backtest_summary(backtest: BacktestResult) -> str:
    """Describe a backtest in Markdown: the first screen of its report."""
    report = backtest_report(backtest)
    return "\n\n".join((report.basis, *map(section_markdown, report.first))) + "\n"


def backtest_report(backtest: BacktestResult) -> Report:
    """Describe a backtest."""
    return Report(
        kicker="Backtest report",
        title=f"{backtest.name}: backtest",
        name=backtest.name,
        basis=_basis(backtest),
        first=(_summary(backtest),),
        sections=(
            promises_section(backtest),
            cadences_section(backtest),
            ageing_section(backtest),
            history_section(backtest),
            families_section(backtest),
            _folds(backtest),
            _provenance(backtest),
        ),
    )


def _basis(backtest: BacktestResult) -> str:
    periods, models = list(backtest.periods), sum(fold.failure is None for fold in backtest.folds)
    genuine, frauds = (sum(found[side] for found in backtest.periods.values()) for side in (0, 1))
    return (
        f"{models:,} models, each trained with what was known at its instant ({backtest.window} window), decided about "
        f"{genuine:,} genuine records and {frauds:,} frauds of {len(periods):,} {backtest.unit}s, {periods[0]} to "
        f"{periods[-1]}. {backtest.population}"
    ).rstrip()


def _summary(backtest: BacktestResult) -> Section:
    return Section(
        name="summary-of-all",
        title="What happened",
        texts=(
            Text(text=_promise_sentence(backtest), kind="lead"),
            *_open_sentences(backtest),
            *_cadence_sentences(backtest),
            _left_out(backtest),
            *(f"{one}." for one in backtest.findings if one.state is State.FOUND and not one.muted),
        ),
        grids=(_tallies(backtest),),
    )


def _promise_sentence(backtest: BacktestResult) -> str:
    if not backtest.tallies:
        return "The policy promises nothing."
    parts = []
    for cadence in dict.fromkeys(one.cadence for one in backtest.tallies):
        found = [one for one in backtest.tallies if one.cadence == cadence]
        judged, kept, undecided, broken = (
            sum(getattr(one, name) for one in found) for name in ("judged", "kept", "undecided", "broken")
        )
        parts.append(
            f"trained every {cadence}, {kept:,} of {judged:,} promises were kept, {undecided:,} undecided, "
            f"{broken:,} broken"
        )
    return f"Of all promises by {backtest.unit}{_whatever(backtest)}: {'; '.join(parts)}."


def _whatever(backtest: BacktestResult) -> str:
    """Say that verdicts hold for all labels of the stopped ones, where there are some."""
    return ", whatever the stopped applicants were" if backtest.stopped else ""


def _open_sentences(backtest: BacktestResult) -> Iterator[str]:
    """Say of which promises nothing can be known since applicants were stopped."""
    bounds = dict.fromkeys(one.bound for one in backtest.promises if one.waits_for_stopped)
    if bounds:
        names = ", ".join(f"“{bounded(bound).title}”" for bound in bounds)
        yield (
            f"The labels of the stopped applicants leave verdicts on {names} undecided, which those who were observed "
            "would decide. A control group would show what the stopped ones are."
        )


def _among(backtest: BacktestResult) -> str:
    """Say of whom figures are where that is not everyone: the stopped ones are in none, whatever they were."""
    return ", among those who were observed" if backtest.stopped else ""


def _cadence_sentences(backtest: BacktestResult) -> Iterator[str]:
    for pair in backtest.differences:
        if pair.against != NEVER_RETRAINED:
            continue
        changes = [_change(name, pair.figures[name]) for name in SUMMED_UP if name in pair.figures]
        yield f"Training every {pair.cadence} instead of once{_among(backtest)}: {'; '.join(changes)}."


def _change(figure: str, difference: Estimate) -> str:
    """Say by how much a figure changed, and whether chance explains it."""
    title = FIGURES[figure].title.lower()
    if difference.value is None:
        return f"{title} unknown"
    write, tone = change_writer(figure), tone_of(figure, difference)
    unit = "" if is_decimal(figure) else " points"
    clear = f"clearly {tone}" if tone else "no verdict" if difference.low is None else "no clear change"
    return (
        f"{title} {write(difference.value)}{unit} (95% interval {range_text(difference.low, difference.high, write)}), "
        f"{clear}"
    )


def _left_out(backtest: BacktestResult) -> str:
    listed = "; ".join(f"{count:,} {reason}" for reason, count in backtest.left_out.items())
    return f"Records that are not judged: {listed or 'none'}."


def _tallies(backtest: BacktestResult) -> Grid:
    heads = {
        "promise": "Promise",
        "cadence": "Trained every",
        "judged": "Judged",
        "kept": "Kept",
        "undecided": "Undecided",
        "broken": "Broken",
        "explained": "Chance explains",
        "p_value": "p-value",
    }
    caption = f"Promises by {backtest.unit}{_whatever(backtest)}, and how many broken ones chance explains"
    return Grid.of("tallies", caption, heads, map(_tally, backtest.tallies))


def _tally(one: PromiseTally) -> Row:
    return (
        Cell(text=bounded(one.bound).title, key=f"{one.bound} {one.cadence}"),
        one.cadence,
        *(f"{count:,}" for count in (one.judged, one.kept, one.undecided, one.broken)),
        f"up to {one.explained:,}",
        f"{one.p_value:.2g}",
    )


def _folds(backtest: BacktestResult) -> Section:
    impossible = [(unbroken(day_text(one.as_of)), _sentence(one.reason)) for one in backtest.impossible]
    has_test = any(part.part == "test" for fold in backtest.folds for part in fold.parts)
    test = (
        "The configuration keeps a test part, which a backtest does not need: without it (training.split.test: 0) "
        "models rest on later records.",
    )
    sides = {"genuine": "Genuine", "frauds": "Frauds"}
    heads = {
        "as_of": "As of",
        "train": "Train",
        **{f"train_{side}": title for side, title in sides.items()},
        "validation": "Validation",
        **{f"validation_{side}": title for side, title in sides.items()},
        "thresholds": "Stepped up and failed from",
        "failure": "No model",
    }
    return Section(
        name="folds",
        title="Folds",
        texts=(
            "Each fold gives the model of a training as of its instant (train --as-of). A fold without a model leaves "
            "the earlier one in use.",
            *(test if has_test else ()),
        ),
        grids=(
            Grid.of("folds", "Folds", heads, map(_fold, backtest.folds)),
            Grid.of(
                "impossible",
                "Instants at which no model can be trained",
                {"as_of": "Instant", "why": "Why"},
                impossible,
            ),
        ),
    )


def _fold(fold: Fold) -> Row:
    cells = [unbroken(day_text(fold.as_of))]
    for name in ("train", "validation"):
        part = next(part for part in fold.parts if part.part == name)
        days = unbroken(f"{part.start[:10]} to {part.end[:10]}")
        cells += [days, f"{part.genuine:,}", f"{part.frauds:,}"]
    thresholds = (
        threshold_text(None)
        if fold.step_up_from is None
        else f"{threshold_text(fold.step_up_from)} and {threshold_text(fold.fail_from)}"
    )
    return *cells, thresholds, _sentence(fold.failure or "")


def _sentence(text: str) -> str:
    """Return a sentence for a cell, where a blank and a bracket begin an interval, which no line breaks."""
    return text.replace(" (", "\N{NO-BREAK SPACE}(")


def _provenance(backtest: BacktestResult) -> Section:
    checks = ", ".join(f"{one.code} {one.verdict}" for one in backtest.findings)
    rows = (
        ("Use", backtest.name),
        ("Files", ", ".join(backtest.files) or "none: records were passed as a frame"),
        ("Records", f"{backtest.data.records:,}"),
        ("First event", backtest.data.first),
        ("Last event", backtest.data.last),
        ("Labels count if known before", backtest.data.as_of),
        ("Leakage checks, once, on the latest fold", checks),
    )
    return Section(name="provenance", title="Provenance", grids=(origin_grid(rows),))
