"""Commands on the history of a client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from scoring_model.records.reading import Reading
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.past.history_import import HistoryImported
    from scoring_model.service.store import Store

app = in_group(Group.DATA)(typer.Typer(name="history", help="The history of a client.", no_args_is_help=True))


_Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", exists=True, dir_okay=False, help="Records, as for `train`."),
]
_Bundle = Annotated[Path | None, typer.Option(help="Bundle that will serve; by default the active one.")]
_Finish = Annotated[bool, typer.Option("--finish", help="The history is whole: let the client verify.")]


@app.command("import")
def import_history(
    database: shared.Database,
    client: shared.ClientOption,
    files: _Files = None,
    bundle: _Bundle = None,
    finish: _Finish = False,
    names: shared.Names = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Import past records and their labels as the history of a client without verifications.

    From the first record on, verifications of the client (and of all that share its history) get 503, until --finish.
    A verification afterwards gets what the next row of the file would get. It can be interrupted and run again:
    records are recognised by recordId. See docs/service-records.md#history-of-the-past.
    """
    if not files and not finish:
        raise ValueError("give files to import, --finish, or both")
    keyring = masters_of(database, master_key)
    with console.progress("importing records") as progress:
        reading, done = with_store(
            database,
            lambda store: _import(
                store,
                keyring,
                client,
                files or [],
                bundle,
                finish,
                names,
                max_bad_share,
                progress,
            ),
        )
    rejected = 0 if reading is None else reading.rows - len(reading.table)
    if as_json:
        found = {} if done is None else {name: getattr(done, name) for name in done.__dataclass_fields__}
        console.say_json({**found, "rejected": rejected, "finished": finish})
    else:
        _say_imported(done, rejected, client, finish=finish)


def _say_imported(done: HistoryImported | None, rejected: int, client: str, *, finish: bool) -> None:
    if done is not None:
        console.say(
            f"{done.imported:,} records imported ({done.labelled:,} with a label), {done.repeated:,} were there already"
        )
        if done.too_old:
            console.say(f"left out: {done.too_old:,} from before the longest window of the bundle")
        if done.unlinked:
            console.say(f"left out: {done.unlinked:,} without a link key, which no other record sees")
    if rejected:
        console.say(f"left out: {rejected:,} that break rules; `scoring-model check` lists them")
    console.say(
        f"{client} can verify now"
        if finish
        else f"{client} gets 503 for verifications until: scoring-model history import --client {client} --finish"
    )


async def _import(
    store: Store,
    keyring: Keyring,
    client_id: str,
    files: list[Path],
    bundle: Path | None,
    finish: bool,
    names: shared.Names,
    max_bad_share: float,
    progress: Callable[[int, int], None],
) -> tuple[Reading | None, HistoryImported | None]:
    from scoring_model.records.reading import read_records
    from scoring_model.scorer import Scorer
    from scoring_model.service.activation.activations import serving_bundle
    from scoring_model.service.activation.links import agree_on_links
    from scoring_model.service.clients.clients import find_client
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.keys.secrets import load_or_create
    from scoring_model.service.past.history_import import HistoryImport

    client = await find_client(store, client_id)
    scorer = Scorer.load(bundle or await serving_bundle(store)).with_names(names)
    await agree_on_links(store, scorer)
    work = HistoryImport(store, await load_or_create(store, keyring), scorer.matrix, client, SystemClock())
    reading = done = None
    if files:
        reading = read_records(files, scorer.contents.schema, labelled=False)
        _check(reading, max_bad_share)
        total = len(reading.table)
        done = await work.run(reading.table, progress=lambda records: progress(records, total))
    if finish:
        await work.finish()
    return reading, done


def _check(reading: Reading, max_bad_share: float) -> None:
    """Refuse files with too many bad rows, without a good row, which would leave the history empty, or without ids."""
    from scoring_model.records.quarantine import accept, count_violations, counts_text, unread_forms
    from scoring_model.service.past.history_import import ImportRefused

    accept(reading, max_share=max_bad_share)
    if reading.rows and not len(reading.table):
        counts = counts_text(count_violations(reading))
        raise ImportRefused(
            f"none of {reading.rows:,} rows obeys the contract ({counts}){unread_forms(reading)}"
        )
    if len(reading.table) and all(
        name == str(row)
        for name, row in zip(reading.table.record_ids, reading.table.source_rows, strict=True)
    ):
        raise ImportRefused(
            "the records have no column recordId: without it a repeated import could not recognise them"
        )
