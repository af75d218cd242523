"""Scoring as of an instant: labels that became known then or later do not count."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import scoring_model
from identity_use import bodies
from scoring_model.configuration import Configuration
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def known_at_once(small: Path) -> pa.Table:
    """The small history, each label known a minute after its event, so that links with frauds decide much."""
    table = pq.read_table(small)
    place, known_at = table.schema.get_field_index("labelKnownAt"), table["labelKnownAt"]
    soon = pc.add(table["eventTime"], pa.scalar(60_000_000, pa.duration("us")))
    cells = pc.if_else(pc.is_valid(known_at), soon.cast(known_at.type), pa.scalar(None, known_at.type))
    return table.set_column(place, "labelKnownAt", cells)


@pytest.fixture(scope="module")
def sensitive(
    known_at_once: pa.Table, small_use: Configuration, tmp_path_factory: pytest.TempPathFactory
) -> Scorer:
    """A scorer whose model learnt from these labels."""
    bundle = scoring_model.train(known_at_once, small_use)
    return Scorer.load(bundle.save(tmp_path_factory.mktemp("sensitive") / "bundle"))


def labelled_before(table: pa.Table, instant: datetime) -> pa.Table:
    """The same records without the labels that became known at an instant or later."""
    known_at = table["labelKnownAt"]
    known = pc.fill_null(pc.less(known_at, pa.scalar(instant, known_at.type)), False)
    for name in ("label", "labelKnownAt"):
        cells = pc.if_else(known, table[name], pa.scalar(None, table[name].type))
        table = table.set_column(table.schema.get_field_index(name), name, cells)
    return table


def test_later_labels_of_a_frame_and_its_history_do_not_count(
    sensitive: Scorer, known_at_once: pa.Table
) -> None:
    """A frame, records after the instant included, is decided as if no label had become known since."""
    past, late = known_at_once.slice(0, 3000), known_at_once.slice(3000)
    instant = past["eventTime"][2700].as_py()
    expected = sensitive.score(labelled_before(late, instant), history=labelled_before(past, instant))
    assert sensitive.score(late, history=past, as_of=instant).equals(expected)
    assert not sensitive.score(late, history=past).equals(expected)


def test_later_labels_do_not_count_for_a_record(sensitive: Scorer, known_at_once: pa.Table) -> None:
    """A record with a history is decided as in a frame; the instant may be text."""
    past, late = known_at_once.slice(0, 3000), known_at_once.slice(3000, 400)
    instant = past["eventTime"][2700].as_py()
    expected = sensitive.score(late, history=past, as_of=instant)["margin"].to_pylist()
    free = sensitive.score(late, history=past)["margin"].to_pylist()
    row = next(row for row in range(400) if expected[row] != free[row])
    (body,) = bodies(late.slice(row, 1))
    history = pa.concat_tables([past, late.slice(0, row)])
    assert sensitive.score(body, history=history, as_of=instant.isoformat()).margin == expected[row]
    assert sensitive.score(body, history=history).margin == free[row]
