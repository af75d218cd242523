"""The service from settings to its end: the port taken, the database prepared, one process or several."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.service.bundles import BundleShelf
from scoring_model.service.core.faults import log_notice
from scoring_model.service.listening import base_url, listen
from scoring_model.service.settings import ServiceSettings, sqlite_path
from scoring_model.service.standard_error import install
from scoring_model.service.supervisor import supervise
from scoring_model.service.worker import serve

if TYPE_CHECKING:
    from scoring_model.service.core.store import Store

Report = Callable[[str], None]

DEVELOPMENT = (
    "DEVELOPMENT MODE: webhooks may be plain http and on this machine. "
    "Nothing of real people belongs in here."
)


def run(settings: ServiceSettings, *, say: Report, report: Report) -> None:
    """Serve until SIGTERM or SIGINT.

    Parameters
    ----------
    settings : ServiceSettings
    say : callable
        Called with the base URL, once requests are answered.
    report : callable
        Called with what is worth knowing until requests are answered; then standard error is JSON.

    Raises
    ------
    AddressUnavailable
        Before anything else, if the port is taken.
    Exception
        Whatever makes it impossible to start; `failures.is_told` says whether its text is enough.
    """
    with listen(settings.host, settings.port) as listener:
        if settings.development:
            report(DEVELOPMENT)
        prepared = asyncio.run(prepare(settings, report=report))
        url = base_url(listener)

        def ready() -> None:
            say(url)
            report(f"answering on {url}; documentation at {url}/docs; Ctrl-C ends it")
            install()

        if settings.workers == 1:
            serve(prepared, listener, ready=ready)
        else:
            supervise(prepared, listener, ready=ready, report=log_notice)
    log_notice("stopped")


async def prepare(settings: ServiceSettings, *, report: Report) -> ServiceSettings:
    """Check all that can be wrong before a process serves, and do once what processes must not do at the same time.

    A new SQLite database gets its tables, and where its default place holds none, a master key. The root secret is
    made. The bundle is kept with those that served before, and every one of them must be there. Their directory is
    written into the database.

    Parameters
    ----------
    settings : ServiceSettings
    report : callable

    Returns
    -------
    ServiceSettings
        With the bundle where it is kept: a training may replace what stands where it was named.
    """
    from scoring_model.bundle import check_protocol, read_bundle
    from scoring_model.bundle.seal import load_public_key
    from scoring_model.service.bundles import write_bundle_directory
    from scoring_model.service.store import open_store

    key = None if settings.public_key is None else load_public_key(settings.public_key)
    check_protocol(read_bundle(settings.bundle, public_key=key))
    shelf = BundleShelf(settings.shelf)
    store = await open_store(settings.database, create=sqlite_path(settings.database) is not None)
    try:
        # First, so that a further machine may begin with an empty directory.
        kept = shelf.keep(settings.bundle, public_key=key)
        async with store.reading() as reader:
            shelf.require((row.model_version, row.policy_version) for row in await reader.bundles())
        await write_bundle_directory(store, settings.shelf)
        await _prepare_keys(settings, store, report)
    finally:
        await store.close()
    return dataclasses.replace(settings, bundle=kept, bundles=settings.shelf)


async def _prepare_keys(settings: ServiceSettings, store: Store, report: Report) -> None:
    from scoring_model.service.keys.keyring import add_master_key, load_master_keys
    from scoring_model.service.keys.secrets import ROOT_FACT, load_or_create

    async with store.reading() as reader:
        is_new = await reader.fact(ROOT_FACT) is None
    path = Path(settings.master_source.removeprefix("file:"))
    if settings.master_key is None and is_new and not path.exists():
        add_master_key(path)
        report(
            f"NEW MASTER KEY in {path}: without it nothing of this database can ever be read. Back it up, apart from "
            "the database"
        )
    await load_or_create(store, load_master_keys(settings.master_source))
