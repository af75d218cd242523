"""A hash of parsed records: of what they say, not of how a file says it."""

import hashlib
import json

from scoring_model.records.table import RecordTable


def digest(table: RecordTable) -> str:
    """Hash a table.

    Returns
    -------
    str
        SHA-256 in hexadecimal, the same for the same records in the same order, whatever the format of the
        file, the names and order of its columns, or, where records have ids of their own, which refused rows
        stood between.
    """
    found = hashlib.sha256(json.dumps(table.record_ids).encode())
    for array in (table.event_times, table.labels, table.label_times):
        found.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    for field in sorted(table.columns):
        column = table.columns[field]
        if len(column.values):
            found.update(json.dumps([field, column.values]).encode())
            found.update(column.codes.astype("<i4").tobytes())
    return found.hexdigest()
