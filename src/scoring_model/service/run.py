"""Runs the service: takes the port, prepares the database, and starts one process or several."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import gc
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.service.activation.shelf import BundleShelf
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.faults import log_notice
from scoring_model.service.core.metrics import Slots, enter_slot
from scoring_model.service.process import Beside, alone, serve, supervise
from scoring_model.service.settings import ServiceSettings, sqlite_path
from scoring_model.service.standard_error import install

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.bundle import Manifest
    from scoring_model.service.store import Store

Report = Callable[[str], None]

DEVELOPMENT: Final = (
    "DEVELOPMENT MODE: webhooks may be plain http and on this machine. Do not store data of real people."
)

BACKLOG: Final = 2048
"""Backlog of connections while all processes are busy or starting."""

BUFFER: Final = 128 * 1024
"""Socket buffer of a connection in each direction, bytes (Linux doubles the value). The default grows to megabytes for
a peer that does not read, or that sends faster than it is read."""

_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class AddressUnavailable(ValueError):
    """The service can't listen on the address of its settings."""


def run(settings: ServiceSettings, *, say: Report, report: Report) -> None:
    """Serve until SIGTERM or SIGINT.

    Parameters
    ----------
    say : callable
        Called with the base URL, once requests are answered.
    report : callable
        Called with notices until requests are answered; after that, standard error is JSON.

    Raises
    ------
    AddressUnavailable, AlreadyServed
        If the port is taken, or another process serves the SQLite file. Nothing has been created then.
    Exception
        Any other error that prevents the start; see `standard_error.is_explained`.
    """
    from scoring_model.service.store import serving

    slots = Slots(settings.workers)
    with (
        listen(settings.host, settings.port) as listener,
        exposing(settings.host, settings.metrics_port, slots, report=report) as beside,
        serving(settings.database),
    ):
        if settings.development:
            report(DEVELOPMENT)
        prepared = asyncio.run(prepare(settings, report=report))
        url = base_url(listener)

        def ready() -> None:
            say(url)
            report(f"answering on {url}; documentation at {url}/docs; Ctrl-C ends it")
            install()

        if settings.workers == 1:
            enter_slot(slots.descriptor, 0)
            serve(prepared, listener, ready=ready, beside=beside or alone)
        else:
            gc.enable()  # the workers serve; this process only waits for them
            supervise(prepared, listener, slots, ready=ready, beside=beside)
    log_notice("stopped")


@contextlib.contextmanager
def exposing(host: str, port: int | None, slots: Slots, *, report: Report) -> Iterator[Beside | None]:
    """Answer requests for metrics while the context is open; yields what reads gauges, None without a port.

    Raises
    ------
    AddressUnavailable
        If the port is taken.
    """
    if port is None:
        yield None
        return
    from scoring_model.service.exposition import Exposition

    exposition = Exposition(slots, SystemClock())
    with listen(host, port) as listener, exposition.answering(listener):
        report(f"metrics on {base_url(listener)}/metrics")
        yield exposition.following


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address, or on the first address of a name; port 0 means any free one.

    Raises
    ------
    AddressUnavailable
        If the port is taken, or the address does not belong to this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        reason = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise AddressUnavailable(f"can't listen on {host} port {port}: {reason}") from None
    for direction in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        listener.setsockopt(socket.SOL_SOCKET, direction, BUFFER)  # inherited by its connections
    return listener


def base_url(listener: socket.socket) -> str:
    """Return the URL under which a client on this machine reaches a socket."""
    host, port = listener.getsockname()[:2]
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def prepare(settings: ServiceSettings, *, report: Report) -> ServiceSettings:
    """Check the configuration and create the shared state before the first process serves.

    Creates the tables of a new SQLite database, its master key if the default file is missing, and the root secret.
    Copies the bundle to the directory of all served bundles, which must be complete, and stores the path of the
    directory in the database. The returned settings name the copy: training may replace the original.
    """
    from scoring_model.bundle import BundleError, check_protocol, read_bundle
    from scoring_model.bundle.errors import FilesRefused
    from scoring_model.bundle.reader import read_manifest
    from scoring_model.bundle.seal import load_public_key
    from scoring_model.service.activation.shelf import write_bundle_directory
    from scoring_model.service.store import open_store

    key = None if settings.public_key is None else load_public_key(settings.public_key)
    try:
        check_protocol(read_bundle(settings.bundle, public_key=key))
    except FilesRefused as error:  # which names files alone
        raise BundleError(f"{settings.bundle}: {error}") from None
    shelf = BundleShelf(settings.shelf)
    store = await open_store(settings.database, create=sqlite_path(settings.database) is not None)
    try:
        # First, so that another machine can start with an empty directory.
        kept = shelf.keep(settings.bundle, public_key=key)
        await _complete(store, shelf, key)
        await _report_active(store, read_manifest(kept), report)
        await write_bundle_directory(store, settings.shelf)
        await _prepare_keys(settings, store, report)
    finally:
        await store.close()
    return dataclasses.replace(settings, bundle=kept, bundles=settings.shelf)


async def _complete(store: Store, shelf: BundleShelf, key: Ed25519PublicKey | None) -> None:
    """Write the bundles that other machines activated to the directory, which must then hold all that ever served."""
    from scoring_model.service.activation.activations import Versions, fetch
    from scoring_model.service.activation.shelf import BundlesMissing

    async with store.reading() as reader:
        served = [Versions(row.model_version, row.policy_version) for row in await reader.bundles()]
    for versions in served:
        with contextlib.suppress(BundlesMissing):  # all that are missing are named together
            await fetch(store, shelf, versions, public_key=key)
    shelf.require(served)


async def _report_active(store: Store, given: Manifest, report: Report) -> None:
    """Say so if the activated bundle is served instead of the given one."""
    from scoring_model.contract.texts import rfc3339
    from scoring_model.service.activation.activations import Versions, read_activations

    active = (await read_activations(store)).active
    if active is not None and Versions.of(active) != (given.model_version, given.policy_version):
        report(
            f"serving bundle {Versions.of(active)}, activated {rfc3339(active.at)} by {active.requested_by}, instead "
            "of --bundle: `scoring-model bundles activate` changes it"
        )


async def _prepare_keys(settings: ServiceSettings, store: Store, report: Report) -> None:
    from scoring_model.service.keys.keyring import add_master_key, load_master_keys
    from scoring_model.service.keys.secrets import ROOT_FACT, load_or_create

    async with store.reading() as reader:
        is_new = await reader.fact(ROOT_FACT) is None
    path = Path(settings.master_source.removeprefix("file:"))
    if settings.master_key is None and is_new and not path.exists():
        add_master_key(path)
        report(
            f"NEW MASTER KEY in {path}: without it the data in this database can't be decrypted. Back it up, but not "
            "together with the database"
        )
    await load_or_create(store, load_master_keys(settings.master_source))
