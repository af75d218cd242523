"""A record without a known label is never taken for genuine, at any step of a training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from identity_use import configuration_of, relaxed
from scoring_model.arrays import IntArray
from scoring_model.configuration import Configuration
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.training import run as runs
from scoring_model.training.preparation import Prepared, prepare

DAY = 86_400_000_000


@pytest.fixture(scope="module", params=["known", "delay"])
def use(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The configuration: label times from a column, or a fixed delay after the event."""
    text = relaxed().replace("gap: 30d", "gap: 10d")
    if request.param == "delay":
        text = text.replace("genuine: [genuine]", "genuine: [genuine], delay: 21d")
    return configuration_of(tmp_path_factory.mktemp("use"), text)


@pytest.fixture(scope="module")
def table(small: Path, use: Configuration, tmp_path_factory: pytest.TempPathFactory) -> RecordTable:
    """The small history; without the column of label times for the fixed delay."""
    found = pq.read_table(small)
    if use.records.labels.delay is not None:
        found = found.drop_columns(
            [name for name in found.column_names if name in ("labelKnownAt", "labelReportedAt")]
        )
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(found, path)
    return read_records(path, use.schema, labelled=True).table


@pytest.fixture(scope="module")
def prepared(table: RecordTable, use: Configuration) -> Prepared:
    """The history as the model sees it."""
    return prepare(table, use)


def plain_target(table: RecordTable, row: int, instant: int, maturity: int) -> int | None:
    """Compute what was known of a record at an instant, by plain conditions."""
    if table.label_times[row] < instant:
        return int(table.labels[row])
    return 0 if table.event_times[row] + maturity < instant else None


def check(table: RecordTable, rows: IntArray, targets: NDArray[np.int8], instant: int) -> None:
    """Check that targets equal what was known at the instant, and that maturity and labels both matter."""
    for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
        assert plain_target(table, row, instant, 30 * DAY) == target


def test_parts_take_what_was_known(prepared: Prepared, table: RecordTable) -> None:
    """Training uses what was known when validation begins; validation and test use what is known as of now."""
    split = prepared.split
    check(table, split.train, split.train_targets, split.boundaries.validation_from)
    check(table, split.validation, split.validation_targets, split.boundaries.as_of)
    check(table, split.test, split.test_targets, split.boundaries.as_of)
    # The gap is shorter than the maturity: the last records of the training part are too young for it.
    start, end = split.boundaries.train_from, split.boundaries.train_to
    inside = np.flatnonzero((table.event_times >= start) & (table.event_times < end))
    unknown = [
        r
        for r in inside.tolist()
        if plain_target(table, r, split.boundaries.validation_from, 30 * DAY) is None
    ]
    assert len(unknown) > 10
    assert not set(unknown) & set(split.train.tolist())


def test_the_search_gets_the_training_part(
    prepared: Prepared, table: RecordTable, use: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search gets the rows, targets and times of the training part."""
    given: list[tuple[object, ...]] = []

    class Given(Exception):
        """Raised to end the training."""

    def tune(*arguments: object, **_: object) -> None:
        given.append(arguments)
        raise Given

    monkeypatch.setattr(runs, "tune", tune)
    searching = replace(use, training=replace(use.training, tuned=None))
    with pytest.raises(Given):
        runs.run_training(table, searching, threads=1)
    rows, targets, times = given[0][:3]
    assert np.array_equal(np.asarray(targets), prepared.split.train_targets)
    assert np.array_equal(np.asarray(times), table.event_times[prepared.split.train])
    assert np.asarray(rows).tobytes() == prepared.rows[prepared.split.train].tobytes()
