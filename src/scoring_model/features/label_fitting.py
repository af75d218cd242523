"""Fits the tables of known labels: each record counts from the day on which its class was known."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.features.label_statistics import DailyCounts, KnownLabels
from scoring_model.features.state import MIN_PERSONS
from scoring_model.history import person_codes
from scoring_model.records import NEVER, Column, RecordTable
from scoring_model.records.observation import observed
from scoring_model.records.times import DAY

MOST_VALUES: Final = 2_000
"""Largest number of values of a field with a table: those that had enough persons first."""

WEIGHTS: Final = tuple(1 << power for power in range(13))
"""Prior weights to choose from, in records."""


def fit_known_labels(
    table: RecordTable,
    fields: Sequence[str],
    *,
    delay: int,
    until: int,
    weights: Mapping[str, int] | None = None,
) -> KnownLabels:
    """Count records and frauds of each value by the day on which their class was known.

    An observed record counts from its event plus the delay, as a fraud if it is known as one by then. A fraud that
    becomes known later counts as one from that day: until then it counts as genuine if it was observed, and else not.
    A genuine record that was not observed never counts.

    Parameters
    ----------
    fields : sequence of str
        Such as ``signals.channel``.
    delay : int
        Microseconds.
    until : int
        Microseconds since 1970-01-01 UTC; only what counts on an earlier day is read.
    weights : mapping of str to int, optional
        Prior weights, by default those with the highest likelihood of the last counts.
    """
    last = until // DAY
    entered = table.event_times + delay
    is_fraud = table.labels == 1
    known = np.where(is_fraud, np.maximum(entered, table.label_times), NEVER) // DAY
    counted = np.where(observed(table, delay), entered // DAY, known)
    persons = person_codes(table, alone=True)
    rows = np.flatnonzero(counted < last)
    later = np.flatnonzero(known < last)
    where, days = np.concatenate([rows, later]), np.concatenate([counted[rows], known[later]])
    frauds = np.repeat([0, 1], [len(rows), len(later)])

    def tables_of(column: Column) -> dict[str, DailyCounts]:
        codes = column.codes.astype(np.int64)
        starts = _starts(codes[rows], counted[rows], persons[rows], column.values, last)
        first = np.append(starts, last)[codes[where]]  # the last place is that of the code -1
        kept = first < last
        found = _tables(codes[where][kept], np.maximum(days, first)[kept], frauds[kept])
        return {str(column.values[code]): counts for code, counts in found.items()}

    every = tables_of(Column(("",), np.zeros(len(table), np.int32))).get("", DailyCounts())
    tables = {name: tables_of(table.column(name)) for name in fields}
    fitted = {name: _prior_weight(list(of_field.values())) for name, of_field in tables.items()}
    return KnownLabels(
        last=last, delay=delay, every=every, fields=tables, weights=fitted if weights is None else weights
    )


def _starts(
    codes: IntArray, days: IntArray, persons: IntArray, values: Sequence[object], last: int
) -> IntArray:
    """Return the day on which the fifth person of each value counted, `last` without one; shape (values,)."""
    size = len(values)
    there = codes >= 0
    order = np.lexsort((days[there], persons[there], codes[there]))
    code, person, day = codes[there][order], persons[there][order], days[there][order]
    new = np.ones(len(code), dtype=np.bool_)
    new[1:] = (np.diff(code) != 0) | (np.diff(person) != 0)  # the first day of each person
    code, day = code[new], day[new]
    order = np.lexsort((day, code))
    code, day = code[order], day[order]
    begins = np.searchsorted(code, np.arange(size))
    fifth = begins + MIN_PERSONS - 1
    enough = fifth < np.searchsorted(code, np.arange(size), side="right")
    starts = np.full(size, last, dtype=np.int64)
    starts[enough] = day[fifth[enough]]
    by_value = np.argsort(np.argsort(np.array(values, dtype=np.str_)))
    starts[np.lexsort((by_value, starts))[MOST_VALUES:]] = last
    return starts


def _tables(codes: IntArray, days: IntArray, frauds: IntArray) -> dict[int, DailyCounts]:
    """Sum up the changes of each code by day; a change is a record or, where `frauds` is 1, a fraud."""
    order = np.lexsort((days, codes))
    codes, days, frauds = codes[order], days[order], frauds[order]
    ends = np.flatnonzero(
        np.append((np.diff(codes) != 0) | (np.diff(days) != 0), np.ones(min(len(codes), 1), bool))
    )
    records_up_to, frauds_up_to = np.cumsum(1 - frauds)[ends], np.cumsum(frauds)[ends]
    found = {}
    for code in np.unique(codes).tolist():
        low, high = np.searchsorted(codes[ends], (code, code + 1)).tolist()
        base = (records_up_to[low - 1], frauds_up_to[low - 1]) if low else (0, 0)
        found[code] = DailyCounts(
            tuple(days[ends[low:high]].tolist()),
            tuple((records_up_to[low:high] - base[0]).tolist()),
            tuple((frauds_up_to[low:high] - base[1]).tolist()),
        )
    return found


def _prior_weight(tables: Sequence[DailyCounts]) -> int:
    """Choose the prior weight by which the last counts are likeliest: beta-binomial with the average share as mean."""
    counts = [(table.records[-1], table.frauds[-1]) for table in tables]
    records, frauds = sum(n for n, _ in counts), sum(f for _, f in counts)
    if not 0 < frauds < records:
        return WEIGHTS[-1]
    share = frauds / records

    def likelihood(weight: int) -> float:
        one, other = weight * share, weight * (1 - share)
        return math.fsum(_log_beta(f + one, n - f + other) - _log_beta(one, other) for n, f in counts)

    return max(WEIGHTS, key=likelihood)


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)
