"""Two models on the same records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.comparison_result import ComparedBundle, ComparisonResult
from scoring_model.evaluation.day_draws import DayDraws
from scoring_model.evaluation.evaluation import Evaluation
from scoring_model.evaluation.flips import (
    Explain,
    daily_changes,
    find_flips,
    flip_rates,
    group_flips,
)
from scoring_model.evaluation.paired import paired_differences

if TYPE_CHECKING:
    from scoring_model.evaluation.gates import GateReport
    from scoring_model.evaluation.report import ComparisonPlots

_NO_SENTENCES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Comparison(ComparisonResult):
    """A champion and a challenger on the same records, with plots and a report."""

    champion: Evaluation
    challenger: Evaluation

    @property
    def plot(self) -> "ComparisonPlots":
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        from scoring_model.evaluation.report import ComparisonPlots

        return ComparisonPlots(self)

    def report(self, path: str | Path, *, gates: "GateReport | None" = None) -> None:
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
        from scoring_model.evaluation.report import write_comparison

        write_comparison(self, path, gates=gates)


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
    draws = DayDraws.of(old.event_times)
    return Comparison(
        champion=champion,
        challenger=challenger,
        differences=differences,
        flips=find_flips(old, new, draws, explain),
        flip_rates=flip_rates(old, new, draws),
        daily=daily_changes(differences, records=len(old), days=draws.days),
        groups=tuple(group_flips(old, new, draws, table.column) for table in champion.groups),
        bundles=bundles,
        sentences=sentences,
        notes=notes,
    )
