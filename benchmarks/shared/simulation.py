"""What simulations share: rules to decide by, and records whose decisions and labels are drawn."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.stopped import NotObserved

DAY: Final = 86_400_000_000


def rules_of(*, fail_from: int) -> DecisionRules:
    """Rules for margins that are log-odds, which step up from 400."""
    return DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-6, 4, 1000), extrapolated_from=800),
        calibration=Platt(slope=1.0, intercept=0.0),
        policy=Policy(step_up_from=400, fail_from=fail_from),
    )


def partly_observed(
    decisions: Decisions,
    labels: NDArray[np.int8],
    times: IntArray,
    seen: IntArray,
    missing: IntArray,
    weights: FloatArray | None = None,
) -> EvaluatedRecords:
    """Evaluated records of the rows `seen`; nobody knows those of the rows `missing`, unless weights stand for them."""
    unknown = decisions.take(missing)
    not_observed = NotObserved(
        outcomes=unknown.outcomes.astype(np.int8),
        margins=unknown.margins,
        probabilities=unknown.probabilities,
        labels=np.full(len(missing), -1, dtype=np.int8),
        event_times=times[missing],
    )
    return EvaluatedRecords(
        decisions=decisions.take(seen),
        labels=labels[seen],
        event_times=times[seen],
        weights=None if weights is None else weights[seen],
        not_observed=not_observed if weights is None and len(missing) else None,
    )
