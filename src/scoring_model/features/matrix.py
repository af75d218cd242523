"""The feature matrix: the catalogue evaluated over a table or over one record.

Both call the same value functions: the table on the distinct values of its columns, the record on its own
values. So a record alone has the same row, bit for bit, as in any table.

The row of one record is made in two steps: `start` does all that neither the instant nor the history decides,
so that little is left for `finish`, which a service can only do once it has the history in its hands.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features import addresses, dates, documents, images, links, names, signals
from scoring_model.features.catalogue import MISSING, Family, Feature, Group
from scoring_model.features.reasons import (
    RECORD_REASONS,
    describe_fraud_link,
    describe_link,
    describe_signal,
    fraud_link_reason,
    link_reason,
    signal_reason,
)
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.state import FittedState
from scoring_model.history import NOTHING_BEFORE, Counts, LinkKey, WindowLaw, key_codes, person_codes
from scoring_model.records import NEVER, Record, RecordTable

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


_DERIVED: Final = frozenset({"eventDay", "eventHour"})
"""Inputs that the instant of the event gives."""


@dataclass(frozen=True, slots=True)
class StartedRow:
    """A row of which nothing is missing but what the instant and the history decide.

    Parameters
    ----------
    floats : tuple of float
        The features of values, NaN where the instant takes part.
    inputs : tuple of mapping of str to object
        For each group in which it does, the values of the record that the group reads.
    """

    floats: tuple[float, ...] = field(repr=False)
    inputs: tuple[Mapping[str, object], ...] = field(repr=False)


@dataclass(frozen=True)
class FeatureMatrix:
    """The features of one use: which there are, and how a row is built. Nothing else builds one.

    Parameters
    ----------
    settings : FeatureSettings
    state : FittedState
    """

    settings: FeatureSettings
    state: FittedState

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of value functions; links are computed from history instead."""
        of_signals = {name: self.state.vocabulary(f"signals.{name}") for name in self.settings.signals}
        every = (
            names.family(self.state.names),
            dates.family(),
            documents.family(self.state.vocabulary("citizenship")),
            addresses.family(self.state.vocabulary("address.country")),
            images.family(),
            signals.family(self.settings.signals, of_signals),
        )
        return tuple(family for family in every if family.name in self.settings.families)

    @cached_property
    def catalogue(self) -> tuple[Feature, ...]:
        """Every feature that there could be, in order."""
        of_values = [feature for group in self._groups for feature in group.features]
        return (*of_values, *links.link_features(self.settings.links))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features in use, in the order of the columns of a row."""
        return tuple(self.catalogue[i] for i in self._kept)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """The public catalogue of reason codes of this use: code to sentence."""
        described = dict(RECORD_REASONS)
        described |= {signal_reason(name): describe_signal(name) for name in sorted(self.settings.signals)}
        for key in self.settings.links.link_keys:
            described[link_reason(key.name)] = describe_link(key.name)
            described[fraud_link_reason(key.name)] = describe_fraud_link(key.name)
        used = {feature.reason for feature in self.features}
        return {code: sentence for code, sentence in sorted(described.items()) if code in used}

    def rows(self, table: RecordTable) -> FloatArray:
        """The rows of a table; its own records are the history.

        Parameters
        ----------
        table : RecordTable
            In any order.

        Returns
        -------
        ndarray of shape (n, d), float64
        """
        blocks = [_group_rows(group, table) for group in self._groups]
        blocks += self._link_blocks(table)
        wanted = self._kept
        rows = np.empty((len(table), len(wanted)), dtype=np.float64)
        offset = 0
        for block in blocks:
            width = block.shape[1]
            inside = (wanted >= offset) & (wanted < offset + width)
            rows[:, inside] = block[:, wanted[inside] - offset]
            offset += width
        return rows

    def row(self, record: Record, history: Mapping[str, Counts]) -> FloatArray:
        """The row of one record: `start` and `finish` in one.

        Parameters
        ----------
        record : Record
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
        for group, blank in self._plan:
            floats.extend(blank or group.function(*map(value, group.inputs)))
        inputs = tuple([{n: value(n) for n in group.inputs} for _, group in self._dated])
        return StartedRow(tuple(floats), inputs)

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
        derived = _derived(event_time)
        for (columns, group), inputs in zip(self._dated, started.inputs, strict=True):
            floats[columns] = group.function(*map({**inputs, **derived}.get, group.inputs))
        for key in self.link_keys:
            counts = history.get(key.name)
            if counts is None or counts.since_last == NOTHING_BEFORE:
                floats += self._no_links[key.name]
            else:
                floats += links.link_row(key, counts)
        return np.array(floats, dtype=np.float64)[self._kept]

    @cached_property
    def link_keys(self) -> tuple[LinkKey, ...]:
        """The link keys of this use, in the order of their columns."""
        return self.settings.links.link_keys

    @cached_property
    def law(self) -> WindowLaw:
        """The law of windows of this use."""
        return self.settings.links.law

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group for family in self.families for group in family.groups)

    @cached_property
    def _plan(self) -> tuple[tuple[Group, tuple[float, ...]], ...]:
        """All groups, with what stands for those in which the instant takes part."""
        return tuple(
            (group, () if _DERIVED.isdisjoint(group.inputs) else (MISSING,) * len(group.features))
            for group in self._groups
        )

    @cached_property
    def _dated(self) -> tuple[tuple[slice, Group], ...]:
        """Groups in which the instant takes part, with their columns in the catalogue."""
        ends = itertools.accumulate(len(group.features) for group in self._groups)
        return tuple(
            (slice(end - len(blank), end), group)
            for end, (group, blank) in zip(ends, self._plan, strict=True)
            if blank
        )

    @cached_property
    def _no_links(self) -> Mapping[str, list[float]]:
        """Features of each link key without a past."""
        nothing = Counts.nothing(len(self.law.windows))
        return {key.name: links.link_row(key, nothing) for key in self.link_keys}

    @cached_property
    def _kept(self) -> IntArray:
        """Columns of the catalogue that are in use."""
        problems = self._problems()
        if problems:
            raise ValueError("; ".join(problems))
        allowed = {None, *self.settings.use_protected}
        return np.array(
            [
                i
                for i, feature in enumerate(self.catalogue)
                if feature.protected in allowed and feature.name not in self.settings.exclude
            ],
            dtype=np.int64,
        )

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

    def _link_blocks(self, table: RecordTable) -> list[FloatArray]:
        # Brings a compiler, which one record never needs.
        from scoring_model.history.sweep import TableLabels, sweep

        known = np.flatnonzero(table.label_times != NEVER)
        labels = TableLabels(known, table.label_times[known], table.labels[known] == 1)
        persons = person_codes(table, alone=True)
        return [
            links.link_rows(key, sweep(key_codes(table, key), table.event_times, persons, labels, self.law))
            for key in self.link_keys
        ]


def _derived(event_time: int) -> dict[str, int]:
    return {"eventDay": event_time // _DAY, "eventHour": event_time // _HOUR % 24}


def _derived_codes(name: str, table: RecordTable) -> tuple[IntArray, list[object]] | None:
    divided = {"eventDay": table.event_times // _DAY, "eventHour": table.event_times // _HOUR % 24}
    if name not in divided:
        return None
    values, codes = np.unique(divided[name], return_inverse=True)
    return codes, [int(value) for value in values]


def _input(name: str, table: RecordTable) -> tuple[IntArray, list[object]]:
    """Codes from 0 of one input, and the value of each."""
    derived = _derived_codes(name, table)
    if derived is not None:
        return derived
    column = table.column(name)
    return column.codes.astype(np.int64) + 1, [None, *column.values]


def _group_rows(group: Group, table: RecordTable) -> FloatArray:
    """Call the group's function on the distinct values of its inputs, and gather."""
    inputs = [_input(name, table) for name in group.inputs]
    combined = np.zeros(len(table), dtype=np.int64)
    for codes, values in inputs:
        # Numbered anew after every input, so that the product stays far below 2**63.
        combined = np.unique(combined * len(values) + codes, return_inverse=True)[1]
    _, first, where = np.unique(combined, return_index=True, return_inverse=True)
    distinct = [[values[code] for code in codes[first]] for codes, values in inputs]
    results = [group.function(*values) for values in zip(*distinct, strict=True)]
    return np.array(results, dtype=np.float64).reshape(len(first), len(group.features))[where]
