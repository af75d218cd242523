"""Datasets that are scored in stages against the same records scored in memory."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from file_hashes import hashes
from running_service import killed_with_children
from scoring_model.batch import ScoredFile, score_file, write_table
from scoring_model.batch.dataset import dataset_parts, score_dataset
from scoring_model.batch.dataset_run import Shard, StageIncomplete
from scoring_model.batch.plan import Limits
from scoring_model.records import microseconds
from scoring_model.records.quarantine import TooManyBadRows
from scoring_model.scorer import Scorer

LIMITS = Limits(part_rows=128, piece_rows=300)
"""So small that a few hundred records have many parts, and hot keys several pieces."""


@pytest.fixture(scope="module")
def records(small: Path) -> pa.Table:
    """1,500 records, labelled, among them rows that break a rule or repeat an id."""
    table = pq.read_table(small).slice(0, 1_500)
    born, ids = table.column("dob").to_pylist(), table.column("recordId").to_pylist()
    born[5], born[900] = "canary", "canary"
    ids[700], ids[900], ids[1_200] = ids[310], ids[701], ids[500]
    for name, values in (("dob", born), ("recordId", ids)):
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.string()))
    return table


def write_parts(table: pa.Table, folder: Path) -> list[Path]:
    """Write records as files of several kinds and sizes, in order."""
    folder.mkdir()
    names = ("a.parquet", "b.csv", "c.jsonl", "d.csv.gz", "e.parquet")
    cuts = (0, 600, 650, 800, 950, len(table))
    paths = [folder / name for name in names]
    for path, start, end in zip(paths, cuts, cuts[1:], strict=False):
        part = table.slice(start, end - start)
        if path.suffix == ".parquet":
            pq.write_table(part, path, row_group_size=250)
        elif path.suffix == ".gz":
            with pa.CompressedOutputStream(str(path), "gzip") as stream:
                pyarrow.csv.write_csv(_flat(part), stream)
        else:
            write_table(_flat(part), path, guard_formulas=False)
    return paths


def _flat(table: pa.Table) -> pa.Table:
    """The same records with texts for times and lists."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            texts = [None if one is None else one.isoformat() for one in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
        elif pa.types.is_list(field.type):
            texts = [None if one is None else " ".join(one) for one in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def read_dataset(out: Path) -> pa.Table:
    """The whole dataset, in the order of its manifest."""
    return pa.concat_tables([pq.read_table(part) for part in dataset_parts(out)])


def in_memory(bundle: Path, paths: Sequence[Path], out: Path, **options: Any) -> tuple[pa.Table, ScoredFile]:
    """The oracle: the same records as one table."""
    found = score_file(Scorer.load(bundle), list(paths), out, **options)
    return pq.read_table(out), found


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_a_dataset_is_scored_like_one_table(summing_bundle: Path, records: pa.Table, tmp_path: Path) -> None:
    """Files of all kinds, histories, bad and repeated rows, late labels: the same rows, counts and quarantine."""
    paths = write_parts(records.slice(300), tmp_path / "in")
    past = tmp_path / "past.parquet"
    pq.write_table(pa.concat_tables([records.slice(0, 300), records.slice(0, 20)]), past)
    as_of = microseconds("2024-05-01")
    expected, oracle = in_memory(
        summing_bundle,
        paths,
        tmp_path / "one.parquet",
        histories=[past],
        as_of=as_of,
        reasons=True,
        max_bad_share=0.1,
    )
    out = tmp_path / "out"
    found = score_dataset(
        summing_bundle,
        [str(tmp_path / "in" / "*")],
        str(out),
        histories=[str(past)],
        as_of=as_of,
        reasons=True,
        max_bad_share=0.1,
        limits=LIMITS,
        processes=1,
    )
    assert read_dataset(out).equals(expected)
    assert expected.column("reasonCodes").to_pylist().count([]) < len(expected)
    assert (found.records, found.refused, dict(found.outcomes), found.later_labels) == (
        oracle.records,
        oracle.refused,
        dict(oracle.outcomes),
        oracle.later_labels,
    )
    assert found.refused > 2
    assert oracle.quarantine is not None
    assert (out / "quarantine.csv").read_bytes() == oracle.quarantine.read_bytes()
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["records"], summary["refused"]) == (oracle.records, oracle.refused)
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".parquet") == [
        "_manifest.json",
        "quarantine.csv",
        "summary.json",
    ]


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_limits_and_files_change_no_score(summing_bundle: Path, records: pa.Table, tmp_path: Path) -> None:
    """Other limits and the files in reverse: each record keeps its row, bit for bit."""
    records = records.slice(0, 350)
    pq.write_table(records.slice(0, 200), tmp_path / "1.parquet", row_group_size=90)
    pq.write_table(records.slice(200), tmp_path / "2.parquet")
    expected, _ = in_memory(
        summing_bundle, [tmp_path / "2.parquet", tmp_path / "1.parquet"], tmp_path / "one.parquet"
    )
    score_dataset(
        summing_bundle,
        [str(tmp_path / "2.parquet"), str(tmp_path / "1.parquet")],
        str(tmp_path / "out"),
        limits=Limits(part_rows=50, piece_rows=60),
        processes=1,
    )
    assert read_dataset(tmp_path / "out").equals(expected)


def staged(bundle: Path, source: Path, out: Path, work: Path, *stages: Any, shards: int = 2) -> None:
    """Run stages, each in shards, the last shard first."""
    for stage in stages:
        for number in range(shards, 0, -1):
            score_dataset(
                bundle,
                [str(source)],
                str(out),
                work=work,
                stage=stage,
                shard=Shard(number=number, of=shards),
                limits=LIMITS,
                processes=1,
            )


def test_shards_of_stages_give_the_bytes_of_one_run(
    summing_bundle: Path, records: pa.Table, tmp_path: Path
) -> None:
    """Three stages in two shards each; what is spilled belongs to its owner alone and is removed at the end."""
    source, work = tmp_path / "in.parquet", tmp_path / "work"
    pq.write_table(records.slice(10, 400), source, row_group_size=150)
    score_dataset(summing_bundle, [str(source)], str(tmp_path / "one"), limits=LIMITS, processes=1)
    staged(summing_bundle, source, tmp_path / "out", work, "partition", "links")
    modes = {path.stat().st_mode & 0o077 for path in [work, *work.rglob("*")]}
    spilled = b"".join(path.read_bytes() for path in work.rglob("*") if path.is_file())
    assert modes == {0}
    values = {*records.column("lastName").to_pylist(), *records.column("signals.deviceId").to_pylist()}
    assert not [value for value in values if value and len(value) > 4 and value.encode() in spilled]
    assert not (tmp_path / "out" / "_manifest.json").exists()
    shutil.copytree(work, tmp_path / "copy")
    staged(summing_bundle, source, tmp_path / "out", work, "score")
    assert hashes(tmp_path / "out") == hashes(tmp_path / "one")
    assert not work.exists()
    (tmp_path / "copy").rename(work)  # as if the run had been killed just before the removal
    staged(summing_bundle, source, tmp_path / "out", work, "score", shards=1)
    assert not work.exists()


def test_a_stage_needs_the_whole_stage_before(
    summing_bundle: Path, records: pa.Table, tmp_path: Path
) -> None:
    """A stage without the one before, and a shard without stages of a bundle with links, are refused by name."""
    source = tmp_path / "in.parquet"
    pq.write_table(records.slice(10, 300), source, row_group_size=150)
    given: dict[str, Any] = {"work": tmp_path / "work", "limits": LIMITS, "processes": 1}
    first = Shard(number=1, of=2)
    with pytest.raises(StageIncomplete, match="the bundle has link keys"):
        score_dataset(summing_bundle, [str(source)], str(tmp_path / "out"), shard=first, **given)
    score_dataset(
        summing_bundle, [str(source)], str(tmp_path / "out"), stage="partition", shard=first, **given
    )
    with pytest.raises(StageIncomplete, match="links needs the whole stage partition: 1 of 2 tasks"):
        score_dataset(summing_bundle, [str(source)], str(tmp_path / "out"), stage="links", **given)
    with pytest.raises(ValueError, match="need --work"):
        score_dataset(summing_bundle, [str(source)], str(tmp_path / "out"), stage="links")


KILLED = """\
import sys
from pathlib import Path
from scoring_model.batch.dataset import score_dataset
from scoring_model.batch.plan import Limits

if __name__ == "__main__":
    bundle, source, out = sys.argv[1:]
    score_dataset(Path(bundle), [source], out, limits=Limits(part_rows=128, piece_rows=300), processes=2)
"""


def test_a_killed_run_is_resumed_with_the_same_bytes(
    summing_bundle: Path, records: pa.Table, tmp_path: Path
) -> None:
    """Killed, a run ends with its two processes, has no manifest, and is not begun anew; resumed, it is whole."""
    source, out = tmp_path / "in.parquet", tmp_path / "out"
    pq.write_table(records.slice(10, 1_400), source, row_group_size=130)
    score_dataset(summing_bundle, [str(source)], str(tmp_path / "one"), limits=LIMITS, processes=1)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(summing_bundle), str(source), str(out)]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 120
        while (
            not list(out.glob("_work/score/0*.json"))
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.002)
        killed_with_children(process.pid)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert not (out / "_manifest.json").exists()
    assert kept
    with pytest.raises(ValueError, match="not complete; continue it with --resume"):
        score_dataset(summing_bundle, [str(source)], str(out), limits=LIMITS, processes=1)
    again: dict[str, Any] = {"limits": LIMITS, "processes": 1, "resume": True}
    with pytest.raises(ValueError, match="work of another run; what differs: reasons"):
        score_dataset(summing_bundle, [str(source)], str(out), reasons=True, **again)
    score_dataset(summing_bundle, [str(source)], str(out), **again | {"processes": 2})
    assert hashes(out) == hashes(tmp_path / "one")
    assert kept.items() & {path: path.stat().st_mtime_ns for path in kept}.items()
    assert score_dataset(summing_bundle, [str(source)], str(out), **again).records == 1_397
    with pytest.raises(ValueError, match="holds a scored dataset already"):
        score_dataset(summing_bundle, [str(source)], str(out), limits=LIMITS, processes=1)


def test_shards_without_links_need_no_stages(plain_bundle: Path, records: pa.Table, tmp_path: Path) -> None:
    """Records that do not depend on each other are shared out at once; repeated ids are found all the same."""
    source, out, work = tmp_path / "in.parquet", tmp_path / "out", tmp_path / "work"
    pq.write_table(records.slice(300), source, row_group_size=400)
    expected, oracle = in_memory(plain_bundle, [source], tmp_path / "one.parquet")
    for number in (2, 1):
        shard = Shard(number=number, of=2)
        found = score_dataset(
            plain_bundle, [str(source)], str(out), work=work, shard=shard, limits=LIMITS, processes=1
        )
        assert found.complete == (number == 1)
    assert read_dataset(out).equals(expected)
    assert oracle.quarantine is not None
    assert (out / "quarantine.csv").read_bytes() == oracle.quarantine.read_bytes()
    score_dataset(plain_bundle, [str(source)], str(tmp_path / "dated"), as_of=0, limits=LIMITS, processes=1)
    assert read_dataset(tmp_path / "dated").equals(expected)
    summary = json.loads((tmp_path / "dated" / "summary.json").read_text())
    labelled = pq.read_table(source).filter(pc.is_valid(pc.field("label")))
    ids = {*labelled.column("recordId").to_pylist()} & {*expected.column("recordId").to_pylist()}
    assert 0 < summary["laterLabels"] <= len(ids)


def test_many_bad_rows_leave_the_quarantine_alone(
    summing_bundle: Path, records: pa.Table, tmp_path: Path
) -> None:
    """Above the accepted share nothing is scored; the list of the refused rows is the only file."""
    source, out = tmp_path / "in.parquet", tmp_path / "out"
    pq.write_table(records.slice(0, 300), source)
    given: dict[str, Any] = {"limits": LIMITS, "processes": 1}
    with pytest.raises(TooManyBadRows, match=r"0\.33% of the rows.*\(dob not_a_date: 1\)"):
        score_dataset(summing_bundle, [str(source)], str(out), max_bad_share=0.001, **given)
    assert [path.name for path in out.iterdir()] == ["quarantine.csv"]
    assert (out / "quarantine.csv").stat().st_mode & 0o777 == 0o600
    assert (out / "quarantine.csv").read_text().splitlines()[1].startswith("5,dob,not_a_date")
    assert score_dataset(summing_bundle, [str(source)], str(out), **given).records == 299


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_uris_and_hive_partitions(summing_bundle: Path, records: pa.Table, tmp_path: Path) -> None:
    """A folder of folders named after values of a column, read and written by URI; reserved names are left out."""
    records = records.slice(10, 300)
    plain = records.drop_columns(["signals.channel"])
    channels = records.column("signals.channel").to_pylist()
    chosen = sorted({channel or "" for channel in channels})
    for channel in chosen:
        rows = [row for row, one in enumerate(channels) if (one or "") == channel]
        folder = tmp_path / "in" / f"signals.channel={channel or '__HIVE_DEFAULT_PARTITION__'}"
        folder.mkdir(parents=True)
        pq.write_table(plain.take(rows), folder / "x.parquet")
        (folder / "_SUCCESS").touch()
        (folder / ".x.parquet.crc").touch()
    pq.write_table(records, tmp_path / "in.parquet")
    expected, _ = in_memory(summing_bundle, [tmp_path / "in.parquet"], tmp_path / "one.parquet")
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="object store needs --work"):
        score_dataset(summing_bundle, [f"file://{tmp_path}/in/"], f"file://{out}")
    score_dataset(
        summing_bundle,
        [f"file://{tmp_path}/in/"],
        f"file://{out}",
        work=tmp_path / "work",
        limits=LIMITS,
        processes=1,
    )
    found = pa.concat_tables([pq.read_table(part) for part in sorted(out.glob("part-*"))])
    assert found.sort_by("recordId").equals(expected.sort_by("recordId"))
    with pytest.raises(ValueError, match=r"must be empty, it holds in, in\.parquet, one\.parquet"):
        score_dataset(summing_bundle, [str(tmp_path / "in.parquet")], str(tmp_path), resume=True)
    with pytest.raises(ValueError, match="no such file or folder"):
        score_dataset(summing_bundle, [str(tmp_path / "absent")], str(tmp_path / "new"))
