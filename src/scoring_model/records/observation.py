"""Whether a record is observed: whether its label could become known, by what was finally decided about the applicant.

A label and an observation are two attributes. A stopped applicant can never become a known fraud, so a record without a
label is genuine with age only if it is observed (selective labels: Lakkaraju et al. 2017, DOI 10.1145/3097983.3098066).
Decision record: docs/adr/0013-labels-and-splits.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.rules import Rule, RuleError, signal_text
from scoring_model.records.letter_case import fold_case
from scoring_model.records.schema import OutcomeSchema, RecordSchema, StepUps
from scoring_model.records.table import NEVER, RecordTable

STOPPED: Final = int(np.iinfo(np.int64).min)
"""End of the observation of whoever was never observed."""

OBSERVED_COLUMN: Final = "observedUntil"
"""Column of scored files: the instant up to which an applicant could be observed, that of the event where none was."""

NOT_OBSERVED: Final = (
    "not observed: stopped, left before maturity, or without a propensity where others have one"
)
"""Why a record takes part in no figure."""

UNKNOWN: Final = -1
"""Code of an outcome or resolution that is missing."""

PASSED, STEPPED_UP, FAILED = (OUTCOMES.index(outcome) for outcome in Outcome)
APPROVED, DECLINED, ABANDONED = range(3)


def outcome_rule(schema: OutcomeSchema, *, contract: bool = False) -> Callable[[object], int | None]:
    """Return the rule of outcomes: a cell to `PASSED`, `STEPPED_UP` or `FAILED`, None where missing.

    With `contract`, its words count too, unless the schema gives them another meaning.
    """
    return _rule(schema.outcomes, contract=contract)


def resolution_rule(schema: OutcomeSchema, *, contract: bool = False) -> Callable[[object], int | None]:
    """Return the rule of resolutions: a cell to `APPROVED`, `DECLINED` or `ABANDONED`, None where missing.

    With `contract`, its words count too, unless the schema gives them another meaning.
    """
    return _rule(schema.resolutions, contract=contract)


def _rule(lists: Mapping[str, tuple[str, ...]], *, contract: bool) -> Callable[[object], int | None]:
    """Return the rule of a column: text to the position of the list that holds it, or is called so."""
    meanings = {fold_case(name): code for code, name in enumerate(lists)} if contract else {}
    meanings |= {fold_case(word): code for code, words in enumerate(lists.values()) for word in words}

    def code_of(value: object) -> int | None:
        text = signal_text(value)
        if text is None:
            return None
        word = fold_case(text)
        if word not in meanings:
            raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(sorted(meanings))}")
        return meanings[word]

    return code_of


def observed_until(
    outcomes: NDArray[np.int8], resolutions: NDArray[np.int8], closed: IntArray, *, step_ups: StepUps
) -> IntArray:
    """Return the instant up to which each applicant could be observed.

    A resolution counts before the outcome. Without one, a passed applicant is observed, a failed one is not, and one
    who was stepped up is as `step_ups` says. A record without an outcome was not decided about: it is observed.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Final outcome, `PASSED`, `STEPPED_UP`, `FAILED` or `UNKNOWN`: that of a control group, rule or list where such
        a thing decided.
    resolutions : ndarray of shape (n,), int8
        `APPROVED`, `DECLINED`, `ABANDONED` or `UNKNOWN`.
    closed : ndarray of shape (n,), int64
        Microseconds at which the account was closed; `NEVER` where it was not.

    Returns
    -------
    ndarray of shape (n,), int64
        Microseconds; `NEVER` where the observation has no end, `STOPPED` where there was none.
    """
    goes_on = (outcomes == UNKNOWN) | (outcomes == PASSED)
    if step_ups == "observed":
        goes_on |= outcomes == STEPPED_UP
    goes_on = np.where(resolutions == UNKNOWN, goes_on, resolutions == APPROVED)
    return np.where(goes_on, closed, STOPPED)


def observed_until_of(gather: Callable[[str, int], IntArray], schema: RecordSchema) -> IntArray:
    """Return the instant up to which each applicant of a file could be observed.

    Parameters
    ----------
    gather : callable
        Values of a field of `DECIDED_FIELDS`, of shape (n,), with a given one where the file has none.
    """
    return observed_until(
        gather("outcome", UNKNOWN).astype(np.int8),
        gather("resolution", UNKNOWN).astype(np.int8),
        gather("closedAt", NEVER),
        step_ups=schema.step_ups,
    )


def is_observed(until: IntArray, event_times: IntArray, maturity: int) -> BoolArray:
    """Return the mask of records that were observed until they were mature.

    Parameters
    ----------
    until, event_times : ndarray of shape (n,), int64
        Microseconds; `until` of `observed_until`.
    maturity : int
        Microseconds after which a record without a label is genuine.
    """
    observed: BoolArray = (until == NEVER) | ((until != STOPPED) & (until - event_times >= maturity))
    return observed


def observed(table: RecordTable, maturity: int) -> BoolArray:
    """Return the mask of the observed records of a table: where nothing says who was stopped, all are.

    Where records have propensities, those without one are not observed.
    """
    mask = np.ones(len(table), dtype=np.bool_)
    if table.observed_until is not None:
        mask &= is_observed(table.observed_until, table.event_times, maturity)
    if table.propensities is not None:
        mask &= ~np.isnan(table.propensities)
    return mask


def without_propensities(table: RecordTable) -> RecordTable:
    """Return records that stand for themselves alone; those that have no propensity are not observed."""
    if table.propensities is None:
        return table
    until = np.full(len(table), NEVER) if table.observed_until is None else table.observed_until
    return replace(
        table, propensities=None, observed_until=np.where(np.isnan(table.propensities), STOPPED, until)
    )


def unsampled(table: RecordTable) -> RecordTable:
    """Return records of which nobody was drawn to pass: what was decided says who was observed, else propensities."""
    return without_propensities(table) if table.observed_until is None else replace(table, propensities=None)


def sampled(table: RecordTable) -> RecordTable:
    """Return records whose propensities count: none does if nobody was drawn to stand for those who were stopped."""
    return table if table.propensities is None or (table.propensities < 1).any() else unsampled(table)


def targets_at(table: RecordTable, instant: int, maturity: int) -> NDArray[np.int8]:
    """Return the class of each record of a table that is known at an instant; see `known_targets`."""
    return known_targets(
        table.event_times,
        table.labels,
        table.label_times,
        instant,
        maturity,
        observed=observed(table, maturity),
    )


def known_targets(
    event_times: IntArray,
    labels: NDArray[np.int8],
    label_times: IntArray,
    instant: int,
    maturity: int,
    *,
    observed: BoolArray | None = None,
) -> NDArray[np.int8]:
    """Return the known class of each record at an instant.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC
    labels : ndarray of shape (n,), int8, 1 fraud, 0 genuine, -1 none
    label_times : ndarray of shape (n,), int64, microseconds, the instant from which a label is known
    instant : int
        Microseconds since 1970-01-01 UTC; a label counts if it was known strictly before.
    maturity : int
        Microseconds after which an observed record without a known fraud label is genuine.
    observed : ndarray of shape (n,), bool, optional
        By default all are.

    Returns
    -------
    ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    """
    known = label_times < instant
    mature = event_times < instant - maturity
    genuine = (known & (labels == 0)) | (mature if observed is None else mature & observed)
    return np.where(known & (labels == 1), 1, np.where(genuine, 0, -1)).astype(np.int8)
