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

class EvaluationError(ValueError):
    """Arrays are not consistent with one set of decisions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """What decided, on which records.

    Parameters
    ----------
    name, model_version, policy_version : str
        Of the bundle.
    files : tuple of str
        Names of the files of records, without folders; empty for frames.
    since, until : int
        First and last event time, microseconds since 1970-01-01 UTC.
    scored_earlier : bool
        Whether the decisions were read from a scored file instead of made now.
    notes : tuple of str
        Sentences on what was derived or assumed.
    """

    name: str
    model_version: str
    policy_version: str
    files: tuple[str, ...]
    since: int
    until: int
    scored_earlier: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Applicants:
    """Applicants of 10,000 with one outcome. Rates weigh the evaluated records as they are.

    Parameters
    ----------
    everyone, frauds : Estimate
        Numbers per 10,000 applicants; `records` counts all evaluated records.
    """

    everyone: Estimate
    frauds: Estimate


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Decisions on records with known labels.

    Parameters
    ----------
    figures : mapping of str to Estimate
        Every figure with its interval, by name: `roc_auc`, `average_precision`, `ks`, `brier`, `log_loss`,
        `recall_at_fpr_0.01` and `precision_at_fpr_0.01` (each of `FPR_LIMITS`), `recall_at_capacity_100` (each of
        `CAPACITIES`: the K riskiest records of each day), `false_reject`, `step_up`, `missed_fraud`,
        `genuine_passed`, `genuine_stepped_up`, `genuine_failed`, `fraud_passed`, `fraud_stepped_up`, `fraud_failed`
        (shares of the class), `passed`, `stepped_up`, `failed` (shares of all records), `passed_frauds`,
        `stepped_up_frauds`, `failed_frauds` (frauds with the outcome, as shares of all records), `fraud_share`, and
        `cost` (expected cost of an applicant; absent if the policy has no costs).
    decompositions : mapping of str to Decomposition or None
        Of `brier` and `log_loss`; None without records.
    score_shares : mapping of int to Share
        Genuine records at or above each hundred points: the score promises 10^(-s/250).
    extrapolated_from : int
        First extrapolated score of the scale, 1 to 1001.
    stability : tuple of Stability
        The three errors that a policy may bound, with the promises of this one and its verdict.
    months : mapping of str to Measures
        By calendar month in UTC, `YYYY-MM`, ascending; months without records are left out.
    groups : tuple of GroupTable
        One for each column of `by`.
    curves : Curves
        Arrays for plots, each computed when first read.
    coverage : Coverage or None
        The rows that were evaluated and left out; None for records that were chosen before.
    provenance : Provenance or None
    days : int
        Days with records: the blocks of the intervals.
    records : EvaluatedRecords
        The rows behind all figures; not part of any document.
    draws : mapping of str to ndarray of shape (1000,), float64
        Value of each figure in each draw of days, NaN where it has none; empty with fewer than ten days. Two
        evaluations of the same records have the same draws of days.
    """

    overall: Measures
    figures: Mapping[str, Estimate]
    decompositions: Mapping[str, Decomposition | None]
    calibration: tuple[CalibrationBin, ...]
    score_shares: Mapping[int, Share]
    extrapolated_from: int
    stability: tuple[Stability, ...]
    months: Mapping[str, Measures]
    groups: tuple[GroupTable, ...]
    curves: Curves = field(repr=False)
    coverage: Coverage | None
    provenance: Provenance | None
    days: int
    records: EvaluatedRecords = field(repr=False)
    draws: Mapping[str, FloatArray] = field(repr=False)

    @property
    def applicants(self) -> Mapping[Outcome, Applicants]:
        """What happens to 10,000 applicants who are as the evaluated records, by outcome."""
        raise NotImplementedError

    def to_frame(self) -> "pandas.DataFrame":
        """Give every figure as a row.

        Returns
        -------
        pandas.DataFrame
            Columns `part` (overall, month or group), `column`, `value` (of the group, or the month), `figure`,
            `estimate`, `low`, `high`, `records`.
        """
        raise NotImplementedError

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
        overall=measure(decisions, labels),
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
            str(month): measure(decisions.take(np.flatnonzero(months == month)), labels[months == month])
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
