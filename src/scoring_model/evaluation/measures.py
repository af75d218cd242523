"""Measures of one set of decisions, without intervals of days."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.metrics import Ranking, brier, log_loss
from scoring_model.evaluation.reliability import calibration_table, expected_calibration_error
from scoring_model.evaluation.uncertainty import Share, share_of

FPR_LIMITS: Final = (0.001, 0.005, 0.01, 0.05)
"""False positive rates at which recall and precision are reported."""


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
        found[str(period)] = measure(records.decisions.take(rows), records.labels[rows])
    return found


def measure(decisions: Decisions, labels: NDArray[np.integer]) -> Measures:
    """Measure one set of decisions; see `Measures`."""
    ranking, probabilities = Ranking.of(decisions.margins, labels), decisions.probabilities
    genuine, fraud = (_outcome_counts(decisions.outcomes[labels == label]) for label in (0, 1))
    genuine_total, fraud_total = sum(genuine.values()), sum(fraud.values())
    not_passed = genuine_total - genuine[Outcome.PASSED]
    return Measures(
        records=len(labels),
        genuine=genuine_total,
        frauds=fraud_total,
        roc_auc=ranking.roc_auc(),
        average_precision=ranking.average_precision(),
        brier=brier(probabilities, labels),
        log_loss=log_loss(probabilities, labels),
        calibration_error=expected_calibration_error(calibration_table(probabilities, labels)),
        ks=ranking.ks(),
        recalls={limit: ranking.recall_at_fpr(limit) for limit in FPR_LIMITS},
        precisions={limit: ranking.precision_at_fpr(limit) for limit in FPR_LIMITS},
        genuine_outcomes={outcome: share_of(count, genuine_total) for outcome, count in genuine.items()},
        fraud_outcomes={outcome: share_of(count, fraud_total) for outcome, count in fraud.items()},
        false_reject=share_of(genuine[Outcome.FAILED], genuine_total),
        step_up=share_of(not_passed, genuine_total),
        missed_fraud=share_of(fraud[Outcome.PASSED], fraud_total),
    )


def _outcome_counts(outcomes: NDArray[np.int8]) -> dict[Outcome, int]:
    """Number of records of each outcome."""
    return dict(zip(OUTCOMES, np.bincount(outcomes, minlength=len(OUTCOMES)).tolist(), strict=True))
