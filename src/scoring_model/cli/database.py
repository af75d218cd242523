"""Commands on the database of a service, and options that other commands share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from scoring_model.cli import console

if TYPE_CHECKING:
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.store import Store

T = TypeVar("T")

Database = Annotated[
    str,
    typer.Option(
        envvar="SCORING_MODEL_DATABASE",
        show_envvar=False,
        help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://...; else SCORING_MODEL_DATABASE.",
    ),
]
MasterKey = Annotated[
    str | None,
    typer.Option(
        envvar="SCORING_MODEL_MASTER_KEY",
        show_envvar=False,
        help="file:PATH, env:NAME or command:WORDS; for SQLite by default <database>.key.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(help="The database of the service.", no_args_is_help=True)


@app.command()
def migrate(database: Database) -> None:
    """Create the tables of a new database, or migrate those of an older version. Repeating changes nothing."""
    from scoring_model.service.settings import masked, sqlite_path
    from scoring_model.service.store import migrate as migrate_store

    sqlite_path(database)
    asyncio.run(migrate_store(database))
    console.say(f"{masked(database)} is up to date")


@app.command("future-links")
def future_links(
    database: Database,
    delete: Annotated[bool, typer.Option("--delete", help="Delete them, with their labels.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Most events to list.")] = 100,
    as_json: Json = False,
) -> None:
    """Show link records of the future, the latest first. A clock that ran ahead has left them.

    Verifications that share a link key with one are answered 503 until its instant has passed, or it is deleted. Run
    this where the clock is right. Verdicts stay, and no instant is changed. Servers may go on running.
    """
    from scoring_model.records.times import rfc3339
    from scoring_model.service.retention import future_links as find

    present = now()
    found = with_store(database, lambda store: find(store, now=present, delete=delete))
    records = sum(found.values())
    shown = [
        {"at": rfc3339(at), "aheadSeconds": (at - present) // 1_000_000, "linkRecords": found[at]}
        for at in sorted(found, reverse=True)[:limit]
    ]
    if as_json:
        console.say_json({"deleted": delete, "events": len(found), "linkRecords": records, "latest": shown})
        return
    for event in shown:
        console.say(f"{event['at']}  {event['aheadSeconds']} s ahead  {event['linkRecords']} link records")
    console.say(
        f"{records} link records of {len(found)} events {'deleted' if delete else 'are in the future'}"
    )


def with_store(database: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open a database that exists and is up to date, work with it and close it.

    Raises
    ------
    ValueError
        If the URL is of no known kind.
    SchemaRefused
        If it is not there: no command but `migrate` and `serve` makes a database.
    """
    from scoring_model.service.settings import sqlite_path
    from scoring_model.service.store import open_store

    sqlite_path(database)  # refuses one in memory, which nobody else could see

    async def run() -> T:
        store = await open_store(database)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def masters_of(database: str, master_key: str | None) -> Keyring:
    """Load the master keys of a database."""
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.settings import master_source

    return load_master_keys(master_source(database, master_key))


def now() -> int:
    """The present, in microseconds since 1970-01-01 UTC."""
    from scoring_model.service.core.clock import SystemClock

    return SystemClock().now()


def time_of(instant: int | None) -> str | None:
    """An instant as it is printed, if there is one."""
    from scoring_model.records.times import rfc3339

    return None if instant is None else rfc3339(instant)
