"""The evaluation of decisions on records with known labels."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.estimates import Estimate, Key, Slice, Table
from scoring_model.evaluation.checks import check_evaluation
from scoring_model.evaluation.cost import forecast_control_cost
from scoring_model.evaluation.coverage import Coverage
from scoring_model.evaluation.curves import Curves
from scoring_model.evaluation.decomposition import calibration_table, decompose
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, refuse
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.evaluation.groups import GroupTable, measure_groups
from scoring_model.evaluation.measures import measure, measure_periods
from scoring_model.evaluation.possible import assumed_share, possible_figures, possible_share
from scoring_model.evaluation.rates import errs
from scoring_model.evaluation.report import Plots, Section, evaluation_report, overview, write_html
from scoring_model.evaluation.result import EvaluationResult, Provenance
from scoring_model.evaluation.stability import Stability, measure_stability
from scoring_model.evaluation.stopped import Stopped
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.figures import CONTROL_COST, ERRORS, FIGURES, SCORE_SHARES
from scoring_model.findings import Finding, arranged
from scoring_model.records.times import DAY

_NO_GROUPS: Final[Mapping[str, str | None]] = MappingProxyType({})


class Evaluation(EvaluationResult):
    """Decisions on records with known labels, with plots and a report."""

    def __repr__(self) -> str:
        return overview(evaluation_report(self, brief=True))

    @property
    def plot(self) -> Plots:
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        return Plots(self)

    def report(self, path: str | Path, *, further: Sequence[Section] = ()) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``.

        Parameters
        ----------
        further : sequence of Section
            Parts before the provenance, such as the split of a training.

        Raises
        ------
        MissingExtra
        """
        write_html(evaluation_report(self, further=further), path)


def evaluate_records(
    records: EvaluatedRecords,
    *,
    rules: DecisionRules,
    costs: CostSettings | None = None,
    by: Mapping[str, str | None] = _NO_GROUPS,
    counts: ScoreCounts | None = None,
    coverage: Coverage | None = None,
    provenance: Provenance | None = None,
    findings: Iterable[Finding] = (),
    mute: Collection[str] = (),
    population: Iterable[str] = (),
) -> Evaluation:
    """Evaluate decisions on records with known labels.

    Parameters
    ----------
    rules : DecisionRules
        Rules of the decisions; their promises are compared with the results.
    costs : CostSettings or None
        Costs of errors; None: without expected costs.
    by : mapping of str to str or None
        Columns of the records to group by, each with the value that the others are compared with; None: with the rest.
    counts : ScoreCounts, optional
        Counts of the records that certified the policy: they give the certified thresholds of `Curves`.
    findings : iterable of Finding
        Of further checks, such as those of the training.
    mute : collection of str
        Codes of findings to mute.
    population : iterable of str
        Sentences on whom the figures are about, where no provenance says it.

    Raises
    ------
    EvaluationError
        With every invalid array, or if a column has too many groups.
    """
    _check(records)
    draws = records.draws()
    figures = measure_figures(records, draws, costs=costs)
    columns = [measure_groups(records, draws, column, reference=one) for column, one in by.items()]
    table = _table(records, rules.policy, figures, [measured for _, measured in columns])
    groups = [GroupTable.of(column, table) for column, _ in columns]
    stability = tuple(_stability(records, rules.policy, figures))
    checked = check_evaluation(records, rules, groups, coverage, stability=stability, counts=counts)
    return Evaluation(
        table=table,
        overall=measure(records.decisions, records.labels, records.weights).under(figures.estimates),
        decompositions=decompose(records.decisions.probabilities, records.labels),
        calibration=calibration_table(records.decisions.probabilities, records.labels),
        extrapolated_from=rules.scale.extrapolated_from,
        stability=stability,
        columns=tuple(column for column, _ in columns),
        curves=Curves(records=records, draws=draws, policy=rules.policy, costs=costs, counts=counts),
        coverage=coverage,
        provenance=provenance,
        findings=arranged((*checked, *findings), mute=mute),
        days=draws.days,
        draws=figures.draws,
        population=tuple(population),
        stopped=None
        if records.not_observed is None
        else Stopped.of(records.not_observed, possible_figures(records, figures.estimates, costs)),
    )


def _table(records: EvaluatedRecords, policy: Policy, figures: Figures, groups: Iterable[Table]) -> Table:
    """Return the numbers of all records, of each month and of groups."""
    table = Table(dict(_single(records, policy, figures)))
    months = records.event_times.astype("datetime64[us]").astype("datetime64[M]")
    for month, measures in measure_periods(records, months).items():
        table |= Table.of(measures.figures, part=Slice(kind="month", value=month))
    for measured in groups:
        table |= measured
    return table


def _single(records: EvaluatedRecords, policy: Policy, figures: Figures) -> Iterator[tuple[Key, Estimate]]:
    """Yield the numbers of all records."""
    yield from Table.of(figures.estimates).items()
    scores = records.decisions.scores[records.labels == 0]
    for score, figure in SCORE_SHARES.items():
        yield Key(figure=figure), share_of(int(np.count_nonzero(scores >= score)), len(scores))
    if policy.control is not None and len(records):
        days = records.event_times // DAY
        cost = forecast_control_cost(records, policy.control, days=int(days.max() - days.min()) + 1)
        yield Key(figure=CONTROL_COST), cost


def _stability(records: EvaluatedRecords, policy: Policy, figures: Figures) -> Iterator[Stability]:
    """Measure each error that a policy may bound on the class that it concerns."""
    limits = {promise.bound: promise.limit for promise in policy.promises}
    days = len(np.unique(records.event_times // DAY))
    for name in ERRORS:
        error = FIGURES[name]
        limit = limits.get(str(error.bound))
        rows = records.labels == error.label
        outcomes = records.decisions.outcomes[rows]
        errors = errs(error.key, outcomes)
        yield measure_stability(
            str(error.bound),
            limit,
            errors,
            records.event_times[rows],
            share=figures.estimates[error.key],
            possible=None
            if records.not_observed is None
            else possible_share(name, outcomes, records.not_observed),
            assumed=None
            if records.not_observed is None
            else assumed_share(name, outcomes, records.not_observed, days=days, limit=limit),
        )


def _check(records: EvaluatedRecords) -> None:
    """Refuse invalid arrays, with all reasons."""
    decisions, labels = records.decisions, records.labels
    arrays: dict[str, NDArray[Any]] = {
        "margins": decisions.margins,
        "scores": decisions.scores,
        "outcomes": decisions.outcomes,
        "probabilities": decisions.probabilities,
        "labels": labels,
        "event_times": records.event_times,
        **{f"by {name}": column.codes for name, column in records.columns.items()},
    }
    shape = (len(labels),)
    if records.weights is not None:
        arrays["weights"] = records.weights
    kept = {
        "margins": ("finite", np.isfinite(decisions.margins)),
        "scores": (f"in 0..{MAX_SCORE}", (decisions.scores >= 0) & (decisions.scores <= MAX_SCORE)),
        "outcomes": ("0, 1 or 2", np.isin(decisions.outcomes, range(len(OUTCOMES)))),
        "probabilities": ("in [0, 1]", (decisions.probabilities >= 0) & (decisions.probabilities <= 1)),
        "labels": ("0 or 1", np.isin(labels, (0, 1))),
        "weights": ("at least 1", records.weight_of_each >= 1),
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
    refuse("evaluation", problems)
