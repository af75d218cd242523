"""Labels from a file of their own, joined to records by `recordId`."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.contract.fields import DECIDED_FIELDS, PROPENSITY
from scoring_model.contract.rules import reference
from scoring_model.evaluation.column_reading import (
    ColumnParser,
    Source,
    distinct_ids,
    floats,
    instants,
    propensities,
    texts,
    values,
)
from scoring_model.evaluation.evaluated_records import EvaluationError
from scoring_model.records import NEVER, Column, RecordSchema
from scoring_model.records.cells import text
from scoring_model.records.labels import UNLABELLED, label_cell, label_rule, label_times
from scoring_model.records.layout import schema_of
from scoring_model.records.observation import (
    STOPPED,
    observed_until_of,
    outcome_rule,
    resolution_rule,
)

_ALIASES: Final = {
    "recordId": ("recordId",),
    "label": ("label",),
    "labelKnownAt": ("labelKnownAt", "knownAt"),
    "labelReportedAt": ("labelReportedAt", "reportedAt"),
    "eventTime": ("eventTime",),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Labels:
    """Labels by record.

    Parameters
    ----------
    record_ids : tuple of str
        Distinct.
    labels : ndarray of shape (m,), int8
        1 fraud, 0 genuine, -1 none.
    known, reported, event_times : ndarray of shape (m,), int64
        Microseconds since 1970-01-01 UTC; `NEVER` where the file has none.
    observed_until : ndarray of shape (m,), int64, or None
        Instant up to which each could be observed, as `RecordTable` has it; None: the file does not say what was
        decided.
    decided : ndarray of shape (m,), bool
        Whether the row has an outcome or a resolution.
    propensities : ndarray of shape (m,), float64
        As `RecordTable` has them; NaN where there are none.
    """

    record_ids: tuple[str, ...]
    labels: Int8Array
    known: IntArray
    reported: IntArray
    event_times: IntArray
    observed_until: IntArray | None
    decided: BoolArray
    propensities: FloatArray

    def rows_of(self, record_ids: tuple[str, ...]) -> IntArray:
        """Return the row of each record; -1 without one."""
        rows = {record_id: row for row, record_id in enumerate(self.record_ids)}
        return np.array([rows.get(record_id, -1) for record_id in record_ids], dtype=np.int64)

    def events_of(self, rows: IntArray) -> IntArray:
        """Return the event times of rows; `NEVER` for -1."""
        return np.append(self.event_times, NEVER)[rows]

    def observed(self, rows: IntArray, own: IntArray | None) -> IntArray | None:
        """Return until when the applicants of records could be observed; None if nothing says what was decided.

        Parameters
        ----------
        rows : ndarray of shape (n,), int64
            Result of `rows_of`.
        own : ndarray of shape (n,), int64, or None
            What the records themselves say: it stays where the labels have no outcome and no resolution, until the
            account was closed.
        """
        if self.observed_until is None:
            return own
        given = np.append(self.observed_until, NEVER)[rows]
        if own is None:
            return given
        return np.where(
            np.append(self.decided, False)[rows] & (own == STOPPED), given, np.minimum(own, given)
        )

    def drawn(self, rows: IntArray, own: FloatArray | None) -> FloatArray | None:
        """Return the propensities of records, or their own where the labels have none; None without any.

        Parameters
        ----------
        rows, own : ndarray of shape (n,)
            As of `observed`.
        """
        given = np.append(self.propensities, np.nan)[rows]
        found = given if own is None else np.where(np.isnan(given), own, given)
        return None if np.isnan(found).all() else found

    def notes(self, rows: IntArray) -> Iterator[str]:
        """Say which decisions are missing in labels that have columns of them: all, or those of some records."""
        if self.observed_until is None:
            return
        if not self.decided.any():
            yield (
                "the labels have no outcome and no resolution: unless the records say so themselves, nobody counts as "
                "stopped"
            )
        elif absent := int(np.count_nonzero(rows < 0)):
            yield (
                f"{absent:,} of {len(rows):,} records have no row in the labels, which say what was decided: unless "
                "the records say so themselves, they count as not stopped"
            )

    def joined(self, rows: IntArray, event_times: IntArray, delay: int | None) -> tuple[Int8Array, IntArray]:
        """Return the label of each record, and the time from which it counts.

        Parameters
        ----------
        rows : ndarray of shape (n,), int64
            Result of `rows_of`.
        delay : int or None
            Microseconds from event to label, where no time is given.

        Raises
        ------
        EvaluationError
            If a label has no time.
        """
        labels = np.append(self.labels, np.int8(UNLABELLED))[rows]
        known, reported = (np.append(times, NEVER)[rows] for times in (self.known, self.reported))
        times = label_times(labels, event_times, known, reported, delay)
        untimed = int(np.count_nonzero((labels != UNLABELLED) & (times == NEVER)))
        if untimed:
            raise EvaluationError(
                f"labels: labelKnownAt: must be there for a label, since no label delay is set ({untimed:,} rows)"
            )
        return labels, times


def read_labels(source: object, schema: RecordSchema) -> Labels:
    """Read a file or table of labels.

    Parameters
    ----------
    source : path, DataFrame or Arrow stream
        Columns `recordId`, `label`, `labelKnownAt` or `knownAt`, perhaps `labelReportedAt` or `reportedAt`, and
        perhaps `eventTime`; or named as the schema says. Columns of outcome, resolution and `closedAt` that the schema
        maps say who was stopped. Words are those of the schema; in a column of the contract's name that the schema
        calls otherwise, the contract's too. A file of records, such as an export, is read as `schema_of` decides.

    Raises
    ------
    EvaluationError
        With every column and row that breaks a rule, or if a `recordId` repeats.
    """
    opened = Source.open(source, schema.format)
    schema = schema_of(opened.sheets[0].columns, schema, marked=opened.sheets[0].marked)
    opened = opened.with_clocks(schema)
    decided = [field for field in (*DECIDED_FIELDS, PROPENSITY) if field in schema.event_fields]
    names = {field: _name(opened, field, schema) for field in (*_ALIASES, *decided)}
    contract = {field for field, name in names.items() if name == field != schema.column_of(field)}
    rule, times = label_rule(schema.labels, contract="label" in contract), instants(schema)
    parsers = {
        names["recordId"]: texts(lambda cell: reference(text(cell))),
        names["label"]: values(lambda cell: rule(label_cell(cell))),
        **{names[field]: times for field in ("labelKnownAt", "labelReportedAt", "eventTime")},
    }
    rules = _decided(schema, times, contract)
    parsers |= {names[field]: rules[field] for field in decided}
    parsed = opened.read(parsers, required=[names["recordId"], names["label"]], filled=[names["recordId"]])
    absent = Column.missing(opened.rows)

    def column(field: str) -> Column:
        return parsed[names[field]].column if names.get(field) in parsed else absent

    known, reported, events = (
        column(field).gather(NEVER) for field in ("labelKnownAt", "labelReportedAt", "eventTime")
    )
    return Labels(
        record_ids=distinct_ids(column("recordId"), opened.name),
        labels=column("label").gather(UNLABELLED).astype(np.int8),
        known=known,
        reported=reported,
        event_times=events,
        observed_until=observed_until_of(lambda field, missing: column(field).gather(missing), schema)
        if any(names[field] in parsed for field in decided if field != PROPENSITY)
        else None,
        decided=(column("outcome").codes >= 0) | (column("resolution").codes >= 0),
        propensities=floats(column(PROPENSITY)),
    )


def _decided(schema: RecordSchema, times: ColumnParser, contract: Collection[str]) -> dict[str, ColumnParser]:
    """Return the parsers of the fields that say what was decided; those of `contract` know its words too."""
    outcome = outcome_rule(schema.outcomes, contract="outcome" in contract)
    resolution = resolution_rule(schema.outcomes, contract="resolution" in contract)
    return {
        "outcome": values(lambda cell: outcome(text(cell))),
        "resolution": values(lambda cell: resolution(text(cell))),
        "closedAt": times,
        PROPENSITY: propensities(schema.format.decimal),
    }


def _name(source: Source, field: str, schema: RecordSchema) -> str:
    """Return the name of the column of a field: the first one that the source has, or else that of the schema.

    A name that the schema gives to another field is that field's.
    """
    own, taken = schema.column_of(field), schema.columns.values()
    names = (own, *(name for name in _ALIASES.get(field, (field,)) if name not in taken))
    return next((name for name in names if source.holds(name)), own)
