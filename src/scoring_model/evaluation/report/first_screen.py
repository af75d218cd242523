"""The first screen: what happens to 10,000 applicants, which promises are kept, and which records were left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.evaluation.report.figures import Table, range_text
from scoring_model.evaluation.report.scales import day, percent
from scoring_model.evaluation.stability import Stability, Verdict
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    from scoring_model.evaluation.coverage import Coverage
    from scoring_model.evaluation.evaluation import Applicants, Evaluation
    from scoring_model.evaluation.uncertainty import Estimate

_OUTCOMES: Final = {
    Outcome.PASSED: "Passed",
    Outcome.STEPPED_UP: "Stepped up",
    Outcome.FAILED: "Failed",
}
_ERRORS: Final = {
    "max_false_reject": ("Genuine applicants who fail", "genuine records failed"),
    "max_step_up": (
        "Genuine applicants who are stepped up or fail",
        "genuine records were stepped up or failed",
    ),
    "max_missed_fraud": ("Frauds that pass", "frauds passed"),
}

_VERDICTS: Final = {
    Verdict.KEPT: "Kept",
    Verdict.BROKEN: "Broken",
    Verdict.UNDECIDED: "Undecided",
    None: "No promise",
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
class PromiseTexts:
    """One promise in words."""

    verdict: str
    head: str
    title: str
    sentence: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOutTexts:
    """Which records were left out."""

    texts: tuple[str, ...]
    warnings: tuple[str, ...]
    table: Table | None


def applicant_texts(evaluation: "Evaluation") -> ApplicantTexts:
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
        f"{_count(total)} of them are frauds: {_count(numbers[Outcome.PASSED])} pass, "
        f"{_count(numbers[Outcome.STEPPED_UP])} are stepped up and {_count(numbers[Outcome.FAILED])} fail."
    )


def _row(outcome: Outcome, found: "Applicants", all_frauds: float) -> OutcomeRow:
    frauds = _count(found.frauds.value or 0.0)
    return OutcomeRow(
        name=outcome.value.lower(),
        title=_OUTCOMES[outcome],
        count=_count(found.everyone.value or 0.0),
        range=_ends(found.everyone),
        frauds=frauds,
        noun="is a fraud" if frauds == "1" else "are frauds",
        frauds_range=_ends(found.frauds),
        share=(found.everyone.value or 0.0) / 10_000,
        fraud_share=(found.frauds.value or 0.0) / all_frauds if all_frauds else None,
    )


def _count(value: float) -> str:
    """Write a number of applicants: with a digit after the point below 10, unless it is whole."""
    return f"{value:,.1f}" if 0.05 <= value < 9.95 and abs(value - round(value)) >= 0.05 else f"{value:,.0f}"


def _ends(found: "Estimate") -> str:
    return "" if found.low is None or found.high is None else f"{_count(found.low)} to {_count(found.high)}"


def _note(evaluation: "Evaluation") -> str:
    overall, days = evaluation.overall, evaluation.days
    text = (
        f"Shares of the {overall.records:,} evaluated records ({overall.genuine:,} genuine, {overall.frauds:,} "
        "frauds), scaled to 10,000."
    )
    if evaluation.figures["passed"].low is None:
        return f"{text} The records lie on {days:,} days, too few for intervals."
    return f"{text} Ranges are 95% intervals, from drawing the {days:,} days with replacement."


def promise_texts(stability: Sequence["Stability"]) -> tuple[PromiseTexts, ...]:
    """Describe each error that a policy may bound."""
    return tuple(_promise(error) for error in stability)


def _promise(error: "Stability") -> PromiseTexts:
    title, happened = _ERRORS[error.bound]
    share, verdict = error.share, error.verdict
    promised = "Nothing is promised." if error.limit is None else f"At most {percent(error.limit)} promised."
    if share.share is None:
        observed, detail = "Nothing observed.", "No evaluated record belongs to this class."
    else:
        low, high = _widest(error)
        observed = f"{percent(share.share)} observed (95% interval {range_text(low, high)})."
        counted = f"{share.count:,} of {share.total:,} {happened}, on {error.days:,} days."
        detail = f"{counted} {_reason(error)}".strip()
    return PromiseTexts(
        verdict="none" if verdict is None else verdict.value,
        head=_VERDICTS[verdict],
        title=title,
        sentence=f"{promised} {observed}",
        detail=detail,
    )


def _reason(error: "Stability") -> str:
    """Say why the verdict is what it is."""
    if error.verdict is None:
        return ""
    if error.verdict is Verdict.UNDECIDED:
        return "The interval contains the limit." if error.low is not None else "Too few days for a verdict."
    side = "at or below" if error.verdict is Verdict.KEPT else "above"
    return f"The whole interval lies {side} the limit."


def _widest(error: Stability) -> tuple[float | None, float | None]:
    """Return the interval that the verdict rests on: it covers that of independent records and that of days."""
    lows = [low for low in (error.share.low, error.low) if low is not None]
    highs = [high for high in (error.share.high, error.high) if high is not None]
    return min(lows, default=None), max(highs, default=None)


def promises_note(evaluation: "Evaluation") -> str:
    """Say what the verdicts compare."""
    if all(error.limit is None for error in evaluation.stability):
        return "The policy promises nothing; the errors are shown with their intervals."
    return (
        "Verdicts compare each promise with the evaluated records: the wider of the interval from drawing whole days "
        "and Wilson’s for independent records. The promise itself is about one record of each person, and of each "
        "ring of frauds, in the population that the thresholds were chosen on."
    )


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
