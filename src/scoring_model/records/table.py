"""Columns and tables: dictionary-encoded fields (distinct values and codes)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.records.record import Record

NEVER: Final = int(np.iinfo(np.int64).max)


Codes: TypeAlias = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a source, a table or a feature matrix.

    Parameters
    ----------
    values : sequence
        Distinct values. In a table they are canonical, never None, in order of first appearance, each in use.
    codes : ndarray of shape (n,), integers
        Index into `values`; -1 where missing. In a table int32.
    """

    values: Sequence[Any]
    codes: Codes

    @classmethod
    def missing(cls, rows: int) -> "Column":
        """Make a column of `rows` missing values."""
        return cls((), np.full(rows, -1, dtype=np.int32))

    @classmethod
    def compact(cls, values: Sequence[Any], codes: Codes) -> "Column":
        """Make a column from values that may be unused or unordered.

        Parameters
        ----------
        values : sequence
            Distinct values.
        codes : ndarray of shape (n,), int32
            Index into `values`; negative where missing.

        Returns
        -------
        Column
            The same cells. Equal cells give equal columns, whatever their source.
        """
        rows = np.flatnonzero(codes >= 0)[::-1]
        first = np.full(len(values), NEVER, dtype=np.int64)
        first[codes[rows]] = rows  # for repeated indices the last assignment, the first row, wins
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first != NEVER)]
        new = np.full(len(values) + 1, -1, dtype=np.int32)  # code -1 indexes the last element
        new[order] = np.arange(len(order), dtype=np.int32)
        return cls(tuple([values[old] for old in order.tolist()]), new[np.maximum(codes, -1)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        return self.values == other.values and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.codes)

    def gather(self, absent: int) -> IntArray:
        """Return the whole number of each row; `absent` where missing."""
        return np.append(np.asarray(self.values, dtype=np.int64), absent)[self.codes]

    def take(self, rows: IntArray) -> "Column":
        """Take rows in the given order; unused values are dropped."""
        return Column.compact(self.values, self.codes[rows])

    def append(self, other: "Column") -> "Column":
        """Append the rows of another column."""
        index = {value: code for code, value in enumerate(self.values)}
        moved = np.full(len(other.values) + 1, -1, dtype=np.int32)
        for code, value in enumerate(other.values):
            moved[code] = index.setdefault(value, len(index))
        return Column(tuple(index), np.concatenate([self.codes, moved[other.codes]]))


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Records in the order of their source.

    Parameters
    ----------
    record_ids : tuple of str
        One for each record, distinct within one source.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    columns : mapping of str to Column
        By field name; a field that the source lacks is absent.
    labels : ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 none.
    label_times : ndarray of shape (n,), int64
        Microseconds at which the label counts: the later of known and reported. `NEVER` without a label.
    source_rows : ndarray of shape (n,), int64
        0-based row of the source.
    propensities : ndarray of shape (n,), float64, or None
        Probability, in (0, 1], with which a record like this one passed, so that its label could become known; NaN
        where it did not pass, or none is known. None: the source says nothing of it, and all labels count alike.
    observed_until : ndarray of shape (n,), int64, or None
        Microseconds up to which the applicant was observed, see `records.observation`. None: the source does not say
        what was decided, so it is assumed that nobody was stopped.
    """

    record_ids: tuple[str, ...]
    event_times: IntArray
    columns: Mapping[str, Column]
    labels: NDArray[np.int8]
    label_times: IntArray
    source_rows: IntArray
    propensities: FloatArray | None = None
    observed_until: IntArray | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordTable):
            return NotImplemented
        return (
            self.record_ids == other.record_ids
            and dict(self.columns) == dict(other.columns)
            and all(
                np.array_equal(mine, theirs) for mine, theirs in zip(self._arrays, other._arrays, strict=True)
            )
            and np.array_equal(self._propensities, other._propensities, equal_nan=True)
            and np.array_equal(self._observed_until, other._observed_until)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, record: Record) -> "RecordTable":
        """Make a table of one record, without a label."""
        first = np.zeros(1, dtype=np.int32)
        return cls(
            record_ids=(record.record_id or "0",),
            event_times=np.array([record.event_time], dtype=np.int64),
            columns={field: Column((value,), first) for field, value in record.values.items()},
            labels=np.array([-1], dtype=np.int8),
            label_times=np.array([NEVER], dtype=np.int64),
            source_rows=np.zeros(1, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.record_ids)

    def record(self, row: int) -> Record:
        """Return one record, as if it had been parsed alone."""
        codes = {field: int(column.codes[row]) for field, column in self.columns.items()}
        values = {field: self.columns[field].values[code] for field, code in codes.items() if code >= 0}
        return Record(values, int(self.event_times[row]), self.record_ids[row])

    @property
    def _arrays(self) -> tuple[NDArray[np.integer], ...]:
        return self.event_times, self.labels, self.label_times, self.source_rows

    @property
    def _propensities(self) -> FloatArray:
        return np.full(len(self), np.nan) if self.propensities is None else self.propensities

    @property
    def _observed_until(self) -> IntArray:
        return np.full(len(self), NEVER) if self.observed_until is None else self.observed_until

    @property
    def latest_instant(self) -> int:
        """Return the latest event or label, microseconds since 1970-01-01 UTC; 0 without records."""
        known = self.label_times[self.label_times != NEVER]
        return int(max(self.event_times.max(initial=0), known.max(initial=0)))

    def column(self, field: str) -> Column:
        """Return the column of a field, all missing if the source lacks it."""
        return self.columns[field] if field in self.columns else Column.missing(len(self))

    def take(self, rows: IntArray) -> "RecordTable":
        """Take rows in the given order.

        Parameters
        ----------
        rows : ndarray of shape (m,), int64
            Indices into this table.

        Returns
        -------
        RecordTable
            m records.
        """
        return RecordTable(
            record_ids=tuple([self.record_ids[row] for row in rows.tolist()]),
            event_times=self.event_times[rows],
            columns={field: column.take(rows) for field, column in self.columns.items()},
            labels=self.labels[rows],
            label_times=self.label_times[rows],
            source_rows=self.source_rows[rows],
            propensities=None if self.propensities is None else self.propensities[rows],
            observed_until=None if self.observed_until is None else self.observed_until[rows],
        )

    def before(self, instant: int) -> "RecordTable":
        """Take the records before an instant, with the labels known before it.

        Parameters
        ----------
        instant : int
            Microseconds since 1970-01-01 UTC.
        """
        earlier = self.event_times < instant
        return (self if earlier.all() else self.take(np.flatnonzero(earlier))).labelled_before(instant)

    def labelled_before(self, instant: int) -> "RecordTable":
        """Return all records, without labels that became known at an instant (microseconds) or later."""
        known = self.label_times < instant
        return replace(
            self,
            labels=np.where(known, self.labels, np.int8(-1)),
            label_times=np.where(known, self.label_times, NEVER),
        )

    def labelled_from(self, instant: int) -> BoolArray:
        """Find the records whose label became known at an instant (microseconds) or later, shape (n,)."""
        found: BoolArray = (self.labels >= 0) & (self.label_times >= instant)
        return found

    def append(self, other: "RecordTable") -> "RecordTable":
        """Append the records of another table, such as the continuation of a history."""
        fields = dict.fromkeys((*self.columns, *other.columns))
        return RecordTable(
            record_ids=self.record_ids + other.record_ids,
            event_times=np.concatenate([self.event_times, other.event_times]),
            columns={field: self.column(field).append(other.column(field)) for field in fields},
            labels=np.concatenate([self.labels, other.labels]),
            label_times=np.concatenate([self.label_times, other.label_times]),
            source_rows=np.concatenate([self.source_rows, other.source_rows]),
            propensities=(
                None
                if self.propensities is None and other.propensities is None
                else np.concatenate([self._propensities, other._propensities])
            ),
            observed_until=(
                None
                if self.observed_until is None and other.observed_until is None
                else np.concatenate([self._observed_until, other._observed_until])
            ),
        )


def digest(table: RecordTable) -> str:
    """Hash a table.

    Returns
    -------
    str
        SHA-256 in hexadecimal. It depends on the records and their order, not on the format of the file, the names and
        order of its columns, or, where records have ids, on rejected rows between them.
    """
    found = hashlib.sha256(json.dumps(table.record_ids).encode())
    for array in (table.event_times, table.labels, table.label_times):
        found.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    if table.propensities is not None:
        found.update(b"propensity" + table.propensities.astype("<f8").tobytes())
    if table.observed_until is not None:
        found.update(b"observed" + table.observed_until.astype("<i8").tobytes())
    for field in sorted(table.columns):
        column = table.columns[field]
        if len(column.values):
            found.update(json.dumps([field, column.values]).encode())
            found.update(column.codes.astype("<i4").tobytes())
    return found.hexdigest()
