"""Features as frames: the bits that the model reads, and contributions that sum to the margin."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scoring_model import synthetic
from scoring_model.evaluation.importance import family_names
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Sixty records of one month."""
    return pa.Table.from_batches(synthetic.generate(records=60, seed=3, months=1))


@pytest.fixture(scope="module")
def records(table: pa.Table) -> pd.DataFrame:
    """The same records as a DataFrame; the first is broken, and labels of the index repeat."""
    frame: pd.DataFrame = table.to_pandas().set_axis([7] * 30 + [8] * 30, axis=0)
    frame["dob"] = ["canary", *frame["dob"].iloc[1:]]
    return frame


def values(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    """The values of columns, in the order of the names."""
    return np.ascontiguousarray(frame[names].to_numpy())


def test_features_are_the_bits_that_the_model_reads(
    scorer: Scorer, records: pd.DataFrame, history: RecordTable
) -> None:
    """Decisions about the exported columns are those of `score`, bit for bit, with and without a history."""
    past, now = records.iloc[:40], records.iloc[40:]
    for data, known in ((records, None), (now, past)):
        scored = scorer.score(data, history=known).dropna(subset="recordId")
        found = scorer.features(data, history=known).dropna(subset="recordId")
        assert found["recordId"].tolist() == scored["recordId"].tolist()
        margins = scorer.decide(values(found, list(scorer.matrix.names))).margins
        assert margins.tobytes() == scored["margin"].to_numpy().tobytes()
    rows = values(scorer.features(now, history=past), list(scorer.matrix.names))
    assert rows.tobytes() != values(scorer.features(now), list(scorer.matrix.names)).tobytes()


def test_history_beyond_the_windows_changes_no_bit(scorer: Scorer, frame: pa.Table) -> None:
    """Of two years only what the latest records can see is read; the features are those of the whole table."""
    ordered = frame.sort_by("eventTime")
    first = len(ordered) - 60
    found = scorer.features(ordered.slice(first), history=ordered.slice(0, first))
    whole = read_records(ordered, scorer.contents.schema, labelled=False).table
    names = list(scorer.matrix.names)
    assert values(found.to_pandas(), names).tobytes() == scorer.matrix.rows(whole, first).tobytes()
    assert int(whole.event_times[0]) < int(whole.event_times[first]) - scorer.matrix.reach


def test_a_frame_has_one_row_for_each_row(scorer: Scorer, records: pd.DataFrame) -> None:
    """A DataFrame keeps its index; a refused row has nothing but its problems; columns are float64."""
    found = scorer.features(records)
    assert found.index.tolist() == records.index.tolist()
    assert found.columns.tolist() == ["recordId", *scorer.matrix.names, "problems"]
    assert (found[list(scorer.matrix.names)].dtypes == np.float64).all()
    assert found.iloc[0].drop("problems").isna().all()
    assert found["problems"].iloc[0].startswith("dob: not_a_date: ")
    assert found["problems"].iloc[1:].isna().all()


def test_contributions_sum_to_the_margin(scorer: Scorer, records: pd.DataFrame) -> None:
    """They are those of the scorer, bit for bit; with the base they sum to the margin up to rounding."""
    names = list(scorer.matrix.names)
    added = [f"contribution.{name}" for name in names]
    found = scorer.features(records, contributions=True).dropna(subset="recordId")
    assert found.columns.tolist() == ["recordId", *names, "base", *added, "problems"]
    expected = np.array([scorer.contributions(row) for row in values(found, names)])
    assert values(found, added).tobytes() == expected.tobytes()
    margins = scorer.score(records).dropna(subset="recordId")["margin"]
    total = found["base"] + found[added].sum(axis=1)
    assert total.to_numpy() == pytest.approx(margins.to_numpy(), abs=1e-9)


def test_arrow_in_arrow_out_even_without_a_row(scorer: Scorer, table: pa.Table) -> None:
    """A table gives a table; unknown features of a good row are NaN there, not null."""
    found = scorer.features(table, contributions=True)
    assert all(found.column(name).null_count == 0 for name in found.column_names[:-1])
    assert scorer.features(table.slice(0, 0), contributions=True).schema == found.schema


def test_importances_name_every_feature_once(scorer: Scorer) -> None:
    """The table has every feature, largest gain first, with a gain exactly where there are splits."""
    found = scorer.importances().to_pandas()
    assert sorted(found["feature"]) == sorted(scorer.matrix.names) == sorted(family_names(scorer.matrix))
    assert found["gain"].is_monotonic_decreasing
    assert ((found["gain"] > 0) == (found["splits"] > 0)).all()
    assert found["splits"].sum() == len(scorer.contents.forest.feature)
    sentences = {feature.name: feature.sentence for feature in scorer.matrix.features}
    assert dict(zip(found["feature"], found["meaning"], strict=True)) == sentences
