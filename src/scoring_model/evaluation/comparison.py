"""Two models on the same records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.estimates import CHALLENGER, CHAMPION, NamedEstimates, Table
from scoring_model.evaluation.comparison_result import ComparedBundle, ComparisonResult
from scoring_model.evaluation.evaluation import Evaluation
from scoring_model.evaluation.flips import (
    Explain,
    changed,
    daily_changes,
    find_flips,
    flip_rates,
    group_flips,
    pair_matrix,
)
from scoring_model.evaluation.gates import GateReport
from scoring_model.evaluation.paired import paired_differences, stopped_flips
from scoring_model.evaluation.possible import possible_differences
from scoring_model.evaluation.report import ComparisonPlots, comparison_report, overview, write_html
from scoring_model.evaluation.stopped import Released

_NO_SENTENCES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Comparison(ComparisonResult):
    """A champion and a challenger on the same records, with plots and a report."""

    champion: Evaluation
    challenger: Evaluation

    def __repr__(self) -> str:
        return overview(comparison_report(self))

    @property
    def plot(self) -> ComparisonPlots:
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        return ComparisonPlots(self)

    def report(self, path: str | Path, *, gates: GateReport | None = None) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``.

        It holds the record ids of the examples, and no other value of a record but scores as dots of a picture.

        Parameters
        ----------
        gates : GateReport, optional
            Verdicts of `check_gates` on this comparison.

        Raises
        ------
        MissingExtra
        """
        write_html(comparison_report(self, gates=gates), path)


def compare_evaluations(
    champion: Evaluation,
    challenger: Evaluation,
    *,
    explain: Explain | None = None,
    bundles: tuple[ComparedBundle, ...] = (),
    sentences: Mapping[str, str] = _NO_SENTENCES,
    notes: tuple[str, ...] = (),
) -> Comparison:
    """Compare two evaluations of the same records, with the groups of both.

    Parameters
    ----------
    explain : callable, optional
        Gives the reasons of a flipped record: its place, and whether the challenger is stricter, to codes.
    sentences : mapping of str to str, optional
        What the reasons say, by code.

    Raises
    ------
    EvaluationError
        If the evaluations do not rest on the same records in the same order.
    """
    differences = paired_differences(challenger, champion)
    old, new = champion.records, challenger.records
    draws = old.draws()
    matrix = pair_matrix(old, new)
    groups = {one.column: group_flips(old, new, draws, one.column) for one in champion.columns}
    table = changed(differences) | Table.of(
        flip_rates(old, new, draws), decided_by=CHALLENGER, against=CHAMPION
    )
    for _, changes in groups.values():
        table |= changes
    return Comparison(
        champion=champion,
        challenger=challenger,
        table=table,
        flips=find_flips(old, new, matrix, draws, explain),
        daily=daily_changes(
            differences,
            applicants=old.applicants,
            days=draws.days,
            observed=champion.observed_share,
            estimated=old.stood_for is not None,
        ),
        turned={column: turned for column, (turned, _) in groups.items()},
        released=_released(champion, challenger, matrix, differences),
        bundles=bundles,
        sentences=sentences,
        notes=notes,
    )


def _released(
    champion: Evaluation, challenger: Evaluation, observed: IntArray, differences: NamedEstimates
) -> Released | None:
    """Describe whom the challenger releases of those who were not observed, if there are any."""
    old, new = champion.records, challenger.records
    if old.not_observed is None:
        return None
    stopped = stopped_flips(old, new)
    costs = champion.curves.costs, challenger.curves.costs
    return Released.of(
        observed, stopped, possible_differences(old, new, observed, stopped, differences, costs=costs)
    )
