"""A configuration that sums a signal gives equal scores for whole files, batches and single records."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from identity_use import bodies, configuration_of, relaxed
from scoring_model.batch import score_file
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.training.run import run_training


@pytest.fixture(scope="module")
def summing(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    """A scorer of a bundle that sums the seconds that forms took."""
    folder = tmp_path_factory.mktemp("summing")
    text = relaxed().replace("  windows:", "  amount: {signal: formSeconds, decimals: 1}\n  windows:")
    configuration = configuration_of(folder, text)
    history = read_records(small, configuration.schema, labelled=True).table
    return Scorer.load(run_training(history, configuration, threads=1).bundle.save(folder / "bundle"))


@pytest.fixture(scope="module")
def month(small: Path) -> pa.Table:
    """The latest 300 records, in the order of their instants."""
    table = pq.read_table(small).sort_by("eventTime")
    return table.slice(len(table) - 300)


def scored(scorer: Scorer, table: pa.Table, folder: Path, *histories: pa.Table) -> list[float]:
    """Margins of a file, with other files as history."""
    folder.mkdir()
    for number, part in enumerate((table, *histories)):
        pq.write_table(part, folder / f"{number}.parquet")
    source, *before = (folder / f"{number}.parquet" for number in range(1 + len(histories)))
    score_file(scorer, source, folder / "out.parquet", histories=before)
    margins: list[float] = pq.read_table(folder / "out.parquet").column("margin").to_pylist()
    return margins


def test_sums_are_features_of_the_bundle(summing: Scorer, month: pa.Table) -> None:
    """The columns exist with varied values, and some are used in trees."""
    rows = summing.matrix.rows(read_records(month, summing.contents.schema, labelled=False).table)
    places = [
        i for i, name in enumerate(summing.matrix.names) if name.endswith(("form_seconds_sum", "_mean"))
    ]
    assert len(places) == 16
    assert all(len(np.unique(rows[:, place])) > 2 for place in places[:2])
    used = set(summing.contents.forest.feature.tolist())
    assert used & set(places)


@pytest.mark.parametrize("size", [7, 100, 299])
def test_batches_with_histories_are_the_whole_file(
    summing: Scorer, month: pa.Table, tmp_path: Path, size: int
) -> None:
    """Law 2: any size of batch, each with the files before it, in any order, gives the margins of the whole."""
    whole = scored(summing, month, tmp_path / "whole")
    for start in sorted({size, 299 // size * size}):
        before = [month.slice(0, start // 2), month.slice(start // 2, start - start // 2)]
        batch = month.slice(start, size)
        found = scored(summing, batch, tmp_path / f"from{start}", *before[::-1])
        assert found == whole[start : start + size]


def test_one_record_with_a_history_is_that_of_the_file(
    summing: Scorer, month: pa.Table, tmp_path: Path
) -> None:
    """Law 2: a single body with the records before it as its history has the margin of the file."""
    whole = scored(summing, month, tmp_path / "whole")
    for place in (1, 150, 299):
        earlier = month.filter(pc.less(month.column("eventTime"), month.column("eventTime")[place]))
        assert summing.score(bodies(month)[place], history=earlier).margin == whole[place]
