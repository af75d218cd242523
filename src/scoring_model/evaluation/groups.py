"""Outcome and error rates by group, with gaps and ratios against the other records."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Self, TypeAlias

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.estimates import Estimate, Key, Slice, Table
from scoring_model.evaluation.draws import MIN_BLOCKS, Basis, Draws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.grouping import Grouping
from scoring_model.evaluation.metrics import divide, known
from scoring_model.evaluation.rates import CELLS, CLASS_RATES, cell_codes, errs, rate_counts
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.evaluation.uncertainty import (
    differing,
    half_widths,
    normal_quantile,
    rate_estimate,
    share_of,
)
from scoring_model.figures import FIGURES, GROUP_RATES

MIN_RECORDS: Final = 50
"""Fewest records in the denominators of a group's rate and of its reference for an interval of gap and ratio."""

REST: Final = "rest"


def deviating(numbers: FloatArray, records: int, *, enough: bool) -> Estimate:
    """Make an estimate from its value, its ends alone, and those that hold for all groups at once.

    Parameters
    ----------
    numbers : ndarray of shape (5,), float64
        NaN where unknown.
    enough : bool
        Whether there is enough data for ends.
    """
    value, low, high, all_low, all_high = map(known, numbers.tolist())
    return Estimate(
        value=value,
        low=low,
        high=high,
        simultaneous_low=all_low,
        simultaneous_high=all_high,
        records=records,
        method="deviations",
        absence="" if enough else "not enough data",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRate:
    """One rate of one group. Where applicants were stopped all ends also hold for every label that they could have.

    Parameters
    ----------
    estimate : Estimate
        The rate.
    gap, ratio : Estimate
        Difference from the rate of the reference, and ratio to it. Without ends unless the group and its reference
        have `MIN_RECORDS` records in the denominator, on ten days; always for the reference itself. A ratio to a rate
        of 0 has no value and no upper end.
    """

    estimate: Estimate
    gap: Estimate
    ratio: Estimate

    @property
    def enough(self) -> bool:
        """Whether the rate itself rests on enough records and blocks, whatever its reference does."""
        return self.estimate.records >= MIN_RECORDS and (self.estimate.independent or 0) >= MIN_BLOCKS


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
class GroupColumn:
    """A column by whose values groups were made.

    Parameters
    ----------
    column : str
        Field name, or `ageBand`.
    reference : str
        The value that each other group is compared with; `REST` compares each with all records outside it.
    merged_values : int
        Number of values in `OTHER`.
    persons_known : bool
        Whether persons were counted; otherwise each record counted as a person.
    """

    column: str
    reference: str
    merged_values: int
    persons_known: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTable(GroupColumn):
    """The groups of one column.

    Parameters
    ----------
    groups : tuple of Group
        Most records first; then `MISSING` and `OTHER`.
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, column: GroupColumn, table: Table) -> Self:
        """Read the groups of a column from a table with the numbers of all."""
        own = table.where(lambda key: key.part.kind == "group" and key.part.column == column.column)
        groups = (_group(part.value, measured) for part, measured in own.by(lambda key: key.part).items())
        return cls(**asdict(column), groups=tuple(groups))


def _group(value: str, measured: Table) -> Group:
    forms = {form: one.named() for form, one in measured.by(lambda key: key.form).items()}
    rates = {
        name: GroupRate(estimate=one, gap=forms["difference"][name], ratio=forms["ratio"][name])
        for name, one in forms["value"].items()
    }
    return Group(
        value=value,
        records=rates["passed"].estimate.records,
        genuine=rates["false_reject"].estimate.records,
        frauds=rates["missed_fraud"].estimate.records,
        rates=rates,
    )


def measure_groups(
    records: EvaluatedRecords, draws: Draws, column: str, *, reference: str | None = None
) -> tuple[GroupColumn, Table]:
    """Measure the rates of each group of one column, with gaps and ratios.

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
    by_block = draws.counts(codes, size * CELLS).reshape(draws.blocks, size, CELLS)
    place = None if reference is None else grouping.values.index(reference)
    other = by_block.sum(axis=1, keepdims=True) - by_block
    if place is not None:
        other = np.broadcast_to(by_block[:, place : place + 1], by_block.shape)
    keys = [
        Key(figure=FIGURES[name], part=Slice(kind="group", column=column, value=value))
        for value in grouping.values
        for name in GROUP_RATES
    ]
    against = (
        Slice(kind="rest", column=column)
        if reference is None
        else Slice(kind="group", column=column, value=reference)
    )
    compared = _compare(_Rates.of(by_block, draws), _Rates.of(other, draws), draws.blocks, reference=place)
    if records.not_observed is not None:
        compared = _over_labels(compared, records.not_observed, grouping, by_block.sum(axis=0), place)
    estimates: dict[Key, Estimate] = {}
    for key, (rate, gap, ratio) in zip(keys, compared, strict=True):
        estimates[key] = rate
        estimates[replace(key, against=against, form="difference")] = gap
        estimates[replace(key, against=against, form="ratio")] = ratio
    described = GroupColumn(
        column=column,
        reference=REST if reference is None else reference,
        merged_values=grouping.merged,
        persons_known=records.persons is not None,
    )
    return described, Table(estimates)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Counts:
    """f rates of g groups.

    Parameters
    ----------
    counts, totals : ndarray of shape (g, f), float64
    """

    counts: FloatArray
    totals: FloatArray

    @property
    def rates(self) -> FloatArray:
        """Rates on all records; NaN without records."""
        return divide(self.counts, self.totals)

    def variance(self) -> FloatArray:
        """Variance of a rate of independent records, with two errors and two others added (Agresti and Coull 1998)."""
        share = (self.counts + 2) / (self.totals + 4)
        return share * (1 - share) / (self.totals + 4)

    def log_variance(self) -> FloatArray:
        """Variance of the logarithm of a rate of independent records (Walter 1975, doi:10.1093/biomet/62.2.371)."""
        return 1 / (self.counts + 0.5) - 1 / (self.totals + 1)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Rates(_Counts):
    """f rates of g groups: on all records, and in every draw.

    Parameters
    ----------
    drawn_counts, drawn_totals : ndarray of shape (r, g, f), float64
    held : ndarray of shape (g, f), int64
        Blocks with records of the denominator.
    """

    drawn_counts: FloatArray
    drawn_totals: FloatArray
    held: IntArray

    @classmethod
    def of(cls, by_block: IntArray, draws: Draws) -> Self:
        """Sum counts of shape (blocks, g, 6)."""
        counts, totals = rate_counts(by_block.sum(axis=0), GROUP_RATES)
        drawn_counts, drawn_totals = rate_counts(draws.drawn(by_block), GROUP_RATES)
        _, daily = rate_counts(by_block, GROUP_RATES)
        held = np.count_nonzero(daily, axis=0)
        return cls(
            counts=counts, totals=totals, drawn_counts=drawn_counts, drawn_totals=drawn_totals, held=held
        )

    @property
    def drawn_rates(self) -> FloatArray:
        """Rates in every draw; NaN without records."""
        return divide(self.drawn_counts, self.drawn_totals)

    @property
    def enough(self) -> BoolArray:
        """Whether each rate rests on enough records and blocks."""
        return (self.totals >= MIN_RECORDS) & (self.held >= MIN_BLOCKS)


Triple: TypeAlias = tuple[Estimate, Estimate, Estimate]
"""A rate, the gap and the ratio to that of the reference."""

Pair: TypeAlias = tuple[_Counts, _Counts]
Ends: TypeAlias = tuple[FloatArray, FloatArray]


def _logs(counts: FloatArray, totals: FloatArray) -> FloatArray:
    """Logarithm of rates with half an error and half another record added, so that it is finite."""
    return np.log((counts + 0.5) / (totals + 1))


def _compare(own: _Rates, other: _Rates, blocks: int, *, reference: int | None) -> Iterator[Triple]:
    """Yield each rate of each group, with the gap and the ratio to that of its reference."""
    enough = own.enough & other.enough
    if reference is not None:
        enough[reference] = False
    drawn_rates = own.drawn_rates
    floor = own.variance() + other.variance()
    gaps = differing(
        own.rates - other.rates,
        drawn_rates - other.drawn_rates,
        floor=floor,
        enough=enough,
        blocks=blocks,
    )
    ratios = _ratios(own, other, enough, blocks)

    for g, f in np.ndindex(own.counts.shape):
        counted = int(own.counts[g, f]), int(own.totals[g, f])
        # A group is judged by its own blocks; where none or all of them are errors each record counts for itself.
        rate = rate_estimate(*counted, drawn_rates[:, g, f], Basis(int(own.held[g, f]), counted[1]))
        gap, ratio = (
            deviating(numbers[:, g, f], rate.records, enough=bool(enough[g, f])) for numbers in (gaps, ratios)
        )
        yield rate, gap, ratio


def _ratios(own: _Rates, other: _Rates, enough: BoolArray, blocks: int) -> FloatArray:
    """Compare on the scale of logarithms, with half an error and half another record added to each side.

    Values and ends stand as those of `differing`.
    """
    logs = _logs(own.counts, own.totals) - _logs(other.counts, other.totals)
    drawn = _logs(own.drawn_counts, own.drawn_totals) - _logs(other.drawn_counts, other.drawn_totals)
    floor = own.log_variance() + other.log_variance()
    alone, together = half_widths(logs, drawn, floor=floor, enough=enough, blocks=blocks)

    low, high = logs - np.stack([alone, together]), logs + np.stack([alone, together])
    lows = np.exp(low) * (own.counts > 0)
    highs = np.where(other.counts > 0, np.exp(high), np.nan)
    return np.stack([divide(own.rates, other.rates), lows[0], highs[0], lows[1], highs[1]])


def _over_labels(
    compared: Iterable[Triple],
    missing: NotObserved,
    grouping: Grouping,
    known: IntArray,
    reference: int | None,
) -> Iterator[Triple]:
    """Widen the ends of the rates of each group, of its gaps and of its ratios to every label of those not observed.

    Labels of a group say nothing of those of others, so that a gap is least where the rate of the group is least and
    that of its reference greatest.
    """
    size, held = len(grouping.values), missing.labels >= 0
    own = known + np.bincount(
        grouping.stopped[held] * CELLS + cell_codes(missing.labels[held], missing.outcomes[held]),
        minlength=size * CELLS,
    ).reshape(size, CELLS)
    unknown = np.bincount(
        grouping.stopped[~held] * len(OUTCOMES) + missing.outcomes[~held], minlength=size * len(OUTCOMES)
    ).reshape(size, len(OUTCOMES))
    others = [
        part.sum(axis=0) - part if reference is None else np.broadcast_to(part[reference], part.shape)
        for part in (own, unknown)
    ]
    (lowest, highest), (other_lowest, other_highest) = _extremes(own, unknown), _extremes(*others)
    pairs = (lowest, other_highest), (highest, other_lowest)
    quantiles = [normal_quantile(several) for several in (1, size)]
    gaps, ratios = ([make(*pairs, z) for z in quantiles] for make in (_gap_ends, _ratio_ends))
    for place, (rate, gap, ratio) in zip(np.ndindex(lowest.counts.shape), compared, strict=True):
        low, high = (share_of(int(one.counts[place]), int(one.totals[place])) for one in (lowest, highest))
        alone = low.low or 0.0, 1.0 if high.high is None else high.high
        yield (
            widened(rate, alone, alone),
            widened(gap, *_at(place, gaps)),
            widened(ratio, *_at(place, ratios)),
        )


def _at(place: tuple[int, ...], ends: Sequence[Ends]) -> Iterator[tuple[float, float]]:
    return ((float(low[place]), float(high[place])) for low, high in ends)


def _gap_ends(least: Pair, greatest: Pair, z: float) -> Ends:
    """Return the ends of differences of rates of independent records, each of a least and of a greatest one."""
    low, high = (
        one.rates - other.rates + sign * z * np.sqrt(one.variance() + other.variance())
        for sign, (one, other) in ((-1, least), (1, greatest))
    )
    return np.nan_to_num(np.maximum(low, -1), nan=-1), np.nan_to_num(np.minimum(high, 1), nan=1)


def _ratio_ends(least: Pair, greatest: Pair, z: float) -> Ends:
    """Return the ends of ratios, as `_ratios` does; NaN for none."""
    low, high = (
        np.exp(
            _logs(one.counts, one.totals)
            - _logs(other.counts, other.totals)
            + sign * z * np.sqrt(one.log_variance() + other.log_variance())
        )
        for sign, (one, other) in ((-1, least), (1, greatest))
    )
    return low * (least[0].counts > 0), np.where(greatest[1].counts > 0, high, np.nan)


def widened(one: Estimate, alone: tuple[float, float], together: tuple[float, float]) -> Estimate:
    """Let the intervals of a number that has some cover further ones; NaN stands for no end."""
    if one.absence or one.low is None:
        return one
    (low, high), (all_low, all_high) = alone, together
    found = replace(one, low=min(one.low, low), high=_larger(one.high, high), method="labellings")
    if one.simultaneous_low is None:
        return found
    wider = _larger(one.simultaneous_high, all_high)
    return replace(found, simultaneous_low=min(one.simultaneous_low, all_low), simultaneous_high=wider)


def _larger(one: float | None, other: float) -> float | None:
    """Return the larger upper end, None if one of both has none."""
    return None if one is None else known(max(one, other) if other == other else math.nan)


def _extremes(known: IntArray, unknown: IntArray) -> tuple[_Counts, _Counts]:
    """Return the lowest and the highest rates of groups over the labels of those without one.

    Parameters
    ----------
    known : ndarray of shape (g, 6)
    unknown : ndarray of shape (g, 3)
        Records without a label, by outcome.
    """
    counts, totals = rate_counts(known, GROUP_RATES)
    counted = np.array([errs(name, np.arange(len(OUTCOMES))) for name in GROUP_RATES], dtype=np.float64)
    more = unknown @ counted.T
    rest = unknown.sum(axis=1, keepdims=True) - more
    # A rate of all records counts each record, whatever its label.
    whole = np.array([name not in CLASS_RATES for name in GROUP_RATES])
    return (
        _Counts(counts=counts + more * whole, totals=totals + rest + more * whole),
        _Counts(counts=counts + more, totals=totals + more + rest * whole),
    )
