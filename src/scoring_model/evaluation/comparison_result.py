"""What a comparison of two models measured: data, without plots and pages."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.flips import count_flips
from scoring_model.estimates import OVERALL, Estimate, Key, NamedEstimates, Slice, Table
from scoring_model.evaluation.document import document, frame, members
from scoring_model.evaluation.flips import DailyChange, Flip, GroupCounts, GroupFlips, GroupFlipTable
from scoring_model.evaluation.paired import least_variances, pair_codes
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stopped import Released, over_labels
from scoring_model.evaluation.uncertainty import half_widths
from scoring_model.figures import FIGURES
from scoring_model.findings import Code, Finding, arranged

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


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """What a comparison measured, as data; see `Comparison`. All differences are challenger minus champion.

    Parameters
    ----------
    champion, challenger : EvaluationResult
    table : Table
        Every number of both models together: differences of every figure, on the same draws of days; the rates of
        `FLIPS`; and the change of each rate of each group.
    flips : tuple of Flip
        Each kind of flip that occurs.
    daily : tuple of DailyChange
        By outcome, in natural numbers.
    turned : mapping of str to tuple of GroupCounts
        Flips of each group by column.
    released : Released or None
        What both models make of the applicants who were not observed; None if nobody was stopped, or a control group
        stands for them.
    bundles : tuple of (ComparedBundle, ComparedBundle), or empty
        Champion and challenger.
    sentences : mapping of str to str
        What the reasons of flips say, by code.
    notes : tuple of str
        Sentences on what was left out or assumed.
    """

    champion: EvaluationResult
    challenger: EvaluationResult
    table: Table = field(repr=False)
    flips: tuple[Flip, ...]
    daily: tuple[DailyChange, ...]
    turned: Mapping[str, tuple[GroupCounts, ...]] = field(repr=False)
    released: Released | None = None
    bundles: tuple[ComparedBundle, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def differences(self) -> NamedEstimates:
        """Difference of every figure, by name."""
        return self.table.where(lambda key: key.part == OVERALL and key.form == "difference").named()

    @cached_property
    def judged(self) -> NamedEstimates:
        """The differences with the ends that a verdict may rest on, by name.

        Where applicants were stopped these hold for every label that they could have; some figures have none then.
        """
        if self.released is None:
            return self.differences
        ends = {name: one.ends for name, one in self.released.possible.items()}
        return {
            name: over_labels(one, ends.get(name)) if FIGURES[name].needs_labels else one
            for name, one in self.differences.items()
        }

    @cached_property
    def flip_rates(self) -> NamedEstimates:
        """Shares of records that the challenger decides otherwise, by name; see `FLIPS`."""
        return self.table.where(lambda key: key.form == "value").named()

    @cached_property
    def groups(self) -> tuple[GroupFlipTable, ...]:
        """Flips and changes of rates of each group, one table for each column."""
        changes = self.table.by(lambda key: key.part)

        def group(column: str, counts: GroupCounts) -> GroupFlips:
            part = Slice(kind="group", column=column, value=counts.value)
            return GroupFlips(**asdict(counts), changes=changes[part].named())

        return tuple(
            GroupFlipTable(column=column, groups=tuple(group(column, one) for one in turned))
            for column, turned in self.turned.items()
        )

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

    @property
    def matrix(self) -> IntArray:
        """Count records by class and both outcomes, of `scoring_model.decision.flips.SHAPE`."""
        return np.asarray(count_flips(pair_codes(self.champion.records, self.challenger.records))[0])

    @cached_property
    def least_variances(self) -> Mapping[str, float]:
        """What the variance of differences is at least, by figure, where records stand for others."""
        return least_variances(self.champion.records, self.challenger.records)

    def benefits(self, signs: Mapping[str, int]) -> dict[str, Estimate]:
        """Give intervals of differences that hold for all named figures at once, with 95 % confidence.

        Parameters
        ----------
        signs : mapping of str to int
            By figure, 1 where more is better and -1 where less is better.

        Returns
        -------
        dict of str to Estimate
            Of the benefit: the difference times the sign. Without ends where the difference has none, or is 0 in
            every draw. Where applicants were stopped, ends are those over all labels that they could have.
        """
        if self.released is not None:
            return {name: self._possible_benefit(name, sign) for name, sign in signs.items()}
        names = [name for name, sign in signs.items() if self.differences[name].low is not None]
        drawn = np.array([self._drawn(name) * signs[name] for name in names]).T
        varied = [bool(np.ptp(drawn[~np.isnan(drawn[:, g]), g]) > 0) for g in range(len(names))]
        found = {name: self._benefit(name, sign) for name, sign in signs.items()}
        if not any(varied):
            return found
        values = np.array([[(self.differences[name].value or 0.0) * signs[name]] for name in names])
        _, together = half_widths(
            values,
            drawn[:, :, None],
            floor=np.array([[self.least_variances.get(name, 0.0)] for name in names]),
            enough=np.array(varied)[:, None],
            blocks=min(self.differences[name].independent or self.days for name in names),
        )
        for name, value, width in zip(names, values[:, 0].tolist(), together[:, 0].tolist(), strict=True):
            if not math.isnan(width):
                ends = {"simultaneous_low": value - width, "simultaneous_high": value + width}
                found[name] = replace(found[name], **ends, absence="")
        return found

    def _benefit(self, name: str, sign: int) -> Estimate:
        """Give the difference times the sign, without ends."""
        found = self.differences[name]
        value = None if found.value is None else found.value * sign
        return Estimate(
            value=value, records=found.records, method="benefit", absence=found.absence or "no value"
        )

    def _possible_benefit(self, name: str, sign: int) -> Estimate:
        """Give the benefit with its ends over all labels that stopped applicants could have."""
        found, possible = self._benefit(name, sign), {} if self.released is None else self.released.possible
        if name not in possible:
            return replace(found, absence="stopped applicants")
        ends = possible[name].ends.times(sign)
        lows = sorted(end for end in (ends.simultaneous_low, ends.simultaneous_high) if end is not None)
        if not lows:
            return replace(found, absence=ends.absence)
        return replace(found, simultaneous_low=lows[0], simultaneous_high=lows[-1], absence="")

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
        return frame(FRAME_COLUMNS, self._rows())

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for key, one in self.table.where(lambda key: key.form == "difference").items():
            own = Key(figure=key.figure, part=key.part)
            values = self.champion.table[own].value, self.challenger.table[own].value
            shown = one if key.part == OVERALL else one.together
            where = key.part.column or key.part.kind, key.part.value
            yield *where, key.figure.key, *values, one.value, shown.low, shown.high, one.records

    def to_json(self) -> dict[str, Any]:
        """Give the comparison as a JSON document, with the examples' record ids and no other value of a record."""
        return {
            **members(self),
            "differences": document(self.differences),
            "flip_rates": document(self.flip_rates),
            "groups": document(self.groups),
            "days": self.days,
            "records": len(self.champion.records),
            "daily": [members(change) | {"sentence": str(change)} for change in self.daily],
            "findings": document(self.findings),
        }
