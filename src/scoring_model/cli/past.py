"""What commands on the past verifications of a service share."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import typer

from scoring_model.cli import console
from scoring_model.cli.database import masters_of, with_store
from scoring_model.service.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from scoring_model.cli.option_groups import Past, Records
    from scoring_model.scorer import Scorer
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.keys.secrets import Secrets
    from scoring_model.service.past.records import PastRecords
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
        from scoring_model.service.activation.links import require_same_links
        from scoring_model.service.keys.data_keys import Vault
        from scoring_model.service.keys.secrets import load_or_create

        for scorer in scorers:
            await require_same_links(store, scorer)
        return await work(store, Vault(keyring), await load_or_create(store, keyring))

    return with_store(database, run)


def first_of(since: int | None) -> int:
    """Return the begin of a period, by default that of time."""
    from scoring_model.service.store import EARLIEST

    return EARLIEST if since is None else since


def read_past_records(
    past: Past, scorers: Sequence[Scorer], *, before: int, by: Iterable[str]
) -> PastRecords:
    """Read past verifications as records with the feature rows that bundles make of them."""
    from scoring_model.service.past.records import read_past

    with console.progress("deciding again") as progress:
        found = with_past(
            past.url,
            past.master_key,
            scorers,
            lambda store, vault, secrets: read_past(
                store,
                vault,
                secrets,
                scorers,
                since=first_of(past.since),
                before=before,
                by=by,
                progress=progress,
            ),
        )
    for sentence in found.describe():
        console.report(sentence)
    return found


def chosen_source(files: Sequence[object] | None, past: Past, records: Records) -> Past:
    """Return the database to read, none for files; refuse both or none, and options of the other source."""
    if not files and past.database is None:
        past = replace(past, database=os.environ.get(SETTINGS["database"].variable) or None)
    if bool(files) == (past.database is not None):
        raise typer.BadParameter("give either files or --database")
    if past.database is not None and (records.history or records.labels):
        raise typer.BadParameter("--history and --labels are for files")
    if past.database is None and past.since is not None:
        raise typer.BadParameter("--since is for --database")
    return past
