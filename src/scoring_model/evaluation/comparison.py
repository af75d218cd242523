"""Two models on the same records."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.day_draws import DayDraws
from scoring_model.evaluation.evaluation import Evaluation
from scoring_model.evaluation.flips import (
    DailyChange,
    Explain,
    Flip,
    GroupFlipTable,
    daily_changes,
    find_flips,
    flip_rates,
    group_flips,
)
from scoring_model.evaluation.paired import paired_differences
from scoring_model.evaluation.simultaneous import half_widths
from scoring_model.evaluation.uncertainty import Estimate, Interval
from scoring_model.findings import Code, Finding, arranged
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    import pandas

    from scoring_model.evaluation.gates import GateReport
    from scoring_model.evaluation.report import ComparisonPlots

FRAME_COLUMNS: Final = (
    "part", "value", "figure", "champion", "challenger", "difference", "low", "high", "records",
)  # fmt: skip


_NO_SENTENCES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedBundle:
    """A bundle, and what it costs to run it.

    Parameters
    ----------
    bytes : int
        Size of its files.
    trees, features : int
    decision_milliseconds : float
        Median time of one decision about a feature row, measured on this machine.
    records_per_second : float
        Records of the file, with their features and history, on this machine and its threads.
    trained_until : int or None
        End of its validation period, microseconds since 1970-01-01 UTC; None: the bundle does not say.
    trained_records : int or None
        Evaluated records from before that instant: the model or its thresholds may have seen them. None: unknown.
    """

    name: str
    model_version: str
    policy_version: str
    bytes: int
    trees: int
    features: int
    decision_milliseconds: float
    records_per_second: float
    trained_until: int | None
    trained_records: int | None

    def to_json(self) -> dict[str, Any]:
        """Give the bundle as a JSON document."""
        until = self.trained_until
        return asdict(self) | {"trained_until": None if until is None else rfc3339(until)}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A champion and a challenger on the same records. All differences are challenger minus champion.

    Parameters
    ----------
    champion, challenger : Evaluation
    differences : mapping of str to Estimate
        Of every figure, on the same draws of days.
    flips : tuple of Flip
        Each kind of flip that occurs.
    flip_rates : mapping of str to Estimate
        As in `FLIP_RATES`.
    daily : tuple of DailyChange
        By outcome, in natural numbers.
    groups : tuple of GroupFlipTable
        One for each column.
    bundles : tuple of (ComparedBundle, ComparedBundle), or empty
        Champion and challenger.
    sentences : mapping of str to str
        What the reasons of flips say, by code.
    notes : tuple of str
        Sentences on what was left out or assumed.
    """

    champion: Evaluation
    challenger: Evaluation
    differences: Mapping[str, Estimate]
    flips: tuple[Flip, ...]
    flip_rates: Mapping[str, Estimate]
    daily: tuple[DailyChange, ...]
    groups: tuple[GroupFlipTable, ...]
    bundles: tuple[ComparedBundle, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the challenger, and those about records that the champion was trained on."""
        trained = (Code.TRAINING_PERIOD, Code.TRAINING_RECORDS)
        return arranged(
            (*self.challenger.findings, *(one for one in self.champion.findings if one.code in trained))
        )

    @property
    def days(self) -> int:
        """Return the number of days with records."""
        return self.champion.days

    def benefits(self, signs: Mapping[str, int]) -> dict[str, Interval]:
        """Give intervals of differences that hold for all named figures at once, with 95 % confidence.

        Parameters
        ----------
        signs : mapping of str to int
            By figure, 1 where more is better and -1 where less is better.

        Returns
        -------
        dict of str to Interval
            Of the benefit: the difference times the sign. Without ends where the difference has none, or is 0 in
            every draw.
        """
        names = [name for name, sign in signs.items() if self.differences[name].low is not None]
        drawn = np.array([self._drawn(name) * signs[name] for name in names]).T
        varied = [bool(np.ptp(drawn[~np.isnan(drawn[:, g]), g]) > 0) for g in range(len(names))]
        found = dict.fromkeys(signs, Interval(low=None, high=None))
        if not any(varied):
            return found
        values = np.array([[(self.differences[name].value or 0.0) * signs[name]] for name in names])
        _, together = half_widths(
            values,
            drawn[:, :, None],
            floor=np.zeros_like(values),
            enough=np.array(varied)[:, None],
            days=self.days,
        )
        for name, value, width in zip(names, values[:, 0].tolist(), together[:, 0].tolist(), strict=True):
            if not math.isnan(width):
                found[name] = Interval(low=value - width, high=value + width)
        return found

    def _drawn(self, name: str) -> FloatArray:
        return self.challenger.draws[name] - self.champion.draws[name]

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

    def to_frame(self) -> "pandas.DataFrame":
        """Give every difference as a row.

        Returns
        -------
        pandas.DataFrame
            Columns `part` (overall, or the column of the group), `value` (of the group), `figure`, `champion`,
            `challenger`, `difference`, `low`, `high` (for groups those that hold for all groups at once), `records`.
        """
        import pandas

        return pandas.DataFrame(list(self._rows()), columns=list(FRAME_COLUMNS))

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for name, found in self.differences.items():
            values = self.champion.figures[name].value, self.challenger.figures[name].value
            yield "overall", "", name, *values, found.value, found.low, found.high, found.records
        for table, old, new in zip(self.groups, self.champion.groups, self.challenger.groups, strict=True):
            for flips, before, after in zip(table.groups, old.groups, new.groups, strict=True):
                for name, change in flips.changes.items():
                    rates = before.rates[name].estimate.value, after.rates[name].estimate.value
                    ends = change.value, change.simultaneous_low, change.simultaneous_high
                    yield table.column, flips.value, name, *rates, *ends, flips.totals[name]

    def to_json(self) -> dict[str, Any]:
        """Give the comparison as a JSON document, with the examples' record ids and no other value of a record."""
        return {
            "days": self.days,
            "records": len(self.champion.records),
            "differences": {name: found.to_json() for name, found in self.differences.items()},
            "flips": [asdict(flip) for flip in self.flips],
            "flip_rates": {name: rate.to_json() for name, rate in self.flip_rates.items()},
            "daily": [asdict(change) | {"sentence": str(change)} for change in self.daily],
            "groups": [table.to_json() for table in self.groups],
            "bundles": [bundle.to_json() for bundle in self.bundles],
            "notes": list(self.notes),
            "findings": [finding.to_json() for finding in self.findings],
            "champion": self.champion.to_json(),
            "challenger": self.challenger.to_json(),
        }


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
