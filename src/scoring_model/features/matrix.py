"""The feature matrix: evaluates the catalogue over a table or over one record.

Both call the same value functions: a table on the distinct values of its columns, a record on its own values. So a
single record has the same row, bit for bit, as in any table.

The row of one record is computed in two steps: `start` computes all features that are independent of the instant and
the history, so that little is left for `finish`, which a service calls once it has read the history.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from struct import Struct
from typing import TypeAlias, cast

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features import links
from scoring_model.features.catalogue import DERIVED, MISSING, Family, Feature, Group, ReasonTopic
from scoring_model.features.distinct import evaluate, number_column
from scoring_model.features.families import FAMILIES, families_of
from scoring_model.features.local_time import Offsets
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.state import FittedState
from scoring_model.history import (
    NOTHING_BEFORE,
    Amount,
    Counts,
    LinkCounts,
    LinkKey,
    TableAmounts,
    WindowSpec,
    key_codes,
    person_codes,
    table_amounts,
)
from scoring_model.records import NEVER, Record, RecordTable
from scoring_model.records.table import Column
from scoring_model.records.times import DAY, HOUR


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class StartedRow:
    """A row without the features that depend on the instant and the history.

    Parameters
    ----------
    floats : tuple of float
        The features of values; NaN where they depend on the instant.
    inputs : mapping of str to object
        The values of the record that are combined with the instant.
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
        Indices of these features in the group.
    blank : tuple of float
        Placeholders for the group's features until the instant is known; empty if they do not need it.
    """

    group: Group
    kept: IntArray
    blank: tuple[float, ...]

    @classmethod
    def of(cls, group: Group, kept: IntArray) -> "_Use":
        blank = () if DERIVED.isdisjoint(group.inputs) else (MISSING,) * len(group.features)
        return cls(group, kept, blank)


_Step: TypeAlias = tuple[Callable[..., tuple[float, ...]], tuple[str, ...], str | None, tuple[float, ...]]


@dataclass(frozen=True)
class FeatureMatrix:
    """The features of one use. All rows of features are built here."""

    settings: FeatureSettings
    state: FittedState

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Return the families of value functions, without links, which are computed from history."""
        settings = self.settings
        every = families_of(self.state, settings.signals, local=settings.time_zone is not None)
        # Those of signals that are read go with the family of signals, and are named by their type.
        return tuple(
            family
            for family in every
            if (family.name if family.name in FAMILIES else "signals") in settings.families
        )

    @cached_property
    def catalogue(self) -> tuple[Feature, ...]:
        """Return every possible feature, in order."""
        of_values = [feature for group in self._groups for feature in group.features]
        return (*of_values, *links.link_features(self.settings))

    @cached_property
    def reasons(self) -> tuple[ReasonTopic, ...]:
        """Return the factors of every possible feature and what is said of them, in order."""
        of_values = [reason for family in self.families for reason in family.reasons]
        return (*of_values, *links.link_reasons(self.settings, self.names))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """Return the features in use, in the order of columns."""
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
        """Return the names of the columns."""
        return tuple(feature.name for feature in self.features)

    def code_words(self, feature: Feature) -> tuple[str, ...]:
        """Return what the codes 0, 1, ... of a categorical feature stand for; empty where nobody can say."""
        if not feature.categorical or feature.words or len(feature.inputs) != 1:
            return feature.words
        return tuple(self.state.vocabulary(feature.inputs[0]).values)

    def rows(self, table: RecordTable, first: int = 0) -> FloatArray:
        """Compute the rows of a table; its own records are the history.

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
        # Sorting and sweeping release the GIL, so value functions run in parallel.
        with ThreadPoolExecutor(1) as aside:
            linked = aside.submit(self._fill_links, table, of_links, first)
            self._fill_values(own, rows)
            linked.result()
        return rows

    def value_rows(self, table: RecordTable) -> FloatArray:
        """Compute the first columns of `rows`: those of values, which the history does not change.

        Returns
        -------
        ndarray of shape (n, v), float64
        """
        rows = np.empty((len(table), sum(len(use.kept) for use in self._uses)), dtype=np.float64)
        self._fill_values(table, rows)
        return rows

    def link_block(self, key: LinkKey, counts: LinkCounts, own: Sequence[TableAmounts] = ()) -> FloatArray:
        """Compute the features in use of one link key from its counts, for `linked_rows`.

        Parameters
        ----------
        own : sequence of TableAmounts
            The amounts of the records themselves.

        Returns
        -------
        ndarray of shape (n, k), float64
        """
        block = links.link_rows(self.specs[key.name], counts, own)
        kept = self._link_places[key.name][1]
        return block if len(kept) == block.shape[1] else block[:, kept]

    def link_width(self, key: LinkKey) -> int:
        """Return the number of features in use of one link key."""
        return len(self._link_places[key.name][1])

    def linked_rows(
        self, table: RecordTable, linked: Mapping[str, Iterable[tuple[IntArray, FloatArray]]]
    ) -> FloatArray:
        """Compute the rows of a table whose link features were computed before.

        Parameters
        ----------
        linked : mapping of str to iterable of (ndarray of shape (m,), ndarray of shape (m, k))
            By name of the link key: records of the table and their features from `link_block`. All other records have
            no history under that key.

        Returns
        -------
        ndarray of shape (n, d), float64
            Equal to `rows` of the whole history.
        """
        rows = np.empty((len(table), len(self.features)), dtype=np.float64)
        self._fill_values(table, rows)
        of_links = rows[:, sum(len(use.kept) for use in self._uses) :]
        nothing = [TableAmounts(np.zeros(1, np.int64), np.zeros(1, np.bool_)) for _ in self.amounts]
        for key in self.link_keys:
            of_key = of_links[:, self._link_places[key.name][0]]
            of_key[:] = self.link_block(key, LinkCounts.nothing(1, self.specs[key.name]), nothing)
            for places, block in linked.get(key.name, ()):
                of_key[places] = block
        return rows

    @cached_property
    def _link_places(self) -> Mapping[str, tuple[slice, IntArray]]:
        """Return the columns of each link key among those of links, and which of its features they hold."""
        wanted = self._kept_of(links.link_features(self.settings))
        found, before = {}, 0
        for key in self.link_keys:
            width = links.width(key, self.settings)
            start, end = np.searchsorted(wanted, (before, before + width)).tolist()
            found[key.name] = (slice(start, end), wanted[start:end] - before)
            before += width
        return found

    def row(self, record: Record, history: Mapping[str, Counts]) -> FloatArray:
        """Compute the row of one record: `start`, then `finish`.

        Parameters
        ----------
        history : mapping of str to Counts
            By name of the link key; an absent key has no history.

        Returns
        -------
        ndarray of shape (d,), float64
        """
        return self.finish(self.start(record.values), record.event_time, history)

    def start(self, values: Mapping[str, object]) -> StartedRow:
        """Compute the features that are independent of the instant and the history.

        Parameters
        ----------
        values : mapping of str to object
            Values of a `Record`.

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
            ):  # most groups read one field; a call with an unpacked list would cost more than some functions
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
            From `start` of the same matrix.
        event_time : int
            Microseconds since 1970-01-01 UTC.
        history : mapping of str to Counts
            By name of the link key, from `count_before`; an absent key has no history.

        Returns
        -------
        ndarray of shape (d,), float64
        """
        floats = list(started.floats)
        known = {**started.inputs, "eventDay": event_time // DAY, "eventHour": event_time // HOUR % 24}
        if self._needs_local:
            local = self.state.zone.local(event_time)
            known |= {"localDay": local // DAY, "localHour": local // HOUR % 24}
        for use, columns in self._dated:
            floats[columns] = use.group.function(*map(known.__getitem__, use.group.inputs))
        for key in self.link_keys:
            counts = history.get(key.name)
            if counts is None or counts.age == NOTHING_BEFORE:
                floats += self._no_links[key.name]
            else:
                floats += links.link_row(self.specs[key.name], counts, started.amounts)
        # Several times faster than np.array(list).
        row = np.frombuffer(bytearray(self._packed.pack(*floats)))
        return row if self._places is None else row[self._places]

    @cached_property
    def link_keys(self) -> tuple[LinkKey, ...]:
        """Return the link keys of this use, in the order of their columns."""
        return self.settings.links.link_keys

    @cached_property
    def specs(self) -> Mapping[str, WindowSpec]:
        """Return the window specification of each link key, by name."""
        return self.settings.links.specs

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """Return the amounts of a history."""
        return self.settings.links.every_amount

    @cached_property
    def reach(self) -> int:
        """Return how far back history is read, in microseconds."""
        return self.settings.links.reach

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group for family in self.families for group in family.groups)

    @cached_property
    def _uses(self) -> tuple[_Use, ...]:
        """List the groups with a feature in use."""
        uses = [_Use.of(group, self._kept_of(group.features)) for group in self._groups]
        return tuple(use for use in uses if len(use.kept))

    def _kept_of(self, features: Sequence[Feature]) -> IntArray:
        """Return the indices of the features in use."""
        used = {feature.name for feature in self.features}
        return np.array([i for i, feature in enumerate(features) if feature.name in used], dtype=np.int64)

    @cached_property
    def _places(self) -> IntArray | None:
        """Return the indices of the features in use among those computed for one record; None for all."""
        of_values = [feature for use in self._uses for feature in use.group.features]
        computed = [*of_values, *links.link_features(self.settings)]
        places = self._kept_of(computed)
        return None if len(places) == len(computed) else places

    @cached_property
    def _plan(self) -> tuple[_Step, ...]:
        """Precompute the steps of `start`, to minimise look-ups."""
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
        """Return the packed layout of the features computed for one record: consecutive float64."""
        of_values = sum(len(use.group.features) for use in self._uses)
        return Struct(f"{of_values + len(links.link_features(self.settings))}d")

    @cached_property
    def _dated_fields(self) -> tuple[str, ...]:
        """List the fields that are combined with the instant."""
        names = {name for use, _ in self._dated for name in use.group.inputs}
        return tuple(sorted(names - DERIVED))

    @cached_property
    def _needs_local(self) -> bool:
        """Return True if a feature is made of the local time."""
        return any(
            "localDay" in use.group.inputs or "localHour" in use.group.inputs for use, _ in self._dated
        )

    @cached_property
    def _dated(self) -> tuple[tuple[_Use, slice], ...]:
        """List the uses that depend on the instant, with their columns among those of all uses."""
        ends = itertools.accumulate(len(use.group.features) for use in self._uses)
        return tuple(
            (use, slice(end - len(use.blank), end))
            for end, use in zip(ends, self._uses, strict=True)
            if use.blank
        )

    @cached_property
    def _no_links(self) -> Mapping[str, list[float]]:
        """Return the features of each link key without history."""
        return {name: links.link_row(spec, spec.nothing) for name, spec in self.specs.items()}

    def _problems(self) -> list[str]:
        known = [feature.name for feature in self.catalogue]
        protected = {feature.protected for feature in self.catalogue} - {None}
        return [
            *(
                f"two features are named {name!r}"
                for name in sorted(name for name, count in Counter(known).items() if count > 1)
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
        """Write the features of values, starting at the first column."""
        inputs = _inputs(table, {name for use in self._uses for name in use.group.inputs}, self.state.zone)
        start = 0
        for use in self._uses:
            block = evaluate(use.group, [inputs[name] for name in use.group.inputs])
            end = start + len(use.kept)
            rows[:, start:end] = np.take(block.rows[:, use.kept], block.where, axis=0)
            start = end

    def _fill_links(self, table: RecordTable, rows: FloatArray, first: int) -> None:
        """Write the link features of the records from the first one on."""
        # Imported here: it loads a compiler, which single records never need.
        from scoring_model.history.sweep import TableLabels, sweep

        known = np.flatnonzero(table.label_times != NEVER)
        labels = TableLabels(known, table.label_times[known], table.labels[known] == 1)
        persons = person_codes(table, alone=True)
        times = table.event_times
        amounts = [table_amounts(table, amount) for amount in self.amounts]
        own = [TableAmounts(amount.units[first:], amount.present[first:]) for amount in amounts]
        for key in self.link_keys:
            spec = self.specs[key.name]
            codes = _useful_codes(key_codes(table, key), times, first, spec.reach)
            counts = sweep(codes, times, persons, labels, spec, amounts, first=first)
            rows[:, self._link_places[key.name][0]] = self.link_block(key, counts, own)


def _useful_codes(codes: IntArray, times: IntArray, first: int, reach: int) -> IntArray:
    """Codes of a link key, negative where no record from the first one on shares the value or looks back as far."""
    if not first:
        return codes
    shared = np.zeros(codes.max(initial=-1) + 2, dtype=np.bool_)
    shared[codes[first:]] = True  # the last place is that of the code -1
    seen = times >= times[first:].min(initial=NEVER) - reach
    return np.where(shared[codes] & seen, codes, -1)


def _inputs(table: RecordTable, names: Iterable[str], zone: Offsets) -> dict[str, Column]:
    """Build the inputs of value functions; a missing value has the code 0."""
    times, local = table.event_times, zone.local_of(table.event_times)
    derived = {
        "eventDay": times // DAY,
        "eventHour": times // HOUR % 24,
        "localDay": local // DAY,
        "localHour": local // HOUR % 24,
    }
    return {name: number_column(derived[name]) if name in derived else _field(table, name) for name in names}


def _field(table: RecordTable, name: str) -> Column:
    column = table.column(name)
    return Column((None, *column.values), column.codes + np.int32(1))
