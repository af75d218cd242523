"""The report of a monitored window: one HTML file in the style of an evaluation's."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.report import Section, Table
from scoring_model.evaluation.report.cards import Card
from scoring_model.evaluation.report.figures import Figure, absent, drawn, range_text
from scoring_model.evaluation.report.page import render_page, write_page
from scoring_model.evaluation.report.scales import day, percent, unbroken
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import ERRORS, FIGURES, bounded
from scoring_model.monitoring.plots import MonitoringPlots
from scoring_model.monitoring.result import MonitoringResult
from scoring_model.monitoring.summary import (
    DRIFT_HEADS,
    VERDICTS,
    drift_cells,
    drift_sentence,
    early_sentence,
)
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.uncertainty import Estimate, Share
    from scoring_model.monitoring.early import Estimates, Period

_TONES: Final = {True: "good", False: "bad", None: "open"}
_RESTS: Final = {True: "Rests on like data", False: "Rests on other data", None: "Unknown"}
_VERDICT_TONES: Final = {Verdict.KEPT: "good", Verdict.BROKEN: "bad", Verdict.UNDECIDED: "open"}
_TOP: Final = 15
_ROWS: Final = 40


def write_monitoring_report(found: MonitoringResult, path: str | Path) -> None:
    """Write the report of a window as one HTML file, whole or not at all.

    Raises
    ------
    MissingExtra
        Without matplotlib or Jinja2, which the extra ``[train]`` brings.
    """
    write_page(render_monitoring(found), path)


def render_monitoring(found: MonitoringResult) -> str:
    """Return the report of a window as HTML; equal results give equal text."""
    plots, provenance = MonitoringPlots(found), found.provenance
    return render_page(
        "monitoring.html.j2",
        kicker="Monitoring report",
        title=f"{provenance.name}: monitoring",
        name=provenance.name,
        basis=(
            f"Model {provenance.model_version}, policy {provenance.policy_version}. {found.records:,} records from "
            f"{day(provenance.since)} to {day(provenance.until)}; {found.refused:,} rows refused."
        ),
        lead=drift_sentence(found.drift),
        promises=_promise_cards(found),
        rates=_rate_cards(found),
        maturity=found.maturity.describe(),
        notes=(*found.notes, *found.drift.notes),
        sections=[
            _drift_section(found, plots),
            _estimates_section(found, plots),
            _matured_section(found),
            _provenance(found),
        ],
    )


def _promise_cards(found: MonitoringResult) -> tuple[Card, ...]:
    return tuple(
        Card(
            tone=_TONES[one.rests],
            head=_RESTS[one.rests],
            title=bounded(one.bound).title,
            sentence=f"At most {percent(one.limit)} promised. {one.reason}",
            detail="",
        )
        for one in found.promises
    )


def _rate_cards(found: MonitoringResult) -> tuple[Card, ...]:
    return tuple(
        Card(
            tone="bad" if one.alarm else _VERDICT_TONES[one.verdict],
            head="Broken: alarm" if one.alarm else VERDICTS[one.verdict].capitalize(),
            title=bounded(one.bound).title,
            sentence=early_sentence(one),
            detail="",
        )
        for one in found.early
    )


def _drift_section(found: MonitoringResult, plots: MonitoringPlots) -> Section:
    drift = found.drift
    shown = drift.subjects[:_ROWS]
    rows = tuple(drift_cells(one) for one in shown)
    caption = f"The {len(shown):,} largest statistics of {len(drift.subjects):,}"
    tables = [Table(caption=caption, heads=DRIFT_HEADS, rows=rows)]
    missing = sorted(
        (abs(one.window_missing - one.reference_missing), one.name, one.reference_missing, one.window_missing)
        for one in drift.subjects
        if one.reference_missing is not None and one.window_missing is not None
    )[::-1]
    tables.append(
        Table(
            caption=f"Missing values: the {min(_TOP, len(missing))} shares of {len(missing):,} that moved most",
            heads=("Feature", "Reference", "Window"),
            rows=tuple((name, percent(old), percent(new)) for _, name, old, new in missing[:_TOP]),
        )
    )
    changes = tuple((one.field, one.value, one.change, f"{one.records:,}") for one in drift.categories)
    tables.append(
        Table(
            caption="New and vanished categories",
            heads=("Field", "Category", "Change", "Records"),
            rows=changes,
        )
    )
    return Section(
        name="drift",
        title="Drift",
        texts=(drift_sentence(drift), *drift.notes),
        figures=(_drift_figure(found, plots), _contributor_figure(found, plots)),
        tables=tuple(tables),
    )


def _drift_figure(found: MonitoringResult, plots: MonitoringPlots) -> Figure:
    name, title, drift = "subjects", "What moved most", found.drift
    if drift.limit is None:
        return absent(name, title, "Differences have no limit, since the bundle holds no counts by day.")
    first = drift.subjects[0]
    return drawn(
        name,
        title,
        draw=lambda ax: plots.drift(ax=ax, top=_TOP),
        alt=f"Bars of statistics; the largest is {first.name} with {first.statistic:.1f}, the limit {drift.limit:.1f}.",
        caption=(
            f"For each subject the difference of its share that moved most. The limit holds for all "
            f"{len(drift.subjects):,} subjects together. {drift.window_records:,} records of the window, "
            f"{drift.reference_records:,} of the reference."
        ),
        table=Table(
            caption="What moved most",
            heads=("Subject", "Statistic"),
            rows=tuple((one.name, f"{one.statistic:.2f}") for one in drift.subjects[:_TOP]),
        ),
        height=4.4,
    )


def _contributor_figure(found: MonitoringResult, plots: MonitoringPlots) -> Figure:
    name, title, drift = "contributors", "What moves the score", found.drift
    if not drift.contributors:
        return absent(name, title, "The window or the bundle holds no contributions of features.")
    first = drift.contributors[0]
    return drawn(
        name,
        title,
        draw=lambda ax: plots.contributors(ax=ax),
        alt=f"Bars of shifts of the mean margin; the largest is {first.name} with {first.shift:+.3f} log-odds.",
        caption=(
            "Mean exact Shapley value of each feature in the window minus that in the reference; over all features "
            f"they sum to the shift of the mean margin. From {drift.explained[1]:,} records of the window and "
            f"{drift.explained[0]:,} of the reference, drawn at random."
        ),
        table=Table(
            caption="Shifts of the mean margin",
            heads=("Feature", "Log-odds"),
            rows=tuple((one.name, f"{one.shift:+.4f}") for one in drift.contributors[:_TOP]),
        ),
        height=3.6,
    )


def _estimates_section(found: MonitoringResult, plots: MonitoringPlots) -> Section:
    estimates = found.estimates
    lead = estimates.reason if estimates.overall else f"Can’t know. {estimates.reason}"
    rows = tuple(
        (FIGURES[name].title, _share(one.value, one), f"{one.records:,}")
        for name, one in estimates.overall.items()
    )
    heads = ("Error", "Estimated", "Of (expected)")
    return Section(
        name="estimates",
        title="Estimates before labels",
        texts=(
            lead,
            "Estimates assume that a probability means what it meant on matured records, so that only the mix of "
            "applicants may change. Their 95% intervals are of what will be realised: with the error of the "
            "calibration, the variation between blocks of days, and chance.",
        ),
        figures=(_estimates_figure(estimates, plots),),
        tables=(Table(caption="The whole window", heads=heads, rows=rows),),
    )


def _estimates_figure(estimates: "Estimates", plots: MonitoringPlots) -> Figure:
    name, title = "estimated", "Estimated and realised"
    if not estimates.periods:
        return absent(name, title, estimates.reason)

    def draw(*axes: "Axes") -> None:
        for ax, error in zip(axes, ERRORS, strict=True):
            plots.estimated(error, ax=ax)

    mature = sum(bool(period.realised) for period in estimates.periods)
    return drawn(
        name,
        title,
        draw=draw,
        alt=(
            f"Three panels of {len(estimates.periods)} periods with estimated errors; beside them realised errors of "
            f"{mature} matured periods."
        ),
        caption=(
            "Periods begin on the day below. Bars: 95% intervals. Realised errors are those of periods whose records "
            "are all mature."
        ),
        table=Table(
            caption="Estimated and realised errors by period",
            heads=(
                "From",
                "Records",
                *(
                    f"{FIGURES[error].title}, {kind}"
                    for error in ERRORS
                    for kind in ("estimated", "realised")
                ),
            ),
            rows=tuple(_period_cells(period) for period in estimates.periods),
        ),
        height=7.0,
        rows=3,
    )


def _period_cells(period: "Period") -> tuple[str, ...]:
    cells = []
    for error in ERRORS:
        estimate, share = period.estimated[error], period.realised.get(error)
        cells += [_share(estimate.value, estimate), "–" if share is None else _share(share.share, share)]
    return unbroken(period.since), f"{period.records:,}", *cells


def _share(value: float | None, one: "Estimate | Share") -> str:
    return "–" if value is None else f"{percent(value)} ({range_text(one.low, one.high)})"


def _matured_section(found: MonitoringResult) -> Section:
    name, title, evaluation = "matured", "Matured labels", found.matured
    text = found.maturity.describe()
    if evaluation is None:
        return Section(
            name=name, title=title, texts=(text, "There are no metrics without labelled, matured records.")
        )
    overall = evaluation.overall
    rows = tuple(
        (
            bounded(row.bound).title,
            _share(row.share.share, row.share),
            f"{row.share.total:,}",
            "–" if row.limit is None else f"at most {percent(row.limit)}",
            "–" if row.verdict is None else VERDICTS[row.verdict],
        )
        for row in evaluation.stability
    )
    ranking = tuple(
        (
            label,
            "–"
            if one.value is None
            else f"{one.value:.4f} ({range_text(one.low, one.high, '{:.4f}'.format)})",
        )
        for label, one in (
            (FIGURES[name].title, evaluation.figures[name]) for name in ("roc_auc", "log_loss", "fraud_share")
        )
    )
    return Section(
        name=name,
        title=title,
        texts=(
            text,
            f"{overall.genuine:,} genuine records and {overall.frauds:,} frauds are mature; “evaluate --matured-only” "
            "writes the whole report on them.",
        ),
        tables=(
            Table(
                caption="Errors of matured records",
                heads=("Error", "Observed", "Of", "Promised", "Verdict"),
                rows=rows,
            ),
            Table(caption="Ranking and probability", heads=("Figure", "Value"), rows=ranking),
        ),
    )


def _provenance(found: MonitoringResult) -> Section:
    provenance = found.provenance
    rows = (
        ("Use", provenance.name),
        ("Model version", provenance.model_version),
        ("Policy version", provenance.policy_version),
        ("Files", ", ".join(provenance.files) or "none: records were passed as a frame"),
        ("First event", rfc3339(provenance.since)),
        ("Last event", rfc3339(provenance.until)),
        ("Decisions were made", "earlier" if provenance.scored_earlier else "by this command"),
    )
    table = Table(caption="Where the numbers come from", heads=("What", "Value"), rows=rows)
    return Section(name="provenance", title="Provenance", texts=found.notes, tables=(table,))
