"""The first screen: what happens to 10,000 applicants, what is promised, and which records were left out."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.estimates import Estimate
from scoring_model.evaluation.report.section import Card, Cell, Grid, Section, Text
from scoring_model.evaluation.report.words import (
    ABSENT,
    CAN_NOT_KNOW,
    OUTCOME_TITLES,
    VERDICT_TONES,
    adding_up,
    capital,
    count_text,
    day,
    ends_text,
    percent,
    shared_counts,
)
from scoring_model.evaluation.result import APPLICANTS, EvaluationResult
from scoring_model.evaluation.stability import Stability, Verdict
from scoring_model.evaluation.stopped import CONTROL_SHARE, WIDEST
from scoring_model.figures import bounded
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    from scoring_model.evaluation.coverage import Coverage

_HAPPENED: Final = {
    "max_false_reject": "genuine records failed",
    "max_step_up": "genuine records were stepped up or failed",
    "max_missed_fraud": "frauds passed",
}
"""By bound, what happened to the records that are counted."""

_HEADS: Final = {
    Verdict.KEPT: "Kept",
    Verdict.BROKEN: "Broken",
    Verdict.UNDECIDED: "Undecided",
    None: "No promise",
}
_APPLICANTS: Final = {
    "outcome": "Outcome",
    "applicants": "Applicants",
    "frauds": "Frauds among them",
    "share": "Of applicants",
    "fraud_share": "Of frauds",
}

_KNOWN: Final = {"frauds": "Known frauds among them", "fraud_share": "Of known frauds"}
"""Heads where not all applicants were observed."""


def applicants_section(evaluation: EvaluationResult) -> Section:
    """Describe what happens to 10,000 applicants who are as the evaluated records."""
    name, title, overall = "applicants", "Out of 10,000 applicants", evaluation.overall
    if not overall.records:
        missing = Text(text="There are no evaluated records.", kind="missing")
        return Section(name=name, title=title, texts=(missing,))
    everyone = [one.everyone for one in evaluation.applicants.values()]
    frauds = [one.frauds for one in evaluation.applicants.values()]
    known = sum(one.value or 0.0 for one in frauds)
    heads = _APPLICANTS if evaluation.stopped is None else _APPLICANTS | _KNOWN
    counts = shared_counts([(one.value or 0.0) / APPLICANTS for one in everyone], APPLICANTS)
    numbers = adding_up([one.value or 0.0 for one in frauds])
    rows = [
        (
            Cell(text=OUTCOME_TITLES[outcome], key=outcome.lower()),
            _with_ends(f"{count:,}", ends_text(whole, count_text)),
            _with_ends(count_text(number), ends_text(part, count_text)),
            _share(whole.value or 0.0, APPLICANTS),
            _share(part.value or 0.0, known) if known else ABSENT,
        )
        for outcome, whole, part, count, number in zip(
            OUTCOMES, everyone, frauds, counts, numbers, strict=True
        )
    ]
    return Section(
        name=name,
        title=title,
        texts=tuple(Text(text=text, kind="lead") for text in _leads(evaluation, numbers)),
        grids=(Grid.of(name, "What happens to 10,000 applicants", heads, rows),),
        notes=(Text(text=_note(evaluation), kind="note"),),
    )


def _share(number: float, total: float) -> Cell:
    """Write a share of the numbers before they were rounded: that of few frauds would be another one."""
    return Cell(text=percent(number / total), bar=number / total)


def _with_ends(count: str, ends: str) -> str:
    return count if ends == ABSENT else f"{count} ({ends})"


def _leads(evaluation: EvaluationResult, numbers: Sequence[float]) -> Iterator[str]:
    """State how many nobody knows, and the fate of the frauds, or that there are none."""
    stopped = evaluation.stopped
    if stopped is not None:
        missing = count_text(APPLICANTS * (1 - evaluation.observed_share))
        yield (
            f"{stopped.records:,} of {stopped.records + evaluation.overall.records:,} applicants were not observed, "
            f"{missing} of 10,000: what they were is not known."
        )
    if not sum(numbers):
        yield "None of the evaluated records is a known fraud."
        return
    passed, stepped_up, failed = map(count_text, numbers)
    frauds = count_text(sum(numbers))
    what = "of them are frauds" if stopped is None else "are known frauds"
    yield f"{frauds} {what}: {passed} pass, {stepped_up} are stepped up and {failed} fail."


def _note(evaluation: EvaluationResult) -> str:
    overall, days = evaluation.overall, evaluation.days
    missing = "" if evaluation.stopped is None else f" and the {evaluation.stopped.records:,} not observed"
    rings = evaluation.figures["missed_fraud"].independent or 0
    frauds = f"{overall.frauds:,} frauds" + (f", {rings:,} independent" if evaluation.rings_known else "")
    text = (
        f"Shares of the {overall.records:,} evaluated records ({overall.genuine:,} genuine, {frauds}){missing}, "
        "scaled to 10,000."
    )
    if (stood_for := evaluation.records.stood_for) is not None:
        text = (
            f"{text[:-1]}. Applicants by outcome are counted: with the {len(stood_for):,} for whom these stand, or who "
            "were stopped otherwise."
        )
    if evaluation.figures["passed"].low is None:
        return f"{text} The records lie on {days:,} days, too few for intervals."
    if not evaluation.rings_known:
        return (
            f"{text} Ranges are 95% intervals, from drawing the {days:,} days. Which frauds belong together is not "
            "known: rings that last longer than a day make intervals too narrow."
        )
    return (
        f"{text} Ranges are 95% intervals, from drawing the days of genuine records, and the frauds that link keys "
        "join as one. Rings that share no key are not seen."
    )


def promises_section(evaluation: EvaluationResult) -> Section:
    """Judge each error that a policy may bound."""
    note = (
        "The policy promises nothing; the errors are shown with their intervals."
        if all(error.limit is None for error in evaluation.stability)
        else "Verdicts compare each promise with the evaluated records: the wider of the interval from drawing days of "
        "genuine records and rings of frauds, and Wilson’s for independent records. The promise itself is about one "
        "record of each person, and of each ring of frauds, in the population that the thresholds were chosen on."
    )
    if any(error.possible is not None for error in evaluation.stability):
        note += " Verdicts also allow for every label that the stopped applicants could have."
    return Section(
        name="judged-promises",
        title="Promises",
        cards=promise_cards(evaluation.stability),
        notes=(Text(text=note, kind="note"),),
    )


def promise_cards(stability: Sequence[Stability]) -> tuple[Card, ...]:
    """Describe each error that a policy may bound."""
    return tuple(map(_promise, stability))


def _promise(error: Stability) -> Card:
    share = error.share
    promised = "Nothing is promised." if error.limit is None else f"At most {percent(error.limit)} promised."
    if share.value is None:
        observed, detail = "Nothing observed.", "No evaluated record belongs to this class."
    else:
        observed = _observed(error)
        weighted = "Unweighted, " if abs(share.value * share.records - (share.count or 0)) > 1e-6 else ""
        counted = f"{weighted}{share.count:,} of {share.records:,} {_HAPPENED[error.bound]}, on {error.days:,} days."
        if about_frauds(error):
            counted = f"{counted[:-1]}, {share.independent or 0:,} of them independent."
        detail = f"{counted} {_reason(error)}".strip()
    return Card(
        tone=VERDICT_TONES[error.verdict],
        head=_HEADS[error.verdict],
        title=bounded(error.bound).title,
        sentence=f"{promised} {observed}",
        detail=detail,
    )


def about_frauds(error: Stability) -> bool:
    """Whether a promise rests on frauds, of which fewer are independent than there are."""
    independent = error.share.independent
    return bounded(error.bound).label == 1 and independent is not None and independent != error.days


def _observed(error: Stability) -> str:
    """Write the share of errors: of whom it was observed, and what that leaves open about the stopped ones."""
    share, ends = percent(error.share.value or 0.0), error.widest
    if error.possible is None and ends.low is None:
        return f"{share} observed, without an interval."
    if error.possible is None:
        return f"{share} observed (95% interval {ends_text(ends)})."
    if (all_of_them := whatever_text(error.possible, ends, error.verdict)) == CAN_NOT_KNOW:
        return f"{share} of those who were observed; of all applicants: can’t know."
    return f"{share} of those who were observed; {all_of_them} of all, whatever the stopped ones were."


def whatever_text(possible: Estimate | None, ends: Estimate, verdict: Verdict | None) -> str:
    """Write the ends of an error over all labels of the stopped applicants, or that they say nothing.

    Parameters
    ----------
    possible : Estimate or None
        None if nobody was stopped.
    ends : Estimate
        The share with the interval that the verdict rests on.
    """
    if possible is None:
        return ABSENT
    low, high = possible.low or 0.0, 1.0 if possible.high is None else possible.high
    if high - low <= WIDEST:
        return ends_text(ends)
    # The end that decides a promise tells something, however far away the other one is.
    return {
        Verdict.KEPT: f"at most {percent(ends.high or 0.0)}",
        Verdict.BROKEN: f"at least {percent(ends.low or 0.0)}",
    }.get(verdict or Verdict.UNDECIDED, CAN_NOT_KNOW)


def _reason(error: Stability) -> str:
    """Say why the verdict is what it is."""
    if error.verdict is None:
        return ""
    if error.possible is not None and error.verdict is Verdict.UNDECIDED:
        return f"{_what_decides(error)} {_would_tell(error)}"
    if error.possible is not None:
        return {
            Verdict.KEPT: f"Even the worst labels that the stopped applicants could have keep it.{worth(error)}",
            Verdict.BROKEN: "Even the best labels that the stopped applicants could have break it.",
        }[error.verdict]
    if error.verdict is Verdict.UNDECIDED:
        return (
            "The interval contains the limit."
            if error.share.low is not None
            else "Too few of them are independent for a verdict."
        )
    if error.verdict is Verdict.BROKEN:
        return "The whole interval lies above the limit."
    return f"The whole interval lies at or below the limit.{worth(error)}"


def _what_decides(error: Stability) -> str:
    """Say whether an undecided promise would be decided if there were nobody who was stopped."""
    if error.waits_for_stopped:
        return "The labels of the stopped applicants decide."
    if error.share.low is None:
        return "Too few of those who were observed are independent, and the labels of the stopped ones are missing."
    return "The interval of those who were observed contains the limit, and the labels of the stopped ones are missing."


def _would_tell(error: Stability) -> str:
    """Say what would decide a promise, and what it would be if the probabilities held for the stopped applicants."""
    assumed = error.assumed
    if assumed is None:
        return "A control group would show them."
    days = (
        ""
        if assumed.control_days is None
        else f" of {CONTROL_SHARE:.0%} for about {assumed.control_days:,} days"
    )
    ends = " to ".join(percent(one) for one in sorted((assumed.halved, assumed.doubled)))
    return (
        f"A control group{days} would give the share to within {100 * assumed.within:.2g} percentage points. If the "
        f"probabilities of the model held for the stopped ones it would be {percent(assumed.value)} ({ends} with half "
        "or twice the odds): an assumption that no label has tested."
    )


def worth(error: Stability) -> str:
    """Say what a kept promise is worth beside what is observed, where that is far less."""
    share, limit = error.share.value, error.limit
    if not share or limit is None or limit < 2 * share:
        return ""
    return f" The promise allows {limit / share:,.0f} times as many as were observed."


def left_out_section(coverage: "Coverage | None", *, split: bool = False) -> Section:
    """Describe which records were left out and why.

    Parameters
    ----------
    split : bool
        Whether a part of the report describes the split that chose the records.
    """
    if coverage is None:
        where = (
            "by the split of the training, which “Data and split” describes"
            if split
            else "before the evaluation"
        )
        text = f"The records were chosen {where}; the evaluation left none of them out."
        return counted_out("Records", text, ())
    left = coverage.rows - coverage.evaluated
    counted = (
        f"{', matured ones only' if coverage.matured_only else ''}; labels count if known by {day(coverage.as_of)} "
        f"({rfc3339(coverage.as_of)[11:16]} UTC)"
    )
    text = (
        f"{left:,} of {coverage.rows:,} records are left out, {coverage.evaluated:,} are evaluated{counted}."
        if left
        else f"None: all {coverage.rows:,} records are evaluated{counted}."
    )
    rows = [(capital(reason), f"{count:,}") for reason, count in coverage.describe().items()]
    return counted_out("Records", text, rows)


def counted_out(what: str, text: str, rows: Sequence[tuple[str, str]]) -> Section:
    """Say how many were left out, and why.

    Parameters
    ----------
    what : str
        What is counted.
    rows : sequence of (reason, number)
    """
    heads = {"reason": "Reason", "number": what}
    return Section(
        name="left-out",
        title="Records left out",
        texts=(text,),
        grids=(Grid.of("left-out", f"{what} left out", heads, rows),) if rows else (),
    )


def unknown_section(texts: Iterator[str]) -> Section:
    """List what limits the figures."""
    return Section(
        name="unknown",
        title="What is not known",
        texts=tuple(Text(text=text, kind="item") for text in texts),
    )
