"""The records of a retraining: exported from the service, used again after a kill, and removed at the end."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring_model.arrays import IntArray
from scoring_model.contract.fields import PROPENSITY, SIGNAL_PREFIX, signal_field
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Result
from scoring_model.contract.rules import SignalType
from scoring_model.evaluation.holdout import with_columns
from scoring_model.records import NEVER, RecordSchema, RecordTable, rfc3339
from scoring_model.records.atomic import write_json
from scoring_model.records.labels import UNLABELLED
from scoring_model.records.observation import STOPPED
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import read_records
from scoring_model.records.sheet import CONTRACT_MARK
from scoring_model.records.times import DAY
from scoring_model.retraining.challenger import Challenger
from scoring_model.retraining.settings import Report, Retraining
from scoring_model.service.core.clock import SKEW
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.export import clients_of_one_history, export_file, private_parquet
from scoring_model.service.settings import masked
from scoring_model.service.store import with_store

if TYPE_CHECKING:
    from scoring_model.service.past.export import ExportedFile
    from scoring_model.service.store import Store

_FRESH: Final = DAY
"""Microseconds for which the records of a run that was killed are used again."""

_EXPORT: Final = "export.parquet"
_RECORDS: Final = "records.parquet"
_RUN: Final = "run.json"
_DECIDED: Final = "scoringOutcome"
_TIME: Final = "eventTime"
_INSTANT: Final = pa.timestamp("us", "UTC")


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """The records of a run, as they were at an instant.

    Parameters
    ----------
    as_of : int
        Microseconds.
    file : Path
        Those of the past and those of the service.
    exported : int
        Records of the service.
    """

    as_of: int
    file: Path
    exported: int


def collect_records(
    given: Retraining,
    schema: RecordSchema,
    *,
    by: Collection[str],
    max_bad_share: float,
    now: int,
    report: Report,
) -> Records:
    """Export the records of the service and put them behind those of the past, unless a killed run did so today.

    Parameters
    ----------
    schema : RecordSchema
        Of the past, if that has names of its own. Its signals become columns.
    by : collection of str
        Further columns of the past to keep.
    max_bad_share : float
        Largest share of the rows of a file of the past, in [0, 1], that may break the contract.
    now : int
        Microseconds.

    Raises
    ------
    MissingColumns, UnreadableSource, TooManyBadRows
        If a file of the past cannot be read, before anything is exported.
    """
    file, state = given.work / _RECORDS, given.work / _RUN
    inputs = _inputs(given)
    known = json.loads(state.read_text(encoding="utf-8")) if state.exists() and file.exists() else {}
    if (
        known.get("inputs") == inputs
        and now - known["asOf"] < _FRESH
        # A run that was killed after its decision has left them: another challenger needs an instant of its own.
        and not Challenger.trained_as_of(given.work, known["asOf"]).is_decided
    ):
        report(f"the records of the run as of {rfc3339(known['asOf'])} are used again")
        return Records(as_of=known["asOf"], file=file, exported=known["exported"])
    # Whatever is scored or reported before this instant is committed now.
    before = now - 2 * SKEW
    state.unlink(missing_ok=True)
    past = [_past(path, schema, by, max_bad_share, report) for path in given.past]
    exported = _export(given, schema, past, file, before=before, report=report)
    write_json(state, {"asOf": before, "inputs": inputs, "exported": exported})
    return Records(as_of=before, file=file, exported=exported)


def forget_records(given: Retraining) -> None:
    """Remove the records, unless they are to be kept; the next run exports them again."""
    (given.work / _RUN).unlink(missing_ok=True)
    if not given.keep:
        (given.work / _RECORDS).unlink(missing_ok=True)


def cut(records: Records, instant: int) -> tuple[pa.Table, pa.Table]:
    """Cut the records at an event time, microseconds: those before it, and all others."""
    table = pq.read_table(records.file)
    later = pc.greater_equal(table.column(_TIME), pa.scalar(instant, _INSTANT))
    return table.filter(pc.invert(later)), table.filter(later)


def _inputs(given: Retraining) -> str:
    """Digest what the records and their challenger depend on."""
    past = [(str(path.resolve()), path.stat().st_size) for path in given.past]
    recipe = given.configuration.read_text(encoding="utf-8")
    named = [masked(given.database), given.client, given.since, past, given.names, recipe]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _past(
    path: Path, schema: RecordSchema, by: Collection[str], max_bad_share: float, report: Report
) -> pa.Table:
    """Read a file of the past; return its valid records as an export has them, with the columns of `by`."""
    reading = read_records(path, with_columns(schema, by), labelled=False)
    table = reading.table
    report(f"{path.name}: {len(table):,} records read, {reading.rows - len(table):,} rows refused")
    accept(reading, max_share=max_bad_share)
    return contract_table(table, schema.signals)


def contract_table(table: RecordTable, signals: Mapping[str, SignalType]) -> pa.Table:
    """Return records as columns with the names and spellings of the contract; others than fields keep their names.

    Of what was decided they say what a reader needs: whether, and until when, the applicant was observed.
    """

    def instants(micros: IntArray) -> pa.Array:
        return pa.array(micros, mask=micros == NEVER).cast(_INSTANT)

    columns = {"recordId": pa.array(table.record_ids, pa.string()), _TIME: instants(table.event_times)}
    kinds = {signal_field(name): kind for name, kind in signals.items()}
    for name, column in table.columns.items():
        if not column.values:
            continue
        cells = pa.array(list(column.values)).take(pa.array(column.codes, mask=column.codes < 0))
        if kinds.get(name) is SignalType.BOOLEAN:
            cells = cells.cast(pa.bool_())  # records hold 0 and 1
        columns[name if name in kinds else name.removeprefix(SIGNAL_PREFIX)] = cells
    words = pa.array(["genuine", "fraud"])
    columns["label"] = words.take(pa.array(table.labels, mask=table.labels == UNLABELLED))
    columns["labelKnownAt"] = instants(table.label_times)
    if (until := table.observed_until) is not None:
        stopped = until == STOPPED
        columns[_DECIDED] = pa.array([Outcome.PASSED, Outcome.FAILED]).take(pa.array(stopped.astype(np.int8)))
        columns["closedAt"] = instants(np.where(stopped, NEVER, until))
    if table.propensities is not None:
        columns[PROPENSITY] = pa.array(table.propensities, from_pandas=True)
    return pa.table(columns)


def _export(
    given: Retraining,
    schema: RecordSchema,
    past: Sequence[pa.Table],
    file: Path,
    *,
    before: int,
    report: Report,
) -> int:
    """Write the records, which only their owner can read; return how many the service has."""

    async def export(store: "Store") -> "ExportedFile":
        return await export_file(
            store,
            Vault(given.keyring),
            await clients_of_one_history(store, given.client),
            exported,
            signals=schema.signals,
            since=given.since,
            before=before,
        )

    exported = file.with_name(_EXPORT)
    try:
        done = with_store(given.database, export)
        ours = _plain(pq.read_table(exported))
    finally:
        exported.unlink(missing_ok=True)
    left_out = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items() if count)
    report(
        f"{done.records:,} records exported, {done.labelled:,} with a label; left out: {left_out or 'none'}"
    )
    table = pa.concat_tables(_with_propensities(past, ours, report), promote_options="permissive")
    table = table.replace_schema_metadata(CONTRACT_MARK)
    with private_parquet(file, table.schema) as writer:
        writer.write_table(table)
    return done.records


def _with_propensities(past: Sequence[pa.Table], ours: pa.Table, report: Report) -> list[pa.Table]:
    """Return the tables with a propensity for each record, or without a control group for none."""
    lowest = pc.min(ours.column(PROPENSITY)).as_py()
    if lowest is None or lowest == 1:
        if unseen := _not_observed(ours):
            report(
                f"{unseen:,} applicants were stopped, or stepped up and not approved: without a label nobody knows "
                "what they were"
            )
        return [*past, ours.drop_columns(PROPENSITY)]
    return [
        *(
            table
            if PROPENSITY in table.column_names
            else table.append_column(PROPENSITY, pa.array(np.ones(len(table))))
            for table in past
        ),
        ours,
    ]


def _not_observed(ours: pa.Table) -> int:
    """Count the verifications that neither passed nor were approved after all."""
    approved = pc.fill_null(pc.equal(ours.column("resolution"), Result.APPROVED), False)
    stopped = pc.and_not(pc.not_equal(ours.column(_DECIDED), Outcome.PASSED), approved)
    return pc.sum(stopped).as_py() or 0


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, whose columns can be put together with those of other files."""
    plain = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in table.schema
    ]
    return table.cast(pa.schema(plain))
