"""Commands on labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.database import Database, Json, with_store

if TYPE_CHECKING:
    from scoring_model.service.core.clock import Clock
    from scoring_model.service.labels import Imported, LabelLine
    from scoring_model.service.store import Store

app = typer.Typer(help="Labels of verifications.", no_args_is_help=True)


@app.command("import")
def import_file(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help=".csv, .jsonl or .ndjson.")
    ],
    database: Database,
    as_json: Json = False,
) -> None:
    """Import labels of verifications. Importing again changes nothing; unknown ids are listed.

    Columns: verificationId or identityId; label (fraud, genuine or withdrawn); knownAt. If any row breaks a
    rule, nothing is imported and all such rows are listed.
    """
    from scoring_model.contract.texts import to_text
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.label_files import read_labels

    clock = SystemClock()
    lines = read_labels(path, at=clock.now())
    found = with_store(database, lambda store: _import(store, lines, clock))
    unknown = [to_text(resource) for resource in found.unknown]
    if as_json:
        console.say_json({"imported": found.imported, "repeated": found.repeated, "unknown": unknown})
        return
    console.say(f"{found.imported} labels imported, {found.repeated} were known already")
    for text in unknown:
        console.say(f"unknown: {text}")


async def _import(store: Store, lines: list[LabelLine], clock: Clock) -> Imported:
    from scoring_model.service.labels import import_labels

    async with store.reading() as reader:
        clients = await reader.clients()
    return await import_labels(store, clients, lines, clock)
