"""Plans a backtest: the instants at which a model can be trained, and why it cannot be at the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from scoring_model.arrays import BoolArray, Int8Array, IntArray
from scoring_model.configuration import Configuration, SplitSettings
from scoring_model.evaluation.coverage import Selection, select
from scoring_model.history import PERSON, key_codes, person_codes
from scoring_model.history.rings import find_rings
from scoring_model.records import NEVER, RecordTable, digest
from scoring_model.records.observation import observed
from scoring_model.records.times import DAY, HOUR
from scoring_model.training.backtest.calendar import (
    BacktestError,
    Cadence,
    Unit,
    day_text,
    period_name,
    period_of,
    period_start,
)
from scoring_model.training.boundaries import SplitError, latest_instant, place_boundaries
from scoring_model.training.certification import InfeasiblePolicy, refuse_hopeless
from scoring_model.training.preparation import one_of_each
from scoring_model.training.split import Split, split

Window = Literal["expanding", "rolling"]


@dataclass(frozen=True, eq=False)
class History:
    """All records of a backtest, with what all folds share.

    Parameters
    ----------
    as_of : int
        Instant before which events and labels count, microseconds since 1970-01-01 UTC.
    """

    table: RecordTable
    configuration: Configuration
    as_of: int

    @classmethod
    def of(cls, table: RecordTable, configuration: Configuration) -> "History":
        """Cut the records at the configured as-of instant, or just after the latest instant."""
        if configuration.training.thinning is not None:
            raise BacktestError("a backtest holds all records in memory: remove training.thinning")
        as_of = configuration.training.split.as_of
        if as_of is not None:
            table = table.before(as_of)
        if not len(table):
            raise BacktestError("there are no records")
        if table.propensities is not None:
            raise BacktestError(
                "the records have propensities, by which a backtest does not weight: without the column it would judge "
                "models on the records that a policy let pass"
            )
        if as_of is None:
            as_of = latest_instant(table.event_times, table.label_times) + 1
        return cls(table, configuration, as_of)

    @cached_property
    def sha256(self) -> str:
        """Return the hash of the records."""
        return digest(self.table)

    @cached_property
    def persons(self) -> IntArray:
        """Return the codes of persons; a record without a known person counts as a separate person."""
        return person_codes(self.table, alone=True)

    @cached_property
    def observed(self) -> BoolArray:
        """Return the mask of records that were observed until they were mature."""
        return observed(self.table, self.configuration.training.split.label_maturity)

    @cached_property
    def keys(self) -> tuple[IntArray, ...]:
        """Return the codes of persons and of the other link keys, by which frauds form rings."""
        keys = self.configuration.feature_settings.links.link_keys
        return (self.persons, *(key_codes(self.table, key) for key in keys if key.name != PERSON))

    def rings(self, rows: IntArray, before: int) -> IntArray:
        """Find the rings of some records, as they are known from the records before an instant."""
        known = np.flatnonzero(self.table.event_times < before)
        return find_rings([codes[known] for codes in self.keys], np.searchsorted(known, rows))

    def tested(
        self, rows: IntArray, targets: Int8Array, stopped: IntArray, before: int
    ) -> tuple[IntArray, IntArray]:
        """Return the places of one record of each person that is or may be genuine, and one of each ring of frauds.

        Parameters
        ----------
        stopped : ndarray of shape (s,), int64
            Rows that were not observed. Places are those in `rows` followed by these.
        """
        genuine, frauds = (np.flatnonzero(targets == target) for target in (0, 1))
        genuine = np.concatenate([genuine, len(rows) + np.arange(len(stopped))])
        return (
            genuine[one_of_each(self.persons[np.concatenate([rows, stopped])[genuine]])],
            frauds[one_of_each(self.rings(rows[frauds], before))],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedFold:
    """A training at one instant.

    Parameters
    ----------
    period : int
        Number of the first period that its model decides about; it begins at `as_of`.
    settings : SplitSettings
        With them, `train` makes the same model.
    split : Split
        Its rows are those of the whole history.
    persons, rings : ndarray of int64
        Places in the validation part of one record for each genuine person, and of one for each ring of frauds.
    """

    period: int
    as_of: int
    settings: SplitSettings
    split: Split
    persons: IntArray
    rings: IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class ImpossibleFold:
    """An instant at which no model can be trained, with every reason."""

    as_of: int
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The folds of a backtest.

    Parameters
    ----------
    window : {"expanding", "rolling"}
        Whether the train part grows with the history or keeps its length.
    folds : tuple of PlannedFold
        In order of time, at least one.
    judged : Selection
        The judged records in order of time: those of whole periods after the first fold, all of them mature.
    bounds, stopped_bounds : ndarray of shape (p + 1,), int64
        Places in the rows of `judged`, and in its stopped ones, at which the p periods begin; last, their number.
    """

    unit: Unit
    cadences: tuple[Cadence, ...]
    window: Window
    folds: tuple[PlannedFold, ...]
    impossible: tuple[ImpossibleFold, ...]
    judged: Selection
    bounds: IntArray
    stopped_bounds: IntArray

    @property
    def periods(self) -> range:
        """Return the numbers of the judged periods."""
        first = self.folds[0].period
        return range(first, first + len(self.bounds) - 1)

    def bounds_of(self, fold: PlannedFold) -> tuple[IntArray, IntArray]:
        """Return the bounds of the periods that the fold's model decides about."""
        first = fold.period - self.folds[0].period
        return self.bounds[first:], self.stopped_bounds[first:]

    def describe(self) -> Iterator[str]:
        """Yield a sentence for each fold that is possible, and one for each that is not."""
        found = {fold.as_of: _described(fold) for fold in self.folds}
        absent = {one.as_of: f"no fold as of {day_text(one.as_of)}: {one.reason}" for one in self.impossible}
        yield from (line for _, line in sorted({**found, **absent}.items()))


def _described(fold: PlannedFold) -> str:
    train, validation = (
        next(segment for segment in fold.split.summaries if segment.part == part)
        for part in ("train", "validation")
    )
    return (
        f"fold as of {day_text(fold.as_of)}: trains on {train.start[:10]} to {train.end[:10]} ({train.genuine:,} "
        f"genuine, {train.frauds:,} frauds), thresholds on {validation.start[:10]} to {validation.end[:10]} "
        f"({validation.genuine:,} genuine, {validation.frauds:,} frauds)"
    )


def make_plan(
    history: History, cadences: Sequence[Cadence], *, window: Window | None = None, folds: int | None = None
) -> Plan:
    """Find the instants at which models are trained and the periods that they are judged on.

    A period is judged if the records reach its last day and all of them are older than the label maturity window. The
    first fold is the earliest that is possible; every cadence begins there.

    Parameters
    ----------
    window : {"expanding", "rolling"}, optional
        None: expanding if the parts of the split are shares, rolling if they are durations. A rolling window of shares
        has the lengths of the first fold; an expanding one of durations begins after the burn-in.
    folds : int, optional
        Number of latest periods to judge. None: all.

    Raises
    ------
    BacktestError
        If no fold is possible, with the reason of each.
    """
    given = history.configuration.training.split
    unit, maturity = cadences[0].unit, given.label_maturity
    chosen = window or ("rolling" if given.by_duration else "expanding")
    events = history.table.event_times
    last = period_of(min(history.as_of - maturity, int(events.max()) + DAY), unit)
    earliest = period_of(int(events.min()), unit) + 1
    if folds is not None:
        earliest = max(earliest, last - folds)
    found, impossible = _try_all(history, range(earliest, last), cadences, unit, chosen)
    if not found:
        reasons = [f"- as of {day_text(one.as_of)}: {one.reason}" for one in impossible]
        nothing = [
            f"- no whole {unit} of the records is older than the label maturity window and begins after others"
        ]
        raise BacktestError("no fold is possible:\n" + "\n".join(reasons or nothing))
    starts = [period_start(period, unit) for period in range(found[0].period, last + 1)]
    judged = select(history.table, as_of=history.as_of, maturity=maturity, matured_only=True)
    (order, bounds), (stopped, stopped_bounds) = (
        _in_periods(events[rows], starts) for rows in (judged.rows, judged.stopped)
    )
    return Plan(
        unit=unit,
        cadences=tuple(cadences),
        window=chosen,
        folds=tuple(found),
        impossible=tuple(impossible),
        judged=replace(
            judged,
            rows=judged.rows[order],
            targets=judged.targets[order],
            stopped=judged.stopped[stopped],
            stopped_labels=judged.stopped_labels[stopped],
        ),
        bounds=bounds,
        stopped_bounds=stopped_bounds,
    )


def _in_periods(times: IntArray, starts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the places of the times from the first start to the last one, in order, and where each period begins."""
    inside = np.flatnonzero((times >= starts[0]) & (times < starts[-1]))
    order = inside[np.argsort(times[inside], kind="stable")]
    return order, np.searchsorted(times[order], starts)


def _try_all(
    history: History, periods: range, cadences: Sequence[Cadence], unit: Unit, window: Window
) -> tuple[list[PlannedFold], list[ImpossibleFold]]:
    """Split the history at every instant that a cadence needs; all cadences begin at the first possible one."""
    found: list[PlannedFold] = []
    impossible: list[ImpossibleFold] = []
    start = int(history.table.event_times.min())
    for period in periods:
        if found and all((period - found[0].period) % cadence.periods for cadence in cadences):
            continue
        as_of = period_start(period, unit)
        settings = replace(history.configuration.split_over(as_of - start), as_of=as_of)
        try:
            if window == "rolling" and found:
                settings = replace(found[0].settings, as_of=as_of)
            else:
                settings = _windowed(settings, window, start, as_of)
            found.append(_fold(history, period, as_of, settings))
        except (SplitError, InfeasiblePolicy) as error:
            impossible.append(ImpossibleFold(as_of=as_of, reason=_reason(error)))
    return found, impossible


def _windowed(settings: SplitSettings, window: Window, start: int, as_of: int) -> SplitSettings:
    """Return the settings of one fold's split."""
    if window == "rolling" and not settings.by_duration:
        b = place_boundaries(start, as_of, settings)
        return replace(
            settings,
            train=_whole_hours(b.train_to - b.train_from),
            validation=_whole_hours(b.validation_to - b.validation_from),
            test=_whole_hours(b.test_to - b.test_from) if settings.test else 0,
        )
    if window == "expanding" and settings.by_duration:
        validation_from = settings.validation_end(start, as_of) - int(settings.validation)
        available = validation_from - settings.gap_length - start - settings.burn_in_length
        return replace(settings, train=max(_whole_hours(available), int(settings.train)))
    return settings


def _whole_hours(length: int) -> int:
    """Round a length down, so that a configuration can state it; at least an hour."""
    return max(length // HOUR, 1) * HOUR


def _fold(history: History, period: int, as_of: int, settings: SplitSettings) -> PlannedFold:
    """Split what was known at an instant."""
    table = history.table
    rows = np.flatnonzero(table.event_times < as_of)
    known = table.label_times[rows] < as_of
    parts = split(
        table.event_times[rows],
        np.where(known, table.labels[rows], np.int8(-1)),
        np.where(known, table.label_times[rows], NEVER),
        history.persons[rows],
        settings,
        observed=history.observed[rows],
    )
    parts = replace(
        parts,
        **{
            name: rows[getattr(parts, name)] for name in ("burn_in", "train", "validation", "test", "stopped")
        },
    )
    persons, rings = history.tested(parts.validation, parts.validation_targets, parts.stopped, as_of)
    refuse_hopeless(len(persons), len(rings), settings=history.configuration.policy)
    return PlannedFold(
        period=period, as_of=as_of, settings=settings, split=parts, persons=persons, rings=rings
    )


def _reason(error: SplitError | InfeasiblePolicy) -> str:
    if isinstance(error, SplitError):
        return "; ".join(error.reasons)
    bounds = "; ".join(f"{found.bound}: {found.reason}" for found in error.shortfalls)
    return f"there are too few records for the bounds of the policy: {bounds}"


def names_of(plan: Plan) -> list[str]:
    """Name the judged periods."""
    return [period_name(period, plan.unit) for period in plan.periods]
