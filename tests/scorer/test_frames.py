"""Frames in, frames out: a row for each row, bad ones marked."""

import pandas as pd
import pyarrow as pa
import pytest

from scoring_model import synthetic
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Forty records."""
    return pa.Table.from_batches(synthetic.generate(records=40, seed=3, months=1))


def spoiled(table: pa.Table, *rows: int) -> pa.Table:
    """The table with two broken fields in some rows."""
    frame = {name: table.column(name).to_pylist() for name in ("dob", "citizenship")}
    for row in rows:
        frame["dob"][row], frame["citizenship"][row] = "canary", "XX"
    for name, values in frame.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.string()))
    return table


def test_bad_rows_have_no_score_and_say_why(scorer: Scorer, table: pa.Table) -> None:
    """A bad row keeps its place with all its problems and no value of its own; good rows do not see it."""
    found = scorer.score(spoiled(table, 3, 39))
    assert len(found) == 40
    problems = found.column("problems").to_pylist()
    assert [row for row, text in enumerate(problems) if text] == [3, 39]
    assert problems[3].startswith("dob: not_a_date: ")
    assert "; citizenship: not_listed: " in problems[3]
    assert "canary" not in problems[3]
    for name in found.column_names[:-1]:
        assert [row for row, value in enumerate(found.column(name).to_pylist()) if value is None] == [3, 39]
    good = [row for row in range(40) if row not in (3, 39)]
    assert found.take(good).drop_columns("problems") == scorer.score(table.take(good)).drop_columns(
        "problems"
    )


def test_a_data_frame_keeps_its_index(scorer: Scorer, table: pa.Table) -> None:
    """A DataFrame comes back with its own index, repeated labels and all, and integers with gaps."""
    frame = spoiled(table, 0).to_pandas().set_axis([7] * 20 + [8] * 20, axis=0)
    found = scorer.score(frame)
    assert found.index.tolist() == frame.index.tolist()
    assert found["scoringScore"].dtype == pd.Int16Dtype()
    assert found["scoringScore"].isna().tolist() == [True] + [False] * 39
    assert found["recordId"].iloc[1:].tolist() == frame["recordId"].iloc[1:].tolist()


def test_a_frame_without_a_good_row(scorer: Scorer, table: pa.Table) -> None:
    """If all rows are refused, each has a problem and no score, and nothing is raised."""
    found = scorer.score(spoiled(table, *range(40)))
    assert found.column("scoringScore").null_count == 40
    assert found.column("problems").null_count == 0


def test_a_frame_without_a_row(scorer: Scorer, table: pa.Table) -> None:
    """Empty input gives empty output with the same columns."""
    found = scorer.score(table.slice(0, 0))
    assert len(found) == 0
    assert found.schema == scorer.score(table).schema


def test_history_is_not_scored(scorer: Scorer, table: pa.Table) -> None:
    """Records of the history, bad ones among them, are not in the result."""
    found = scorer.score(table.slice(30), history=spoiled(table.slice(0, 30), 2))
    assert found.column("recordId").to_pylist() == table.slice(30).column("recordId").to_pylist()
