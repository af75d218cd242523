"""Processes under measurement: their cores, CPU time and memory; `serve`; peers in environments of their own."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from running_service import PROGRAM, Running, children, running

RESOLVED_ON: Final = "2026-11-01"
"""Indirect requirements of peers are resolved as of that day."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_TIMES: Final = slice(11, 15)  # user and system time, own and of ended children, after the name
_SAMPLED_EVERY: Final = 0.1


@cache
def two_cores() -> tuple[int, int]:
    """Two cores that this process may use at first: one for the server under test, one for everything else."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("this benchmark needs two cores: one serves, the other makes the load")
    return cores[0], cores[1]


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Pin this process, and the processes that it starts meanwhile, to one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    return [pid, *(one for child in children(pid) for one in tree(child))]


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its descendants, ended ones included."""
    total = 0
    for one in tree(pid):
        with suppress(OSError):  # it has ended: its parent counts its time
            fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            total += sum(map(int, fields[_TIMES]))
    return total / _TICKS


def resident_mebibytes(pid: int) -> float:
    """Current resident memory of one process."""
    return _kibibytes(pid, "status", "VmRSS:") / 1024


def _kibibytes(pid: int, file: str, name: str) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
    return 0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A finished command: seconds, CPU seconds and peak gigabytes of all its processes, and its standard output.

    Memory is sampled; of pages that processes share each counts its part (PSS).
    """

    seconds: float
    cpu: float
    gigabytes: float
    output: str


def run_program(*words: object) -> Measured:
    """Run `scoring-model` to its end; exit if it fails."""
    started, before, peak = time.perf_counter(), _cpu_of_children(), 0
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen([PROGRAM, *map(str, words)], stdout=output) as process:
            while process.poll() is None:
                peak = max(peak, sum(_kibibytes(one, "smaps_rollup", "Pss:") for one in tree(process.pid)))
                time.sleep(_SAMPLED_EVERY)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"scoring-model {words[0]} ended with {process.returncode}")
        output.seek(0)
        cpu = _cpu_of_children() - before
        return Measured(seconds=seconds, cpu=cpu, gigabytes=peak * 1024 / 1e9, output=output.read())


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def serving(folder: Path, *words: object, bundle: Path, database: str, master_key: str) -> Iterator[Running]:
    """Serve on the first of `two_cores`, with default settings except for `words`; the log is in the folder."""
    with on_core(two_cores()[0]):
        started = running(
            folder, "--bundle", bundle, "--database", database, "--master-key", master_key, *words
        )
        service = started.__enter__()
    try:
        yield service
        service.stop()
    finally:
        started.__exit__(None, None, None)


def run_peer(place: Path, requirements: Sequence[str], program: str, *arguments: object) -> Any:
    """Run a program in an environment of its own; returns the JSON of the last line that it prints.

    `place` is the folder of the environment, which is created once, and `requirements` are exact versions.
    """
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise SystemExit("this benchmark needs uv, which creates environments: pip install uv")
    python = str(place.resolve() / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place], check=True)
    words = [uv, "pip", "install", "--quiet", "--exclude-newer", RESOLVED_ON, "--python", python]
    subprocess.run([*words, *requirements], check=True)
    call = [python, "-W", "ignore", "-c", program, *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{place.name}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])
