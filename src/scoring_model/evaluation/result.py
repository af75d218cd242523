"""What an evaluation measured: data, without plots and pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.scale import nominal_share
from scoring_model.estimates import OVERALL, Estimate, Form, Key, NamedEstimates, Table
from scoring_model.evaluation.coverage import Coverage
from scoring_model.evaluation.curves import Curves
from scoring_model.evaluation.decomposition import CalibrationBin, Decomposition
from scoring_model.evaluation.document import document, frame, members
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.groups import GroupColumn, GroupTable
from scoring_model.evaluation.importance import Importance
from scoring_model.evaluation.measures import Measures
from scoring_model.evaluation.stability import Stability
from scoring_model.evaluation.stopped import Stopped
from scoring_model.figures import CONTROL_COST, ERRORS, FIGURES, SCORE_SHARES
from scoring_model.findings import Finding

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Applicants:
    """Applicants of 10,000 with one outcome. Rates weigh the records as they are.

    Parameters
    ----------
    everyone : Estimate
        Number per 10,000 applicants; `records` counts all, those too who were not observed.
    frauds : Estimate
        Known frauds among them, per 10,000 applicants; `records` counts those who were observed.
    """

    everyone: Estimate
    frauds: Estimate


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """What an evaluation measured, as data; see `Evaluation`.

    Parameters
    ----------
    table : Table
        Every number that is a figure: of all records those of `FIGURES` (`cost` if the policy has costs), and what the
        score promises of genuine records; of each month those of `Measures`; of each group the rates of `GROUP_RATES`
        with gaps and ratios; and what the control group of the policy would cost over as many days as the records
        span, if it has one (`forecast_control_cost`).
    overall : Measures
        Of all records.
    decompositions : mapping of str to Decomposition or None
        Of `brier` and `log_loss`; None without records.
    extrapolated_from : int
        First extrapolated score of the scale, 1 to 1001.
    stability : tuple of Stability
        The three errors that a policy may bound, with the promises of this one and its verdict.
    columns : tuple of GroupColumn
        One for each column of `by`.
    curves : Curves
        Arrays for plots, each computed when first read.
    coverage : Coverage or None
        The rows that were evaluated and left out; None for records that were chosen before.
    provenance : Provenance or None
    findings : tuple of Finding
        Results of the automated checks, by code: of this evaluation, and of the training of the bundle.
    days : int
        Days with records.
    draws : mapping of str to ndarray of shape (1000,), float64
        Value of each figure in each draw of blocks, NaN where it has none; empty with fewer than ten days. Two
        evaluations of the same records have the same draws of days.
    explain : callable or None
        Measures `importance`; None where the inputs of the model are not at hand.
    stopped : Stopped or None
        Applicants who were not observed; None if nobody was stopped, or a control group stands for them.
    population : tuple of str
        Sentences on whom the figures are about, where that is not everyone and no provenance says it.
    """

    table: Table = field(repr=False)
    overall: Measures
    decompositions: Mapping[str, Decomposition | None]
    calibration: tuple[CalibrationBin, ...]
    extrapolated_from: int
    stability: tuple[Stability, ...]
    columns: tuple[GroupColumn, ...] = field(repr=False)
    curves: Curves = field(repr=False)
    coverage: Coverage | None
    provenance: Provenance | None
    findings: tuple[Finding, ...]
    days: int
    draws: Mapping[str, FloatArray] = field(repr=False)
    explain: Callable[[], Importance] | None = field(default=None, repr=False)
    stopped: Stopped | None = None
    population: tuple[str, ...] = ()

    @property
    def records(self) -> EvaluatedRecords:
        """The rows behind all figures; not part of any document."""
        return self.curves.records

    @cached_property
    def figures(self) -> NamedEstimates:
        """Every figure of all records with its interval, by name, such as `recall_at_fpr_0.01`; see `FIGURES`."""
        return self.table.where(lambda key: key.part == OVERALL and key.figure.key in FIGURES).named()

    @cached_property
    def months(self) -> Mapping[str, Measures]:
        """Measures by calendar month in UTC, `YYYY-MM`, ascending; months without records are left out."""
        months = self.table.where(lambda key: key.part.kind == "month").by(lambda key: key.part.value)
        return {month: Measures(figures=measured.named()) for month, measured in months.items()}

    @cached_property
    def groups(self) -> tuple[GroupTable, ...]:
        """Rates of each group, one table for each column."""
        return tuple(GroupTable.of(column, self.table) for column in self.columns)

    @property
    def rings_known(self) -> bool:
        """Whether link keys say which frauds belong together, so that intervals draw rings."""
        return self.records.rings is not None

    @property
    def score_shares(self) -> Mapping[int, Estimate]:
        """Genuine records at or above each hundred points: the score promises 10^(-s/250)."""
        return {score: self.table[Key(figure=figure)] for score, figure in SCORE_SHARES.items()}

    @property
    def control_cost(self) -> Estimate | None:
        """What the control group of the policy would cost; None without one."""
        return self.table.get(Key(figure=CONTROL_COST))

    @property
    def applicants(self) -> Mapping[Outcome, Applicants]:
        """What happens to 10,000 applicants who are as the evaluated records, by outcome."""
        return {
            outcome: Applicants(
                everyone=self.figures[f"applicants_{outcome.lower()}"].times(APPLICANTS),
                frauds=self.figures[f"{outcome.lower()}_frauds"].times(APPLICANTS * self.observed_share),
            )
            for outcome in OUTCOMES
        }

    @property
    def observed_share(self) -> float:
        """Share of the applicants who were observed, in (0, 1]."""
        missing = 0 if self.stopped is None else self.stopped.records
        return len(self.records) / (len(self.records) + missing) if missing else 1.0

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
        rows = (_row(key, one) for key, one in self.table.items())
        return frame(FRAME_COLUMNS, (row for row in rows if row is not None))

    def to_json(self) -> dict[str, Any]:
        """Give the evaluation as a JSON document: stable keys, null where a class is absent."""
        return {
            **members(self),
            "figures": document(self.figures),
            "months": document(self.months),
            "groups": document(self.groups),
            "control_cost": document(self.control_cost),
            "applicants": document(self.applicants),
            "score_shares": [
                {
                    "score": score,
                    "nominal": nominal_share(score),
                    "extrapolated": score >= self.extrapolated_from,
                    **share.to_json(),
                }
                for score, share in self.score_shares.items()
            ],
        }


_ENDINGS: Final[Mapping[Form, str]] = {"value": "", "difference": "_gap", "ratio": "_ratio"}


def _row(key: Key, one: Estimate) -> tuple[object, ...] | None:
    """Return the row of a number in `EvaluationResult.to_frame`, if it has one."""
    name, part = key.figure.key, key.part.column or key.part.kind
    if name not in (ERRORS if part == "month" else FIGURES):
        return None
    shown = one if key.form == "value" else one.together
    return part, key.part.value, f"{name}{_ENDINGS[key.form]}", one.value, shown.low, shown.high, one.records
