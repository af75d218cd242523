"""What a comparison of two models measured: data, without plots and pages."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.flips import (
    DailyChange,
    Flip,
    GroupFlipTable,
)
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.simultaneous import half_widths
from scoring_model.evaluation.uncertainty import Estimate, Interval
from scoring_model.findings import Code, Finding, arranged
from scoring_model.records import rfc3339

if TYPE_CHECKING:
    import pandas


FRAME_COLUMNS: Final = (
    "part", "value", "figure", "champion", "challenger", "difference", "low", "high", "records",
)  # fmt: skip


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
class ComparisonResult:
    """What a comparison measured, as data; see `Comparison`. All differences are challenger minus champion.

    Parameters
    ----------
    champion, challenger : EvaluationResult
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

    champion: EvaluationResult
    challenger: EvaluationResult
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
