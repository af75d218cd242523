"""What commands on the past verifications of a service share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import typer

from scoring_model.cli import console
from scoring_model.cli.database import masters_of, with_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from scoring_model.scorer import Scorer
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.keys.secrets import Secrets
    from scoring_model.service.past_records import PastRecords
    from scoring_model.service.store import Store

T = TypeVar("T")


def with_past(
    database: str,
    master_key: str | None,
    scorers: Sequence[Scorer],
    work: Callable[[Store, Vault, Secrets], Awaitable[T]],
) -> T:
    """Open a database whose history has the link keys of some bundles, and run `work` on it."""
    keyring = masters_of(database, master_key)

    async def run(store: Store) -> T:
        from scoring_model.service.keys.data_keys import Vault
        from scoring_model.service.keys.secrets import load_or_create
        from scoring_model.service.service import require_same_links

        for scorer in scorers:
            await require_same_links(store, scorer)
        return await work(store, Vault(keyring), await load_or_create(store, keyring))

    return with_store(database, run)


def first_of(since: int | None) -> int:
    """Return the begin of a period, by default that of time."""
    from scoring_model.service.store import EARLIEST

    return EARLIEST if since is None else since


def read_past_records(
    database: str,
    master_key: str | None,
    scorers: Sequence[Scorer],
    *,
    since: int | None,
    before: int,
    by: Iterable[str],
) -> PastRecords:
    """Read past verifications as records with the feature rows that bundles make of them."""
    from scoring_model.service.past_records import read_past

    with console.progress("deciding again") as progress:
        found = with_past(
            database,
            master_key,
            scorers,
            lambda store, vault, secrets: read_past(
                store, vault, secrets, scorers, since=first_of(since), before=before, by=by, progress=progress
            ),
        )
    for sentence in found.describe():
        console.report(sentence)
    return found


def chosen_source(
    files: Sequence[object] | None,
    database: str | None,
    *,
    history: object,
    labels: object,
    since: int | None,
) -> str | None:
    """Return the database to read, None for files; refuse both or none, and options of the other source."""
    if not files and database is None:
        database = os.environ.get("SCORING_MODEL_DATABASE") or None
    if bool(files) == (database is not None):
        raise typer.BadParameter("give either files or --database")
    if database is not None and (history or labels):
        raise typer.BadParameter("--history and --labels are for files")
    if database is None and since is not None:
        raise typer.BadParameter("--since is for --database")
    return database
