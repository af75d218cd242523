"""What an evaluation measured: data, without plots and pages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.scale import nominal_share
from scoring_model.evaluation.coverage import Coverage
from scoring_model.evaluation.curves import Curves
from scoring_model.evaluation.decomposition import Decomposition
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.groups import GroupTable
from scoring_model.evaluation.importance import Importance
from scoring_model.evaluation.measures import Measures
from scoring_model.evaluation.reliability import CalibrationBin
from scoring_model.evaluation.stability import Stability
from scoring_model.evaluation.uncertainty import Estimate, Share
from scoring_model.figures import ERRORS, FPR_LIMITS
from scoring_model.findings import Finding
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    import pandas

APPLICANTS: Final = 10_000
"""Applicants whose outcomes are counted in natural numbers."""

FRAME_COLUMNS: Final = ("part", "value", "figure", "estimate", "low", "high", "records")


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

    def to_json(self) -> dict[str, Any]:
        """Give the provenance as a JSON document."""
        return asdict(self) | {"since": rfc3339(self.since), "until": rfc3339(self.until)}


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
class EvaluationResult:
    """What an evaluation measured, as data; see `Evaluation`.

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
    findings : tuple of Finding
        Results of the automated checks, by code: of this evaluation, and of the training of the bundle.
    days : int
        Days with records: the blocks of the intervals.
    records : EvaluatedRecords
        The rows behind all figures; not part of any document.
    draws : mapping of str to ndarray of shape (1000,), float64
        Value of each figure in each draw of days, NaN where it has none; empty with fewer than ten days. Two
        evaluations of the same records have the same draws of days.
    explain : callable or None
        Measures `importance`; None where the inputs of the model are not at hand.
    control_cost : Estimate or None
        What the control group of the policy would cost over as many days as the records span
        (`forecast_control_cost`); None without one.
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
    findings: tuple[Finding, ...]
    days: int
    records: EvaluatedRecords = field(repr=False)
    draws: Mapping[str, FloatArray] = field(repr=False)
    explain: Callable[[], Importance] | None = field(default=None, repr=False)
    control_cost: Estimate | None = None

    @property
    def applicants(self) -> Mapping[Outcome, Applicants]:
        """What happens to 10,000 applicants who are as the evaluated records, by outcome."""
        return {
            outcome: Applicants(
                everyone=self.figures[outcome.lower()].times(APPLICANTS),
                frauds=self.figures[f"{outcome.lower()}_frauds"].times(APPLICANTS),
            )
            for outcome in OUTCOMES
        }

    @cached_property
    def importance(self) -> Importance | None:
        """What the model looks at, computed when first read: some seconds. None without the inputs of the model."""
        return None if self.explain is None else self.explain()

    def to_frame(self) -> "pandas.DataFrame":
        """Give every figure as a row.

        Returns
        -------
        pandas.DataFrame
            Columns `part` (overall, month, or the column of the group), `value` (month, or value of the group),
            `figure`, `estimate`, `low`, `high` and `records`. Months have Wilson's intervals, for independent records.
        """
        import pandas

        return pandas.DataFrame(list(_rows(self)), columns=list(FRAME_COLUMNS))

    def to_json(self) -> dict[str, Any]:
        """Give the evaluation as a JSON document: stable keys, null where a class is absent."""
        return {
            "coverage": None if self.coverage is None else self.coverage.to_json(),
            "provenance": None if self.provenance is None else self.provenance.to_json(),
            "overall": self.overall.to_json(),
            "figures": {name: figure.to_json() for name, figure in self.figures.items()},
            "uncertainty": self._uncertainty(),
            "decompositions": {
                name: None if parts is None else parts.to_json()
                for name, parts in self.decompositions.items()
            },
            "applicants": {
                outcome.value: {"everyone": found.everyone.to_json(), "frauds": found.frauds.to_json()}
                for outcome, found in self.applicants.items()
            },
            "days": self.days,
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
            "groups": [table.to_json() for table in self.groups],
            "findings": [finding.to_json() for finding in self.findings],
            **({} if self.control_cost is None else {"control_cost": self.control_cost.to_json()}),
        }

    def _uncertainty(self) -> dict[str, Any]:
        """Give the intervals of the metrics in `overall` by the keys that they have there."""
        ends = {name: {"low": figure.low, "high": figure.high} for name, figure in self.figures.items()}
        plain: dict[str, Any] = {
            name: ends[name] for name in ("roc_auc", "average_precision", "brier", "log_loss")
        }
        plain["recall_at_fpr"] = {f"{limit:g}": ends[f"recall_at_fpr_{limit:g}"] for limit in FPR_LIMITS}
        return plain


def _rows(evaluation: EvaluationResult) -> Iterator[tuple[object, ...]]:
    """Yield the rows of `EvaluationResult.to_frame`."""
    for name, figure in evaluation.figures.items():
        yield "overall", "", name, figure.value, figure.low, figure.high, figure.records
    for month, measures in evaluation.months.items():
        for name in ERRORS:
            share: Share = getattr(measures, name)
            yield "month", month, name, share.share, share.low, share.high, share.total
    for table in evaluation.groups:
        for group in table.groups:
            for name, rate in group.rates.items():
                found = rate.estimate
                yield table.column, group.value, name, found.value, found.low, found.high, found.records
                for kind, against in (("gap", rate.gap), ("ratio", rate.ratio)):
                    ends = against.simultaneous_low, against.simultaneous_high
                    yield table.column, group.value, f"{name}_{kind}", against.value, *ends, found.records
