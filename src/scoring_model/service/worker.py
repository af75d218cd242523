"""One process that answers requests: the only one, or one of those that a supervisor looks after."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

from scoring_model.service.core.faults import log_fault
from scoring_model.service.descriptors import connections_within_descriptors
from scoring_model.service.failures import is_told, text_of
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.standard_error import install
from scoring_model.service.stopping import cancelled_by_signals

if TYPE_CHECKING:
    from scoring_model.service.core.store import Store
    from scoring_model.service.delivering import Requests
    from scoring_model.service.http.settings import HttpSettings
    from scoring_model.service.service import Service

READY: Final = b"ready\n"
"""What a worker says on standard output once it answers."""
_MICROSECONDS: Final = 1_000_000
_COLLECT_AFTER: Final = 20_000  # objects made and not freed, of the kinds that can be in a cycle


def serve(
    settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None], watch: int | None = None
) -> None:
    """Open the service and answer requests until SIGTERM or SIGINT, then end what is under way.

    To be called in the main thread, which gets the signals.

    Parameters
    ----------
    settings : ServiceSettings
        Of a prepared database; see `runner.prepare`.
    listener : socket.socket
        Already listening: what comes before `ready` waits.
    ready : callable
        Called once when requests are answered.
    watch : int, optional
        Descriptor whose end asks the process to stop, as SIGTERM does.
    """
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if watch is not None:
            _stop_at_end_of(watch, runner.get_loop())
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            runner.run(_answer(settings, listener, ready=ready))


async def _answer(settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    with cancelled_by_signals():
        http = _http_settings(settings)
        app, close = await _open(settings, http)
        from scoring_model.service.http.logs import configure
        from scoring_model.service.http.server import run

        configure()
        install()
        freeze_gc()
        ready()
        # From its first step on the server handles the signals itself.
        grace, notice = (settings.shutdown_grace / _MICROSECONDS, settings.shutdown_notice / _MICROSECONDS)
        try:
            await run(app, http, sockets=[listener], close=close, grace_seconds=grace, notice_seconds=notice)
        except Exception as error:
            log_fault("serving", error)
            raise SystemExit(1) from None


def _http_settings(settings: ServiceSettings) -> HttpSettings:
    from scoring_model.service.http.settings import HttpSettings

    return HttpSettings(
        trusted_proxies=settings.networks,
        max_connections=connections_within_descriptors(settings.max_connections),
        max_connections_per_address=settings.max_connections_per_address,
        head_seconds=settings.head_timeout / _MICROSECONDS,
        body_seconds=settings.body_timeout / _MICROSECONDS,
        write_seconds=settings.write_timeout / _MICROSECONDS,
        access_log=settings.request_log,
    )


async def _open(settings: ServiceSettings, http: HttpSettings) -> tuple[Any, Callable[[], Awaitable[None]]]:
    """Open store, service and deliverer; return the application, and what closes all of them."""
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.delivering import Requests
    from scoring_model.service.delivery.watched_store import WatchedStore
    from scoring_model.service.http import create_app
    from scoring_model.service.store import open_store

    opened = contextlib.AsyncExitStack()
    try:
        store = await open_store(settings.database)
        opened.push_async_callback(store.close)
        committed = asyncio.Event()
        watched = WatchedStore(store, committed.set) if settings.deliver else store
        service = await _open_service(settings, watched)
        opened.push_async_callback(service.close)
        if settings.deliver:
            requests = Requests(committed=committed, oldest_waits=lambda: service.oldest_waits)
            await opened.enter_async_context(_delivering(settings, store, requests))
        return create_app(service, http, clock=SystemClock()), opened.aclose
    except BaseException:
        await opened.aclose()
        raise


async def _open_service(settings: ServiceSettings, store: Store) -> Service:
    from scoring_model.bundle.seal import load_public_key
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.scoring.commit_queue import QueueLimits
    from scoring_model.service.service import open_service

    return await open_service(
        store,
        bundle=settings.bundle,
        public_key=None if settings.public_key is None else load_public_key(settings.public_key),
        keyring=lambda: load_master_keys(settings.master_source),
        clock=SystemClock(),
        limits=QueueLimits(
            batch=settings.max_batch,
            waiting=settings.queue_limit,
            wait_seconds=settings.queue_wait / _MICROSECONDS,
            scoring_seconds=settings.scoring_timeout / _MICROSECONDS,
            commit_seconds=settings.commit_timeout / _MICROSECONDS,
        ),
        development=settings.development,
    )


def _delivering(
    settings: ServiceSettings, store: Store, requests: Requests
) -> AbstractAsyncContextManager[object]:
    from scoring_model.service.delivering import delivering

    grace = settings.shutdown_grace / _MICROSECONDS
    return delivering(store, settings.master_source, settings.egress, grace_seconds=grace, beside=requests)


def freeze_gc() -> None:
    """Spare the collector what lives as long as the process, and let it look for cycles less often.

    What a request leaves behind is freed by reference counts; looking for more took a tenth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)


def _stop_at_end_of(descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
    def readable() -> None:
        if not os.read(descriptor, 1024):
            loop.remove_reader(descriptor)
            os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(descriptor, readable)


def _settings_of(descriptor: int) -> ServiceSettings:
    """Read the line of settings that a supervisor writes, and nothing after it."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 65536)
        if not piece:
            raise EOFError("the supervisor is gone")
        line += piece
    return ServiceSettings.from_plain(json.loads(line))


def _tell_ready() -> None:
    os.write(1, READY)
    os.dup2(2, 1)  # what is printed from now on belongs to the log


def main() -> int:
    """Answer on the socket whose descriptor is the argument, with the settings that standard input gives.

    Returns
    -------
    int
        Exit code: 0 stopped as asked; 1 it could not start, as standard error says.
    """
    listener = socket.socket(fileno=int(sys.argv[1]))
    try:
        serve(_settings_of(0), listener, ready=_tell_ready, watch=0)
    except Exception as error:
        if not is_told(error):
            traceback.print_exc()
        print(f"error: {text_of(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
