"""A monitored window as Markdown, for people."""

from typing import Final

from scoring_model.escaping import for_markdown
from scoring_model.evaluation.markdown import ABSENT, draw_table
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import FIGURES, bounded
from scoring_model.monitoring.drift import Drift, SubjectDrift
from scoring_model.monitoring.early import EarlyVerdict, Estimates
from scoring_model.monitoring.result import MonitoringResult, PromiseBasis
from scoring_model.records import rfc3339

TOP: Final = 10


BASES: Final = {True: "yes", False: "no", None: "unknown"}
VERDICTS: Final = {Verdict.KEPT: "kept", Verdict.BROKEN: "broken", Verdict.UNDECIDED: "undecided"}


def monitoring_summary(found: MonitoringResult) -> str:
    """Describe a monitored window in Markdown.

    Returns
    -------
    str
        Drift, promises and what they rest on, rates before labels, estimates, and how much is mature.
    """
    provenance = found.provenance
    parts = [
        f"{found.records:,} records from {rfc3339(provenance.since)} to {rfc3339(provenance.until)}, "
        f"{found.refused:,} rows refused; model {provenance.model_version}.",
        "### Drift\n\n" + _drift(found.drift),
        "### Promises\n\n" + _bases(found.promises),
        "### Before labels: rates of outcomes\n\n" + _early(found.early),
        "### Before labels: estimates\n\n" + _estimates(found.estimates),
        f"### Matured labels\n\n{found.maturity.describe()}" + _matured(found),
    ]
    if found.notes:
        parts.append("### Notes\n\n" + "\n".join(f"- {for_markdown(note)}" for note in found.notes))
    return "\n\n".join(parts) + "\n"


def drift_sentence(drift: Drift) -> str:
    """Say what drifted, under which limit, and what could have been seen."""
    if drift.limit is None:
        return "Differences have no limit here."
    names = ", ".join(drift.found[:5]) + (" and others" if len(drift.found) > 5 else "")
    what = (
        f"Drift in {len(drift.found):,} of {len(drift.subjects):,}: {names}."
        if drift.found
        else "No drift found."
    )
    text = (
        f"{what} Compared are {len(drift.subjects):,} subjects: {drift.window_records:,} records on "
        f"{drift.window_blocks:,} blocks of {drift.block_days} days with {drift.reference_records:,} on "
        f"{drift.reference_blocks:,}. A statistic above {drift.limit:.2f} standard errors counts as drift; without any "
        "drift, one report in twenty has one."
    )
    if drift.smallest_shift is None:
        return text
    return (
        f"{text} In half of the features a shift of {drift.smallest_shift:.2f} standard deviations would have been "
        "seen with a probability of 80 %."
    )


def drift_cells(one: SubjectDrift) -> tuple[str, ...]:
    """Write one subject: name, share of, reference, window, smallest visible difference, statistic, found."""
    seen = ABSENT if one.smallest_share is None else f"{one.smallest_share:.2%}"
    found = "unknown" if one.found is None else "drift" if one.found else "no"
    statistic = ABSENT if one.found is None else f"{one.statistic:.1f}"
    return one.name, one.share_of, f"{one.reference:.2%}", f"{one.window:.2%}", seen, statistic, found


DRIFT_HEADS: Final = ("Subject", "Share of", "Reference", "Window", "Smallest visible", "Statistic", "Found")


def _drift(drift: Drift) -> str:
    parts = [
        for_markdown(drift_sentence(drift)),
        draw_table(DRIFT_HEADS, map(drift_cells, drift.subjects[:TOP])),
    ]
    if drift.categories:
        rows = [(one.field, one.value, one.change, f"{one.records:,}") for one in drift.categories[:TOP]]
        parts.append(draw_table(("Field", "Category", "Change", "Records"), rows))
    if drift.contributors:
        shifts = [(one.name, f"{one.shift:+.4f}") for one in drift.contributors[:5]]
        parts.append(draw_table(("Moves the mean margin", "By (log-odds)"), shifts))
    return "\n\n".join([*parts, *map(for_markdown, drift.notes)])


def _bases(promises: tuple[PromiseBasis, ...]) -> str:
    rows = [
        (bounded(one.bound).title, f"at most {one.limit:.2%}", BASES[one.rests], one.reason)
        for one in promises
    ]
    return draw_table(("Promise", "Limit", "Rests on like data", "Why"), rows)


def early_sentence(one: EarlyVerdict) -> str:
    """Say what the rate of an outcome shows, and where it shows nothing."""
    share = 0.0 if one.counted.share is None else one.counted.share
    text = (
        f"{share:.2%} of {one.counted.total:,} applicants (95 % confidence sequence {one.low:.2%} to {one.high:.2%}). "
        f"With at most {one.cap:.2%} frauds, that is {one.genuine_low:.2%} to {one.genuine_high:.2%} of the genuine "
        f"ones; promised are at most {one.limit:.2%}."
    )
    if one.alarm is not None:
        text += f" Alarm on {one.alarm}: the rate most likely lies above what the promise allows since {one.since}."
    if one.is_silent:
        text += (
            f" Between {one.undecidable_from:.2%} and {one.undecidable_to:.2%} such a rate says nothing, however many "
            "records there are: frauds might explain the difference."
        )
    return text


def _early(early: tuple[EarlyVerdict, ...]) -> str:
    if not early:
        return "No promise to genuine applicants can be judged by rates alone."
    rows = [(bounded(one.bound).title, VERDICTS[one.verdict], early_sentence(one)) for one in early]
    return draw_table(("Promise", "Verdict", "Why"), rows)


def _estimates(estimates: Estimates) -> str:
    if not estimates.overall:
        return f"Can't know. {estimates.reason}"
    rows = []
    for name, one in estimates.overall.items():
        ends = ABSENT if one.low is None or one.high is None else f"{one.low:.2%} to {one.high:.2%}"
        value = ABSENT if one.value is None else f"{one.value:.2%}"
        rows.append((FIGURES[name].title, value, ends, f"{one.records:,}"))
    table = draw_table(("Error", "Estimated", "95 % interval", "Of (expected)"), rows)
    return f"{estimates.reason}\n\n{table}"


def _matured(found: MonitoringResult) -> str:
    evaluation = found.matured
    if evaluation is None:
        return " There are no metrics without labelled, matured records."
    rows = []
    for row in evaluation.stability:
        share = row.share
        value = ABSENT if share.share is None else f"{share.share:.2%}"
        ends = ABSENT if share.low is None or share.high is None else f"{share.low:.2%} to {share.high:.2%}"
        verdict = ABSENT if row.verdict is None else VERDICTS[row.verdict]
        rows.append((bounded(row.bound).title, value, ends, f"{share.total:,}", verdict))
    table = draw_table(("Error", "Observed", "95 % interval", "Of", "Promise"), rows)
    overall = evaluation.overall
    return f"\n\n{overall.genuine:,} genuine and {overall.frauds:,} frauds are mature.\n\n{table}"
