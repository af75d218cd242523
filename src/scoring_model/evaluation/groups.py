"""Outcome and error rates by group, with gaps and ratios against the other records."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self, TypeAlias

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.day_draws import MIN_DAYS, DayDraws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.grouping import Grouping
from scoring_model.evaluation.metrics import divide, known
from scoring_model.evaluation.rates import CELLS, cell_codes, rate_counts
from scoring_model.evaluation.simultaneous import half_widths
from scoring_model.evaluation.uncertainty import Estimate, rate_estimate
from scoring_model.figures import GROUP_RATES

MIN_RECORDS: Final = 50
"""Fewest records in the denominators of a group's rate and of its reference for an interval of gap and ratio."""

REST: Final = "rest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A group's rate against that of the reference: a gap (difference) or a ratio.

    Parameters
    ----------
    value : float or None
        None without records, or for a ratio to a rate of 0.
    low, high : float or None
        95 % interval of this comparison alone. None without enough data; a ratio to a rate of 0 has no upper end.
    simultaneous_low, simultaneous_high : float or None
        All groups of the column lie inside theirs at once with 95 % confidence, for one rate.
    """

    value: float | None
    low: float | None
    high: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Self:
        """Make it from its five numbers, NaN where unknown."""
        return cls(**{part.name: known(number) for part, number in zip(fields(cls), numbers, strict=True)})


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRate:
    """One rate of one group.

    Parameters
    ----------
    count : int
        Records of the numerator.
    estimate : Estimate
        The rate; `estimate.records` is its denominator.
    enough : bool
        Whether the group and its reference have `MIN_RECORDS` records in the denominator, on ten days. If not, gap and
        ratio have no ends: "not enough data". Always false for the reference itself.
    gap, ratio : Difference
        Against the reference.
    """

    count: int
    estimate: Estimate
    enough: bool
    gap: Difference
    ratio: Difference


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Records with one value of a column.

    Parameters
    ----------
    value : str
        The value; `MISSING` without one; `OTHER` for all values of fewer than five persons together.
    records, genuine, frauds : int
    rates : mapping of str to GroupRate
        By name, as in `GROUP_RATES`.
    """

    value: str
    records: int
    genuine: int
    frauds: int
    rates: Mapping[str, GroupRate]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTable:
    """The groups of one column.

    Parameters
    ----------
    column : str
        Field name, or `ageBand`.
    reference : str
        The value that each other group is compared with; `REST` compares each with all records outside it.
    groups : tuple of Group
        Most records first; then `MISSING` and `OTHER`.
    merged_values : int
        Number of values in `OTHER`.
    persons_known : bool
        Whether persons were counted; otherwise each record counted as a person.
    """

    column: str
    reference: str
    groups: tuple[Group, ...]
    merged_values: int
    persons_known: bool

    def to_json(self) -> dict[str, Any]:
        """Give the groups as a JSON document."""
        return asdict(self)


def measure_groups(
    records: EvaluatedRecords, draws: DayDraws, column: str, *, reference: str | None = None
) -> GroupTable:
    """Measure the rates of each group of one column.

    Parameters
    ----------
    column : str
        A name in `records.columns`.
    reference : str, optional
        A value of the column. None: each group is compared with all other records.

    Raises
    ------
    EvaluationError
        If the reference is not a group, or if there are more than 200 groups.
    """
    grouping = Grouping.of(records, column)
    if reference is not None and reference not in grouping.values:
        found = ", ".join(grouping.values)
        raise EvaluationError(f"by: {column} has no group {reference!r} to compare with; it has {found}")
    size = len(grouping.values)
    codes = grouping.codes * CELLS + cell_codes(records.labels, records.decisions.outcomes)
    by_day = draws.counts(codes, size * CELLS).reshape(draws.days, size, CELLS)
    place = None if reference is None else grouping.values.index(reference)
    other = by_day.sum(axis=1, keepdims=True) - by_day
    if place is not None:
        other = np.broadcast_to(by_day[:, place : place + 1], by_day.shape)
    rates = _compare(_Rates.of(by_day, draws), _Rates.of(other, draws), draws.days, reference=place)
    totals = by_day.sum(axis=0)
    groups = (
        Group(
            value=value,
            records=int(cells.sum()),
            genuine=int(cells[: CELLS // 2].sum()),
            frauds=int(cells[CELLS // 2 :].sum()),
            rates=found,
        )
        for value, cells, found in zip(grouping.values, totals, rates, strict=True)
    )
    return GroupTable(
        column=column,
        reference=REST if reference is None else reference,
        groups=tuple(groups),
        merged_values=grouping.merged,
        persons_known=records.persons is not None,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Rates:
    """f rates of g groups: on all records, and in every draw.

    Parameters
    ----------
    counts, totals : ndarray of shape (g, f), float64
    drawn_counts, drawn_totals : ndarray of shape (r, g, f), float64
    held : ndarray of shape (g, f), int64
        Days with records of the denominator.
    """

    counts: FloatArray
    totals: FloatArray
    drawn_counts: FloatArray
    drawn_totals: FloatArray
    held: IntArray

    @classmethod
    def of(cls, by_day: IntArray, draws: DayDraws) -> Self:
        """Sum counts of shape (days, g, 6)."""
        counts, totals = rate_counts(by_day.sum(axis=0), GROUP_RATES)
        drawn_counts, drawn_totals = rate_counts(draws.drawn(by_day), GROUP_RATES)
        _, daily = rate_counts(by_day, GROUP_RATES)
        held = np.count_nonzero(daily, axis=0)
        return cls(
            counts=counts, totals=totals, drawn_counts=drawn_counts, drawn_totals=drawn_totals, held=held
        )

    @property
    def rates(self) -> FloatArray:
        """Rates on all records; NaN without records."""
        return divide(self.counts, self.totals)

    @property
    def drawn_rates(self) -> FloatArray:
        """Rates in every draw; NaN without records."""
        return divide(self.drawn_counts, self.drawn_totals)

    @property
    def enough(self) -> BoolArray:
        """Whether each rate rests on enough records and days."""
        return np.asarray((self.totals >= MIN_RECORDS) & (self.held >= MIN_DAYS))

    def variance(self) -> FloatArray:
        """Variance of a rate of independent records, with two errors and two others added (Agresti and Coull 1998)."""
        share = (self.counts + 2) / (self.totals + 4)
        return np.asarray(share * (1 - share) / (self.totals + 4))

    def log_variance(self) -> FloatArray:
        """Variance of the logarithm of a rate of independent records (Walter 1975, doi:10.1093/biomet/62.2.371)."""
        return np.asarray(1 / (self.counts + 0.5) - 1 / (self.totals + 1))


def _logs(counts: FloatArray, totals: FloatArray) -> FloatArray:
    """Logarithm of rates with half an error and half another record added, so that it is finite."""
    return np.asarray(np.log((counts + 0.5) / (totals + 1)))


def _compare(own: _Rates, other: _Rates, days: int, *, reference: int | None) -> list[dict[str, GroupRate]]:
    """Compare the rates of each group with those of its reference."""
    enough = own.enough & other.enough
    if reference is not None:
        enough[reference] = False
    drawn_rates = own.drawn_rates
    gaps, gap_ends = _gaps(own, other, enough, days)
    ratios, ratio_ends = _ratios(own, other, enough, days)

    def rate(g: int, f: int) -> GroupRate:
        drawn = drawn_rates[:, g, f] if own.held[g, f] >= MIN_DAYS else np.empty(0)
        return GroupRate(
            count=int(own.counts[g, f]),
            estimate=rate_estimate(int(own.counts[g, f]), int(own.totals[g, f]), drawn),
            enough=bool(enough[g, f]),
            gap=Difference.of([found[g, f] for found in (gaps, *gap_ends)]),
            ratio=Difference.of([found[g, f] for found in (ratios, *ratio_ends)]),
        )

    return [{name: rate(g, f) for f, name in enumerate(GROUP_RATES)} for g in range(len(own.counts))]


_Ends: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Low and high of the intervals alone, then of the simultaneous ones."""


def _gaps(own: _Rates, other: _Rates, enough: BoolArray, days: int) -> tuple[FloatArray, _Ends]:
    gaps = own.rates - other.rates
    drawn, floor = own.drawn_rates - other.drawn_rates, own.variance() + other.variance()
    alone, together = half_widths(gaps, drawn, floor=floor, enough=enough, days=days)
    ends = (gaps - alone, gaps + alone, gaps - together, gaps + together)
    low, high, all_low, all_high = (np.clip(end, -1, 1) for end in ends)
    return gaps, (low, high, all_low, all_high)


def _ratios(own: _Rates, other: _Rates, enough: BoolArray, days: int) -> tuple[FloatArray, _Ends]:
    """Compare on the scale of logarithms, with half an error and half another record added to each side."""
    logs = _logs(own.counts, own.totals) - _logs(other.counts, other.totals)
    drawn = _logs(own.drawn_counts, own.drawn_totals) - _logs(other.drawn_counts, other.drawn_totals)
    floor = own.log_variance() + other.log_variance()
    alone, together = half_widths(logs, drawn, floor=floor, enough=enough, days=days)

    def low(width: FloatArray) -> FloatArray:
        return np.asarray(np.exp(logs - width) * (own.counts > 0))

    def high(width: FloatArray) -> FloatArray:
        return np.where(other.counts > 0, np.exp(logs + width), np.nan)

    return divide(own.rates, other.rates), (low(alone), high(alone), low(together), high(together))
