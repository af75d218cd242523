"""Commands on the bundles of a running service: fetch, list, activate, rollback."""

from __future__ import annotations

import getpass
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.activation.activating import Activated

WAIT_SECONDS: Final = 30.0

app = in_group(Group.SERVICE)(
    typer.Typer(
        name="bundles",
        help="The bundles of a service: fetch, list, activate, roll back.",
        no_args_is_help=True,
    )
)


@app.command()
def fetch(
    model: Annotated[str, typer.Argument(help="models:/NAME@ALIAS or models:/NAME/VERSION.")],
    tracking_uri: shared.Registry,
    out: Annotated[Path, typer.Option(help="Directory that gets the bundle, in a directory of its own.")],
    public_key: shared.PublicKey = None,
) -> None:
    """Fetch a registered bundle, check seal, golden rows and, with a public key, the signature, and keep it.

    Prints the path of the bundle, `<model version>.<policy version>` in --out. One that is there already is kept.
    """
    from scoring_model.scorer import Scorer
    from scoring_model.service.activation.shelf import BundleShelf
    from scoring_model.training.registry import fetch_bundle

    key = shared.key_of(public_key)
    with tempfile.TemporaryDirectory() as folder:
        fetched = fetch_bundle(model, uri=tracking_uri, folder=Path(folder))
        Scorer.load(fetched, public_key=key)
        console.say(str(BundleShelf(out).keep(fetched, public_key=key)))


@app.command("list")
def list_bundles(database: shared.Database, as_json: shared.Json = False) -> None:
    """Show the bundles of a database, which one is active, why the last was refused, and what each process serves.

    The latest first, with their state: active, rollback, candidate, refused or served.
    """
    from scoring_model.service.activation.activating import list_bundles as find

    present = shared.now()
    found = with_store(database, lambda store: find(store, now=present))
    if as_json:
        console.say_json(found)
        return
    for one in found["bundles"]:
        since = one["firstServedAt"] or "never"
        console.say(f"{one['modelVersion']}  {one['policyVersion']}  {one['state']}  first served: {since}")
    if (active := found["active"]) is not None:
        console.say(f"active since {active['at']}, by {active['by']}")
    elif found["bundles"]:
        console.say("none was activated: each process serves the one of its settings")
    if (refused := found["lastRefused"]) is not None:
        console.say(
            f"last refused: {refused['modelVersion']} with policy {refused['policyVersion']} at {refused['at']}: "
            f"{refused['reason']}"
        )
    for one in found["processes"]:
        problem = "" if one["problem"] is None else f"; {one['problem']}"
        console.say(
            f"{one['host']} pid {one['pid']} serves {one['modelVersion']} with policy {one['policyVersion']} "
            f"since {one['since']}{problem}"
        )


@app.command()
def activate(
    bundle: shared.BundlePath,
    database: shared.Database,
    wait: shared.Wait = WAIT_SECONDS,
    public_key: shared.PublicKey = None,
) -> None:
    """Let every process of a service switch to a bundle, without a restart.

    Each process loads it beside the one that serves, checks it and scores the latest 1,000 verifications with it. If
    one of them refuses it, all go on with the old bundle, and the command ends with 1 and the reason; also with 1 when
    some have not answered in time. See docs/service-bundles.md#activation.
    """
    from scoring_model.service.activation.activating import activate as run
    from scoring_model.service.core.clock import SystemClock

    key = shared.key_of(public_key)
    done = with_store(
        database,
        lambda store: run(store, bundle, public_key=key, by=operator(), clock=SystemClock(), timeout=wait),
    )
    _report(done)


@app.command()
def rollback(database: shared.Database, wait: shared.Wait = WAIT_SECONDS) -> None:
    """Let every process switch back to the bundle that was active before. A second rollback leads forward again."""
    from scoring_model.service.activation.activating import roll_back_and_wait
    from scoring_model.service.core.clock import SystemClock

    done = with_store(
        database,
        lambda store: roll_back_and_wait(store, by=operator(), clock=SystemClock(), timeout=wait),
    )
    _report(done)


def _report(done: Activated) -> None:
    if done.processes:
        console.say(f"{done.processes} processes serve bundle {done.versions}")
    else:
        console.say(f"no process runs: the next one to start will serve bundle {done.versions}")


def operator() -> str:
    """Return who runs the command."""
    return f"{getpass.getuser()}@{socket.gethostname()}"
