"""The feature matrix: the catalogue evaluated over a table or over one record.

Both call the same value functions: the table on the distinct values of its columns, the record on its own
values. So a record alone has the same row, bit for bit, as in any table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features import addresses, dates, documents, images, links, names, signals
from scoring_model.features.catalogue import Family, Feature, Group
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
from scoring_model.history import LinkCounts, key_codes, person_codes
from scoring_model.records import NEVER, Record, RecordTable

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


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

    def row(self, record: Record, history: Mapping[str, LinkCounts]) -> FloatArray:
        """The row of one record.

        Parameters
        ----------
        record : Record
        history : mapping of str to LinkCounts
            By the name of the link key; a key that is not there has no past.

        Returns
        -------
        ndarray of shape (d,), float64
        """
        value = {**record.values, **_derived(record.event_time)}.get
        found: list[float] = []
        for group in self._groups:
            found.extend(group.function(*map(value, group.inputs)))
        row = np.array(found, dtype=np.float64)
        nothing = LinkCounts.nothing(1, len(self.settings.links.windows))
        blocks = [
            links.link_rows(key, history.get(key.name, nothing))[0] for key in self.settings.links.link_keys
        ]
        return np.concatenate([row, *blocks])[self._kept]

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group for family in self.families for group in family.groups)

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
        law = self.settings.links.law
        return [
            links.link_rows(key, sweep(key_codes(table, key), table.event_times, persons, labels, law))
            for key in self.settings.links.link_keys
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
