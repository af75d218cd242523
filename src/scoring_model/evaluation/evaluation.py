"""Evaluates decisions on records with known labels, overall and by calendar month."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import MAX_SCORE, nominal_share
from scoring_model.evaluation.metrics import Ranking, brier, log_loss
from scoring_model.evaluation.reliability import CalibrationBin, calibration_table, expected_calibration_error
from scoring_model.evaluation.stability import Stability, measure_stability
from scoring_model.evaluation.uncertainty import Share, Uncertainty, measure_uncertainty, share_of

FPR_LIMITS = (0.001, 0.005, 0.01, 0.05)
"""False positive rates at which recall is reported."""


class EvaluationError(ValueError):
    """Arrays are not consistent with one set of decisions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    """Measures of the decisions on one set of records.

    Parameters
    ----------
    roc_auc, average_precision, brier, log_loss : float or None
        As in `metrics`; None where a class is absent.
    calibration_error : float or None
        Expected calibration error over ten bins of nearly equal numbers.
    recalls : mapping of float to float or None
        Recall at each false positive rate of `FPR_LIMITS`.
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
    recalls: Mapping[float, float | None]
    genuine_outcomes: Mapping[Outcome, Share]
    fraud_outcomes: Mapping[Outcome, Share]
    false_reject: Share
    step_up: Share
    missed_fraud: Share

    def to_json(self) -> dict[str, Any]:
        """Give the measures as a JSON document with all keys, also for absent measures."""
        plain = asdict(self)
        plain["recall_at_fpr"] = {f"{limit:g}": recall for limit, recall in plain.pop("recalls").items()}
        return plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Decisions on records with known labels.

    Parameters
    ----------
    uncertainty : Uncertainty
        Intervals of the metrics in `overall`, by a bootstrap of days.
    score_shares : mapping of int to Share
        Genuine records at or above each hundred points: the score promises 10^(-s/250).
    extrapolated_from : int
        First extrapolated score of the scale, 1 to 1001.
    stability : tuple of Stability
        The three errors that a policy may bound, with the promises of this one.
    months : mapping of str to Measures
        By calendar month in UTC, `YYYY-MM`, ascending; months without records are left out.
    """

    overall: Measures
    uncertainty: Uncertainty
    calibration: tuple[CalibrationBin, ...]
    score_shares: Mapping[int, Share]
    extrapolated_from: int
    stability: tuple[Stability, ...]
    months: Mapping[str, Measures]

    def to_json(self) -> dict[str, Any]:
        """Give the evaluation as a JSON document: stable keys, null where a class is absent."""
        return {
            "overall": self.overall.to_json(),
            "uncertainty": self.uncertainty.to_json(),
            "calibration": [row.to_json() for row in self.calibration],
            "score_shares": [
                {
                    "score": score,
                    "nominal": nominal_share(score),
                    "extrapolated": score >= self.extrapolated_from,
                    **share.to_json(),
                }
                for score, share in self.score_shares.items()
            ],
            "stability": [error.to_json() for error in self.stability],
            "months": {month: measures.to_json() for month, measures in self.months.items()},
        }


def evaluate(
    decisions: Decisions, *, labels: NDArray[np.integer], event_times: IntArray, rules: DecisionRules
) -> Evaluation:
    """Evaluate decisions on records with known labels.

    Parameters
    ----------
    decisions : Decisions
        About n records.
    labels : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    rules : DecisionRules
        Rules of the decisions; their promises are compared with the results.

    Raises
    ------
    EvaluationError
        With every invalid array.
    """
    _check(decisions, labels, event_times)
    months = event_times.astype("datetime64[us]").astype("datetime64[M]")
    genuine_scores = decisions.scores[labels == 0]
    return Evaluation(
        overall=_measure(decisions, labels),
        uncertainty=measure_uncertainty(
            decisions.margins, decisions.probabilities, labels, event_times, limits=FPR_LIMITS
        ),
        calibration=calibration_table(decisions.probabilities, labels),
        score_shares={
            score: share_of(int(np.count_nonzero(genuine_scores >= score)), len(genuine_scores))
            for score in range(100, MAX_SCORE + 1, 100)
        },
        extrapolated_from=rules.scale.extrapolated_from,
        stability=tuple(_stability(decisions, labels, event_times, rules.policy)),
        months={
            str(month): _measure(decisions.take(np.flatnonzero(months == month)), labels[months == month])
            for month in np.unique(months)
        },
    )


def _stability(
    decisions: Decisions, labels: NDArray[np.integer], event_times: IntArray, policy: Policy
) -> Iterator[Stability]:
    """Measure each error that a policy may bound on the class that it concerns."""
    limits = {promise.bound: promise.limit for promise in policy.promises}
    passed, failed = OUTCOMES.index(Outcome.PASSED), OUTCOMES.index(Outcome.FAILED)
    genuine, frauds = decisions.outcomes[labels == 0], decisions.outcomes[labels == 1]
    for bound, label, errors in (
        ("max_false_reject", 0, genuine == failed),
        ("max_step_up", 0, genuine != passed),
        ("max_missed_fraud", 1, frauds == passed),
    ):
        yield measure_stability(bound, limits.get(bound), errors, event_times[labels == label])


def _check(decisions: Decisions, labels: NDArray[np.integer], event_times: IntArray) -> None:
    """Refuse invalid arrays, with all reasons."""
    arrays: dict[str, NDArray[Any]] = {
        "margins": decisions.margins,
        "scores": decisions.scores,
        "outcomes": decisions.outcomes,
        "probabilities": decisions.probabilities,
        "labels": labels,
        "event_times": event_times,
    }
    shape = (len(labels),)
    kept = {
        "margins": ("finite", np.isfinite(decisions.margins)),
        "scores": (f"in 0..{MAX_SCORE}", (decisions.scores >= 0) & (decisions.scores <= MAX_SCORE)),
        "outcomes": ("0, 1 or 2", np.isin(decisions.outcomes, range(len(OUTCOMES)))),
        "probabilities": ("in [0, 1]", (decisions.probabilities >= 0) & (decisions.probabilities <= 1)),
        "labels": ("0 or 1", np.isin(labels, (0, 1))),
    }
    problems = [
        f"{name}: must have the shape {shape}, got {array.shape}"
        for name, array in arrays.items()
        if array.shape != shape
    ]
    problems += [
        f"{name}: must be {rule}, {np.count_nonzero(~good)} are not"
        for name, (rule, good) in kept.items()
        if not good.all()
    ]
    if problems:
        raise EvaluationError("evaluation: " + "; ".join(problems))


def _measure(decisions: Decisions, labels: NDArray[np.integer]) -> Measures:
    """Measure one set of decisions."""
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
        recalls={limit: ranking.recall_at_fpr(limit) for limit in FPR_LIMITS},
        genuine_outcomes={outcome: share_of(count, genuine_total) for outcome, count in genuine.items()},
        fraud_outcomes={outcome: share_of(count, fraud_total) for outcome, count in fraud.items()},
        false_reject=share_of(genuine[Outcome.FAILED], genuine_total),
        step_up=share_of(not_passed, genuine_total),
        missed_fraud=share_of(fraud[Outcome.PASSED], fraud_total),
    )


def _outcome_counts(outcomes: NDArray[np.int8]) -> dict[Outcome, int]:
    """Number of records of each outcome."""
    return dict(zip(OUTCOMES, np.bincount(outcomes, minlength=len(OUTCOMES)).tolist(), strict=True))
