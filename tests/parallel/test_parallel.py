import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from identity_use import RELAXED_POLICY, relaxed, write_configuration
from running_service import PROGRAM, children, killed_with_children, until
from scoring_model.parallel import HERE, LostWorker, Processes, Workers, in_order, open_workers
from scoring_model.records.layout import MissingColumns


@pytest.fixture(scope="module", params=[None, "local:2"])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Two processes of this machine, and two workers of a cluster."""
    with open_workers(2, request.param) as found:
        yield found


def double(number: int) -> int:
    """The later tasks end first."""
    time.sleep(0.05 * (3 - number % 4))
    return 2 * number


def whose(number: int) -> int:
    """Its process."""
    time.sleep(0.05)
    return os.getpid() if number >= 0 else 0


def fail(columns: tuple[str, ...]) -> None:
    """An error whose class is called with other arguments than it holds."""
    raise MissingColumns(columns, "a.csv")


class Counter:
    """Counts in its process."""

    def __init__(self, begin: int) -> None:
        self._count = begin

    def add(self, number: int) -> tuple[int, int]:
        """The sum so far, and the process."""
        self._count += number
        return self._count, os.getpid()

    def end(self) -> None:
        """End the process."""
        os._exit(3)


def test_results_are_those_of_this_process(workers: Workers) -> None:
    """Each task has its result, whoever ran it, in the order of the tasks or as they end."""
    expected = [(number, 2 * number) for number in range(8)]
    assert list(HERE.run(double, [(number,) for number, _ in expected])) == expected
    assert sorted(workers.run(double, [(number,) for number, _ in expected])) == expected
    assert in_order(workers.run(double, [(number,) for number in range(8)])) == [
        result for _, result in expected
    ]
    assert list(workers.run(double, [])) == []
    assert (workers.processes, workers.objects, workers.is_here) == (2, 2, False)


def test_tasks_are_drawn_as_they_can_run(workers: Workers) -> None:
    """Never more tasks are drawn than run at once and than have been used; the first ones run in two processes."""
    drawn = used = 0

    def tasks() -> Iterator[tuple[int]]:
        nonlocal drawn
        for number in range(9):
            drawn += 1
            assert drawn - used <= 2
            yield (number,)

    found = set()
    for _, process in workers.run(whose, tasks()):
        assert process != os.getpid()
        found.add(process)
        used += 1
    assert (drawn, used, len(found)) == (9, 9, 2)


def test_one_task_runs_here() -> None:
    """A single task, or a single process, needs no new one."""
    before = multiprocessing.active_children()
    with Processes(2) as workers:
        assert list(workers.run(whose, [(1,)])) == [(0, os.getpid())]
    with HERE.create(Counter, 1) as (counter,):
        assert counter.call("add", 2) == (3, os.getpid())
    assert {process for _, process in HERE.run(whose, [(1,), (2,)])} == {os.getpid()}
    assert multiprocessing.active_children() == before


def test_errors_arrive_as_they_were_raised(workers: Workers) -> None:
    """With the same text and attributes, and a note that names the task; the workers can be used again."""
    with pytest.raises(MissingColumns, match="in the task fail of a worker") as raised:
        list(workers.run(fail, [(("x", "y"),), (("x", "y"),)]))
    assert (str(raised.value), raised.value.problems) == ("a.csv: x; y", ("x", "y"))
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '/absent'"):
        list(workers.run(os.stat, [("/absent",), ("/absent",)]))
    assert in_order(workers.run(double, [(1,), (2,)])) == [2, 4]


def test_a_process_that_ends_is_reported() -> None:
    """A process that is killed, in a task or with its object, is an error that says what to do; the others go on."""
    before = set(multiprocessing.active_children())
    with (
        Processes(2) as workers,
        pytest.raises(LostWorker, match=r"code 3.*; run the same command again with --resume"),
    ):
        list(workers.run(os._exit, [(3,), (3,)]))
    with Processes(2).create(Counter, 0) as (first, second):
        with pytest.raises(LostWorker, match="code 3"):
            first.call("end")
        with pytest.raises(LostWorker, match="code 3"):
            first.call("add", 1)
        assert second.call("add", 1)[0] == 1
    assert set(multiprocessing.active_children()) == before


def test_objects_keep_what_they_know(workers: Workers) -> None:
    """One for each worker, in a process of its own, until the end of the block."""
    with workers.create(Counter, 10) as counters:
        assert [counter.call("add", 1)[0] for counter in counters] == [11, 11]
        again = [counter.call("add", 1) for counter in counters]
    assert [count for count, _ in again] == [12, 12]
    assert len({os.getpid(), *(process for _, process in again)}) == 3
    with workers.create(Counter, 0) as (counter, _):
        assert counter.call("add", 5)[0] == 5


def test_an_abandoned_run_ends_its_tasks() -> None:
    """Tasks under way whose results nobody uses do not delay the next run."""
    with Processes(2) as workers:
        results = workers.run(time.sleep, [(0.0,), (600.0,)])
        assert next(results) == (0, None)
        results.close()  # type: ignore[attr-defined]  # a generator
        assert in_order(workers.run(double, [(1,), (2,)])) == [2, 4]


WORKING = """
import sys, time
from scoring_model.parallel import open_workers

if __name__ == "__main__":
    with open_workers(2, sys.argv[1] or None) as workers:
        list(workers.run(time.sleep, [(600,), (600,)]))
"""


def features(bundle: Path, files: list[Path], out: Path) -> list[object]:
    """An export of features into a folder."""
    return [PROGRAM, "features", bundle, *files, "--out", f"{out}/", "--threads", 2]


def training(text: str, files: list[Path], out: Path) -> list[object]:
    """A training with two processes."""
    use = write_configuration(out.parent, text)
    return [PROGRAM, "train", *files, "--config", use, "--out", out, "--threads", 2, "--processes", 2]


@pytest.mark.parametrize("name", ["processes", "local:2", "features", "thinned", "search"])
def test_workers_end_with_a_killed_command(name: str, sealed: Path, small: Path, tmp_path: Path) -> None:
    """Processes of this machine, and those of a cluster that the command started, in the middle of a task."""
    records, files = pq.read_table(small), [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, start in zip(files, (0, 2_500), strict=True):
        pq.write_table(records.slice(start, 2_500), path)
    out, use = tmp_path / "out", relaxed()
    commands: dict[str, list[object]] = {
        "processes": [sys.executable, "-c", WORKING, ""],
        "local:2": [sys.executable, "-c", WORKING, "local:2"],
        "features": features(sealed, files, out),
        "thinned": training(use.replace("  tuned:", "  thinning: {genuine: 0.5}\n  tuned:"), files, out),
        "search": training(use[: use.index("  tuned:")] + RELAXED_POLICY, files, out),
    }
    command = [str(word) for word in commands[name]]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: len(children(process.pid)) > 2, "two workers and what watches their resources")
        time.sleep(1)  # their tasks begin
        killed_with_children(process.pid)
    assert process.returncode == -signal.SIGKILL
