"""Records that are in the scored files and in the history: in memory, in stages and in Python."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from linked_use import with_contacts
from scoring_model.batch import export_features, score_file
from scoring_model.batch.dataset import dataset_parts, score_dataset
from scoring_model.batch.dataset_run import Shard
from scoring_model.batch.plan import STAGES, Limits
from scoring_model.evaluation import evaluate
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import EqualRecords, RepeatedRecords

LIMITS = Limits(part_rows=64, piece_rows=300)


@pytest.fixture(scope="module")
def files(small: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Records to score; a history with the first 50 of them, one of these refused there; one without."""
    table = with_contacts(pq.read_table(small).slice(0, 400))
    folder = tmp_path_factory.mktemp("repeats")
    paths = folder / "scored.parquet", folder / "overlapping.parquet", folder / "past.parquet"
    born = table.column("dob").to_pylist()
    born[210] = "canary"
    scored = table.set_column(table.schema.get_field_index("dob"), "dob", pa.array(born, pa.string()))
    past = pa.concat_tables([table.slice(0, 200), table.slice(210, 1)])
    for path, one in zip(paths, (scored.slice(200), table.slice(0, 250), past), strict=True):
        pq.write_table(one, path, row_group_size=90)
    return paths


def without_ids(path: Path, folder: Path) -> Path:
    """Write the same records without ids."""
    named = folder / f"unnamed-{path.name}"
    pq.write_table(pq.read_table(path).drop_columns(["recordId"]), named)
    return named


def decided(path: Path) -> pa.Table:
    """Give the decisions in a file or folder, without ids."""
    parts = dataset_parts(path) if path.is_dir() else [path]
    return pa.concat_tables([pq.read_table(part) for part in parts]).drop_columns(["recordId"])


def test_copies_in_the_history_are_an_error_by_id(
    summing_bundle: Path, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """49 valid records of both are named by number in memory, in stages and in Python; nothing is written."""
    scored, overlapping, _ = files
    scorer = Scorer.load(summing_bundle)
    with pytest.raises(RepeatedRecords, match=r"^49 records of the history are also scored"):
        score_file(scorer, scored, tmp_path / "a.parquet", histories=[overlapping], max_bad_share=0.1)
    with pytest.raises(RepeatedRecords, match=r"^49 "):
        export_features(scorer, scored, tmp_path / "a.parquet", histories=[overlapping], max_bad_share=0.1)
    with pytest.raises(RepeatedRecords, match=r"^49 "):
        scorer.score(pq.read_table(scored), history=pq.read_table(overlapping))
    with pytest.raises(RepeatedRecords, match=r"^49 "):
        evaluate(scorer, scored, history=overlapping, max_bad_share=0.1)
    with pytest.raises(RepeatedRecords, match=r"^49 "):
        score_dataset(
            summing_bundle,
            [str(scored)],
            str(tmp_path / "out"),
            histories=[str(overlapping)],
            max_bad_share=0.1,
            limits=LIMITS,
            processes=1,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.quarantine.csv"]


def test_allowed_copies_do_not_count(
    summing_bundle: Path, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """With copies left out every score has the bits of a history without them, in memory, in shards and in Python."""
    scored, overlapping, past = files
    scorer = Scorer.load(summing_bundle)
    one, other, out = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "out"
    score_file(scorer, scored, one, histories=[past], max_bad_share=0.1)
    score_file(scorer, scored, other, histories=[overlapping], max_bad_share=0.1, allow_repeats=True)
    assert decided(other).equals(decided(one))
    for stage in STAGES:
        for number in (1, 2):
            score_dataset(
                summing_bundle,
                [str(scored)],
                str(out),
                histories=[str(overlapping)],
                work=tmp_path / "work",
                stage=stage,
                shard=Shard(number=number, of=2),
                max_bad_share=0.1,
                limits=LIMITS,
                processes=1,
                allow_repeats=True,
            )
    assert decided(out).equals(decided(one))
    frame = scorer.score(pq.read_table(scored), history=pq.read_table(overlapping), allow_repeats=True)
    expected = pq.read_table(one).column("margin").to_pylist()
    assert [margin for margin in frame.column("margin").to_pylist() if margin is not None] == expected


def test_one_record_is_not_its_own_history(summing_bundle: Path, files: tuple[Path, Path, Path]) -> None:
    """One record, scored or explained, meets its copy in the history by its id, as a file does."""
    scorer = Scorer.load(summing_bundle)
    row, past = pq.read_table(files[0]).slice(3, 1), pq.read_table(files[1])
    record = row.to_pandas().iloc[0]
    alone = past.filter(pc.not_equal(past["recordId"], record["recordId"]))
    (expected,) = scorer.score(row, history=alone).column("margin").to_pylist()
    for call in (scorer.score, scorer.explain):
        with pytest.raises(RepeatedRecords, match=rf"^1 records .*{record['recordId']}"):
            call(record, history=past)
    assert scorer.score(record, history=past, allow_repeats=True).margin == expected
    assert scorer.explain(record, history=past, allow_repeats=True).decision.margin == expected
    with pytest.warns(EqualRecords, match=r"^1 records"):
        scorer.score(record, history=past.drop_columns(["recordId"]))


@pytest.mark.parametrize("unnamed", [(0,), (1,), (0, 1)])
def test_equal_records_without_ids_are_counted(
    summing_bundle: Path, files: tuple[Path, Path, Path], tmp_path: Path, unnamed: tuple[int, ...]
) -> None:
    """Where one side has no ids, the same warning counts equal records in memory and in stages; both count."""
    paths = [
        without_ids(path, tmp_path) if place in unnamed else path for place, path in enumerate(files[:2])
    ]
    lines: list[str] = []
    with pytest.warns(EqualRecords, match=r"^49 records of the history") as caught:
        score_file(
            Scorer.load(summing_bundle),
            paths[0],
            tmp_path / "a.parquet",
            histories=[paths[1]],
            max_bad_share=0.1,
        )
    score_dataset(
        summing_bundle,
        [str(paths[0])],
        str(tmp_path / "out"),
        histories=[str(paths[1])],
        max_bad_share=0.1,
        limits=LIMITS,
        processes=1,
        report=lines.append,
    )
    assert [f"warning: {caught[0].message}"] == [line for line in lines if line.startswith("warning")]
    assert decided(tmp_path / "out").equals(decided(tmp_path / "a.parquet"))
