"""The commands on datasets."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from program import Captured, run


@pytest.fixture(scope="module")
def source(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 records in three row groups."""
    path = tmp_path_factory.mktemp("source") / "in.parquet"
    pq.write_table(pq.read_table(small).slice(0, 1_500), path, row_group_size=500)
    return path


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_a_dataset_is_scored_and_evaluated(
    summing_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """A folder is scored, resumed without change, and evaluated like the file that `score` writes."""
    out, one = tmp_path / "out", tmp_path / "one.parquet"
    command = ("score", summing_bundle, source, "--threads", 1, "--json", "--out")
    assert run(capsys, *command, one)[0] == 0
    code, said, errors = run(capsys, *command, f"{out}/", "--memory", "2GB")
    assert code == 0, errors
    assert "score: 1,500 of 1,500 records" in errors
    counts = json.loads(said)
    assert (counts["records"], counts["refused"], counts["quarantine"]) == (1_500, 0, None)
    assert json.loads(run(capsys, *command, f"{out}/", "--resume")[1]) == counts
    labels = tmp_path / "labels.parquet"
    pq.write_table(pq.read_table(source).select(["recordId", "label", "labelKnownAt"]), labels)
    found = []
    for scored in (out, one):
        path = tmp_path / f"{scored.name}.json"
        code, _, errors = run(capsys, "evaluate", summing_bundle, scored, "--labels", labels, "--json", path)
        assert code == 0, errors
        found.append(json.loads(path.read_text())["figures"])
    assert found[0] == found[1]
    (out / "_manifest.json").unlink()
    code, _, errors = run(capsys, "evaluate", summing_bundle, out, "--labels", labels)
    assert (code, "has no _manifest.json" in errors) == (1, True)


def test_a_stage_that_starts_early_has_its_own_exit_code(
    summing_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """15 before its turn; 0 for a share of a stage, which says that others are missing."""
    command = ("score", summing_bundle, source, "--threads", 1, "--out", tmp_path / "out", "--work")
    work = tmp_path / "work"
    code, _, errors = run(capsys, *command, work, "--stage", "links")
    assert (code, "needs the whole stage partition: 3 of 3 tasks are missing" in errors) == (15, True)
    code, _, errors = run(capsys, *command, work, "--shard", "1/2")
    assert (code, "the bundle has link keys" in errors) == (15, True)
    code, said, _ = run(capsys, *command, work, "--stage", "partition", "--shard", "1/2")
    assert (code, said) == (0, "the stage or shard is done; others are missing\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--out", "x.parquet", "--resume", "--shard", "1/2"), "--resume, --shard: for a folder as --out"),
        (("--out", "x/", "--stage", "split"), "must be one of partition, links, score"),
        (("--out", "x/", "--memory", "4"), "must be like 4GB or 800MB"),
        (("--out", "x/", "--no-guard-formulas"), "is for CSV files"),
        (("--out", "x/", "--memory", "1MB"), "memory must be at least"),
        (("--out", "x/", "--work", "y", "--stage", "score", "--shard", "3/2"), "a shard must be like 3/16"),
    ],
)
def test_wrong_usage_is_refused(
    summing_bundle: Path,
    source: Path,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    """Options that do not fit together are refused before anything is written."""
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(capsys, "score", summing_bundle, source, *arguments)
    text = " ".join(errors.replace("│", " ").split())
    assert code in (1, 2)
    assert problem in text
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_a_folder_is_scored_into_a_file(
    summing_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Its files are read as one; where folders are columns, the error says what to do. So do histories."""
    folder, out = tmp_path / "in", tmp_path / "out.parquet"
    (folder / "more").mkdir(parents=True)
    table = pq.read_table(source)
    pq.write_table(table.slice(0, 100), folder / "a.parquet")
    pq.write_table(table.slice(100, 50), folder / "more" / "b.parquet")
    command = ("score", summing_bundle, folder, "--out", out)
    code, said, errors = run(capsys, *command)
    assert (code, said.startswith("150 records in")) == (0, True), errors
    code, _, errors = run(capsys, *command, "--history", folder)
    assert (code, "150 records of the history are also scored" in errors) == (1, True)
    assert run(capsys, *command, "--history", folder, "--allow-repeats")[0] == 0
    (folder / "more").rename(folder / "day=1")
    code, _, errors = run(capsys, *command)
    assert (code, "for a folder as --out, such as out/" in errors) == (2, True)


def test_repeated_ids_are_refused_before_anything_is_scored(
    plain_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Also without links; the error says what is left, and the same command can be run on the repaired source."""
    table, out = pq.read_table(source).slice(0, 300), tmp_path / "out"
    ids = pa.array(["same"] * 290 + [str(row) for row in range(10)])
    place = table.schema.get_field_index("recordId")
    pq.write_table(table.set_column(place, "recordId", ids), tmp_path / "in.parquet")
    command = ("score", plain_bundle, tmp_path / "in.parquet", "--threads", 1, "--out", out)
    code, _, errors = run(capsys, *command)
    assert (code, "96.33% of the rows were refused" in errors, "score: " in errors) == (1, True, False)
    assert f"{out}/quarantine.csv lists them: repair the source and run the same command again" in errors
    assert [path.name for path in out.iterdir()] == ["quarantine.csv"]
    pq.write_table(table, tmp_path / "in.parquet")
    assert run(capsys, *command)[0] == 0


def test_groups_take_names_with_equals_signs(
    plain_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """`==` stands for one in the name of a column; what follows a single one is the value."""
    table, out = pq.read_table(source).slice(0, 400), tmp_path / "out.json"
    kinds = pa.array(["a=1" if row % 2 else "b" for row in range(len(table))])
    pq.write_table(table.append_column("kind=x", kinds), tmp_path / "in.parquet")
    command = ("evaluate", plain_bundle, tmp_path / "in.parquet", "--json", out, "--by")
    for given, reference in (("kind==x", "the rest"), ("kind==x=a=1", "a=1")):
        code, _, errors = run(capsys, *command, given)
        assert code == 0, errors
        (found,) = json.loads(out.read_text())["groups"]
        assert found["column"] == "kind=x"
        assert (found["reference"] == "a=1") == (reference == "a=1")
    assert "have no column kind" in run(capsys, *command, "kind=x")[2]
