"""An evaluation as Markdown, for people."""

from collections.abc import Callable

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.scale import nominal_share
from scoring_model.escaping import for_markdown
from scoring_model.evaluation.coverage import Coverage
from scoring_model.evaluation.findings_text import findings_markdown
from scoring_model.evaluation.groups import MIN_RECORDS, REST, GroupRate, GroupTable
from scoring_model.evaluation.markdown import ABSENT, draw_table
from scoring_model.evaluation.measures import Measures
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import RECENT_DAYS, WINDOW_DAYS
from scoring_model.evaluation.uncertainty import Estimate, Share
from scoring_model.figures import ERRORS, FIGURES, bounded
from scoring_model.records import rfc3339


def summary(evaluation: EvaluationResult) -> str:
    """Describe an evaluation in Markdown.

    Returns
    -------
    str
        Tables of left-out records, findings, outcomes, errors over time, ranking and probability, meaning of the
        scores, months and groups; shares with their 95 % intervals.
    """
    overall = evaluation.overall
    sections = [
        f"{overall.records:,} records: {overall.genuine:,} genuine, {overall.frauds:,} frauds. "
        "Intervals are at 95 %: Wilson's, for independent records, unless they come from drawing whole days.",
        "### Outcomes\n\n" + _outcomes(overall),
        "### Errors over time\n\n" + _stability(evaluation),
        "### Ranking and probability\n\n" + _ranking(evaluation),
        "### Meaning of the score\n\n" + _scores(evaluation),
        "### Calibration\n\n" + _calibration(evaluation),
        "### By month\n\n" + _months(evaluation),
    ]
    sections += [f"### By {for_markdown(table.column)}\n\n" + _groups(table) for table in evaluation.groups]
    sections.insert(1, findings_markdown(evaluation.findings))
    if evaluation.coverage is not None:
        sections.insert(1, "### Records\n\n" + _coverage(evaluation.coverage))
    return "\n\n".join(sections) + "\n"


def _coverage(coverage: Coverage) -> str:
    """List why rows were left out."""
    text = (
        f"As of {rfc3339(coverage.as_of)}, {coverage.evaluated:,} of {coverage.rows:,} rows are evaluated"
        f"{', matured ones only' if coverage.matured_only else ''}."
    )
    rows = [(reason, f"{count:,}") for reason, count in coverage.describe().items()]
    table = [draw_table(("Left out because", "Rows"), rows)] if rows else []
    return "\n\n".join([text, *table])


def _outcomes(measures: Measures) -> str:
    """Share of each outcome among genuine records and frauds."""
    rows = [
        (
            outcome.value,
            _interval(measures.genuine_outcomes[outcome]),
            _interval(measures.fraud_outcomes[outcome]),
        )
        for outcome in OUTCOMES
    ]
    return draw_table(("Outcome", "Genuine", "Frauds"), rows)


def _stability(evaluation: EvaluationResult) -> str:
    """List the errors with their promises, bootstrap intervals and worst windows."""
    rows = [
        (
            bounded(error.bound).title,
            ABSENT if error.limit is None else f"{error.limit:.2%}",
            _interval(error.share),
            ABSENT if error.low is None else f"{error.low:.2%} to {error.high:.2%} ({error.days} days)",
            ABSENT if error.worst is None else _interval(error.worst.share),
            ABSENT if error.worst is None else f"{error.worst.since} to {error.worst.until}",
        )
        for error in evaluation.stability
    ]
    heads = ("Error", "Promised at most", "Observed", "Drawing days", "Worst recent window", "Its days")
    text = (
        "What is promised holds for independent records of a population that stays as it was. Drawing whole days "
        f"keeps together what the records of a day have in common. The worst window is one of {WINDOW_DAYS} days in "
        f"the last {RECENT_DAYS}; the worst of many lies above the average even where nothing moves."
    )
    return f"{text}\n\n{draw_table(heads, rows)}"


def _ranking(evaluation: EvaluationResult) -> str:
    """List the metrics of margins and probabilities."""
    shown = [
        "roc_auc",
        "average_precision",
        *(f"recall_at_fpr_{limit:g}" for limit in evaluation.overall.recalls),
        "brier",
        "log_loss",
    ]
    rows = [
        (FIGURES[name].title, write(evaluation.figures[name].value), _ends(evaluation.figures[name], write))
        for name, write in (
            (name, _decimal if FIGURES[name].unit == "number" else _percent) for name in shown
        )
    ]
    rows.append(("Expected calibration error", _decimal(evaluation.overall.calibration_error), ABSENT))
    return draw_table(("Metric", "Value", "Drawing days"), rows)


def _scores(evaluation: EvaluationResult) -> str:
    """Genuine records at or above each hundred points, against what the score promises."""
    rows = [
        (
            str(score),
            f"{nominal_share(score):.3%}",
            _interval(share),
            "yes" if score >= evaluation.extrapolated_from else "no",
        )
        for score, share in evaluation.score_shares.items()
    ]
    return draw_table(("Score", "Nominal share of genuine", "Observed", "Extrapolated"), rows)


def _calibration(evaluation: EvaluationResult) -> str:
    """Mean probability and observed share of fraud by bin."""
    rows = [
        (f"{row.observed.total:,}", f"{row.probability:.3%}", _interval(row.observed))
        for row in evaluation.calibration
    ]
    return draw_table(("Records", "Mean probability", "Frauds"), rows)


def _months(evaluation: EvaluationResult) -> str:
    """List the bounded errors and the ranking by month."""
    rows = [
        (
            month,
            f"{measures.genuine:,}",
            f"{measures.frauds:,}",
            _interval(measures.false_reject),
            _interval(measures.step_up),
            _interval(measures.missed_fraud),
            _decimal(measures.roc_auc),
        )
        for month, measures in evaluation.months.items()
    ]
    heads = (
        "Month",
        "Genuine",
        "Frauds",
        *(FIGURES[name].title for name in ERRORS),
        FIGURES["roc_auc"].title,
    )
    return draw_table(heads, rows)


def _groups(table: GroupTable) -> str:
    """List the bounded errors of each group, and their gaps to the reference."""
    rows = [
        (
            group.value,
            f"{group.genuine:,}",
            f"{group.frauds:,}",
            *(_gap(group.rates[name]) for name in ERRORS),
        )
        for group in table.groups
    ]
    heads = ("Group", "Genuine", "Frauds", *(FIGURES[name].title for name in ERRORS))
    against = "all other records" if table.reference == REST else for_markdown(table.reference)
    counted = "" if table.persons_known else " Persons are unknown, so each record counted as one."
    text = (
        f"Each rate with its difference to that of {against} in percentage points, and the interval that holds for all "
        f"groups at once (95 %). Fewer than {MIN_RECORDS} records in a denominator, or ten days, are not enough data. "
        f"{table.merged_values:,} values of fewer than five persons are one group.{counted}"
    )
    return f"{text}\n\n{draw_table(heads, rows)}"


def _gap(rate: GroupRate) -> str:
    """Write a rate with its gap."""
    if rate.estimate.value is None:
        return ABSENT
    shown, gap = f"{rate.estimate.value:.2%}", rate.gap
    if gap.value is None or gap.simultaneous_low is None or gap.simultaneous_high is None:
        return f"{shown} (not enough data)"
    low, high = 100 * gap.simultaneous_low, 100 * gap.simultaneous_high
    return f"{shown} ({100 * gap.value:+.2f}; {low:+.2f} to {high:+.2f})"


def _interval(share: Share) -> str:
    """Write a share with its interval."""
    if share.share is None:
        return ABSENT
    return f"{share.share:.2%} ({share.low:.2%} to {share.high:.2%})"


def _ends(interval: Estimate, write: Callable[[float | None], str]) -> str:
    """Write the ends of an interval."""
    return ABSENT if interval.low is None else f"{write(interval.low)} to {write(interval.high)}"


def _percent(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.1%}"


def _decimal(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"
