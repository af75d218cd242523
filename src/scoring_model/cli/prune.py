"""The command that deletes old data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import app, masters_of, with_store

if TYPE_CHECKING:
    from scoring_model.service.retention.prune import Pruned

KINDS: Final = {
    "links": "records under link keys",
    "importedRecords": "imported records",
    "controlPasses": "persons who passed in a control group",
    "listEntries": "entries of lists that have ended",
    "labelTimes": "newest labels of link keys",
    "answers": "answers to repeated requests",
    "deliveries": "deliveries that arrived or were dropped",
    "deadLetters": "dead letters",
    "events": "events",
    "signals": "verifications with signals",
}
"""Descriptions of the deleted data, by name in JSON."""


_DeliveredAfter = Annotated[
    str,
    typer.Option(metavar="AGE", help="Delete deliveries this long after they arrived or were dropped."),
]
_DeadAfter = Annotated[
    str, typer.Option(metavar="AGE", help="Delete dead letters this long after their last attempt.")
]
_EventsAfter = Annotated[
    str, typer.Option(metavar="AGE", help="Delete events of this age without remaining deliveries.")
]
_SignalsAfter = Annotated[
    str | None,
    typer.Option(metavar="AGE", help="Permanently delete the signals of verifications of this age."),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Count only; change nothing.")]


@app.command()
def prune(
    database: shared.Database,
    delivered_after: _DeliveredAfter = "30d",
    dead_after: _DeadAfter = "30d",
    events_after: _EventsAfter = "30d",
    signals_after: _SignalsAfter = None,
    master_key: shared.MasterKey = None,
    dry_run: _DryRun = False,
    as_json: shared.Json = False,
) -> None:
    """Delete data past its age. Servers may keep running; run it again after an interruption.

    Records under link keys and answers to repeated requests expire as in servers. Pending data and verdicts are kept.
    Ages are whole numbers with d, h, m or s. The master key is needed only for signals. JSON has a count of each kind,
    null where it was not counted, and the verifications that cannot be decrypted. See
    docs/service-storage.md#retention.
    """
    from scoring_model.service.retention.prune import prune as prune_store
    from scoring_model.service.retention.signals import OldSignals
    from scoring_model.service.retention.sweeping import Ages

    given = {
        "--delivered-after": delivered_after,
        "--dead-after": dead_after,
        "--events-after": events_after,
        "--signals-after": signals_after,
    }
    ages = _durations({option: text for option, text in given.items() if text is not None})
    signals = None
    if signals_after is not None:
        signals = OldSignals(age=ages["--signals-after"], keyring=masters_of(database, master_key))
    kept = Ages(
        deliveries=ages["--delivered-after"],
        dead_letters=ages["--dead-after"],
        events=ages["--events-after"],
    )
    with _progress(dry=dry_run) as progress:
        pruned = with_store(
            database,
            lambda store: prune_store(
                store, kept, now=shared.now(), signals=signals, dry=dry_run, progress=progress
            ),
        )
    _show(pruned, dry=dry_run, as_json=as_json)


def _durations(given: Mapping[str, str]) -> dict[str, int]:
    """Read the ages, or report all invalid ones."""
    from scoring_model.records.times import parse_duration

    found, wrong = {}, []
    for option, text in given.items():
        try:
            found[option] = parse_duration(text)
        except ValueError as error:
            wrong.append(f"{option}: {error}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return found


@contextmanager
def _progress(*, dry: bool) -> Iterator[Callable[[str, int], None]]:
    """Show the progress on standard error."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console.errors(), transient=True) as bar:
        task = bar.add_task("looking for what is old", total=None)

        def report(kind: str, count: int) -> None:
            bar.update(task, description=f"{KINDS[kind]}: {count} {_done(kind, dry=dry)}")

        yield report


def _done(kind: str, *, dry: bool) -> str:
    if kind == "signals":
        return "would lose them" if dry else "have lost them"
    return "would be deleted" if dry else "deleted"


def _show(pruned: Pruned, *, dry: bool, as_json: bool) -> None:
    counts: dict[str, int | None] = dict.fromkeys(KINDS)
    counts |= {kind.value: count for kind, count in pruned.rows.items()}
    if pruned.signals is not None:
        counts["signals"] = pruned.signals.signals
    unreadable = 0 if pruned.signals is None else pruned.signals.unreadable
    if as_json:
        console.say_json({"dryRun": dry, "pruned": counts, "unreadable": unreadable})
    else:
        for kind, count in counts.items():
            if count is not None:
                console.say(f"{count:>10}  {KINDS[kind]} {_done(kind, dry=dry)}")
    if counts["links"] is None:
        console.report(
            "records under link keys were left: no server of this version ever opened the database"
        )
    if unreadable:
        console.report(f"{unreadable} verifications were left: their sealed data do not open")
