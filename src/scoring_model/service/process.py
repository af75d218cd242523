"""One process that answers requests: it opens the service, answers until it is asked to stop, and closes everything."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

from scoring_model.service.core.faults import log_fault
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.standard_error import install

if TYPE_CHECKING:
    from scoring_model.service.delivering import Requests
    from scoring_model.service.http.settings import HttpSettings
    from scoring_model.service.service import Service
    from scoring_model.service.store import Store

STOPS: Final = (signal.SIGTERM, signal.SIGINT)
_DESCRIPTORS: Final = 256
"""For everything but connections: database, deliveries, files."""
_MICROSECONDS: Final = 1_000_000
_COLLECT_AFTER: Final = 20_000  # objects made and not freed, of the kinds that can be in a cycle


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Cancel the running task when the process is asked to stop. To be entered in the main thread."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # a coroutine runs in one
    for number in STOPS:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in STOPS:
            loop.remove_signal_handler(number)


def serve(settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Open the service and answer requests until SIGTERM or SIGINT, then end what is under way.

    To be called in the main thread, which gets the signals.

    Parameters
    ----------
    settings : ServiceSettings
        Of a prepared database; see `run.prepare`.
    listener : socket.socket
        Already listening: connections that come before `ready` wait.
    ready : callable
        Called once when requests are answered.
    """
    import uvloop

    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt),
    ):
        runner.run(_answer(settings, listener, ready=ready))


async def _answer(settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    with cancelled_by_signals():
        http = _http_settings(settings)
        app, close = await open_application(settings, http)
        from scoring_model.service.http.context import configure
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


def connections_within_descriptors(wanted: int) -> int:
    """Raise the limit on open files to the hard one, and lower the number of connections to what it allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, max(hard - _DESCRIPTORS, hard // 2)))


async def open_application(
    settings: ServiceSettings, http: HttpSettings
) -> tuple[Any, Callable[[], Awaitable[None]]]:
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
            requests = Requests(committed=committed, oldest_waits=lambda: service.queue.oldest_waits)
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
