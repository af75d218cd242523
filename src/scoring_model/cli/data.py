"""Commands that take data out of the service's database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, settled, time_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scoring_model.contract.rules import SignalType
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.past.export import ExportedFile
    from scoring_model.service.store import Store

app = in_group(Group.DATA)(typer.Typer(name="data", help="The records of the service.", no_args_is_help=True))


@app.command()
def export(
    database: shared.Database,
    out: Annotated[Path, typer.Option(help="File to write: .parquet. It holds personal data.")],
    since: shared.Since = None,
    client: shared.HistoryOf = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Bundle whose signals become columns; by default the active one."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Configuration whose signals become columns instead."),
    ] = None,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Write completed verifications as a file of records with labels and verdicts, for training and analysis.

    It decrypts personal data: the file can be read by its owner alone. Erased persons and verifications without their
    signals are left out and counted. Servers may keep running. See docs/service-records.md#export.
    """
    if bundle is not None and config is not None:
        raise ValueError("give --bundle or --config, not both")
    keyring = masters_of(database, master_key)
    before = settled()
    with console.progress("exporting records") as progress:
        done = with_store(
            database,
            lambda store: _export(
                store,
                keyring,
                out,
                period=(since, before),
                client_id=client,
                bundle=bundle,
                config=config,
                progress=progress,
            ),
        )
    _show(done, out, before, as_json=as_json)


async def _export(
    store: Store,
    keyring: Keyring,
    out: Path,
    *,
    period: tuple[int | None, int],
    client_id: str | None,
    bundle: Path | None,
    config: Path | None,
    progress: Callable[[int], None],
) -> ExportedFile:
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.past.export import clients_of_one_history, export_file
    from scoring_model.service.store import EARLIEST

    since, before = period
    return await export_file(
        store,
        Vault(keyring),
        await clients_of_one_history(store, client_id),
        out,
        signals=await _signals(store, bundle, config),
        since=EARLIEST if since is None else since,
        before=before,
        progress=progress,
    )


async def _signals(store: Store, bundle: Path | None, config: Path | None) -> Mapping[str, SignalType]:
    from scoring_model.configuration import load_configuration
    from scoring_model.scorer import Scorer
    from scoring_model.service.activation.activations import serving_bundle

    if config is not None:
        return load_configuration(config).schema.signals
    return Scorer.load(bundle or await serving_bundle(store)).contents.schema.signals


def _show(done: ExportedFile, out: Path, before: int, *, as_json: bool) -> None:
    import pyarrow.parquet as pq

    from scoring_model.evaluation.decided import COLUMNS, decided_sentences
    from scoring_model.service.past.pages import LEFT_OUT

    counts = {str(reason): count for reason, count in done.left_out.items()}
    left_out = {name: counts.get(name, 0) for name in LEFT_OUT}
    if as_json:
        console.say_json(
            {
                "out": str(out),
                "records": done.records,
                "labelled": done.labelled,
                "from": time_of(done.first),
                "to": time_of(done.last),
                "asOf": time_of(before),
                "leftOut": left_out,
                "otherTypes": dict(done.untyped),
            }
        )
        return
    console.say(
        f"{done.records:,} records ({done.labelled:,} with a label) in {out}, as of {time_of(before)}. "
        "The file holds personal data"
    )
    for name, count in left_out.items():
        if count:
            console.say(f"left out: {count} {LEFT_OUT[name]}")
    for sentence in decided_sentences(pq.read_table(out, columns=list(COLUMNS))):
        console.say(sentence)
    for name, count in done.untyped.items():
        console.say(f"signal {name}: {count} values of another type are in the column otherSignals")
