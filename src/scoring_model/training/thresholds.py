"""Chooses the policy's thresholds among the certified ones: Learn then Test (arXiv 2110.01052)."""

from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import Policy
from scoring_model.training.bounds import at_or_above
from scoring_model.training.certification import MISSED_FRAUD, STEP_UP, Certification


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExpectedCost:
    """Expected cost of an applicant, in the unit of the settings: the sum of a part for each threshold.

    Parameters
    ----------
    step_up_parts, fail_parts : ndarray of shape (1001,), float64
        Costs added by the thresholds 1 to 1001, at index t - 1.
    prevalence : float
        Share of frauds among applicants, in [0, 1].
    """

    step_up_parts: FloatArray
    fail_parts: FloatArray
    prevalence: float
    settings: CostSettings

    def at(self, step_up_from: int, fail_from: int) -> float:
        """Return the expected cost of an applicant under an ordered pair of thresholds."""
        return float(self.step_up_parts[step_up_from - 1] + self.fail_parts[fail_from - 1])

    def cheapest(self, step_up: range, fail: range) -> tuple[int, int]:
        """Find the cheapest ordered pair; among ties the highest, which affects the fewest applicants."""
        first, last = np.array(step_up)[:, None], np.array(fail)[None, :]
        costs = self.step_up_parts[first - 1] + self.fail_parts[last - 1]
        costs[first > last] = np.inf
        row, column = np.argwhere(costs == costs.min())[-1]
        return step_up[row], fail[column]


def expected_cost(genuine_scores: IntArray, fraud_scores: IntArray, settings: CostSettings) -> ExpectedCost:
    """Estimate the expected cost of an applicant from records with known labels.

    With G and F the scores of a genuine applicant and of a fraud, p the prevalence and e the effectiveness, the
    pair (s, f), s <= f, costs

        p * fraud_loss * (P(F < s) + (1 - e) * P(s <= F < f))
        + (1 - p) * (step_up_cost * P(s <= G < f) + reject_cost * P(G >= f)),

    with the shares of the records. It is an average over applications without a guarantee, so it counts every record
    of a person or ring, while the tests of the bounds count one.

    Parameters
    ----------
    genuine_scores : ndarray of shape (n,), int64, 0 to 1000
    fraud_scores : ndarray of shape (m,), int64, 0 to 1000
        Not both empty; an empty class costs nothing.
    settings : CostSettings
        A prevalence of None is m / (n + m).
    """
    genuine = at_or_above(genuine_scores) / max(len(genuine_scores), 1)
    passed = 1.0 - at_or_above(fraud_scores) / max(len(fraud_scores), 1)
    prevalence = settings.prevalence
    if prevalence is None:
        prevalence = len(fraud_scores) / (len(genuine_scores) + len(fraud_scores))
    loss, friction = prevalence * settings.fraud_loss, (1.0 - prevalence) * settings.step_up_cost
    rejection = (1.0 - prevalence) * settings.reject_cost
    effect = settings.step_up_effectiveness
    return ExpectedCost(
        step_up_parts=loss * effect * passed + friction * genuine,
        fail_parts=loss * (1.0 - effect) * passed + (rejection - friction) * genuine,
        prevalence=prevalence,
        settings=settings,
    )


def choose_policy(certification: Certification, *, cost: ExpectedCost | None = None) -> Policy:
    """Choose thresholds that keep all bounds.

    With a cost, chooses the cheapest certified pair. Using the records again breaks no promise, since all certified
    pairs keep the bounds simultaneously (`Certification`). Without a cost, chooses the lowest thresholds, which catch
    the most frauds:

    - `step_up_from` is the lowest certified for `max_step_up`; if that is unset, the highest that keeps
      `max_missed_fraud`, or, if that is unset too, `fail_from`: no one is stepped up.
    - `fail_from` is the lowest certified for `max_false_reject`, but never below `step_up_from`.

    In both cases no one fails if `max_false_reject` is unset.

    Parameters
    ----------
    certification : Certification
        Without shortfalls.
    """
    if cost is None:
        step_up_from, fail_from = _lowest(certification)
    else:
        step_up_from, fail_from = cost.cheapest(certification.step_up, certification.fail)
    return Policy(
        step_up_from=step_up_from,
        fail_from=fail_from,
        promises=certification.promises(step_up_from, fail_from),
    )


def _lowest(certification: Certification) -> tuple[int, int]:
    fail_from = certification.fail.start
    if STEP_UP in certification.tests:
        step_up_from = certification.step_up.start
    elif MISSED_FRAUD in certification.tests:
        step_up_from = min(certification.step_up[-1], fail_from)
    else:
        step_up_from = fail_from
    return step_up_from, max(fail_from, step_up_from)
