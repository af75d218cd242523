"""Several processes on one socket: a supervisor that starts them, restarts them when they end, and stops them.

Run as a program this module is one of those processes. It reads its settings as a line of JSON from standard input,
whose end asks it to stop, and writes `READY` to standard output once it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Final

from scoring_model.service.core.faults import log_notice
from scoring_model.service.process import cancelled_by_signals, serve
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.standard_error import is_explained, text_of

READY: Final = b"ready\n"

FIRST_WAIT: Final = 0.5
"""Seconds until a worker that ended is started again; each further wait doubles the one before."""
LONGEST_WAIT: Final = 30.0
STEADY: Final = 60.0
"""Seconds after which a worker that ends is waited for as if it were the first time."""
KILL_AFTER: Final = 5.0
"""Seconds beyond the grace of the settings after which a worker that does not stop is killed."""

_MICROSECONDS: Final = 1_000_000


class WorkerFailed(ValueError):
    """A worker ended before it ever answered, so that starting it again would be of no use."""


def supervise(settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Keep `settings.workers` processes answering until SIGTERM or SIGINT, then stop them.

    Parameters
    ----------
    settings : ServiceSettings
        Of a prepared database; see `run.prepare`.
    listener : socket.socket
        Already listening; every worker inherits it.
    ready : callable
        Called once when all workers answer for the first time.

    Raises
    ------
    WorkerFailed
        If one ended before it answered for the first time. Standard error has its reason. The others are stopped.
    """
    asyncio.run(_supervise(settings, listener, ready))


async def _supervise(settings: ServiceSettings, listener: socket.socket, ready: Callable[[], None]) -> None:
    answering = [asyncio.Event() for _ in range(settings.workers)]
    failed = None
    with cancelled_by_signals():
        try:
            async with asyncio.TaskGroup() as group:
                for first in answering:
                    group.create_task(_keep_alive(settings, listener, first))
                for first in answering:
                    await first.wait()
                ready()
        except* WorkerFailed as failures:
            failed = failures.exceptions[0]
        except* asyncio.CancelledError:
            pass
    if failed is not None:
        raise failed


async def _keep_alive(settings: ServiceSettings, listener: socket.socket, first: asyncio.Event) -> None:
    """Start a worker, wait for its end, start it again; when cancelled, stop it."""
    loop, wait = asyncio.get_running_loop(), FIRST_WAIT
    while True:
        began = loop.time()
        process = await _start(settings, listener)
        try:
            code = await _watch(process, first)
        except asyncio.CancelledError:
            listener.close()  # nobody is to wait there once the workers have closed it
            await _stop(process, settings)
            raise
        if not first.is_set():
            raise WorkerFailed(f"a worker ended with {code} before it answered")
        if loop.time() - began >= STEADY:
            wait = FIRST_WAIT
        log_notice(f"worker {process.pid} ended with {code}; another one starts in {wait:g} s")
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


async def _start(settings: ServiceSettings, listener: socket.socket) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scoring_model.service.workers", str(listener.fileno())),
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=(listener.fileno(),),
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which stops each worker once
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(settings.to_plain()).encode() + b"\n")
    return process


async def _watch(process: Process, first: asyncio.Event) -> int:
    assert process.stdout is not None
    if await process.stdout.readline() == READY:
        first.set()
    return await process.wait()


async def _stop(process: Process, settings: ServiceSettings) -> None:
    """Stop a worker: requests get their grace, then attempts of deliveries get theirs."""
    grace = settings.shutdown_notice + (1 + settings.deliver) * settings.shutdown_grace
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), grace / _MICROSECONDS + KILL_AFTER)
    except TimeoutError:
        log_notice(f"worker {process.pid} did not stop in time and is killed")
        process.kill()
        await process.wait()


def main() -> int:
    """Answer on the socket whose descriptor is the argument.

    Returns
    -------
    int
        Exit code: 0 stopped as asked; 1 it could not start, as standard error says.
    """
    listener = socket.socket(fileno=int(sys.argv[1]))
    try:
        settings = ServiceSettings.from_plain(json.loads(sys.stdin.buffer.readline()))
        threading.Thread(target=_stop_with_supervisor, daemon=True).start()
        serve(settings, listener, ready=_report_ready)
    except Exception as error:
        if not is_explained(error):
            traceback.print_exc()
        print(f"error: {text_of(error)}", file=sys.stderr)
        return 1
    return 0


def _stop_with_supervisor() -> None:
    """Stop as SIGTERM does when standard input ends: the supervisor is gone, however it ended."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _report_ready() -> None:
    os.write(1, READY)
    os.dup2(2, 1)  # what is printed from now on belongs to the log


if __name__ == "__main__":
    sys.exit(main())
