"""Chooses the policy's thresholds among the certified ones: Learn then Test (arXiv 2110.01052)."""

from scoring_model.decision.rules import Policy
from scoring_model.evaluation.bounds import MISSED_FRAUD, STEP_UP
from scoring_model.evaluation.cost import ExpectedCost
from scoring_model.training.certification import Certification


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
