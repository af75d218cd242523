"""Measures of one set of decisions, without intervals of days."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.metrics import Ranking, brier, log_loss
from scoring_model.evaluation.reliability import calibration_table, expected_calibration_error
from scoring_model.evaluation.uncertainty import Share, share_of, weighted_share
from scoring_model.figures import ERRORS, FPR_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    """Measures of the decisions on one set of records.

    Parameters
    ----------
    roc_auc, average_precision, brier, log_loss, ks : float or None
        As in `metrics`; None where a class is absent.
    calibration_error : float or None
        Expected calibration error over ten bins of nearly equal numbers.
    recalls, precisions : mapping of float to float or None
        At each false positive rate of `FPR_LIMITS`.
    genuine_outcomes, fraud_outcomes : mapping of Outcome to Share
        Share of the class that gets each outcome.
    false_reject : Share
        Genuine records that failed: what `max_false_reject` bounds.
    step_up : Share
        Genuine records that were stepped up or failed: what `max_step_up` bounds.
    missed_fraud : Share
        Frauds that passed: what `max_missed_fraud` bounds.
    """

    records: int
    genuine: int
    frauds: int
    roc_auc: float | None
    average_precision: float | None
    brier: float | None
    log_loss: float | None
    calibration_error: float | None
    ks: float | None
    recalls: Mapping[float, float | None]
    precisions: Mapping[float, float | None]
    genuine_outcomes: Mapping[Outcome, Share]
    fraud_outcomes: Mapping[Outcome, Share]
    false_reject: Share
    step_up: Share
    missed_fraud: Share

    @property
    def errors(self) -> dict[str, Share]:
        """The errors that a policy may bound, by name."""
        return {name: getattr(self, name) for name in ERRORS}

    def to_json(self) -> dict[str, Any]:
        """Give the measures as a JSON document with all keys, also for absent measures."""
        plain = asdict(self)
        for name, key in (("recalls", "recall_at_fpr"), ("precisions", "precision_at_fpr")):
            plain[key] = {f"{limit:g}": value for limit, value in plain.pop(name).items()}
        return plain


def measure_periods(records: EvaluatedRecords, periods: NDArray[np.datetime64]) -> dict[str, Measures]:
    """Measure the records of each period.

    Parameters
    ----------
    periods : ndarray of shape (n,), datetime64
        Period of each record; its text is the key.

    Returns
    -------
    dict of str to Measures
        Ascending; periods without records are left out.
    """
    found = {}
    for period in np.unique(periods):
        rows = np.flatnonzero(periods == period)
        weights = None if records.weights is None else records.weights[rows]
        found[str(period)] = measure(records.decisions.take(rows), records.labels[rows], weights)
    return found


def measure(decisions: Decisions, labels: NDArray[np.integer], weights: FloatArray | None = None) -> Measures:
    """Measure one set of decisions, whose records may stand for others; see `Measures`."""
    ranking, probabilities = Ranking.of(decisions.margins, labels, weights), decisions.probabilities
    genuine, fraud = (_OfClass.of(decisions.outcomes, labels == label, weights) for label in (0, 1))
    return Measures(
        records=len(labels),
        genuine=len(genuine.outcomes),
        frauds=len(fraud.outcomes),
        roc_auc=ranking.roc_auc(),
        average_precision=ranking.average_precision(),
        brier=brier(probabilities, labels, weights),
        log_loss=log_loss(probabilities, labels, weights),
        calibration_error=expected_calibration_error(calibration_table(probabilities, labels)),
        ks=ranking.ks(),
        recalls={limit: ranking.recall_at_fpr(limit) for limit in FPR_LIMITS},
        precisions={limit: ranking.precision_at_fpr(limit) for limit in FPR_LIMITS},
        genuine_outcomes={outcome: genuine.share(outcome) for outcome in OUTCOMES},
        fraud_outcomes={outcome: fraud.share(outcome) for outcome in OUTCOMES},
        false_reject=genuine.share(Outcome.FAILED),
        step_up=genuine.share(Outcome.STEPPED_UP, Outcome.FAILED),
        missed_fraud=fraud.share(Outcome.PASSED),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _OfClass:
    """The outcomes of one class, with the weights of its records and the greatest one of all records."""

    outcomes: NDArray[np.int8]
    weights: FloatArray | None
    heaviest: float

    @classmethod
    def of(cls, outcomes: NDArray[np.int8], rows: BoolArray, weights: FloatArray | None) -> Self:
        heaviest = 1.0 if weights is None else float(weights.max(initial=1.0))
        return cls(outcomes[rows], None if weights is None else weights[rows], heaviest)

    def share(self, *outcomes: Outcome) -> Share:
        """Return the share of some outcomes."""
        found = np.isin(self.outcomes, [OUTCOMES.index(outcome) for outcome in outcomes])
        if self.weights is None:
            return share_of(int(np.count_nonzero(found)), len(found))
        return weighted_share(found, self.weights, heaviest=self.heaviest)
