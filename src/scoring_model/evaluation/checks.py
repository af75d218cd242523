"""Checks that an evaluation makes."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scoring_model.bundle.score_counts import ScoreCounts
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.rules import NEVER_REACHED, DecisionRules
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.estimates import Estimate
from scoring_model.evaluation.coverage import Coverage, LeftOut
from scoring_model.evaluation.draws import MIN_BLOCKS
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.groups import MIN_RECORDS, GroupTable
from scoring_model.evaluation.stability import Stability, Verdict
from scoring_model.evaluation.stopped import MIN_FRAUDS, MIN_GENUINE, ControlGroup, Stopped
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.figures import ERRORS
from scoring_model.findings import Code, Finding, State, checked, not_applicable
from scoring_model.records import format_duration

_NAMED: Final = 10
_MOVED: Final = 1.5
"""Factor from which another share of frauds matters; with many records every month differs."""


def check_evaluation(
    records: EvaluatedRecords,
    rules: DecisionRules,
    groups: Sequence[GroupTable],
    coverage: Coverage | None,
    *,
    stability: Sequence[Stability],
    counts: ScoreCounts | None,
) -> Iterator[Finding]:
    """Check groups, scores, promises, months and the choice of the records of an evaluation."""
    yield check_groups(groups, records=len(records))
    yield check_scores(records, rules)
    yield check_maturity(coverage, records=len(records))
    yield check_stopped(records)
    alone = "only a comparison of two models checks it, where nobody stands for the stopped applicants"
    yield not_applicable(Code.UNSEEN_KINDS, alone, records=len(records))
    yield check_promises(stability, records=len(records))
    yield check_prevalence(records, counts, coverage)


def check_promises(stability: Sequence[Stability], *, records: int) -> Finding:
    """Name the errors whose interval lies above what the policy promises."""
    code, promised = Code.BROKEN_PROMISES, [one for one in stability if one.verdict is not None]
    if not promised:
        return not_applicable(code, "the policy promises nothing", records=records)
    broken = [one for one in promised if one.verdict is Verdict.BROKEN]
    undecided = sum(one.verdict is Verdict.UNDECIDED for one in promised)
    sentence = (
        f"promises whose interval lies above its bound: none of {len(promised)}; undecided: {undecided}"
    )
    if broken:
        sentence = "; ".join(
            f"{one.bound}: {one.widest.percent}, {one.limit:.2%} is promised" for one in broken
        )
    return checked(
        code,
        sentence,
        records=records,
        names=tuple(one.bound for one in broken),
    )


def check_prevalence(
    records: EvaluatedRecords, counts: ScoreCounts | None, coverage: Coverage | None
) -> Finding:
    """Name the months whose share of known frauds is not that of the records that certified the policy.

    Records younger than the label maturity do not count: of those the frauds are known first.

    Parameters
    ----------
    counts : ScoreCounts or None
        Of the records that certified the policy.
    coverage : Coverage or None
        None: all records are as old as the label maturity.
    """
    code = Code.PREVALENCE
    mature = np.ones(len(records), dtype=np.bool_)
    if coverage is not None:
        mature = records.event_times < coverage.as_of - coverage.maturity
    total = int(np.count_nonzero(mature))
    if counts is None:
        return not_applicable(code, "the records that certified the policy are not known", records=total)
    if records.weights is not None:
        return not_applicable(code, "records of a control group stand for others", records=total)
    if not total:
        return not_applicable(code, "no evaluated record is as old as the label maturity", records=total)
    frauds = int(counts.frauds.sum())
    certified = share_of(frauds, frauds + int(counts.genuine.sum()))
    months, places = np.unique(
        records.event_times[mature].astype("datetime64[us]").astype("datetime64[M]"), return_inverse=True
    )
    shares = zip(np.bincount(places, weights=records.labels[mature]), np.bincount(places), strict=True)
    by_month = {
        str(month): share_of(int(held), int(of)) for month, (held, of) in zip(months, shares, strict=True)
    }
    moved = {month: share for month, share in by_month.items() if _is_elsewhere(share, certified)}
    worst = sorted(moved, key=lambda month: -(moved[month].value or 0.0))
    listed = ", ".join(f"{month} {moved[month].percent}" for month in worst[:_NAMED])
    return checked(
        code,
        f"{len(moved)} of {len(months)} months have another share of known frauds than the records that "
        f"certified the policy, {certified.percent}{': ' if moved else ''}{listed}",
        count=len(moved),
        records=total,
        names=tuple(worst),
    )


def _is_elsewhere(share: Estimate, certified: Estimate) -> bool:
    """Whether a share lies beyond another by its interval and by a factor that matters."""
    (low, high), (base_low, base_high) = _ends(share), _ends(certified)
    value, base = share.value or 0.0, certified.value or 0.0
    return (low > base_high and value >= _MOVED * base) or (high < base_low and value * _MOVED <= base)


def _ends(one: Estimate) -> tuple[float, float]:
    return 0.0 if one.low is None else one.low, 1.0 if one.high is None else one.high


def check_groups(groups: Sequence[GroupTable], *, records: int) -> Finding:
    """Count the groups without enough data to compare their rates of errors with those of others."""
    if not groups:
        return not_applicable(Code.SMALL_GROUPS, "no column was given to group by", records=records)
    few: dict[str, int] = {}
    compared = 0
    for table in groups:
        others = [group for group in table.groups if group.value != table.reference]
        compared += len(others)
        if count := sum(any(group.rates[name].gap.absence for name in ERRORS) for group in others):
            few[table.column] = count
    small, listed = sum(few.values()), ", ".join(f"{column} {count:,}" for column, count in few.items())
    needed = f"{MIN_RECORDS} genuine records and {MIN_RECORDS} frauds on {MIN_BLOCKS} days, and as many beside them"
    return checked(
        Code.SMALL_GROUPS,
        f"{small:,} of {compared:,} groups lack {needed}: {listed}"
        if small
        else f"all {compared:,} groups have {needed}",
        count=small,
        records=records,
        names=tuple(few),
    )


def check_scores(records: EvaluatedRecords, rules: DecisionRules) -> Finding:
    """Count the records with scores from which the scale is extrapolated."""
    start, total = rules.scale.extrapolated_from, len(records)
    if not total:
        return not_applicable(Code.EXTRAPOLATED_SCORES, "there are no records")
    reached = records.decisions.scores >= start
    count, frauds = int(np.count_nonzero(reached)), int(np.count_nonzero(reached & (records.labels == 1)))
    if start > MAX_SCORE:
        sentence = f"no score up to {MAX_SCORE} is extrapolated"
    elif count:
        sentence = (
            f"{count:,} of {total:,} evaluated records ({frauds:,} frauds) have a score of {start} or more, where the "
            "scale is extrapolated"
        )
    else:
        sentence = (
            f"none of {total:,} evaluated records reaches {start}, from which the scale is extrapolated"
        )
    limits = {"STEPPED_UP": rules.policy.step_up_from, "FAILED": rules.policy.fail_from}
    beyond = [
        f"{name} begins there, at {limit}" for name, limit in limits.items() if start <= limit < NEVER_REACHED
    ]
    return checked(
        Code.EXTRAPOLATED_SCORES,
        "; ".join([sentence, *beyond]),
        count=count,
        records=total,
        figures={"extrapolated_from": start},
    )


def check_stopped(records: EvaluatedRecords) -> Finding:
    """Count the applicants who were not observed, and those of them whom the model lets pass."""
    if records.weights is not None or records.is_sample:
        return not_applicable(
            Code.STOPPED,
            "records of a control group stand for those whom a policy stopped; nobody stands for those whom a list or "
            "rule stopped",
            records=len(records),
        )
    if records.not_observed is None:
        sentence = "no record says that its applicant was stopped"
        return checked(Code.STOPPED, sentence, records=len(records))
    found = Stopped.of(records.not_observed)
    share = found.records / (found.records + len(records))
    return checked(
        Code.STOPPED,
        f"{found.records:,} applicants ({share:.1%} of all) were stopped, or left before maturity, "
        f"and what they were is not known; this model would pass {found.outcomes[Outcome.PASSED]:,} of them. "
        f"Figures rest on the {len(records):,} who were observed",
        count=found.records,
        records=len(records),
    )


def check_control(group: ControlGroup | None, *, days: float, records: int) -> Finding:
    """Report a control group with too few records to say what stopped applicants are.

    Parameters
    ----------
    days : float
        Days over which its records lie.
    records : int
        Records that were looked at.
    """
    code = Code.CONTROL_GROUP
    if group is None:
        sentence = "no record has a propensity below 1: there is no control group"
        return checked(code, sentence, records=records)
    size = f"{group.genuine:,} genuine records and {group.frauds:,} known frauds"
    found = f"the control group has {size} in {days:,.0f} days"
    needed = f"{MIN_GENUINE} and {MIN_FRAUDS}"
    if group.factor == 1:
        return checked(code, f"{found}; {needed} suffice", records=records)
    takes = "At this rate nobody can say how long that takes: a class has no record"
    if math.isfinite(group.factor):
        longer = f"{math.ceil(days * group.factor):,} days"
        takes = f"At this rate that takes about {longer}, or a share {group.factor:.1f} times as large"
    return Finding(
        code=code,
        state=State.FOUND,
        sentence=f"{found}; at least {needed} are needed. {takes}",
        count=group.genuine + group.frauds,
        records=records,
        figures={"genuine": group.genuine, "frauds": group.frauds},
    )


def check_maturity(coverage: Coverage | None, *, records: int) -> Finding:
    """Report whether young records count because their label is known early, while others of their age do not."""
    code = Code.MIXED_MATURITY
    if coverage is None:
        return not_applicable(code, "the records were chosen before the evaluation", records=records)
    early = coverage.immature_genuine + coverage.immature_frauds
    unlabelled = coverage.left_out[LeftOut.UNLABELLED_IMMATURE]
    age = format_duration(coverage.maturity)
    if not (early and unlabelled):
        sentence = (
            f"of {records:,} evaluated records none younger than {age} counts while others of that age do not"
        )
        return checked(code, sentence, records=records)
    return checked(
        code,
        f"biased: {coverage.immature_frauds:,} frauds and {coverage.immature_genuine:,} genuine records "
        f"younger than {age} count because their label is known already, while {unlabelled:,} unlabelled records of "
        "that age are left out",
        count=early,
        records=records,
    )
