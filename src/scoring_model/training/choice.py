"""Chooses the policy on counted scores: the certified pair that costs or a person prefer."""

from dataclasses import dataclass

from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import NEVER_REACHED, Policy
from scoring_model.evaluation.bounds import scores_of, tested_scores
from scoring_model.evaluation.cost import expected_cost
from scoring_model.training.alternatives import Alternatives, find_alternatives
from scoring_model.training.certification import Certification
from scoring_model.training.thresholds import choose_policy


class NotCertified(ValueError):
    """A pair of thresholds is not certified to keep the bounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """A pair of thresholds that a person picked, such as a row of `Alternatives`.

    Parameters
    ----------
    step_up_from, fail_from : int, 1 to 1001
    """

    step_up_from: int
    fail_from: int


def choose(
    counts: ScoreCounts,
    certification: Certification,
    *,
    confidence: float,
    costs: CostSettings | None,
    pair: Thresholds | None = None,
) -> tuple[Policy | None, Alternatives]:
    """Choose a policy, and compute the results of other thresholds.

    Parameters
    ----------
    certification : Certification
        Of the tested records of `counts`.
    confidence : float
        Confidence with which all certified thresholds keep the bounds.
    pair : Thresholds, optional
        The thresholds to take. None: those of `choose_policy`.

    Returns
    -------
    tuple of Policy and Alternatives
        No policy if no thresholds keep the bounds.

    Raises
    ------
    NotCertified
        If `pair` is given and not certified.
    """
    cost = (
        None if costs is None else expected_cost(scores_of(counts.genuine), scores_of(counts.frauds), costs)
    )
    policy = None
    if not certification.shortfalls():
        policy = choose_policy(certification, cost=cost) if pair is None else _picked(certification, pair)
    genuine, frauds = tested_scores(counts)
    alternatives = find_alternatives(
        certification.holds,
        policy,
        genuine_scores=genuine,
        fraud_scores=frauds,
        confidence=confidence,
        cost=cost,
    )
    return policy, alternatives


def _picked(certification: Certification, pair: Thresholds) -> Policy:
    if not certification.holds(pair.step_up_from, pair.fail_from):
        raise NotCertified(
            f"the thresholds {pair.step_up_from} and {pair.fail_from} are not certified to keep the bounds: "
            f"step_up_from must be {_span(certification.step_up)} and fail_from {_span(certification.fail)}, "
            "and not below step_up_from"
        )
    return Policy(
        step_up_from=pair.step_up_from,
        fail_from=pair.fail_from,
        promises=certification.promises(pair.step_up_from, pair.fail_from),
    )


def _span(thresholds: range) -> str:
    first, last = thresholds[0], thresholds[-1]
    if first == NEVER_REACHED:
        return f"{NEVER_REACHED} (never)"
    return f"in {first}..{last}"
