"""Datasets that the workers of a Dask scheduler score, against the same run in one process."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client
from distributed.comm import CommClosedError

from dask_use import cluster, worker
from file_hashes import hashes
from program import Captured, refused, run
from running_service import killed_with_children
from scoring_model.batch.dataset import dataset_features, dataset_parts, score_dataset
from scoring_model.batch.plan import Limits
from scoring_model.parallel import LostWorker
from scoring_model.parallel.cluster import Cluster, DifferentVersions
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer

LIMITS = Limits(part_rows=64, piece_rows=200)
"""So small that a few hundred records are many tasks."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with a worker of one thread."""
    with cluster(tmp_path_factory.mktemp("dask"), workers=1) as (found, _):
        yield found


@pytest.fixture(scope="module")
def source(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 records in ten row groups."""
    path = tmp_path_factory.mktemp("source") / "in.parquet"
    pq.write_table(pq.read_table(small).slice(0, 1_000), path, row_group_size=100)
    return path


@pytest.fixture(scope="module")
def expected(summing_bundle: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The bytes that one process writes."""
    out = tmp_path_factory.mktemp("expected") / "out"
    score_dataset(summing_bundle, [str(source)], str(out), limits=LIMITS, processes=1)
    return hashes(out)


def in_background(act: Callable[[], object], *, when: Callable[[], object]) -> threading.Thread:
    """Do something once something has happened, within two minutes."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while not when() and time.monotonic() < deadline:
            time.sleep(0.002)
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_workers_write_the_bytes_of_one_process(
    summing_bundle: Path,
    source: Path,
    expected: dict[str, str],
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An existing scheduler, whose workers run in another folder than the client with its relative paths."""
    monkeypatch.chdir(source.parent)
    out, work = tmp_path / "out", tmp_path / "work"
    found = score_dataset(summing_bundle, [source.name], str(out), work=work, limits=LIMITS, dask=address)
    assert hashes(out) == expected
    assert (found.records, work.exists()) == (1_000, False)


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_features_of_a_dataset(
    summing_bundle: Path, source: Path, address: str, tmp_path: Path, capsys: Captured
) -> None:
    """The rows of the file that the command writes in memory; a folder of features takes no decisions."""
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(source).slice(0, 150), few, row_group_size=100)
    command = ("features", summing_bundle, few, "--contributions", "--json", "--out")
    code, said, _ = run(capsys, *command, tmp_path / "one.parquet")
    counts = json.loads(said)
    code, said, errors = run(capsys, *command, f"{tmp_path / 'out'}/", "--dask", address)
    assert code == 0, errors
    assert json.loads(said) == counts | {"out": f"{tmp_path / 'out'}/"}
    found = pa.concat_tables([pq.read_table(part) for part in dataset_parts(tmp_path / "out")])
    expected = pq.read_table(tmp_path / "one.parquet")
    assert found.schema == expected.schema
    assert found.column("recordId") == expected.column("recordId")
    for name in expected.column_names[1:]:
        assert found.column(name).to_numpy().tobytes() == expected.column(name).to_numpy().tobytes()
    again = ("score", summing_bundle, few, "--resume", "--out", tmp_path / "out")
    assert "holds a dataset of contributions" in refused(capsys, *again)


def test_a_killed_worker_changes_nothing(
    summing_bundle: Path, source: Path, expected: dict[str, str], address: str, tmp_path: Path
) -> None:
    """One of two workers is killed while it scores: its tasks run on the other one, and the bytes are the same."""
    out, complete = tmp_path / "out", list[bool]()
    with worker(tmp_path, address) as second, Client(address, set_as_default=False) as client:

        def kill() -> None:
            complete.append((out / "_manifest.json").exists())
            second.kill()

        client.wait_for_workers(2, timeout=60)
        killed = in_background(kill, when=lambda: list(out.glob("_work/score/0*.json")))
        score_dataset(summing_bundle, [str(source)], str(out), limits=LIMITS, dask=address)
        killed.join()
    assert complete == [False]
    assert hashes(out) == expected


def test_a_lost_scheduler_leaves_a_run_to_resume(
    summing_bundle: Path, source: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    """Without its scheduler a run ends with an error, without a manifest, and is resumed by any other means."""
    out = tmp_path / "out"
    given: dict[str, Any] = {
        "bundle": summing_bundle,
        "sources": [str(source)],
        "out": str(out),
        "limits": LIMITS,
    }
    with cluster(tmp_path, workers=1) as (address, scheduler):
        killed = in_background(scheduler.kill, when=lambda: list(out.glob("_work/score/0*.json")))
        with pytest.raises(LostWorker, match=r"connection to the scheduler was lost; run .* with --resume"):
            score_dataset(**given, dask=address)
        killed.join()
    assert not (out / "_manifest.json").exists()
    score_dataset(**given, processes=1, resume=True)
    assert hashes(out) == expected


def test_a_scheduler_lost_while_it_sends_a_result(tmp_path: Path) -> None:
    """The connection ends while a result is under way, and later the client is closed: both are reported as lost."""
    with (
        cluster(tmp_path, workers=2) as (address, scheduler),
        Client(address, set_as_default=False, timeout="1s") as client,
    ):
        used = Cluster(client)
        results = used.run(abs, [(-1,), (-2,)])
        assert next(results) in {(0, 1), (1, 2)}
        while any(state.status == "pending" for state in list(client.futures.values())):
            time.sleep(0.01)
        scheduler.send_signal(signal.SIGSTOP)
        threading.Timer(0.5, scheduler.kill).start()
        with pytest.raises(LostWorker, match="connection to the scheduler was lost") as lost:
            next(results)
        assert isinstance(lost.value.__cause__, CommClosedError)
        client.close()
        with pytest.raises(LostWorker, match="connection to the scheduler was lost"):
            list(used.run(abs, [(-1,)]))


def test_other_versions_are_refused(summing_bundle: Path, source: Path, address: str, tmp_path: Path) -> None:
    """One worker has another version of this package and lacks another one: both are named, nothing is written."""
    other = tmp_path / "packages"
    for name, metadata in (
        ("scoring_model-9.dist-info", "Name: scoring-model\nVersion: 9\n"),
        ("numba-0.dist-info", ""),
    ):
        (other / name).mkdir(parents=True)
        (other / name / "METADATA").write_text(metadata)
    out = tmp_path / "out"
    with (
        worker(tmp_path, address, environment={"PYTHONPATH": str(other)}),
        Client(address, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(DifferentVersions) as refused:
            score_dataset(summing_bundle, [str(source)], str(out), limits=LIMITS, dask=address)
    lines = str(refused.value).splitlines()
    assert [line.split(": ", 1)[1] for line in lines[1:]] == [
        f"scoring-model 9, here {version('scoring-model')}",
        f"numba is missing, here {version('numba')}",
    ]
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_an_evaluation_on_workers(
    summing_bundle: Path, small: Path, address: str, tmp_path: Path, capsys: Captured
) -> None:
    """The evaluation of one process, with a history; scored files need no workers."""
    past, late, out = (tmp_path / f"{name}.parquet" for name in ("past", "late", "scored"))
    pq.write_table(pq.read_table(small).slice(0, 2_000), past)
    pq.write_table(pq.read_table(small).slice(2_000, 1_000), late)
    command = ("evaluate", summing_bundle, late, "--history", past, "--json")
    code, _, errors = run(capsys, *command, tmp_path / "here.json")
    assert code == 0, errors
    code, _, errors = run(capsys, *command, tmp_path / "there.json", "--dask", address, "--work", tmp_path)
    assert code == 0, errors
    assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    code, _, errors = run(capsys, *command, tmp_path / "none.json", "--work", tmp_path)
    assert (code, "for --dask alone" in errors) == (2, True)
    assert run(capsys, "score", summing_bundle, late, "--out", out)[0] == 0
    again = ("evaluate", summing_bundle, out, "--labels", late, "--dask", address)
    assert "features: is of no use to a file that was scored earlier" in refused(capsys, *again)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("here.json", "late.parquet", "past.parquet", "scored.parquet", "there.json")
    ]


def test_workers_that_found_other_records(summing_bundle: Path, source: Path, tmp_path: Path) -> None:
    """Rows are given to the records that they were computed of, or to none."""
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(source).slice(0, 50), few)
    scorer = Scorer.load(summing_bundle)
    table = read_records(few, scorer.contents.schema, labelled=False).table
    fewer = table.take(np.arange(1, len(table)))
    with pytest.raises(ValueError, match=r"few\.parquet: the workers found other valid records"):
        dataset_features(scorer, fewer, bundle=summing_bundle, sources=[str(few)], work=tmp_path, processes=1)


def test_a_local_cluster_from_the_command_line(
    summing_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """`--dask local:1` starts a process that scores what `--threads 1` scores, in parts of the same size."""
    command = ("score", summing_bundle, source, "--memory", "2GB", "--out")
    assert run(capsys, *command, f"{tmp_path / 'one'}/", "--threads", 1)[0] == 0
    code, said, errors = run(capsys, *command, f"{tmp_path / 'out'}/", "--dask", "local:1")
    assert code == 0, errors
    assert "1,000 records in" in said
    assert hashes(tmp_path / "out") == hashes(tmp_path / "one")


LOCAL = """
import time
from scoring_model.parallel.cluster import connect

if __name__ == "__main__":
    with connect("local:1"):
        print(flush=True)
        time.sleep(600)
"""


def test_a_local_cluster_ends_with_its_command(tmp_path: Path) -> None:
    """A command that is killed leaves no process of its cluster."""
    script = tmp_path / "local.py"
    script.write_text(LOCAL, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        killed_with_children(process.pid)


def test_a_scheduler_that_cannot_be_reached(
    summing_bundle: Path, source: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Exit code 14, as for lost processes, and nothing is written; another form of address is wrong input."""
    command = ("score", summing_bundle, source, "--out", f"{tmp_path / 'out'}/", "--dask")
    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}):
        code, _, errors = run(capsys, *command, "tcp://127.0.0.1:9")
    assert (code, "the scheduler cannot be reached" in errors) == (14, True)
    code, _, errors = run(capsys, *command, "remote")
    assert (code, "must be like tcp://scheduler:8786 or local:2, got 'remote'" in errors) == (1, True)
    assert not list(tmp_path.iterdir())
