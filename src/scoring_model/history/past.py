"""The past of one record of a table, counted by the law for one record."""

from collections.abc import Mapping, Sequence

import numpy as np

from scoring_model.history.amounts import TableAmounts, table_amounts
from scoring_model.history.keys import LinkKey, key_codes, person_codes
from scoring_model.history.labels import pack_label
from scoring_model.history.windows import Counts, PastRecord, WindowSpec, count_before
from scoring_model.records import NEVER, RecordTable


def past_counts(
    table: RecordTable, row: int, keys: Sequence[LinkKey], spec: WindowSpec
) -> Mapping[str, Counts]:
    """Count what a table holds before one of its records.

    Parameters
    ----------
    table : RecordTable
        The record and its history, in any order.
    row : int
        Of the record.
    keys : sequence of LinkKey
    law : WindowSpec

    Returns
    -------
    mapping of str to Counts
        By the name of the key. The same counts as the sweep over the whole table gives.
    """
    at = int(table.event_times[row])
    persons = person_codes(table, alone=True)
    amounts = None if spec.amount is None else table_amounts(table, spec.amount)
    counts = {}
    for key in keys:
        codes = key_codes(table, key)
        linked = np.flatnonzero((codes == codes[row]) & (codes >= 0) & (table.event_times < at))
        latest_first = linked[np.argsort(-table.event_times[linked], kind="stable")]
        past = [_past_record(table, other, int(persons[other]), amounts) for other in latest_first.tolist()]
        counts[key.name] = count_before(past, at=at, spec=spec)
    return counts


def _past_record(table: RecordTable, row: int, person: int, amounts: TableAmounts | None) -> PastRecord:
    known = int(table.label_times[row])
    labels = None if known == NEVER else pack_label(known, fraud=bool(table.labels[row] == 1))
    amount = int(amounts.units[row]) if amounts is not None and amounts.present[row] else None
    return PastRecord(int(table.event_times[row]), person, labels, amount)
