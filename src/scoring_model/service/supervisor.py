"""The process that starts several workers on one socket, starts them again when they end, and stops them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from scoring_model.service.settings import ServiceSettings
from scoring_model.service.stopping import STOPS
from scoring_model.service.worker import READY

_MICROSECONDS: Final = 1_000_000


class WorkerFailed(ValueError):
    """A worker ended before it ever answered, so that starting it again would be of no use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long a supervisor waits, in seconds.

    Parameters
    ----------
    first, longest : float
        Before a worker that ended is started again: the first time, and at most. Each wait doubles the one before.
    steady : float
        After a life of this length the next wait is the first one again.
    beyond_grace : float
        After the grace that workers have to stop in, before they are killed.
    """

    first: float = 0.5
    longest: float = 30.0
    steady: float = 60.0
    beyond_grace: float = 5.0


def supervise(
    settings: ServiceSettings,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    report: Callable[[str], None],
    patience: Patience | None = None,
) -> None:
    """Keep `settings.workers` processes answering until SIGTERM or SIGINT, which they are stopped by in turn.

    Parameters
    ----------
    settings : ServiceSettings
        Of a prepared database; see `runner.prepare`.
    listener : socket.socket
        Already listening; every worker inherits it.
    ready : callable
        Called once when all workers answer for the first time.
    report : callable
        Called when a worker ends without having been asked to.
    patience : Patience, optional

    Raises
    ------
    WorkerFailed
        If one ended before it answered for the first time. Standard error has its reason. The others are stopped.
    """
    supervisor = _Supervisor(settings, listener, report, patience or Patience())
    asyncio.run(supervisor.run(ready))


class _Supervisor:
    def __init__(
        self,
        settings: ServiceSettings,
        listener: socket.socket,
        report: Callable[[str], None],
        patience: Patience,
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._report = report
        self._patience = patience
        self._stop = asyncio.Event()
        self._failed: int | None = None

    async def run(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in STOPS:
            loop.add_signal_handler(number, self._stop.set)
        letting_go = loop.create_task(self._let_go())
        answering = [asyncio.Event() for _ in range(self._settings.workers)]
        async with asyncio.TaskGroup() as group:
            for first in answering:
                group.create_task(self._keep(first))
            group.create_task(self._announce(answering, ready))
        await letting_go
        if self._failed is not None:
            raise WorkerFailed(f"a worker ended with {self._failed} before it answered")

    async def _let_go(self) -> None:
        """Leave the socket to the workers when the end comes: nobody shall wait there once they have closed it."""
        await self._stop.wait()
        self._listener.close()

    async def _announce(self, answering: list[asyncio.Event], ready: Callable[[], None]) -> None:
        """Report that all workers answer, unless the end comes before."""
        for first in answering:
            await self._unless_stopped(first.wait())
        if not self._stop.is_set():
            ready()

    async def _keep(self, first: asyncio.Event) -> None:
        """Keep one worker alive: start it, wait for its end, start it again."""
        loop, wait = asyncio.get_running_loop(), self._patience.first
        while not self._stop.is_set():
            began = loop.time()
            process = await self._start()
            code = await self._watch(process, first)
            if self._stop.is_set():
                return
            if not first.is_set():
                self._failed = code
                self._stop.set()
                return
            if loop.time() - began >= self._patience.steady:
                wait = self._patience.first
            self._report(f"worker {process.pid} ended with {code}; another one starts in {wait:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), wait)
            wait = min(2 * wait, self._patience.longest)

    async def _start(self) -> Process:
        descriptor = self._listener.fileno()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "scoring_model.service.worker", str(descriptor)),
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=(descriptor,),
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which stops each worker once
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self._settings.to_plain()).encode() + b"\n")
        return process

    async def _watch(self, process: Process, first: asyncio.Event) -> int:
        """Wait until a worker ends, by itself or because it was asked to."""
        hello = asyncio.ensure_future(self._hear(process, first))
        try:
            await self._unless_stopped(process.wait())
            if process.returncode is None:
                await self._end(process)
            return await process.wait()
        finally:
            hello.cancel()
            if process.returncode is None:  # this task was cancelled
                process.kill()

    async def _hear(self, process: Process, first: asyncio.Event) -> None:
        assert process.stdout is not None
        if await process.stdout.readline() == READY:
            first.set()

    async def _end(self, process: Process) -> None:
        """Ask a worker to stop, and kill it when it does not."""
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        settings = self._settings
        # Requests first, then attempts of deliveries.
        graces = settings.shutdown_notice + (1 + settings.deliver) * settings.shutdown_grace
        grace = graces / _MICROSECONDS + self._patience.beyond_grace
        try:
            await asyncio.wait_for(process.wait(), grace)
        except TimeoutError:
            self._report(f"worker {process.pid} did not stop in time and is killed")
            process.kill()

    async def _unless_stopped(self, awaited: Coroutine[Any, Any, object]) -> None:
        """Wait for something, or for the end of everything."""
        either = {asyncio.ensure_future(awaited), asyncio.ensure_future(self._stop.wait())}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in either:
                waiting.cancel()
