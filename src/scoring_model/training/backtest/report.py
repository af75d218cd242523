"""The report of a backtest: one HTML file in the style of the report of an evaluation."""

from collections.abc import Iterator
from pathlib import Path

from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.evaluation import Estimate
from scoring_model.evaluation.report import Section, Table
from scoring_model.evaluation.report.figures import range_text
from scoring_model.evaluation.report.page import render_page, write_page
from scoring_model.evaluation.report.scales import unbroken
from scoring_model.figures import bounded
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.plots import BacktestPlots
from scoring_model.training.backtest.result import NEVER_RETRAINED, BacktestResult, PromiseTally
from scoring_model.training.backtest.sections import (
    ageing_section,
    cadences_section,
    difference_text,
    families_section,
    history_section,
    promises_section,
    signed_points,
)


def write_backtest_report(backtest: BacktestResult, path: Path) -> None:
    """Write the report of a backtest as one HTML file, whole or not at all."""
    write_page(render_backtest(backtest), path)


def render_backtest(backtest: BacktestResult) -> str:
    """Return the report of a backtest as HTML; equal backtests give equal text."""
    plots = BacktestPlots(backtest)
    return render_page(
        "backtest.html.j2",
        kicker="Backtest report",
        title=f"{backtest.name}: backtest",
        name=backtest.name,
        basis=_basis(backtest),
        summary=_summary(backtest),
        sections=[
            promises_section(backtest, plots),
            cadences_section(backtest, plots),
            ageing_section(backtest, plots),
            history_section(backtest, plots),
            families_section(backtest, plots),
            _folds(backtest),
            _provenance(backtest),
        ],
    )


def summary_of(backtest: BacktestResult) -> tuple[str, ...]:
    """Return the result in a few sentences."""
    return (_basis(backtest), *_summary(backtest).texts)


def _basis(backtest: BacktestResult) -> str:
    periods, models = list(backtest.periods), sum(fold.failure is None for fold in backtest.folds)
    genuine, frauds = (sum(found[side] for found in backtest.periods.values()) for side in (0, 1))
    return (
        f"{models:,} models, each trained with what was known at its instant ({backtest.window} window), decided about "
        f"{genuine:,} genuine records and {frauds:,} frauds of {len(periods):,} {backtest.unit}s, {periods[0]} to "
        f"{periods[-1]}."
    )


def _summary(backtest: BacktestResult) -> Section:
    return Section(
        name="summary",
        title="What happened",
        texts=(
            _promise_sentence(backtest),
            *_cadence_sentences(backtest),
            _left_out(backtest),
        ),
        tables=(_tally_table(backtest),),
    )


def _promise_sentence(backtest: BacktestResult) -> str:
    if not backtest.tallies:
        return "The policy promises nothing."
    parts = []
    for cadence in dict.fromkeys(one.cadence for one in backtest.tallies):
        found = [one for one in backtest.tallies if one.cadence == cadence]
        judged, broken = sum(one.judged for one in found), sum(one.broken for one in found)
        verb = "was" if broken == 1 else "were"
        parts.append(f"trained every {cadence}, {broken:,} of {judged:,} promises {verb} broken")
    return f"Of all promises by {backtest.unit}: {'; '.join(parts)}."


def _cadence_sentences(backtest: BacktestResult) -> Iterator[str]:
    for pair in backtest.differences:
        if pair.against != NEVER_RETRAINED:
            continue
        missed, step_up = pair.figures["missed_fraud"], pair.figures["step_up"]
        cost = pair.figures.get("cost")
        yield (
            f"Training every {pair.cadence} instead of once changed the share of frauds that pass by "
            f"{_points(missed)}, and that of genuine applicants who are stepped up or fail by {_points(step_up)}."
            + (
                ""
                if cost is None
                else f" The expected cost of an applicant changed by {difference_text('cost', cost)}."
            )
        )


def _points(found: Estimate) -> str:
    if found.value is None:
        return "an unknown number of points"
    return f"{signed_points(found.value)} points (95% interval {range_text(found.low, found.high, signed_points)})"


def _left_out(backtest: BacktestResult) -> str:
    listed = "; ".join(f"{count:,} {reason}" for reason, count in backtest.left_out.items())
    return f"Records that are not judged: {listed or 'none'}."


def _tally_table(backtest: BacktestResult) -> Table:
    heads = (
        "Promise",
        "Trained every",
        "Judged",
        "Kept",
        "Undecided",
        "Broken",
        "Chance explains",
        "p-value",
    )
    return Table(
        caption=f"Promises by {backtest.unit}, and how many broken ones chance explains",
        heads=heads,
        rows=tuple(_tally_row(one) for one in backtest.tallies),
    )


def _tally_row(one: PromiseTally) -> tuple[str, ...]:
    counts = (one.judged, one.kept, one.undecided, one.broken)
    title = bounded(one.bound).title
    return (
        title,
        one.cadence,
        *(f"{count:,}" for count in counts),
        f"up to {one.explained:,}",
        f"{one.p_value:.2g}",
    )


def _folds(backtest: BacktestResult) -> Section:
    impossible = tuple((unbroken(day_text(one.as_of)), _sentence(one.reason)) for one in backtest.impossible)
    has_test = any(part.part == "test" for fold in backtest.folds for part in fold.parts)
    test = (
        "The configuration keeps a test part, which a backtest does not need: without it (training.split.test: 0) "
        "models rest on later records.",
    )
    return Section(
        name="folds",
        title="Folds",
        texts=(
            "Each fold gives the model of a training as of its instant (train --as-of). A fold without a model leaves "
            "the earlier one in use.",
            *(test if has_test else ()),
        ),
        tables=(
            _fold_table(backtest),
            Table(
                caption="Instants at which no model can be trained", heads=("Instant", "Why"), rows=impossible
            ),
        ),
    )


def _fold_table(backtest: BacktestResult) -> Table:
    rows = []
    for fold in backtest.folds:
        train, validation = (
            next(p for p in fold.parts if p.part == part) for part in ("train", "validation")
        )
        thresholds = (
            "–" if fold.step_up_from is None else f"{_score(fold.step_up_from)} and {_score(fold.fail_from)}"
        )
        rows.append(
            (
                unbroken(day_text(fold.as_of)),
                unbroken(f"{train.start[:10]} to {train.end[:10]}"),
                f"{train.genuine:,}",
                f"{train.frauds:,}",
                unbroken(f"{validation.start[:10]} to {validation.end[:10]}"),
                f"{validation.genuine:,}",
                f"{validation.frauds:,}",
                thresholds,
                _sentence(fold.failure or ""),
            )
        )
    sides = ("Genuine", "Frauds")
    heads = ("As of", "Train", *sides, "Validation", *sides, "Stepped up and failed from", "No model")
    return Table(caption="Folds", heads=heads, rows=tuple(rows))


def _sentence(text: str) -> str:
    """Return a sentence for a cell, where a blank and a bracket begin an interval, which no line breaks."""
    return text.replace(" (", "\N{NO-BREAK SPACE}(")


def _score(threshold: int | None) -> str:
    return "never" if threshold == NEVER_REACHED else str(threshold)


def _provenance(backtest: BacktestResult) -> Section:
    checks = ", ".join(f"{one.code} {one.verdict}" for one in backtest.findings)
    rows = (
        ("Use", backtest.name),
        ("Files", ", ".join(backtest.files) or "none: records were passed as a frame"),
        ("Records", f"{backtest.data['records']:,}"),
        ("First event", backtest.data["from"]),
        ("Last event", backtest.data["to"]),
        ("Labels count if known before", backtest.data["as_of"]),
        ("Leakage checks, once, on the latest fold", checks),
    )
    table = Table(caption="Where the numbers come from", heads=("What", "Value"), rows=rows)
    return Section(name="provenance", title="Provenance", tables=(table,))
