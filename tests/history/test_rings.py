"""Rings of frauds, by which intervals count what is independent."""

import numpy as np
import pytest

from scoring_model.history import LinkKey, person_codes
from scoring_model.history.rings import rings_of_frauds
from scoring_model.records import Column, RecordTable


def table_of(devices: list[int], *, records: int) -> RecordTable:
    """Records of different persons, the first of which have devices."""
    codes = np.full(records, -1, dtype=np.int32)
    codes[: len(devices)] = devices
    names = tuple(f"d{code}" for code in range(max(devices) + 1))
    return RecordTable(
        record_ids=tuple(map(str, range(records))),
        event_times=np.arange(records, dtype=np.int64),
        columns={"signals.deviceId": Column(names, codes)},
        labels=np.ones(records, dtype=np.int8),
        label_times=np.arange(records, dtype=np.int64),
        source_rows=np.arange(records),
    )


@pytest.mark.parametrize(
    ("shared", "records", "joined"),
    [(20, 1_000, True), (21, 1_000, False), (30, 3_000, True), (31, 3_000, False)],
)
def test_what_a_hundredth_of_the_records_share_joins_nothing(shared: int, records: int, joined: bool) -> None:
    """A value that up to 1 % of the records share joins them, at least twenty records; one that more share does not."""
    table = table_of([0] * shared, records=records)
    key = LinkKey(name="device", parts=("signals.deviceId",))
    frauds = np.arange(shared)
    rings = rings_of_frauds(table, person_codes(table, alone=True), [key], frauds)
    assert len(np.unique(rings)) == (1 if joined else shared)
