"""Rings of frauds, by which intervals count what is independent."""

from itertools import pairwise

import numpy as np
import pytest

from scoring_model.arrays import IntArray
from scoring_model.evaluation.fraud_rings import rings_of_frauds
from scoring_model.history import LinkKey, person_codes
from scoring_model.records import Column, RecordTable

NETWORK = LinkKey(name="network", parts=("signals.network",))
DEVICE = LinkKey(name="device", parts=("signals.device",))


def table_of(*, records: int, **codes: list[int]) -> RecordTable:
    """Records of different persons, one an instant, the first of which have these values."""
    columns = {}
    for name, given in codes.items():
        padded = np.full(records, -1, dtype=np.int32)
        padded[: len(given)] = given
        columns[f"signals.{name}"] = Column(tuple(f"v{code}" for code in range(max(given) + 1)), padded)
    return RecordTable(
        record_ids=tuple(map(str, range(records))),
        event_times=np.arange(records, dtype=np.int64),
        columns=columns,
        labels=np.ones(records, dtype=np.int8),
        label_times=np.arange(records, dtype=np.int64),
        source_rows=np.arange(records),
    )


def rings(table: RecordTable, frauds: list[int], *keys: LinkKey) -> list[int]:
    """The rings of some records, where all others are genuine."""
    targets = np.zeros(len(table), dtype=np.int8)
    targets[frauds] = 1
    found: IntArray = rings_of_frauds(
        table, person_codes(table, alone=True), keys, np.arange(len(table)), targets
    )
    assert (found[targets == 0] == -1).all()
    return list(map(int, found[frauds]))


@pytest.mark.parametrize(
    ("shared", "records", "joined"),
    [(20, 1_000, True), (21, 1_000, False), (30, 3_000, True), (31, 3_000, False)],
)
def test_what_a_hundredth_of_the_records_share_joins_nothing(shared: int, records: int, joined: bool) -> None:
    """A value that up to 1 % of the records share joins them, at least twenty records; one that more share does not."""
    table = table_of(records=records, network=[0] * shared)
    found = rings(table, list(range(shared)), NETWORK)
    assert len(set(found)) == (1 if joined else shared)


def test_few_records_with_a_value_join_frauds_however_far_apart() -> None:
    """Of twenty records the first and the last are frauds, where a tenth of all are: chance would explain it."""
    table = table_of(records=200, device=[0] * 20)
    found = rings(table, [0, 19, *range(100, 118)], DEVICE)
    assert found[0] == found[1]
    assert len(set(found)) == 19


def test_frauds_that_a_large_network_holds_by_chance_stay_apart() -> None:
    """Each network has half a percent of the records, of whom the usual share are frauds."""
    rng = np.random.default_rng(7)
    networks = rng.permutation(np.repeat(np.arange(200), 100)).tolist()
    table = table_of(records=20_000, network=networks)
    frauds = np.sort(rng.choice(20_000, 300, replace=False)).tolist()
    shared = len(frauds) - len({networks[row] for row in frauds})
    found = rings(table, frauds, NETWORK)
    assert shared > 100  # sharing alone would join these
    assert len(set(found)) > 290


@pytest.mark.parametrize(("between", "joined"), [(0, True), (13, True), (14, False)])
def test_frauds_of_a_large_network_that_follow_each_other_closely_are_a_ring(
    between: int, joined: bool
) -> None:
    """Four frauds among 150 records of a network, with so many of its records between each two."""
    table = table_of(records=15_000, network=[0] * 150)
    ring = [20 + at * (between + 1) for at in range(4)]
    others = list(range(1_000, 1_071))  # half a percent are frauds
    found = rings(table, [*ring, *others], NETWORK)
    assert len(set(found[:4])) == (1 if joined else 4)
    assert len(set(found[4:])) == len(others)


def test_a_ring_of_one_night_does_not_join_what_follows_weeks_later() -> None:
    """A fraud far from the five of a night is a ring of its own, though all share the network."""
    table = table_of(records=15_000, network=[0] * 150)
    night, later = [20, 22, 23, 25, 26], 140
    found = rings(table, [*night, later, *range(1_000, 1_069)], NETWORK)
    assert len(set(found[:5])) == 1
    assert found[5] != found[0]


def test_keys_join_rings_of_each_other() -> None:
    """Frauds share a device in pairs and a network in pairs: one ring."""
    table = table_of(records=5_000, device=[0, 0, 1, 1], network=[5, 0, 0, 6])
    found = rings(table, [0, 1, 2, 3], DEVICE, NETWORK)
    assert all(one == other for one, other in pairwise(found))


def test_a_key_that_no_record_has_joins_nothing() -> None:
    """Nothing is shared where no record has a value."""
    table = table_of(records=100, device=[0])
    without = LinkKey(name="other", parts=("signals.device", "signals.network"))
    table = RecordTable(
        record_ids=table.record_ids,
        event_times=table.event_times,
        columns={**table.columns, "signals.network": Column((), np.full(100, -1, dtype=np.int32))},
        labels=table.labels,
        label_times=table.label_times,
        source_rows=table.source_rows,
    )
    assert len(set(rings(table, [0, 1, 2], without))) == 3
