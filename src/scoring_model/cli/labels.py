"""Commands on labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scoring_model.service.core.clock import Clock
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.labels.imports import Imported, LabelLine
    from scoring_model.service.store import Store

app = in_group(Group.DATA)(typer.Typer(name="labels", help="Labels of verifications.", no_args_is_help=True))


@app.command("import")
def import_file(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help=".csv, .jsonl or .ndjson.")
    ],
    database: shared.Database,
    client: Annotated[
        str | None, typer.Option(help="Client whose imported records recordId names; only such rows need it.")
    ] = None,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Import labels of verifications and of imported records. Importing again changes nothing; unknown ids are listed.

    Columns: verificationId, identityId or recordId; label (fraud, genuine or withdrawn); knownAt. If any row breaks a
    rule, nothing is imported and the first such rows are listed. The master key is read for rows with a recordId alone.
    See docs/service.md#labels.
    """
    from scoring_model.contract.texts import to_text
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.labels.files import check_labels, read_labels

    clock = SystemClock()
    at = clock.now()
    keyring = None
    if check_labels(path, at=at):
        if client is None:
            raise ValueError("recordId: names a record of one client: give the client (--client)")
        keyring = masters_of(database, master_key)
    lines = read_labels(path, at=at)
    found = with_store(database, lambda store: _import(store, lines, clock, client, keyring))
    unknown, too_many = (
        [name if isinstance(name, str) else to_text(name) for name in names]
        for names in (found.unknown, found.too_many)
    )
    if as_json:
        counts = {"imported": found.imported, "repeated": found.repeated}
        console.say_json({**counts, "unknown": unknown, "tooMany": too_many, "omitted": found.omitted})
        return
    console.say(f"{found.imported} labels imported, {found.repeated} were known already")
    for text in unknown:
        console.say(f"unknown: {text}")
    for text in too_many:
        console.say(f"has too many labels already: {text}")
    if found.omitted:
        console.say(f"and {found.omitted} more rows like these")


@app.command()
def report(database: shared.Database, as_json: shared.Json = False) -> None:
    """Report how late labels of fraud come, what labels cover, and where they contradict each other.

    Young verifications show short delays only: Lynden-Bell's estimator allows for that, and holds for frauds that
    become known within the age of the oldest one. Imported records are not counted. Servers may keep running.
    """
    from dataclasses import asdict

    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.labels.report import label_delays

    found = with_store(database, lambda store: label_delays(store, SystemClock()))
    if as_json:
        console.say_json(asdict(found))
        return
    if found.maturity_days is None:
        console.say("no fraud is labelled yet, so that no delay is known")
    else:
        console.say(
            f"{found.frauds} verifications are known frauds; the oldest is {found.observed_days:.0f} days old. "
            f"95 % are known within {found.maturity_days:.1f} days, of those that become known within that age."
        )
    for day, share in found.curve.items():
        console.say(f"  within {day:3} days  {share:6.1%}")
    control = {f"passed in the control group, otherwise {name}": one for name, one in found.control.items()}
    for outcome, covered in {**found.coverage, **control}.items():
        console.say(
            f"{outcome}: {covered.verifications} verifications, {covered.fraud} fraud, {covered.genuine} genuine, "
            f"{covered.verifications - covered.fraud - covered.genuine} without a label"
        )
    for outcome, repeats in sorted(found.control_repeats.items()):
        console.say(
            f"{outcome}: {repeats} verifications of persons who had passed in the control group before"
        )
    console.say(
        f"{found.conflicts} verifications have contradicting labels; {found.withdrawn} have a withdrawn one"
    )


async def _import(
    store: Store, lines: Iterator[LabelLine], clock: Clock, client: str | None, keyring: Keyring | None
) -> Imported:
    from scoring_model.service.clients.clients import find_client
    from scoring_model.service.keys.secrets import load_or_create
    from scoring_model.service.labels.imports import RecordNames, import_labels

    records = None
    if client is not None and keyring is not None:
        records = RecordNames(await find_client(store, client), await load_or_create(store, keyring))
    async with store.reading() as reader:
        clients = await reader.clients()
    return await import_labels(store, clients, lines, clock, records=records)
