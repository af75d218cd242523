"""The report of a monitored window."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.bounds import FALSE_REJECT, STEP_UP
from scoring_model.evaluation.report import Card, Cell, Drawing, Grid, Report, Section, Text
from scoring_model.evaluation.report.evaluation_page import provenance_section
from scoring_model.evaluation.report.first_screen import whatever_text, worth
from scoring_model.evaluation.report.markdown import markdown
from scoring_model.evaluation.report.section import Row, Tone
from scoring_model.evaluation.report.sections.ranking import figures_grid
from scoring_model.evaluation.report.style import TALL_ROW
from scoring_model.evaluation.report.words import (
    ABSENT,
    POSSIBLE,
    VERDICT_TONES,
    day,
    estimate_text,
    percent,
    sentence,
    signed,
    unbroken,
)
from scoring_model.evaluation.report.words import titles as titles_of
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import ERRORS, FIGURES, bounded
from scoring_model.monitoring.drift import Drift, SubjectDrift
from scoring_model.monitoring.drift_sentences import comparison_sentence, drift_sentence, traffic_sentence
from scoring_model.monitoring.early import EarlyVerdict
from scoring_model.monitoring.plots import draw_contributors, draw_drift, draw_estimated
from scoring_model.monitoring.result import MonitoringResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.result import EvaluationResult
    from scoring_model.monitoring.early import Estimates, Period

_RESTS: Final[dict[bool | None, tuple[Tone, str]]] = {
    True: ("good", "No drift found"),
    False: ("bad", "Rests on other data"),
    None: ("open", "Drift not tested"),
}
_OUTCOMES: Final = {FALSE_REJECT: "fail", STEP_UP: "step up or fail"}
_TOP: Final = 15
_ROWS: Final = 40
_SUBJECT: Final = {
    "subject": "Subject",
    "name": "In files",
    "share_of": "Share of",
    "reference": "Reference",
    "window": "Window",
    "visible": "Smallest visible",
    "statistic": "Standard errors",
    "limit": "Limit",
    "drift": "Drift",
}


def monitoring_summary(monitoring: MonitoringResult) -> str:
    """Describe a monitored window in Markdown."""
    return markdown(monitoring_report(monitoring), drawings=False)


def monitoring_report(monitoring: MonitoringResult) -> Report:
    """Describe a monitored window."""
    provenance = monitoring.provenance
    return Report(
        kicker="Monitoring report",
        title=f"{provenance.name}: monitoring",
        name=provenance.name,
        basis=(
            f"Model {provenance.model_version}, policy {provenance.policy_version}. {monitoring.records:,} records "
            f"from {day(provenance.since)} to {day(provenance.until)} (UTC); {monitoring.refused:,} rows refused. "
            f"{monitoring.population}"
        ).rstrip(),
        first=tuple(_first(monitoring)),
        sections=(
            _drift(monitoring.drift, monitoring.titles),
            _estimates(monitoring),
            _matured(monitoring),
            provenance_section(provenance),
        ),
    )


def _first(monitoring: MonitoringResult) -> Iterator[Section]:
    leads = (
        headline(monitoring),
        *(() if monitoring.prevalence.problem else (str(monitoring.prevalence),)),  # the headline says it
        drift_sentence(titled(monitoring.drift, monitoring.titles)),
    )
    yield Section(
        name="verdict",
        title="Is the model still what it was?",
        texts=tuple(Text(text=text, kind="lead") for text in leads),
    )
    yield _cards(
        "bases",
        "Promises: do they rest on data like these?",
        (
            Card(
                tone=_RESTS[one.rests][0],
                head=_RESTS[one.rests][1],
                title=bounded(one.bound).title,
                sentence=f"At most {percent(one.limit)} promised. {one.reason}",
            )
            for one in monitoring.promises
        ),
        missing="The policy promises nothing.",
    )
    yield _cards(
        "early",
        "Before labels: what rates of outcomes show",
        (_early(one, refuted=monitoring.prevalence.refuted) for one in monitoring.early),
        missing="No promise to genuine applicants can be judged by rates alone.",
    )
    yield _maturity(monitoring)


def _maturity(monitoring: MonitoringResult) -> Section:
    return Section(
        name="maturity",
        title="Which labels count, and what is assumed",
        texts=(
            monitoring.maturity.describe(),
            *(f"{finding}." for finding in monitoring.findings),
            *(Text(text=sentence(note), kind="note") for note in monitoring.notes),
        ),
    )


def _cards(name: str, title: str, cards: Iterator[Card], *, missing: str) -> Section:
    made = tuple(cards)
    return Section(
        name=name, title=title, cards=made, texts=() if made else (Text(text=missing, kind="missing"),)
    )


def headline(monitoring: MonitoringResult) -> str:
    """Say in one sentence whether the model is worse than promised, or what is missing to know.

    Verdicts before labels rest on the assumed share of frauds, so none counts where matured labels refute it.
    """
    problem = monitoring.prevalence.problem
    early = {one.bound: Verdict.BROKEN if one.alarm else one.verdict for one in monitoring.early}
    if monitoring.prevalence.refuted:
        early = {}
    matured = () if monitoring.matured is None else monitoring.matured.stability
    verdicts = {one.bound: [early.get(one.bound)] for one in monitoring.promises}
    for error in matured:
        verdicts.get(error.bound, []).append(error.verdict)
    if not verdicts:
        return "The policy promises nothing, so nothing is judged."
    broken = [bound for bound, found in verdicts.items() if Verdict.BROKEN in found]
    if broken:
        return f"{problem} Worse than promised: {_titles(broken)}.".lstrip()
    if problem:
        before = "verdicts" if monitoring.prevalence.refuted else "estimates"
        return f"{problem} Promises about frauds, and {before} before labels, rest on nothing then."
    open_ = [bound for bound, found in verdicts.items() if Verdict.KEPT not in found]
    if not open_:
        shown = {one.bound for one in matured if one.verdict is Verdict.KEPT}
        by_rates = (
            "" if verdicts.keys() <= shown else ", as the rates of outcomes show before all labels are known"
        )
        return f"As promised: every promise is kept{by_rates}."
    return f"Can’t know yet: {_titles(open_)}; {_missing_for(monitoring, open_)}."


def _missing_for(monitoring: MonitoringResult, open_: list[str]) -> str:
    """Say what is missing to judge promises that are open."""
    young, old = monitoring.maturity.immature, monitoring.maturity.matured
    if young > (0 if monitoring.matured is None else old):
        return f"{young:,} records are too young for their labels"
    matured = () if monitoring.matured is None else monitoring.matured.stability
    judged = [error.waits_for_stopped for error in matured if error.bound in open_]
    if judged and all(judged):
        return "nobody knows what those were who were stopped"
    return "the matured records are too few for a verdict"


def _titles(bounds: list[str]) -> str:
    return ", ".join(bounded(bound).title for bound in bounds)


def _early(one: EarlyVerdict, *, refuted: bool) -> Card:
    if refuted:
        return Card(
            tone="open",
            head="Can’t know",
            title=bounded(one.bound).title,
            sentence=f"Matured labels refute the assumed share of frauds. {_rate(one)}",
        )
    return Card(
        tone="bad" if one.alarm else VERDICT_TONES[one.verdict],
        head="Broken: alarm" if one.alarm else one.verdict.capitalize(),
        title=bounded(one.bound).title,
        sentence=early_sentence(one),
    )


def early_sentence(one: EarlyVerdict) -> str:
    """Say what the rate of an outcome shows, and where it shows nothing."""
    text = (
        f"{_rate(one)} If at most {one.cap:.2%} of them are frauds, that is {one.genuine.low:.2%} to "
        f"{one.genuine.high:.2%} of the genuine ones; promised are at most {one.limit:.2%}."
    )
    if one.alarm is not None:
        text += f" Alarm on {one.alarm}: the rate most likely lies above what the promise allows since {one.since}."
    if one.is_silent:
        text += (
            f" Between {one.undecidable_from:.2%} and {one.undecidable_to:.2%} such a rate says nothing, however many "
            "records there are: frauds might explain the difference."
        )
    return text


def _rate(one: EarlyVerdict) -> str:
    """Say the rate of an outcome, and over what its interval holds."""
    return (
        f"Score and thresholds {_OUTCOMES[one.bound]} {one.rate.value or 0.0:.2%} of {one.rate.records:,} applicants "
        f"(95 % confidence sequence {one.rate.low:.2%} to {one.rate.high:.2%}, which holds on all days together, "
        "however often one looks)."
    )


def titled(drift: Drift, titles: Mapping[str, str]) -> Drift:
    """Return a drift whose subjects and contributors have the titles of their features as names."""
    return replace(
        drift,
        subjects=tuple(replace(one, name=titles.get(one.name, one.name)) for one in drift.subjects),
        contributors=tuple(replace(one, name=titles.get(one.name, one.name)) for one in drift.contributors),
    )


def _drift(named: Drift, titles: Mapping[str, str]) -> Section:
    drift = titled(named, titles)
    return Section(
        name="drift",
        title="Drift",
        texts=(comparison_sentence(drift), traffic_sentence(drift), *drift.notes),
        drawings=(_moved(drift), _contributors(drift)),
        grids=(_subjects(named, titles), _missing(drift), _categories(drift)),
    )


def _subjects(drift: Drift, titles: Mapping[str, str]) -> Grid:
    shown = drift.subjects[:_ROWS]
    caption = (
        f"The {len(shown):,} of {len(drift.subjects):,} subjects that moved most, in relation to their limits"
    )
    rows = (_subject(one, titles.get(one.name, one.name)) for one in shown)
    return Grid.of("subjects", caption, _SUBJECT, rows)


def _subject(one: SubjectDrift, title: str) -> Row:
    verdict = (
        Cell(text="unknown", tone="open")
        if one.found is None
        else Cell(text="drift", tone="bad")
        if one.found
        else Cell(text="suspect", tone="open")
        if one.suspect
        else Cell(text="no", tone="good")
    )
    return (
        Cell(text=title, key=one.name),
        one.name,
        one.share_of,
        f"{one.reference:.2%}",
        f"{one.window:.2%}",
        ABSENT if one.smallest_share is None else f"{one.smallest_share:.2%}",
        ABSENT if one.found is None else f"{one.statistic:.1f}",
        ABSENT if one.limit is None else f"{one.limit:.1f}",
        verdict,
    )


def _missing(drift: Drift) -> Grid:
    moved = sorted(
        (abs(one.window_missing - one.reference_missing), one.name, one.reference_missing, one.window_missing)
        for one in drift.subjects
        if one.reference_missing is not None and one.window_missing is not None
    )[::-1]
    caption = f"Missing values: the {min(_TOP, len(moved))} shares of {len(moved):,} that moved most"
    heads = {"feature": "Feature", "reference": "Reference", "window": "Window"}
    rows = [(name, percent(old), percent(new)) for _, name, old, new in moved[:_TOP]]
    return Grid.of("missing", caption, heads, rows)


def _categories(drift: Drift) -> Grid:
    rows = [
        (Cell(text=one.field, key=f"{one.field}: {one.value}"), one.value, one.change, f"{one.records:,}")
        for one in drift.categories
    ]
    heads = {"field": "Field", "category": "Category", "change": "Change", "records": "Records"}
    return Grid.of("categories", "New and vanished categories", heads, rows)


def _moved(drift: Drift) -> Drawing:
    name, title = "moved", "What moved most"
    if not drift.limits:
        missing = "Differences have no limit here; the notes say why."
        return Drawing(name=name, title=title, missing=missing)
    first = drift.subjects[0]
    rows = [
        (one.name, f"{one.statistic:.2f}", ABSENT if one.limit is None else f"{one.limit:.2f}")
        for one in drift.subjects[:_TOP]
    ]
    heads = {"subject": "Subject", "statistic": "Standard errors", "limit": "Limit"}
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_drift(ax, drift, _TOP),
        alt=(
            f"Bars of statistics over their limits; the largest is {first.name} with {first.statistic:.1f} standard "
            f"errors, its limit {first.limit or 0:.1f}."
        ),
        caption=(
            f"For each subject the difference of its share that moved most, over the limit of its family. "
            f"{len(drift.subjects):,} subjects, {drift.window_records:,} records of the window, "
            f"{drift.reference_records:,} of the reference."
        ),
        grid=Grid.of(name, title, heads, rows),
        height=len(rows) * TALL_ROW + 1.0,
    )


def _contributors(drift: Drift) -> Drawing:
    name, title = "contributors", "What moves the score"
    if not drift.contributors:
        missing = "The window or the bundle holds no contributions of features."
        return Drawing(name=name, title=title, missing=missing)
    first = drift.contributors[0]
    rows = [(one.name, signed(one.shift, digits=4)) for one in drift.contributors[:_TOP]]
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_contributors(ax, drift, _TOP),
        alt=f"Bars of shifts of the mean margin; the largest is {first.name} with {first.shift:+.3f} log-odds.",
        caption=(
            "Mean exact Shapley value of each feature in the window minus that in the reference; over all features "
            f"they sum to the shift of the mean margin. From {drift.explained[1]:,} records of the window and "
            f"{drift.explained[0]:,} of the reference, drawn at random."
        ),
        grid=Grid.of(name, "Shifts of the mean margin", {"feature": "Feature", "shift": "Log-odds"}, rows),
        height=len(rows) * TALL_ROW + 1.0,
    )


def _estimates(monitoring: MonitoringResult) -> Section:
    estimates = monitoring.estimates
    untested = " (untested: no fraud is mature)" if estimates.contradiction is None else ""
    rows = [
        (Cell(text=FIGURES[name].title, key=name), f"{estimate_text(one)}{untested}", f"{one.records:,}")
        for name, one in estimates.overall.items()
    ]
    heads = {"error": "Error", "estimated": "Estimated", "records": "Of (expected)"}
    return Section(
        name="estimates",
        title="Estimates before labels",
        texts=(
            estimates.reason if estimates.overall else f"Can’t know. {estimates.reason}",
            "Estimates assume that a probability means what it meant on matured records, so that only the mix of "
            "applicants may change. Their 95% intervals are of what will be realised: with the error of the "
            "calibration, the variation between blocks of days, and chance.",
        ),
        drawings=(_periods(estimates, monitoring),),
        grids=(Grid.of("estimates", "The whole window", heads, rows),) if rows else (),
    )


def _periods(estimates: "Estimates", monitoring: MonitoringResult) -> Drawing:
    name, title = "estimated", "Estimated and realised"
    if not estimates.periods:
        return Drawing(name=name, title=title, missing="Nothing is estimated.")

    def draw(*axes: "Axes") -> None:
        for ax, error in zip(axes, ERRORS, strict=True):
            draw_estimated(ax, error, estimates, monitoring.promises)

    mature = sum(bool(period.realised) for period in estimates.periods)
    heads = {"since": "From", "records": "Records"} | {
        f"{kind}_{error}": f"{title}, {kind}"
        for error, title in titles_of(ERRORS).items()
        for kind in ("estimated", "realised")
    }
    return Drawing(
        name=name,
        title=title,
        draw=draw,
        alt=(
            f"Three panels of {len(estimates.periods)} periods with estimated errors; beside them realised errors of "
            f"{mature} matured periods."
        ),
        caption=(
            "Periods begin on the day below. Bars: 95% intervals. Realised errors are those of periods whose records "
            "are all mature and observed: where an applicant was stopped, nobody knows them."
        ),
        grid=Grid.of(name, "Estimated and realised errors by period", heads, map(_period, estimates.periods)),
        height=7.0,
        rows=3,
    )


def _period(period: "Period") -> Row:
    cells = []
    for error in ERRORS:
        realised = period.realised.get(error)
        cells += [
            estimate_text(period.estimated[error]),
            ABSENT if realised is None else estimate_text(realised),
        ]
    return Cell(text=unbroken(period.since), key=period.since), f"{period.records:,}", *cells


def _matured(monitoring: MonitoringResult) -> Section:
    name, title, evaluation = "matured", "Matured labels", monitoring.matured
    if evaluation is None:
        text = "There are no metrics without labelled, matured records."
        return Section(name=name, title=title, texts=(text,))
    overall = evaluation.overall
    kept = [row for row in evaluation.stability if row.verdict is Verdict.KEPT]
    return Section(
        name=name,
        title=title,
        texts=(
            f"{overall.genuine:,} genuine records and {overall.frauds:,} frauds are mature; “evaluate --matured-only” "
            "writes the whole report on them.",
            *(f"{bounded(row.bound).title}:{worth(row)}" for row in kept if worth(row)),
        ),
        grids=(
            _matured_errors(evaluation),
            figures_grid(
                evaluation,
                ["roc_auc", "log_loss", "fraud_share"],
                name="matured-figures",
                caption="Ranking and probability",
            ),
        ),
    )


def _matured_errors(evaluation: "EvaluationResult") -> Grid:
    rows: list[Row] = [
        (
            Cell(text=bounded(row.bound).title, key=bounded(row.bound).key),
            estimate_text(row.share),
            f"{row.share.records:,}",
            ABSENT if row.limit is None else f"at most {percent(row.limit)}",
            Cell(text=row.verdict or ABSENT, tone=VERDICT_TONES[row.verdict]),
            *(
                [whatever_text(row.possible, row.widest, row.verdict)]
                if evaluation.stopped is not None
                else []
            ),
        )
        for row in evaluation.stability
    ]
    heads = {
        "error": "Error",
        "observed": "Observed",
        "records": "Of",
        "limit": "Promised",
        "verdict": "Verdict",
    } | ({"possible": POSSIBLE} if evaluation.stopped is not None else {})
    return Grid.of("matured-errors", "Errors of matured records", heads, rows)
