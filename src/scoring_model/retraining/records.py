"""The records of a retraining: exported from the service, used again after a kill, and removed at the end."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring_model.contract.fields import PROPENSITY
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.rules import SignalType
from scoring_model.records import rfc3339
from scoring_model.retraining.challenger import Challenger, write_json
from scoring_model.retraining.settings import Report, Retraining, RetrainingError
from scoring_model.service.export import clients_of_one_history, export_file, private_parquet
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.scoring.score import SKEW
from scoring_model.service.settings import masked
from scoring_model.service.store import with_store

if TYPE_CHECKING:
    from scoring_model.service.export import ExportedFile
    from scoring_model.service.store import Store

_FRESH: Final = 86_400_000_000
"""Microseconds for which the records of a run that was killed are used again."""

_EXPORT: Final = "export.parquet"
_RECORDS: Final = "records.parquet"
_RUN: Final = "run.json"
_LABEL: Final = "label"
_OUTCOME: Final = "policyOutcome"
_TIME: Final = "eventTime"


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
    given: Retraining, signals: Mapping[str, SignalType], *, now: int, report: Report
) -> Records:
    """Export the records of the service and put them behind those of the past, unless a killed run did so today.

    Parameters
    ----------
    signals : mapping of str to SignalType
        Signals that become columns.
    now : int
        Microseconds.
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
    exported = _export(given, signals, file, before=before, report=report)
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
    later = pc.greater_equal(table.column(_TIME), pa.scalar(instant, pa.timestamp("us", "UTC")))
    return table.filter(pc.invert(later)), table.filter(later)


def _inputs(given: Retraining) -> str:
    """Digest what the records and their challenger depend on."""
    past = [(str(path.resolve()), path.stat().st_size) for path in given.past]
    recipe = given.configuration.read_text(encoding="utf-8")
    named = [masked(given.database), given.client, given.since, past, recipe]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _export(
    given: Retraining, signals: Mapping[str, SignalType], file: Path, *, before: int, report: Report
) -> int:
    """Write the records, which only their owner can read; return how many the service has."""
    past = [_plain(pq.read_table(path), path.name) for path in given.past]

    async def export(store: "Store") -> "ExportedFile":
        return await export_file(
            store,
            Vault(given.keyring),
            await clients_of_one_history(store, given.client),
            exported,
            signals=signals,
            since=given.since,
            before=before,
        )

    exported = file.with_name(_EXPORT)
    try:
        done = with_store(given.database, export)
        ours = _plain(pq.read_table(exported), exported.name)
    finally:
        exported.unlink(missing_ok=True)
    left_out = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items() if count)
    report(f"{done.records} records exported, {done.labelled} with a label; left out: {left_out or 'none'}")
    table = pa.concat_tables(_with_propensities(past, ours, report), promote_options="permissive")
    with private_parquet(file, table.schema) as writer:
        writer.write_table(table)
    return done.records


def _with_propensities(past: Sequence[pa.Table], ours: pa.Table, report: Report) -> list[pa.Table]:
    """Return the tables, in which records whose labels can't become known have no propensity.

    Without a control group these are those that failed and have no label: nobody finds out what they were, and they
    would count as genuine once they are old enough.
    """
    own = ours.column(PROPENSITY)
    if own.null_count == len(own):
        unknown = pc.and_(pc.equal(ours.column(_OUTCOME), Outcome.FAILED), pc.is_null(ours.column(_LABEL)))
        stopped = pc.sum(unknown).as_py() or 0
        if not stopped:
            return [*past, ours.drop_columns(PROPENSITY)]
        report(f"{stopped} records failed and have no label: they are history only")
        own = pc.if_else(unknown, pa.scalar(None, pa.float64()), pa.scalar(1.0))
    tables = [
        table
        if PROPENSITY in table.column_names
        else table.append_column(PROPENSITY, pa.array(np.ones(len(table))))
        for table in past
    ]
    return [*tables, ours.set_column(ours.column_names.index(PROPENSITY), PROPENSITY, own)]


def _plain(table: pa.Table, name: str) -> pa.Table:
    """Return a table without dictionaries, whose columns can be put together with those of other files."""
    if _TIME not in table.column_names or not pa.types.is_timestamp(table.schema.field(_TIME).type):
        raise RetrainingError(f"{name}: {_TIME}: must be a column of timestamps")
    plain = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in table.schema
    ]
    return table.cast(pa.schema(plain))
