"""The first screen: what happens to 10,000 applicants, and which records were left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.scales import day
from scoring_model.evaluation.result import Applicants, EvaluationResult
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    from scoring_model.evaluation.coverage import Coverage
    from scoring_model.evaluation.uncertainty import Estimate

OUTCOME_TITLES: Final = {
    Outcome.PASSED: "Passed",
    Outcome.STEPPED_UP: "Stepped up",
    Outcome.FAILED: "Failed",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeRow:
    """Applicants of 10,000 with one outcome; texts."""

    name: str
    title: str
    count: str
    range: str
    frauds: str
    noun: str
    frauds_range: str
    share: float
    fraud_share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplicantTexts:
    """What happens to 10,000 applicants."""

    title: str
    lead: str
    rows: tuple[OutcomeRow, ...]
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOutTexts:
    """Which records were left out."""

    texts: tuple[str, ...]
    warnings: tuple[str, ...]
    table: Table | None


def applicant_texts(evaluation: EvaluationResult) -> ApplicantTexts:
    """Describe what happens to 10,000 applicants who are as the evaluated records."""
    title, overall = "Out of 10,000 applicants", evaluation.overall
    if not overall.records:
        return ApplicantTexts(title=title, lead="", rows=(), note="There are no evaluated records.")
    found = evaluation.applicants
    numbers = {outcome: found[outcome].frauds.value or 0.0 for outcome in OUTCOMES}
    return ApplicantTexts(
        title=title,
        lead=_lead(numbers),
        rows=tuple(_row(outcome, found[outcome], sum(numbers.values())) for outcome in OUTCOMES),
        note=_note(evaluation),
    )


def _lead(numbers: Mapping[Outcome, float]) -> str:
    """State the fate of the frauds, or that there are none."""
    total = sum(numbers.values())
    if not total:
        return "None of the evaluated records is a known fraud."
    return (
        f"{count_text(total)} of them are frauds: {count_text(numbers[Outcome.PASSED])} pass, "
        f"{count_text(numbers[Outcome.STEPPED_UP])} are stepped up and {count_text(numbers[Outcome.FAILED])} fail."
    )


def _row(outcome: Outcome, found: Applicants, all_frauds: float) -> OutcomeRow:
    frauds = count_text(found.frauds.value or 0.0)
    return OutcomeRow(
        name=outcome.value.lower(),
        title=OUTCOME_TITLES[outcome],
        count=count_text(found.everyone.value or 0.0),
        range=ends_text(found.everyone),
        frauds=frauds,
        noun="is a fraud" if frauds == "1" else "are frauds",
        frauds_range=ends_text(found.frauds),
        share=(found.everyone.value or 0.0) / 10_000,
        fraud_share=(found.frauds.value or 0.0) / all_frauds if all_frauds else None,
    )


def count_text(value: float) -> str:
    """Write a number of applicants: with a digit after the point below 10, unless it is whole."""
    return f"{value:,.1f}" if 0.05 <= value < 9.95 and abs(value - round(value)) >= 0.05 else f"{value:,.0f}"


def ends_text(found: "Estimate") -> str:
    """Write the interval of a number of applicants; nothing where there is none."""
    return (
        ""
        if found.low is None or found.high is None
        else f"{count_text(found.low)} to {count_text(found.high)}"
    )


def _note(evaluation: EvaluationResult) -> str:
    overall, days = evaluation.overall, evaluation.days
    text = (
        f"Shares of the {overall.records:,} evaluated records ({overall.genuine:,} genuine, {overall.frauds:,} "
        "frauds), scaled to 10,000."
    )
    if evaluation.figures["passed"].low is None:
        return f"{text} The records lie on {days:,} days, too few for intervals."
    return f"{text} Ranges are 95% intervals, from drawing the {days:,} days with replacement."


def left_out_texts(
    coverage: "Coverage | None", *, split: bool = False, warnings: tuple[str, ...] = ()
) -> LeftOutTexts:
    """Describe which records were left out and why.

    Parameters
    ----------
    split : bool
        Whether a part of the report describes the split that chose the records.
    warnings : tuple of str
        Sentences on what the choice does to the results.
    """
    if coverage is None:
        where = (
            "by the split of the training, which “Data and split” describes"
            if split
            else "before the evaluation"
        )
        text = f"The records were chosen {where}; the evaluation left none of them out."
        return LeftOutTexts(texts=(text,), warnings=(), table=None)
    left = coverage.rows - coverage.evaluated
    counted = f"labels count if known by {day(coverage.as_of)} ({rfc3339(coverage.as_of)[11:16]} UTC)"
    if not left:
        text = f"None: all {coverage.rows:,} records are evaluated; {counted}."
        return LeftOutTexts(texts=(text,), warnings=warnings, table=None)
    text = f"{left:,} of {coverage.rows:,} records are left out, {coverage.evaluated:,} are evaluated; {counted}."
    rows = tuple((_sentence(reason), f"{count:,}") for reason, count in coverage.describe().items())
    return LeftOutTexts(
        texts=(text,),
        warnings=warnings,
        table=Table(caption="Records left out", heads=("Reason", "Records"), rows=rows),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
