"""The command that decides past verifications again with another bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from scoring_model.cli import console
from scoring_model.cli.bundles import PublicKey, key_of
from scoring_model.cli.data import LEFT_OUT, instant_of
from scoring_model.cli.database import Database, Json, MasterKey, masters_of, now, with_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from scoring_model.scorer import Scorer
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.store import Store
    from scoring_model.service.whatif import WhatIf

NOT_REPLAYED = {
    **{name: text for name, text in LEFT_OUT.items() if name != "empty"},
    "tooOld": "whose history reaches further back than the link records that are kept",
    "refused": "with a signal of another type than the bundle takes",
}
"""Descriptions of verifications that can't be decided again, by name in JSON."""


def whatif(
    database: Database,
    bundle: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Bundle that decides again.")],
    out: Annotated[Path, typer.Option(help="File to write: .parquet, both verdicts of each verification.")],
    since: Annotated[
        int | None,
        typer.Option(
            parser=instant_of,
            metavar="AGE|TIME",
            help="Only verifications from this age (90d) or time on; by default all.",
        ),
    ] = None,
    master_key: MasterKey = None,
    public_key: PublicKey = None,
    as_json: Json = False,
) -> None:
    """Show what another bundle would have decided about past verifications, with links and labels as known then.

    The bundle must have the link keys of the history. The database is only read. Follow-up verifications are decided
    again too, whether or not the bundle would have asked for them.
    """
    from scoring_model.scorer import Scorer
    from scoring_model.service.scoring.score import SKEW

    keyring = masters_of(database, master_key)
    scorer = Scorer.load(bundle, public_key=key_of(public_key))
    with Progress(console=console.errors(), transient=True) as bar:
        task = bar.add_task("deciding again", total=None)
        found = with_store(
            database,
            lambda store: _what_if(
                store,
                keyring,
                scorer,
                out,
                period=(since, now() - 2 * SKEW),
                progress=lambda verifications: bar.update(task, completed=verifications),
            ),
        )
    _show(found, out, as_json=as_json)


async def _what_if(
    store: Store,
    keyring: Keyring,
    scorer: Scorer,
    out: Path,
    *,
    period: tuple[int | None, int],
    progress: Callable[[int], None],
) -> WhatIf:
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.keys.secrets import load_or_create
    from scoring_model.service.service import require_same_links
    from scoring_model.service.store import EARLIEST
    from scoring_model.service.whatif import what_if

    await require_same_links(store, scorer)
    since, before = period
    return await what_if(
        store,
        Vault(keyring),
        await load_or_create(store, keyring),
        scorer,
        out,
        since=EARLIEST if since is None else since,
        before=before,
        progress=progress,
    )


def _show(found: WhatIf, out: Path, *, as_json: bool) -> None:
    left_out = {name: found.left_out.get(name, 0) for name in NOT_REPLAYED}
    if as_json:
        console.say_json(
            {
                "out": str(out),
                "verifications": found.verifications,
                "replayed": found.replayed,
                "differ": found.differ,
                "outcomes": [
                    {"then": then, "whatif": new, "verifications": count}
                    for (then, new), count in sorted(found.outcomes.items())
                ],
                "sameBundle": {"replayed": found.own, "differ": found.own_differ},
                "notReplayed": left_out,
            }
        )
        return
    console.say(
        f"{found.replayed} of {found.verifications} verifications decided again: {found.differ} verdicts differ, {out}"
    )
    for (then, new), count in sorted(found.outcomes.items()):
        console.say(f"{count:>10}  {then} then, {new} by the bundle")
    if found.own:
        console.say(
            f"{found.own} of them had been decided by this bundle: "
            f"{found.own_differ} differ in verdict or feature row"
        )
    for name, count in left_out.items():
        if count:
            console.say(f"not decided again: {count} {NOT_REPLAYED[name]}")
