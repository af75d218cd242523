"""Assign cores to processes and measure the CPU time and memory that they use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OWN: Final = slice(11, 13)  # utime and stime, counted from the field after the name
_WITH_CHILDREN: Final = slice(11, 15)  # the same with those of ended children


def two_cores() -> tuple[int, int]:
    """Two cores that this process may use: one for the server under test, one for everything else."""
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


def cpu_seconds(pid: int) -> float:
    """CPU time that all threads of a process have used so far."""
    return sum(_times(pid)[_OWN]) / _TICKS


def cpu_seconds_of_tree(pid: int) -> float:
    """CPU time of a process and its children, including ended ones."""
    return sum(_times(pid)[_WITH_CHILDREN]) / _TICKS + sum(map(cpu_seconds, _children(pid)))


def resident_mebibytes(pid: int) -> float:
    """Current resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def _times(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # the child has ended: its parent counts its time
        return []
    fields = text.rpartition(")")[2].split()
    return [int(field) if field.lstrip("-").isdigit() else 0 for field in fields]


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]
