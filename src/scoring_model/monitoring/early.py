"""What is known of promises before labels mature: from the rate of step-ups alone, and from probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.bundle import ReferenceDays
from scoring_model.bundle.reference_days import count_by_day
from scoring_model.decision.probability import Calibration
from scoring_model.decision.rules import Decisions, Policy
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.document import members
from scoring_model.evaluation.rates import CELLS, cell_codes, errs, rate_counts
from scoring_model.evaluation.stability import Verdict, date_of
from scoring_model.evaluation.uncertainty import CONFIDENCE, drawn_estimate, share_of
from scoring_model.figures import ERRORS, FIGURES, bounded
from scoring_model.monitoring.recalibration import (
    DRAWS,
    MaturedCounts,
    Recalibration,
    chance_of_none,
    contradiction,
    draw_frauds,
    recalibrate,
)
from scoring_model.monitoring.sequences import confidence_sequence, rate_alarm
from scoring_model.monitoring.shifts import MIN_BLOCKS, block_of_days
from scoring_model.records.times import DAY

MIN_FRAUDS: Final = 20
"""Fewest frauds of the reference period for an estimate."""

_ERROR: Final = 1 - CONFIDENCE


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyVerdict:
    """What the rate of an outcome says about a promise to genuine applicants, if at most a share of all are frauds.

    With a rate r of all applicants and a prevalence of at most c, the rate among genuine ones lies between
    (r - c) / (1 - c) and r / (1 - c).

    Parameters
    ----------
    bound : str
        `max_step_up` or `max_false_reject`.
    limit : float
        Promised share.
    cap : float
        Largest share of frauds that is assumed, in [0, 1).
    rate : Estimate
        Applicants with such an outcome, of all, with a 95 % confidence sequence: it holds however often one looks.
    genuine : Estimate
        Ends for genuine applicants, whose own share is not known.
    verdict : Verdict
        Kept if the upper end for genuine applicants is at most the limit, broken if the lower one is above it, else
        undecided.
    undecidable_from, undecidable_to : float
        Between these rates of all applicants no number of records decides, since frauds might explain the difference.
    alarm : str or None
        Day on which the alarm was raised, `YYYY-MM-DD`: the promise is broken whatever the labels say. A false alarm
        has a probability of at most 5 % a year.
    since : str or None
        Day from which the rate most likely lies above what the promise allows.
    evidence : float
        Largest value of the e-process so far; at 20 the alarm is raised.
    """

    bound: str
    limit: float
    cap: float
    rate: Estimate
    genuine: Estimate
    verdict: Verdict
    undecidable_from: float
    undecidable_to: float
    alarm: str | None
    since: str | None
    evidence: float

    @property
    def is_silent(self) -> bool:
        """Whether no number of records at the observed rate would decide."""
        rate = self.rate.value
        return rate is not None and self.undecidable_from < rate <= self.undecidable_to

    def to_json(self) -> dict[str, Any]:
        """Give the verdict as a JSON document."""
        return {**members(self), "silent": self.is_silent}


def early_verdicts(
    policy: Policy, outcomes: Int8Array, event_times: IntArray, *, cap: float
) -> Iterator[EarlyVerdict]:
    """Judge the promises to genuine applicants from outcomes alone.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Codes into `OUTCOMES`.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    cap : float
        Largest share of frauds among applicants, in [0, 1).
    """
    first = int(event_times.min() // DAY)
    days = event_times // DAY - first
    records = np.bincount(days)
    for promise in policy.promises:
        error = bounded(promise.bound)
        if error.rests_on != "genuine":
            continue
        counted = errs(error.key, outcomes)
        events = np.bincount(days[counted], minlength=len(records))
        found = share_of(int(events.sum()), len(outcomes))
        low, high = confidence_sequence(int(events.sum()), len(outcomes), error=_ERROR)
        ends = max((low - cap) / (1 - cap), 0.0), min(high / (1 - cap), 1.0)
        least = promise.limit * (1 - cap)
        alarm = rate_alarm(events, records, limit=least + cap, error=_ERROR)
        yield EarlyVerdict(
            bound=promise.bound,
            limit=promise.limit,
            cap=cap,
            rate=replace(found, low=low, high=high, method="sequence"),
            genuine=replace(found, value=None, low=ends[0], high=ends[1], count=None, method="sequence"),
            verdict=Verdict.of(*ends, promise.limit),
            undecidable_from=least,
            undecidable_to=least + cap,
            alarm=None if alarm.raised is None else date_of(first + alarm.raised),
            since=None if alarm.since is None else date_of(first + alarm.since),
            evidence=float(np.exp(min(alarm.log_evidence.max(), 700.0))),
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MaturedRecords:
    """Records whose labels are mature, with their margins.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    targets : ndarray of shape (n,), int8
        1 fraud, 0 genuine.
    """

    margins: FloatArray
    event_times: IntArray
    targets: Int8Array

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def frauds(self) -> int:
        """Number of frauds."""
        return int(np.count_nonzero(self.targets == 1))

    def append(self, other: "MaturedRecords") -> "MaturedRecords":
        """Return the records of both."""
        return MaturedRecords(
            margins=np.concatenate([self.margins, other.margins]),
            event_times=np.concatenate([self.event_times, other.event_times]),
            targets=np.concatenate([self.targets, other.targets]),
        )


NO_RECORDS: Final = MaturedRecords(
    margins=np.empty(0), event_times=np.empty(0, dtype=np.int64), targets=np.empty(0, dtype=np.int8)
)


class Knowledge(StrEnum):
    """Whether probabilities say what the errors are."""

    ESTIMATED = "estimated"
    CANNOT_KNOW = "cannot_know"


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """Estimated and realised errors of one period.

    Parameters
    ----------
    since, until : str
        First and last day with records, `YYYY-MM-DD`.
    estimated : mapping of str to Estimate
        By name: `false_reject`, `step_up`, `missed_fraud`. The intervals are of what will be realised.
    realised : mapping of str to Estimate
        Of the matured records alone; empty unless all records of the period are mature.
    records : int
    """

    since: str
    until: str
    estimated: NamedEstimates
    realised: NamedEstimates
    records: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimates:
    """Errors of the policy estimated from probabilities, before labels are mature.

    They assume that a probability means what it meant on the matured records: that only the share of records with
    each probability may change (covariate shift).

    Parameters
    ----------
    knowledge : Knowledge
        Whether the estimates hold. Matured labels that contradict the probabilities make it `cannot_know`.
    reason : str
        Why, as a sentence.
    overall : mapping of str to Estimate
        Of the whole window; empty if nothing is known. 95 % intervals of what will be realised: they include the
        error of the calibration, the variation between blocks of days, and chance.
    periods : tuple of Period
        By calendar month, or by week in a window of less than three months. Also there when labels contradict, to show
        it.
    matured_frauds : int
        Matured frauds of the window, which may contradict.
    history_records, history_frauds : int
        Matured records of the history from after the bundle's validation period, which count like those of the window.
    contradiction : float or None
        Statistic of the test over its 95 % quantile; None where no label has tested the probabilities.
    """

    knowledge: Knowledge
    reason: str
    overall: NamedEstimates
    periods: tuple[Period, ...]
    matured_frauds: int = 0
    history_records: int = 0
    history_frauds: int = 0
    contradiction: float | None = None


def estimate_errors(
    days: ReferenceDays,
    calibration: Calibration,
    decisions: Decisions,
    event_times: IntArray,
    targets: Int8Array,
    earlier: MaturedRecords = NO_RECORDS,
) -> Estimates:
    """Estimate the errors of the policy in a window.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    targets : ndarray of shape (n,), int8
        1 fraud and 0 genuine of matured records, -1 of all others.
    earlier : MaturedRecords
        Records before the window on which the bundle was neither trained nor validated.
    """
    if days.frauds.sum() < MIN_FRAUDS or len(days.days) < MIN_BLOCKS:
        return _unknown(days)
    reference = recalibrate(_reference_counts(days, calibration))
    borders = days.margin_borders
    mature = np.flatnonzero(targets >= 0)
    own = MaturedRecords(
        margins=decisions.margins[mature], event_times=event_times[mature], targets=targets[mature]
    )
    matured = own.append(earlier)
    found, strength, expected = reference, None, 0.0
    counts = _matured_counts(calibration, matured, borders) if len(matured) else None
    if counts is not None and not matured.frauds:
        expected, strength = _none_of(reference, counts)
    elif counts is not None:
        strength = contradiction(reference, recalibrate(counts))
        if strength <= 1:
            found = recalibrate(_joined(_reference_counts(days, calibration), counts))
    overall, periods = _estimate(found, calibration, decisions, event_times, targets, borders)
    contradicted = strength is not None and strength > 1
    reason = _reason(own.frauds, earlier, strength)
    return Estimates(
        knowledge=Knowledge.CANNOT_KNOW if contradicted else Knowledge.ESTIMATED,
        reason=_without_frauds(len(matured), expected) if contradicted and not matured.frauds else reason,
        overall={} if contradicted else overall,
        periods=periods,
        matured_frauds=own.frauds,
        history_records=len(earlier),
        history_frauds=earlier.frauds,
        contradiction=strength,
    )


def _unknown(days: ReferenceDays) -> Estimates:
    reason = (
        f"The reference period has {int(days.frauds.sum()):,} frauds on {len(days.days):,} days; {MIN_FRAUDS} on "
        f"{MIN_BLOCKS} are needed to know the error of the calibration."
    )
    return Estimates(knowledge=Knowledge.CANNOT_KNOW, reason=reason, overall={}, periods=())


def _none_of(reference: Recalibration, matured: MaturedCounts) -> tuple[float, float | None]:
    """Return the frauds expected of records without any, and how strongly that contradicts; None: it may be chance."""
    expected, chance = chance_of_none(reference, matured)
    strength = _ERROR / 2 / max(chance, 1 / DRAWS)
    return expected, strength if strength > 1 else None


def _without_frauds(records: int, expected: float) -> str:
    return (
        f"None of {records:,} matured records is a known fraud, where about {expected:,.0f} were expected: labels may "
        "no longer arrive, or a score no longer means the same chance of fraud, so probabilities say nothing of the "
        "errors."
    )


def _reason(frauds: int, earlier: MaturedRecords, strength: float | None) -> str:
    past = (
        f" and the {earlier.frauds:,} of {len(earlier):,} matured records of the history since the validation period"
        if len(earlier)
        else ""
    )
    if strength is None:
        return (
            "No matured fraud of the window or of the history since the validation period has tested yet whether "
            "probabilities still mean what they meant."
        )
    if strength > 1:
        return (
            f"The {frauds:,} matured frauds of the window{past} contradict the probabilities: a score no longer means "
            "the same chance of fraud, so probabilities say nothing of the errors."
        )
    few = "; so few could hardly do so" if frauds + earlier.frauds < MIN_FRAUDS else ""
    return f"The {frauds:,} matured frauds of the window{past} do not contradict the probabilities{few}."


def _log_odds(calibration: Calibration, margins: FloatArray) -> FloatArray:
    chances = np.clip(calibration.probabilities(margins), 1e-9, 1 - 1e-9)
    return np.log(chances / (1 - chances))


def _reference_counts(days: ReferenceDays, calibration: Calibration) -> MaturedCounts:
    blocks = _blocks(days.days)
    records, frauds = (np.zeros((int(blocks.max()) + 1, len(days.margins)), dtype=np.int64) for _ in range(2))
    np.add.at(records, blocks, days.by_margin)
    np.add.at(frauds, blocks, days.frauds)
    return MaturedCounts(log_odds=_log_odds(calibration, days.margins), records=records, frauds=frauds)


def _blocks(days: IntArray) -> IntArray:
    """Return weeks, or days where there are too few weeks."""
    weeks = block_of_days(days)
    return weeks if int(weeks.max()) + 1 >= MIN_BLOCKS else block_of_days(days, length=1)


def _matured_counts(calibration: Calibration, matured: MaturedRecords, borders: FloatArray) -> MaturedCounts:
    held, code = np.unique(matured.event_times // DAY, return_inverse=True)
    blocks = _blocks(held)[code]
    groups = np.searchsorted(borders, matured.margins, side="left")
    size, bins, fraud = int(blocks.max()) + 1, len(borders) + 1, matured.targets == 1
    totals = np.bincount(groups, minlength=bins)
    means = np.bincount(groups, matured.margins, minlength=bins) / np.maximum(totals, 1)
    return MaturedCounts(
        log_odds=_log_odds(calibration, means),
        records=count_by_day(groups, blocks, bins, size),
        frauds=count_by_day(groups[fraud], blocks[fraud], bins, size),
    )


def _joined(first: MaturedCounts, second: MaturedCounts) -> MaturedCounts:
    """Put blocks of two samples together; each has its own groups."""
    sizes = [(len(one.records), len(one.log_odds)) for one in (first, second)]

    def stacked(name: str) -> IntArray:
        whole = np.zeros((sizes[0][0] + sizes[1][0], sizes[0][1] + sizes[1][1]), dtype=np.int64)
        whole[: sizes[0][0], : sizes[0][1]] = getattr(first, name)
        whole[sizes[0][0] :, sizes[0][1] :] = getattr(second, name)
        return whole

    return MaturedCounts(
        log_odds=np.concatenate([first.log_odds, second.log_odds]),
        records=stacked("records"),
        frauds=stacked("frauds"),
    )


def _estimate(
    found: Recalibration,
    calibration: Calibration,
    decisions: Decisions,
    event_times: IntArray,
    targets: Int8Array,
    borders: FloatArray,
) -> tuple[dict[str, Estimate], tuple[Period, ...]]:
    held, code = np.unique(event_times // DAY, return_inverse=True)
    blocks, periods = block_of_days(held)[code], _periods(held)[code]
    groups = np.searchsorted(borders, decisions.margins, side="left")
    keys = np.stack([periods, blocks, decisions.outcomes, groups])
    cells, cell, records = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    margins = np.bincount(cell.ravel(), decisions.margins) / records
    expected, drawn = draw_frauds(found, _log_odds(calibration, margins), records, cells[1])

    def rates(chosen: NDArray[np.bool_]) -> dict[str, Estimate]:
        own = (expected[chosen], drawn[:, chosen], records[chosen], cells[2][chosen])
        return {name: _rate(name, *own) for name in ERRORS}

    parts = []
    for period in range(int(periods.max()) + 1):
        rows = np.flatnonzero(periods == period)
        span = event_times[rows] // DAY
        parts.append(
            Period(
                since=date_of(int(span.min())),
                until=date_of(int(span.max())),
                estimated=rates(cells[0] == period),
                realised=_realised(decisions.outcomes[rows], targets[rows]),
                records=len(rows),
            )
        )
    return rates(np.ones(len(records), dtype=np.bool_)), tuple(parts)


def _periods(days: IntArray) -> IntArray:
    """Return codes of calendar months, or of weeks where there are less than three months."""
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    chosen = months if months[-1] - months[0] >= 3 else block_of_days(days)
    return np.unique(chosen, return_inverse=True)[1]


def _rate(
    name: str, expected: FloatArray, drawn: FloatArray, records: IntArray, outcomes: IntArray
) -> Estimate:
    """Estimate one error from the frauds of its cells."""
    wrong = errs(name, outcomes)
    means, sums = (expected, drawn) if FIGURES[name].label else (records - expected, records - drawn)
    total, totals = float(means.sum()), sums.sum(axis=1)
    shares = sums[:, wrong].sum(axis=1)[totals > 0] / totals[totals > 0]
    value = float(means[wrong].sum()) / total if total else np.nan
    return replace(drawn_estimate(value, shares, round(total)), method="recalibration")


def _realised(outcomes: Int8Array, targets: Int8Array) -> dict[str, Estimate]:
    """Count the errors of a period; nothing unless all its records are mature."""
    if np.any(targets < 0):
        return {}
    counts = rate_counts(np.bincount(cell_codes(targets, outcomes), minlength=CELLS), ERRORS)
    return {
        name: share_of(int(wrong), int(total)) for name, wrong, total in zip(ERRORS, *counts, strict=True)
    }
