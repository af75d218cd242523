"""The feature matrix: the catalogue evaluated over a table or over one record.

Both call the same value functions: the table on the distinct values of its columns, the record on its own
values. So a record alone has the same row, bit for bit, as in any table.

The row of one record is made in two steps: `start` does all that neither the instant nor the history decides,
so that little is left for `finish`, which a service can only do once it has the history in its hands.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from struct import Struct
from typing import Final, TypeAlias, cast

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features import addresses, dates, documents, images, links, names, signals
from scoring_model.features.catalogue import MISSING, Family, Feature, Group
from scoring_model.features.distinct import evaluate, number_column
from scoring_model.features.local_time import Offsets
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.state import FittedState
from scoring_model.history import (
    NOTHING_BEFORE,
    Amount,
    Counts,
    LinkKey,
    TableAmounts,
    WindowSpec,
    key_codes,
    person_codes,
    table_amounts,
)
from scoring_model.records import NEVER, Record, RecordTable
from scoring_model.records.table import Column

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


_DERIVED: Final = frozenset({"eventDay", "eventHour", "localDay", "localHour"})
"""Inputs that the instant of the event gives."""


@dataclass(frozen=True, slots=True)
class StartedRow:
    """A row without the features that depend on the instant and the history.

    Parameters
    ----------
    floats : tuple of float
        The features of values, NaN where the instant takes part.
    inputs : mapping of str to object
        The values of the record that are read together with the instant.
    amounts : tuple of int or None
        Its amounts in units.
    """

    floats: tuple[float, ...] = field(repr=False)
    inputs: Mapping[str, object] = field(repr=False)
    amounts: tuple[int | None, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class _Use:
    """A group with features in use.

    Parameters
    ----------
    kept : ndarray of int64
        Places of these features in the group.
    blank : tuple of float
        Placeholders for the group's features until the instant is known; empty if it is not needed.
    """

    group: Group
    kept: IntArray
    blank: tuple[float, ...]

    @classmethod
    def of(cls, group: Group, kept: IntArray) -> "_Use":
        blank = () if _DERIVED.isdisjoint(group.inputs) else (MISSING,) * len(group.features)
        return cls(group, kept, blank)


_Step: TypeAlias = tuple[Callable[..., tuple[float, ...]], tuple[str, ...], str | None, tuple[float, ...]]


@dataclass(frozen=True)
class FeatureMatrix:
    """The features of one use: which there are, and how a row is built. Nothing else builds one."""

    settings: FeatureSettings
    state: FittedState

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of value functions; links are computed from history instead."""
        of_signals = {name: self.state.vocabulary(f"signals.{name}") for name in self.settings.signals}
        every = (
            names.family(self.state.names),
            dates.family(local=self.settings.time_zone is not None),
            documents.family(self.state.vocabulary("citizenship"), self.state.documents),
            addresses.family(self.state.vocabulary("address.country"), self.state.lines),
            images.family(),
            signals.family(self.settings.signals, of_signals),
        )
        return tuple(family for family in every if family.name in self.settings.families)

    @cached_property
    def catalogue(self) -> tuple[Feature, ...]:
        """Every feature that there could be, in order."""
        of_values = [feature for group in self._groups for feature in group.features]
        return (*of_values, *links.link_features(self.settings))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features in use, in the order of the columns of a row."""
        problems = self._problems()
        if problems:
            raise ValueError("; ".join(problems))
        allowed = {None, *self.settings.use_protected}
        return tuple(
            feature
            for feature in self.catalogue
            if feature.protected in allowed and feature.name not in self.settings.exclude
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(feature.name for feature in self.features)

    def rows(self, table: RecordTable, first: int = 0) -> FloatArray:
        """The rows of a table; its own records are the history.

        Parameters
        ----------
        table : RecordTable
            In any order.
        first : int
            Records before this one are history only and get no row, which takes a fraction of the time.

        Returns
        -------
        ndarray of shape (n - first, d), float64
        """
        rows = np.empty((len(table) - first, len(self.features)), dtype=np.float64)
        of_links = rows[:, sum(len(use.kept) for use in self._uses) :]
        own = table.take(np.arange(first, len(table))) if first else table
        # Sorting and sweeping release the interpreter, and value functions run meanwhile.
        with ThreadPoolExecutor(1) as aside:
            linked = aside.submit(self._fill_links, table, of_links, first)
            self._fill_values(own, rows)
            linked.result()
        return rows

    def row(self, record: Record, history: Mapping[str, Counts]) -> FloatArray:
        """The row of one record: `start` and `finish` in one.

        Parameters
        ----------
        history : mapping of str to Counts
            By the name of the link key; a key that is not there has no past.

        Returns
        -------
        ndarray of shape (d,), float64
        """
        return self.finish(self.start(record.values), record.event_time, history)

    def start(self, values: Mapping[str, object]) -> StartedRow:
        """Compute what neither the instant nor the history decides.

        Parameters
        ----------
        values : mapping of str to object
            Those of a `Record`.

        Returns
        -------
        StartedRow
            For `finish`.
        """
        value = values.get
        floats: list[float] = []
        for function, inputs, single, blank in self._plan:
            if blank:
                floats += blank
            elif (
                single is not None
            ):  # most read one field, and a call with a list costs more than some of them
                floats += function(value(single))
            else:
                floats += function(*map(value, inputs))
        amounts = [amount.units(cast("float | None", value(amount.field))) for amount in self.amounts]
        return StartedRow(tuple(floats), {name: value(name) for name in self._dated_fields}, tuple(amounts))

    def finish(self, started: StartedRow, event_time: int, history: Mapping[str, Counts]) -> FloatArray:
        """Complete the row of one record.

        Parameters
        ----------
        started : StartedRow
            Of the same matrix.
        event_time : int
            Microseconds since 1970-01-01 UTC.
        history : mapping of str to Counts
            By the name of the link key, as `count_before` counts; a key that is not there has no past.

        Returns
        -------
        ndarray of shape (d,), float64
        """
        floats = list(started.floats)
        known = {**started.inputs, **_derived(event_time, self.state.zone)}
        for use, columns in self._dated:
            floats[columns] = use.group.function(*map(known.__getitem__, use.group.inputs))
        for key in self.link_keys:
            counts = history.get(key.name)
            if counts is None or counts.age == NOTHING_BEFORE:
                floats += self._no_links[key.name]
            else:
                floats += links.link_row(self.specs[key.name], counts, started.amounts)
        # Several times as fast as an array of a list.
        row = np.frombuffer(bytearray(self._packed.pack(*floats)))
        return row if self._places is None else row[self._places]

    @cached_property
    def link_keys(self) -> tuple[LinkKey, ...]:
        """The link keys of this use, in the order of their columns."""
        return self.settings.links.link_keys

    @cached_property
    def specs(self) -> Mapping[str, WindowSpec]:
        """What is counted under each link key, by its name."""
        return self.settings.links.specs

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """The amounts of a history."""
        return self.settings.links.every_amount

    @cached_property
    def reach(self) -> int:
        """How far back history is read, in microseconds."""
        return self.settings.links.reach

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group for family in self.families for group in family.groups)

    @cached_property
    def _uses(self) -> tuple[_Use, ...]:
        """The groups with a feature in use."""
        uses = [_Use.of(group, self._kept_of(group.features)) for group in self._groups]
        return tuple(use for use in uses if len(use.kept))

    def _kept_of(self, features: Sequence[Feature]) -> IntArray:
        """Which of these features are in use, as their places."""
        used = {feature.name for feature in self.features}
        return np.array([i for i, feature in enumerate(features) if feature.name in used], dtype=np.int64)

    @cached_property
    def _places(self) -> IntArray | None:
        """Which of the features that one record's functions compute are in use; None for all."""
        of_values = [feature for use in self._uses for feature in use.group.features]
        computed = [*of_values, *links.link_features(self.settings)]
        places = self._kept_of(computed)
        return None if len(places) == len(computed) else places

    @cached_property
    def _plan(self) -> tuple[_Step, ...]:
        """`start` for one record, with as few look-ups as possible."""
        return tuple(
            (
                use.group.function,
                use.group.inputs,
                use.group.inputs[0] if len(use.group.inputs) == 1 else None,
                use.blank,
            )
            for use in self._uses
        )

    @cached_property
    def _packed(self) -> Struct:
        """The features that one record's functions compute, as float64 one after the other."""
        of_values = sum(len(use.group.features) for use in self._uses)
        return Struct(f"{of_values + len(links.link_features(self.settings))}d")

    @cached_property
    def _dated_fields(self) -> tuple[str, ...]:
        """Fields that are read together with the instant."""
        names = {name for use, _ in self._dated for name in use.group.inputs}
        return tuple(sorted(names - _DERIVED))

    @cached_property
    def _dated(self) -> tuple[tuple[_Use, slice], ...]:
        """Uses in which the instant takes part, with their columns among those of all uses."""
        ends = itertools.accumulate(len(use.group.features) for use in self._uses)
        return tuple(
            (use, slice(end - len(use.blank), end))
            for end, use in zip(ends, self._uses, strict=True)
            if use.blank
        )

    @cached_property
    def _no_links(self) -> Mapping[str, list[float]]:
        """Features of each link key without a past."""
        return {name: links.link_row(spec, Counts.nothing(spec)) for name, spec in self.specs.items()}

    def _problems(self) -> list[str]:
        known = [feature.name for feature in self.catalogue]
        protected = {feature.protected for feature in self.catalogue} - {None}
        return [
            *(
                f"two features are named {name!r}"
                for name in sorted({n for n in known if known.count(n) > 1})
            ),
            *(
                f"exclude: there is no feature {name!r}"
                for name in self.settings.exclude
                if name not in known
            ),
            *(
                f"use_protected: no feature reads the attribute {name!r}"
                for name in self.settings.use_protected
                if name not in protected
            ),
        ]

    def _fill_values(self, table: RecordTable, rows: FloatArray) -> None:
        """Write the features of values, from the first column on."""
        inputs = _inputs(table, {name for use in self._uses for name in use.group.inputs}, self.state.zone)
        start = 0
        for use in self._uses:
            block = evaluate(use.group, [inputs[name] for name in use.group.inputs])
            end = start + len(use.kept)
            rows[:, start:end] = np.take(block.rows[:, use.kept], block.where, axis=0)
            start = end

    def _fill_links(self, table: RecordTable, rows: FloatArray, first: int) -> None:
        """Write the features of links of the records from the first one on."""
        # Brings a compiler, which one record never needs.
        from scoring_model.history.sweep import TableLabels, sweep

        known = np.flatnonzero(table.label_times != NEVER)
        labels = TableLabels(known, table.label_times[known], table.labels[known] == 1)
        persons = person_codes(table, alone=True)
        times = table.event_times
        amounts = [table_amounts(table, amount) for amount in self.amounts]
        own = [TableAmounts(amount.units[first:], amount.present[first:]) for amount in amounts]
        wanted = self._kept_of(links.link_features(self.settings))
        before = 0
        for key in self.link_keys:
            spec = self.specs[key.name]
            codes = _shared_codes(key_codes(table, key), first)
            counts = sweep(codes, times, persons, labels, spec, amounts)
            block = links.link_rows(spec, counts.tail(first), own)
            start, end = np.searchsorted(wanted, (before, before + block.shape[1])).tolist()
            kept = wanted[start:end] - before
            rows[:, start:end] = block if len(kept) == block.shape[1] else block[:, kept]
            before += block.shape[1]


def _shared_codes(codes: IntArray, first: int) -> IntArray:
    """Codes of a link key, negative where no record from the first one on shares the value."""
    shared = np.zeros(codes.max(initial=-1) + 2, dtype=np.bool_)
    shared[codes[first:]] = True  # the last place is that of the code -1
    return np.where(shared[codes], codes, -1)


def _derived(event_time: int, zone: Offsets) -> dict[str, int]:
    local = zone.local(event_time)
    return {
        "eventDay": event_time // _DAY,
        "eventHour": event_time // _HOUR % 24,
        "localDay": local // _DAY,
        "localHour": local // _HOUR % 24,
    }


def _inputs(table: RecordTable, names: Iterable[str], zone: Offsets) -> dict[str, Column]:
    """Inputs of value functions; a missing value has the code 0."""
    times, local = table.event_times, zone.local_of(table.event_times)
    derived = {
        "eventDay": times // _DAY,
        "eventHour": times // _HOUR % 24,
        "localDay": local // _DAY,
        "localHour": local // _HOUR % 24,
    }
    return {name: number_column(derived[name]) if name in derived else _field(table, name) for name in names}


def _field(table: RecordTable, name: str) -> Column:
    column = table.column(name)
    return Column((None, *column.values), column.codes + np.int32(1))
