"""Leaves out the rows of a history that are too old to be seen, before their cells are parsed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoring_model.arrays import BoolArray
from scoring_model.records.schema import RecordSchema
from scoring_model.records.sheet import Objects, Sheet
from scoring_model.records.times import timestamp_microseconds


def without_old_rows(
    sheet: Sheet, schema: RecordSchema, dated: tuple[str, ...], since: int, known: Any = None
) -> Sheet:
    """Leave out the rows of events before an instant, if the other rows are read as in the whole sheet.

    All rows stay where the old ones could matter: where formats of dates are guessed from all cells, and where a later
    row repeats the id of an old one, so that it is refused. Only instants that have the type of one are compared.

    Parameters
    ----------
    dated : tuple of str
        Fields whose formats are guessed from text.
    since : int
        Microseconds since 1970-01-01 UTC.
    known : pyarrow.StringArray, optional
        Ids whose rows matter too.
    """
    if any(isinstance(cells, Objects) for cells in sheet.columns.values()):
        return sheet
    found: dict[str, Any] = dict(sheet.columns)
    columns = {name: found.get(schema.column_of(name)) for name in ("eventTime", "recordId", *dated)}
    events = columns["eventTime"]
    typed = all(_is_date(columns[name]) for name in dated if columns[name] is not None)
    if events is None or not typed:
        return sheet
    if not pa.types.is_timestamp(events.type) or (events.type.tz is None and schema.format.zone is not None):
        return sheet
    old = _before(events, since)
    if not old.any() or _repeats(columns["recordId"], old, known):
        return sheet
    kept = pa.array(~old)
    recent = {name: cells.filter(kept) for name, cells in found.items()}
    return replace(sheet, rows=int(np.count_nonzero(~old)), columns=recent)


def _is_date(cells: Any) -> bool:
    return bool(pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type))


def _before(events: Any, since: int) -> BoolArray:
    """Whether each event has an instant, and an earlier one."""
    micros = np.concatenate([np.empty(0, np.int64), *map(timestamp_microseconds, events.chunks)])
    return (micros < since) & np.asarray(events.is_valid(), dtype=np.bool_)


def _repeats(ids: Any, old: BoolArray, known: Any) -> bool:
    """Whether a later row, or one of the known, may have the id of an old one; False without ids."""
    if ids is None:
        return False
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        # Such texts are ids as they are; others may be different cells of one id.
        plain = pc.and_(pc.ascii_is_printable(ids), pc.equal(pc.ascii_trim_whitespace(ids), ids))
        if not pc.all(plain).as_py():
            return True
    elif not pa.types.is_integer(ids.type):
        return True
    is_old = pa.array(old)
    later = ids.filter(pc.invert(is_old)).combine_chunks()
    earlier = ids.filter(is_old)
    if pc.any(pc.is_in(earlier, value_set=later, skip_nulls=True)).as_py():
        return True
    return known is not None and bool(
        pc.any(pc.is_in(earlier.cast(pa.string()), value_set=known, skip_nulls=True)).as_py()
    )
