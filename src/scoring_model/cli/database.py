"""Commands on the database of a service, and what other commands do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
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


@app.command()
def backup(
    copy: Annotated[
        Path,
        typer.Argument(help="File of the copy to write: a SQLite database, or an archive for pg_restore."),
    ],
    keys: Annotated[
        Path, typer.Argument(help="File of the keys of persons to write. Keep it for a short time.")
    ],
    database: shared.Database,
) -> None:
    """Back up the database without the keys of persons, and those keys in a file of their own.

    Both are of one instant. Servers keep running. PostgreSQL needs `pg_dump` of its version or a later one. Erasures
    are complete when the last file of keys from before them is deleted. The master key and the directory of bundles
    are in neither file. See docs/service-storage.md#backups.
    """
    from scoring_model.service.keys.backup import back_up

    if existing := [str(path) for path in (copy, keys) if path.exists()]:
        raise FileExistsError(f"{' and '.join(existing)} exists; a backup replaces no other one")
    count = asyncio.run(back_up(database, copy, keys, now=shared.now()))
    console.say(f"{copy}: the database without the keys of persons, {copy.stat().st_size / 1e6:.1f} MB")
    console.say(f"{keys}: the keys of {count} persons. Keep it apart, and delete it soon")


@app.command("restore-keys")
def restore_keys(
    keys: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, help="File of the keys; the newest there is."),
    ] = None,
    *,
    database: shared.Database,
    lost: Annotated[
        bool, typer.Option("--lost", help="There are no keys any more: serve without the data of persons.")
    ] = False,
) -> None:
    """Restore the keys of persons to a copy of the database, before any server runs on it.

    Only keys that the copy needs are restored. Persons of the copy who were erased before the keys were backed up are
    erased again. Run it again after an interruption. See docs/service-storage.md#restore.
    """
    from scoring_model.service.keys.backup import restore_keys as restore
    from scoring_model.service.store import serving
    from scoring_model.service.store.backup import KeyFile

    if (keys is None) is not lost:
        raise ValueError("name the file of the keys, or --lost if there is none any more")
    with (
        serving(database),
        nullcontext() if keys is None else KeyFile(keys) as file,
        console.progress("restoring keys of persons") as progress,
    ):
        done = with_store(database, lambda store: restore(store, file, now=shared.now(), progress=progress))
    console.say(f"{done.restored} keys of persons restored")
    console.say(f"erased again: {done.erased} persons, who had been erased since the copy")
    if done.lost:
        console.say(f"{done.lost} persons have no key in the file: their data stay unreadable")


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
