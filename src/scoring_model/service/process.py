"""One process that answers requests, or several on one socket under a supervisor.

Run as a program, this module is a worker. It reads its settings as a line of JSON from standard input, writes `READY`
to standard output once it answers, and stops when standard input ends.

Decision record: docs/adr/0029-serving-processes.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from scoring_model.contract.units import SECOND
from scoring_model.service.core.faults import log_fault, log_notice
from scoring_model.service.core.metrics import Slots, count_verifications, enter_slot
from scoring_model.service.core.rows import EventRow, Row, VerificationRow
from scoring_model.service.core.stop_signals import cancelled_by_signals
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.standard_error import install, is_explained, text_of
from scoring_model.worker_process import show_faults

if TYPE_CHECKING:
    from scoring_model.service.http.settings import HttpSettings
    from scoring_model.service.requests.commit_queue import QueueLimits
    from scoring_model.service.store import Store

_DESCRIPTORS: Final = 256
"""File descriptors for everything but connections: database, deliveries, files."""
_COLLECT_AFTER: Final = 20_000  # net allocations of objects that can be in a cycle

READY: Final = b"ready\n"

Beside = Callable[["Store"], AbstractAsyncContextManager[None]]
"""A context that is open while a store is."""

FIRST_WAIT: Final = 0.5
"""Seconds until an ended worker is restarted; doubles with each restart."""
LONGEST_WAIT: Final = 30.0
STEADY: Final = 60.0
"""Uptime in seconds after which the restart wait is reset."""
KILL_AFTER: Final = 5.0
"""Seconds beyond the configured grace after which a worker that does not stop is killed."""


def alone(_store: Store) -> AbstractAsyncContextManager[None]:
    """Do nothing beside."""
    return contextlib.nullcontext()


def serve(
    settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None], beside: Beside
) -> None:
    """Open the service and answer requests until SIGTERM or SIGINT, then finish the open ones.

    Call it in the main thread, which gets the signals, after `run.prepare`. Connections that arrive before `ready` is
    called wait. `beside` is open while the store is.
    """
    import uvloop

    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt),
    ):
        runner.run(_answer(settings, listener, ready=ready, beside=beside))


async def _answer(
    settings: ServiceSettings, listener: socket.socket, *, ready: Callable[[], None], beside: Beside
) -> None:
    with cancelled_by_signals():
        from scoring_model.service.http.context import configure
        from scoring_model.service.http.server import run
        from scoring_model.service.http.settings import HttpSettings

        http = HttpSettings(
            basic_auth=settings.basic_auth,
            trusted_proxies=settings.networks,
            max_connections=connections_within_descriptors(settings.max_connections),
            max_connections_per_address=settings.max_connections_per_address,
            head_seconds=settings.head_timeout / SECOND,
            body_seconds=settings.body_timeout / SECOND,
            write_seconds=settings.write_timeout / SECOND,
            access_log=settings.request_log,
        )
        app, close = await open_application(settings, http, beside=beside)
        configure()
        install()
        freeze_gc()
        ready()
        # Once started, the server handles the signals itself.
        grace, notice = (settings.shutdown_grace / SECOND, settings.shutdown_notice / SECOND)
        try:
            await run(app, http, sockets=[listener], close=close, grace_seconds=grace, notice_seconds=notice)
        except Exception as error:
            log_fault("serving", error)
            raise SystemExit(1) from None


def connections_within_descriptors(wanted: int) -> int:
    """Raise the limit on open files to the hard limit; returns the connections that it allows, at most `wanted`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, max(hard - _DESCRIPTORS, hard // 2)))


async def open_application(
    settings: ServiceSettings, http: HttpSettings, *, beside: Beside = alone
) -> tuple[Any, Callable[[], Awaitable[None]]]:
    """Open store, service and deliverer; returns the application and a function that closes all of them."""
    from scoring_model.bundle.seal import load_public_key
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.delivery.delivering import Requests, WatchedStore, delivering
    from scoring_model.service.http import create_app
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.service import open_service
    from scoring_model.service.store import open_store

    clock, committed, opened = SystemClock(), asyncio.Event(), contextlib.AsyncExitStack()
    try:
        store = await open_store(settings.database)
        opened.push_async_callback(store.close)
        await opened.enter_async_context(beside(store))
        service = await open_service(
            WatchedStore(store, partial(note_rows, committed)),
            bundle=settings.bundle,
            bundles=settings.shelf,
            public_key=None if settings.public_key is None else load_public_key(settings.public_key),
            keyring=lambda: load_master_keys(settings.master_source),
            clock=clock,
            limits=_queue_limits(settings),
            development=settings.development,
            links_kept_for=settings.links_kept_for,
        )
        opened.push_async_callback(service.close)
        if settings.deliver:
            grace = settings.shutdown_grace / SECOND
            requests = Requests(committed=committed, oldest_waits=lambda: service.queue.oldest_waits)
            await opened.enter_async_context(
                delivering(
                    store, settings.master_source, settings.egress, grace_seconds=grace, beside=requests
                )
            )
        return create_app(service, http, clock=clock), opened.aclose
    except BaseException:
        await opened.aclose()
        raise


def note_rows(waiting: asyncio.Event, rows: Sequence[Row]) -> None:
    """Note rows of one kind that were committed: events that wait for delivery, and verifications."""
    match rows[0]:
        case EventRow():
            if any(cast(EventRow, row).waiting for row in rows):
                waiting.set()
        case VerificationRow():
            count_verifications(cast("Sequence[VerificationRow]", rows))


def _queue_limits(settings: ServiceSettings) -> QueueLimits:
    from scoring_model.service.requests.commit_queue import QueueLimits

    return QueueLimits(
        batch=settings.max_batch,
        waiting=settings.queue_limit,
        wait_seconds=settings.queue_wait / SECOND,
        scoring_seconds=settings.scoring_timeout / SECOND,
        commit_seconds=settings.commit_timeout / SECOND,
    )


def freeze_gc() -> None:
    """Exclude long-lived objects from garbage collection, and collect cycles less often.

    Reference counts free the objects of a request; collecting cycles took a tenth of its time. It also took a tenth of
    the start, which leaves less than a megabyte of them: there is no collection before this one.
    """
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    gc.enable()


class WorkerFailed(ValueError):
    """A worker ended before it ever answered, so that a restart would not help."""


def supervise(
    settings: ServiceSettings,
    listener: socket.socket,
    slots: Slots,
    *,
    ready: Callable[[], None],
    beside: Beside | None,
) -> None:
    """Keep `settings.workers` processes answering until SIGTERM or SIGINT, then stop them.

    Every worker inherits the listener, and counts in its slot; `ready` is called when all of them answer for the first
    time. `beside` needs a store, which is opened for it.

    Raises
    ------
    WorkerFailed
        If a worker ended before it first answered; it wrote the reason to standard error. The others are stopped.
    """
    asyncio.run(_supervise(settings, listener, slots, ready, beside))


@contextlib.asynccontextmanager
async def _opened(database: str, beside: Beside | None) -> AsyncIterator[None]:
    from scoring_model.service.store import open_store

    if beside is None:
        yield
        return
    store = await open_store(database, connections=1)
    try:
        async with beside(store):
            yield
    finally:
        await store.close()


async def _supervise(
    settings: ServiceSettings,
    listener: socket.socket,
    slots: Slots,
    ready: Callable[[], None],
    beside: Beside | None,
) -> None:
    answering = [asyncio.Event() for _ in range(settings.workers)]
    failed = None
    with cancelled_by_signals():
        try:
            async with _opened(settings.database, beside), asyncio.TaskGroup() as group:
                for number, first in enumerate(answering):
                    inherited = (listener.fileno(), slots.descriptor, number)
                    group.create_task(_keep_alive(settings, listener, inherited, first))
                for first in answering:
                    await first.wait()
                ready()
        except* WorkerFailed as failures:
            failed = failures.exceptions[0]
        except* asyncio.CancelledError:
            pass
    if failed is not None:
        raise failed


async def _keep_alive(
    settings: ServiceSettings, listener: socket.socket, inherited: tuple[int, int, int], first: asyncio.Event
) -> None:
    """Start a worker and restart it whenever it ends; when cancelled, stop it."""
    loop, wait = asyncio.get_running_loop(), FIRST_WAIT
    while True:
        began = loop.time()
        process = await _start(settings, inherited)
        try:
            code = await _watch(process, first)
        except asyncio.CancelledError:
            listener.close()  # no client must wait on it once the workers have closed it
            await _stop(process, settings)
            raise
        if not first.is_set():
            raise WorkerFailed(f"a worker ended with {code} before it answered")
        if loop.time() - began >= STEADY:
            wait = FIRST_WAIT
        log_notice(f"worker {process.pid} ended with {code}; another one starts in {wait:g} s")
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


async def _start(settings: ServiceSettings, inherited: tuple[int, int, int]) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scoring_model.service.process", *map(str, inherited)),
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=inherited[:2],
        start_new_session=True,  # Ctrl-C reaches only the supervisor, which stops each worker once
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
    """Stop a worker: first requests, then delivery attempts get the grace period."""
    grace = settings.shutdown_notice + (1 + settings.deliver) * settings.shutdown_grace
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), grace / SECOND + KILL_AFTER)
    except TimeoutError:
        log_notice(f"worker {process.pid} did not stop in time and is killed")
        process.kill()
        await process.wait()


def main() -> int:
    """Answer on a socket; returns 1 if the start failed.

    The arguments are its descriptor, that of the memory of `Slots`, and the number of the slot.
    """
    gc.disable()  # until `freeze_gc`
    show_faults()
    listener = socket.socket(fileno=int(sys.argv[1]))
    try:
        settings = ServiceSettings.from_plain(json.loads(sys.stdin.buffer.readline()))
        threading.Thread(target=_stop_with_supervisor, daemon=True).start()
        enter_slot(*map(int, sys.argv[2:4]))
        serve(settings, listener, ready=_report_ready, beside=alone)
    except Exception as error:
        if not is_explained(error):
            traceback.print_exc()
        print(f"error: {text_of(error)}", file=sys.stderr)
        return 1
    return 0


def _stop_with_supervisor() -> None:
    """Stop as on SIGTERM when standard input ends: the supervisor has ended."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _report_ready() -> None:
    os.write(1, READY)
    os.dup2(2, 1)  # later output of print belongs in the log


if __name__ == "__main__":
    sys.exit(main())
