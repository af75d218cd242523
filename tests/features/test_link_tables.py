"""Links of whole files against plain loops over all records, singly, in parts, and with later records."""

import dataclasses
from collections.abc import Sequence
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import link_tables
from feature_tables import STATE
from link_tables import (
    LINKS,
    SIGNALS,
    SPELLINGS,
    STEPS,
    Label,
    Row,
    file_rows,
    group,
    labels,
    link_features_of,
    read,
)
from scoring_model.arrays import FloatArray
from scoring_model.contract.fields import IDENTITY_FIELDS
from scoring_model.features import FeatureMatrix, FeatureSettings, LinkSettings
from scoring_model.history import (
    NOTHING_BEFORE,
    count_before,
    key_of,
    pack_label,
    past_counts_of_rows,
    person_of,
)
from scoring_model.records import Record, RecordTable

MATRIX = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=LINKS, families=()), STATE)
"""Links alone."""
EVERYTHING = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=link_tables.EVERYTHING, families=()), STATE)
"""With all that may be counted: what holds of it holds of less, since files of both equal the loops."""
MATRICES = [MATRIX, EVERYTHING]


def bits(rows: FloatArray) -> list[list[int]]:
    """The bits of float64 values: NaN equals NaN, and -0.0 is not 0.0."""
    found: list[list[int]] = np.ascontiguousarray(rows).view(np.int64).tolist()
    return found


def oracle(rows: Sequence[Row], matrix: FeatureMatrix = MATRIX) -> FloatArray:
    """The rows by plain loops, in the columns of the matrix."""
    found = link_features_of(rows, matrix.settings.links)
    assert all(set(features) >= set(matrix.names) for features in found)
    return np.array([[features[name] for name in matrix.names] for features in found], dtype=np.float64)


@pytest.mark.parametrize("matrix", MATRICES)
@settings(max_examples=30)
@given(file_rows)
def test_links_of_a_file_are_those_of_the_loops(matrix: FeatureMatrix, rows: list[Row]) -> None:
    """Law 2: normalising, coding, sweeping and dividing give, bit for bit, what the words of the law give."""
    assert bits(matrix.rows(read(rows))) == bits(oracle(rows, matrix))


@pytest.mark.parametrize("matrix", MATRICES)
def test_links_of_a_crowd_are_those_of_the_loops(matrix: FeatureMatrix) -> None:
    """With a key that a fifth of the records share, frauds, caps and amounts of all kinds, too."""
    rows = group(400, seed=5)
    found = matrix.rows(read(rows))
    assert bits(found) == bits(oracle(rows, matrix))
    hot = found[:, matrix.names.index("link_device_1h_records")]
    assert hot.max() > LINKS.cap
    assert min(np.nanmax(found, axis=0)) > 0


@settings(max_examples=40)
@given(file_rows)
@example(group(60, seed=2))
def test_one_record_has_the_links_it_has_in_the_file(rows: list[Row]) -> None:
    """Law 2: a record alone, its past counted from the other records, has the same bits."""
    table = read(rows)
    histories = past_counts_of_rows(table, range(len(rows)), EVERYTHING.link_keys, EVERYTHING.specs)
    alone = [EVERYTHING.row(table.record(i), history) for i, history in enumerate(histories)]
    assert bits(np.array(alone)) == bits(EVERYTHING.rows(table))


@settings(max_examples=20)
@given(file_rows, st.randoms(use_true_random=False), st.integers(1, 5))
def test_neither_order_nor_files_matter(rows: list[Row], random: Random, files: int) -> None:
    """Law 2: shuffled, and dealt to several files that are read one by one, each record has the same bits."""
    order = list(range(len(rows)))
    random.shuffle(order)
    parts = [order[i::files] for i in range(files)]
    table = reduce(RecordTable.append, [read([rows[i] for i in part]) for part in parts])
    where = [i for part in parts for i in part]
    assert bits(EVERYTHING.rows(table)) == bits(EVERYTHING.rows(read(rows))[where])


@settings(max_examples=20)
@given(file_rows, st.integers(1, 6))
@example(group(60, seed=4), 17)
def test_batches_with_what_came_before_are_the_whole(rows: list[Row], size: int) -> None:
    """Law 2: in batches of any size by time, each with all earlier ones as history, each record has the same bits."""
    by_time = sorted(rows, key=lambda row: row.step)
    whole = EVERYTHING.rows(read(by_time))
    for start in range(0, len(by_time), size):
        seen = read(by_time[:start]).append(read(by_time[start : start + size]))
        assert bits(EVERYTHING.rows(seen, start)) == bits(whole[start : start + size])


@settings(max_examples=40)
@given(file_rows)
@example(group(60, seed=3))
def test_a_store_that_grows_gives_the_rows_of_the_file(rows: list[Row]) -> None:
    """Law 3: records processed singly with the stored history have the same bits as in the file."""
    table = read(rows)
    store: dict[object, list[tuple[int, tuple[Any, ...]]]] = {}
    found = np.empty((len(rows), len(EVERYTHING.names)))
    for i in np.argsort(table.event_times, kind="stable").tolist():
        record = table.record(i)
        history = {}
        for key in EVERYTHING.link_keys:
            value = key_of(record.values, key)
            if value is None:
                continue
            past = store.setdefault((key.name, value), [])
            seen = [reported(table, row, stored, record.event_time) for row, stored in past]
            spec = EVERYTHING.specs[key.name]
            counts = count_before(seen, at=record.event_time, spec=spec)
            assert (counts.since_last == NOTHING_BEFORE) == (max(counts.records) == 0)
            history[key.name] = counts
            past.insert(0, (i, stored_record(record)))
        found[i] = EVERYTHING.row(record, history)
    assert bits(found) == bits(EVERYTHING.rows(table))


def stored_record(record: Record) -> tuple[Any, ...]:
    """Stored data of a new record, before its label is reported."""
    person = person_of(record.values) or ("nobody", record.record_id)
    return (record.event_time, person, None, *EVERYTHING.start(record.values).amounts)


def reported(table: RecordTable, row: int, stored: tuple[Any, ...], now: int) -> tuple[Any, ...]:
    """The same record with its label, if that was reported by now."""
    known = int(table.label_times[row])
    labels = pack_label(known, fraud=bool(table.labels[row] == 1)) if known <= now else None
    return (*stored[:2], labels, *stored[3:])


@settings(max_examples=30)
@given(file_rows, file_rows, st.integers(0, STEPS), st.lists(st.none() | labels, min_size=14, max_size=14))
def test_nothing_at_or_after_an_instant_changes_a_row_before(
    rows: list[Row], others: list[Row], step: int, relabelled: list[Label | None]
) -> None:
    """Law 5: events removed and added, labels withdrawn, reversed and reported again, from an instant on."""
    every = FeatureMatrix(
        dataclasses.replace(EVERYTHING.settings, families=("names", "addresses", "signals")), STATE
    )
    before = [i for i, row in enumerate(rows) if row.step < step]
    if not before:
        return
    kept = [relabel(rows[i], label, step) for i, label in zip(before, relabelled, strict=False)]
    changed = [*kept, *(row for row in others if row.step >= step)]
    assert bits(every.rows(read(changed))[: len(kept)]) == bits(every.rows(read(rows))[before])


def relabel(row: Row, label: Label | None, step: int) -> Row:
    """Another label, or none, that counts from `step` on, in the place of none or of one that does."""
    if row.label is not None and row.label.counts_from < step:
        return row
    later = label if label is None or label.counts_from >= step else dataclasses.replace(label, reported=step)
    return dataclasses.replace(row, label=later)


@pytest.mark.parametrize("name", [*IDENTITY_FIELDS, *(f"signals.{name}" for name in SIGNALS)])
def test_every_field_can_be_a_key(name: str) -> None:
    """A field, or a signal of any type, ties the spellings that are one value and no others."""
    links = LinkSettings(keys={"key": (name,)}, windows=(60_000_000,), amount=LINKS.amount)
    matrix = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=links, families=()), STATE)
    document = {"documentType": SPELLINGS["documentType"][0]}
    rows = [Row(step, document | {name: spelling}) for step, spelling in enumerate(SPELLINGS[name])]
    rows += [Row(40 + row.step, row.spellings) for row in rows]
    rows += [Row(91, document)]
    found = matrix.rows(read(rows))
    assert bits(found) == bits(oracle(rows, matrix))
    assert found[:, 0].max() >= 1


def test_combinations_tie_only_what_shares_all_parts() -> None:
    """Keys of several parts: every pair of fields, missing parts included."""
    pairs = [(a, b) for a in SPELLINGS for b in ("signals.vpn", "address.country", "subjectId") if a != b]
    keys = {f"k{i}": pair for i, pair in enumerate(pairs)}
    matrix = FeatureMatrix(
        FeatureSettings(signals=SIGNALS, links=LinkSettings(keys=keys, windows=(9_000_000,)), families=()),
        STATE,
    )
    rows = group(60, seed=11)
    assert bits(matrix.rows(read(rows))) == bits(oracle(rows, matrix))
