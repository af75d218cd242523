"""Commands on verifications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.database import Database, Json, MasterKey, masters_of, with_store

if TYPE_CHECKING:
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.scoring.verifications import Replay
    from scoring_model.service.store import Store

CODES = {"same": 0, "different": 3, "erased": 4}
"""Exit codes by the result of a replay."""

app = typer.Typer(help="Verifications of the service.", no_args_is_help=True)


@app.command()
def replay(
    verification: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the verification.")],
    database: Database,
    bundles: Annotated[
        Path | None,
        typer.Option(
            envvar="SCORING_MODEL_BUNDLES",
            show_envvar=False,
            help="Directory with every bundle ever served; by default where `serve` keeps them.",
        ),
    ] = None,
    master_key: MasterKey = None,
    as_json: Json = False,
) -> None:
    """Repeat a decision from its stored feature row with its original bundle, and compare.

    Exit codes: 0 the same; 3 different; 4 erased.
    """
    from scoring_model.contract.texts import from_text

    resource = from_text(verification)
    if resource is None:
        raise ValueError("the id of a verification must be a UUID")
    keyring = masters_of(database, master_key)
    outcome = str(with_store(database, lambda store: _replay(store, keyring, resource, bundles)))
    if as_json:
        console.say_json({"verificationId": verification, "replay": outcome})
    else:
        console.say(outcome)
    raise typer.Exit(CODES[outcome])


async def _replay(store: Store, keyring: Keyring, resource: bytes, bundles: Path | None) -> Replay:
    from scoring_model.service.bundles import BundleShelf, BundlesMissing, read_bundle_directory
    from scoring_model.service.scoring.verifications import replay as decide_again

    directory = bundles or await read_bundle_directory(store) or Path("bundles")

    def find(model_version: str, policy_version: str | None) -> Path:
        path = BundleShelf(directory).find(model_version, policy_version)
        if path is None:
            raise BundlesMissing(directory, ((model_version, policy_version or ""),))
        return path

    return await decide_again(store, keyring, resource, find=find)
