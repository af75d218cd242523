"""A Dask scheduler and its workers as processes of their own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

DASK = Path(sys.executable).with_name("dask")

UNPROFILED: Final = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Otherwise every worker looks a hundred times a second at what it does, for a page that nobody opens."""

Process = subprocess.Popen[bytes]


@contextmanager
def _process(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """Run a command of Dask in a folder, until the block ends."""
    with (folder / "dask.log").open("ab") as log:
        settings = {**os.environ, **UNPROFILED, **(environment or {})}
        started = subprocess.Popen([DASK, *arguments], cwd=folder, env=settings, stdout=log, stderr=log)
    try:
        yield started
    finally:
        started.kill()
        started.wait(60)


@contextmanager
def worker(folder: Path, address: str, *, environment: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Start a worker of one thread, which nobody starts again when it is killed."""
    options = [
        "--no-nanny",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--memory-limit",
        "0",
        "--local-directory",
        ".",
    ]
    with _process(folder, "worker", address, *options, environment=environment) as started:
        yield started


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, Process]]:
    """Start a scheduler and workers: its address and its process."""
    file = folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with (
        _process(folder, "scheduler", *options, "--scheduler-file", file.name) as scheduler,
        ExitStack() as stack,
    ):
        deadline = time.monotonic() + 60
        # The scheduler makes the file before it writes it.
        while not (file.exists() and file.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        for _ in range(workers):
            stack.enter_context(worker(folder, address))
        yield address, scheduler
