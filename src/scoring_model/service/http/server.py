"""The HTTP server of one process."""

import asyncio
import contextlib
import select
import signal
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp

from scoring_model.service.core.clock import SystemClock
from scoring_model.service.http.application import LEAVING
from scoring_model.service.http.connections import Connections
from scoring_model.service.http.context import RequestLog
from scoring_model.service.http.protocol import Protocol
from scoring_model.service.http.settings import HttpSettings

KEEP_ALIVE_SECONDS: Final = 75
"""Idle timeout of a connection: longer than that of load balancers, so that they close first."""

CANCEL_GRACE: Final = 1.0
"""Last seconds of the grace period, at most a quarter of it, in which cancelled requests answer their clients."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


ACCEPT_SECONDS: Final = 1.0
"""Seconds for which a stopping server goes on to accept connections that wait."""

READ_SECONDS: Final = 0.05
"""Seconds in which a stopping server reads what has arrived; the event loop polls once at least."""


class _Server(uvicorn.Server):
    """Leaves signals to `run`, which continues after the last response, and ends within the grace period."""

    def __init__(self, config: uvicorn.Config, grace_seconds: float) -> None:
        super().__init__(config)
        self._grace = grace_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Read what was sent before the signal, then accept nothing more and finish the open requests.

        libuv accepts one connection an iteration (libuv pull request 3696): those that wait when the listener is
        closed would be reset.
        """
        loop, waiting = asyncio.get_running_loop(), select.poll()
        for one in sockets or ():
            waiting.register(one, select.POLLIN)
        began = loop.time()
        while loop.time() < began + min(ACCEPT_SECONDS, self._grace / 2) and waiting.poll(0):
            await asyncio.sleep(0)
        await asyncio.sleep(READ_SECONDS)
        left = began + self._grace - min(CANCEL_GRACE, self._grace / 4) - loop.time()
        self.config.timeout_graceful_shutdown = cast(int, max(0.0, left))
        await super().shutdown(sockets)


async def run(
    app: ASGIApp,
    settings: HttpSettings,
    *,
    sockets: list[socket.socket],
    close: Callable[[], Awaitable[None]],
    grace_seconds: float,
    notice_seconds: float = 0.0,
) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish the open ones.

    Parameters
    ----------
    sockets : list of socket
        Bound; closed at the end.
    close : callable
        Awaited after the last response, however the server ends.
    grace_seconds : float
        Time within which open requests end; above 0. Those that take longer are cancelled `CANCEL_GRACE` before its
        end; a second signal cancels them immediately.
    notice_seconds : float
        Time after the signal in which the process still accepts connections but reports that it is not ready, so that
        load balancers send them elsewhere.
    """
    protocol = partial(
        Protocol,
        settings=settings,
        connections=Connections(settings),
        log=RequestLog(SystemClock(), enabled=settings.access_log),
    )
    config = uvicorn.Config(
        app,
        http=cast(Any, protocol),  # uvicorn only calls it: it need not be a class
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=cast(int, grace_seconds),  # uvicorn only waits for so long
    )
    server = _Server(config, grace_seconds)
    with _stopped_by_signals(server, notice_seconds):
        try:
            await server.serve(sockets=sockets)
            await _ended(server)
        finally:
            await close()


@contextlib.contextmanager
def _stopped_by_signals(server: uvicorn.Server, notice_seconds: float) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        state = server.lifespan.state  # visible to every request
        server.force_exit = LEAVING in state
        state[LEAVING] = True
        if server.force_exit or not notice_seconds:
            end()
        else:
            loop.call_later(notice_seconds, end)

    def end() -> None:
        server.should_exit = True

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _ended(server: uvicorn.Server) -> None:
    """Wait for cancelled requests, which release their resources before anything is closed."""
    tasks = set(server.server_state.tasks)
    if server.force_exit:  # otherwise they have been cancelled
        _cancel(tasks)
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=CANCEL_GRACE)
        _cancel(late)
        await asyncio.gather(*late, return_exceptions=True)


def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
