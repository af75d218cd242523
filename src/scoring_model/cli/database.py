"""Commands on the database of a service, and what other commands do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.store import Store

T = TypeVar("T")

app = in_group(Group.OPERATIONS)(
    typer.Typer(name="database", help="The database of the service.", no_args_is_help=True)
)


@app.command()
def migrate(database: shared.Database) -> None:
    """Create the tables of a new database, or migrate an older version. Running it again changes nothing.

    `serve` creates a new SQLite database by itself; no other command does.
    """
    from scoring_model.service.settings import masked, sqlite_path
    from scoring_model.service.store import migrate as migrate_store

    sqlite_path(database)
    asyncio.run(migrate_store(database))
    console.say(f"{masked(database)} is up to date")


@app.command("future-links")
def future_links(
    database: shared.Database,
    delete: Annotated[bool, typer.Option("--delete", help="Delete them, with their labels.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Most events to list.")] = 100,
    as_json: shared.Json = False,
) -> None:
    """Show link records with future times, latest first. They come from a clock that ran ahead.

    Verifications that share a link key with such a record get 503 until its time has passed or it is deleted. Run
    this on a machine with a correct clock. Verdicts and times are not changed. Servers may keep running. See
    docs/service.md#clocks.
    """
    from scoring_model.contract.texts import rfc3339
    from scoring_model.service.retention.future_links import future_links as find

    present = shared.now()
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
    """Open an existing, up-to-date database, run `work` on it and close it.

    Raises
    ------
    ValueError
        If the kind of the URL is unknown.
    SchemaRefused
        If the database does not exist: only `migrate` and `serve` create one.
    """
    from scoring_model.service.settings import sqlite_path
    from scoring_model.service.store import with_store as run

    sqlite_path(database)  # refuses an in-memory database, which no other process could see
    return run(database, work)


def masters_of(database: str, master_key: str | None) -> Keyring:
    """Load the master keys of a database."""
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.settings import master_source

    return load_master_keys(master_source(database, master_key))


def settled() -> int:
    """Return an instant before which whatever was scored or reported is committed, in microseconds."""
    from scoring_model.service.core.clock import SKEW

    return shared.now() - 2 * SKEW


def time_of(instant: int | None) -> str | None:
    """Format an instant for output, or return None."""
    from scoring_model.contract.texts import rfc3339

    return None if instant is None else rfc3339(instant)
