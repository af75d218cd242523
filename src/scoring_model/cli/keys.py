"""Commands on keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.store import Store

app = in_group(Group.OPERATIONS)(
    typer.Typer(
        name="keys", help="Keys that sign bundles, and the master keys of the service.", no_args_is_help=True
    )
)


@app.command()
def generate(
    private: Annotated[
        Path, typer.Argument(help="File of the private key to write, readable by its owner only.")
    ],
    public: Annotated[Path, typer.Argument(help="File of the public key to write.")],
) -> None:
    """Generate an Ed25519 key pair: the private key signs bundles, the public key verifies them.

    Both are PEM files. An existing key is never replaced.
    """
    from scoring_model.bundle.seal import generate_key_pair

    generate_key_pair(private, public)
    console.say(f"private key: {private}")
    console.say(f"public key: {public}")


@app.command("generate-master")
def generate_master(
    path: Annotated[Path, typer.Argument(help="File to write, readable by its owner only.")],
) -> None:
    """Generate a master key for the encryption of the service. An existing file is never replaced."""
    from scoring_model.service.keys.keyring import add_master_key

    if path.exists():
        raise FileExistsError(f"{path} exists; to add a new primary key to it: scoring-model keys rotate")
    add_master_key(path)
    console.say(
        f"master key: {path}. Without it a database can't be read: back it up apart from the database"
    )


@app.command()
def rotate(database: shared.Database, master_key: shared.MasterKey = None) -> None:
    """Rewrap all encrypted keys under a new master key. Servers may keep running.

    A key file gets a new first key. A variable or a command must give the new key first, then the old ones. Run the
    command again to finish an interrupted rotation. See docs/service-storage.md#master-key.
    """
    from scoring_model.service.settings import master_source

    source = master_source(database, master_key)
    with console.progress("wrapping keys of persons") as progress:
        done = with_store(database, lambda store: _rotate(store, source, progress=progress))
    console.say(f"{done} keys of persons wrapped anew")


async def _rotate(store: Store, source: str, *, progress: Callable[[int], None]) -> int:
    from scoring_model.service.keys.data_keys import finished
    from scoring_model.service.keys.data_keys import rotate as wrap_anew
    from scoring_model.service.keys.keyring import add_master_key, load_master_keys

    keyring = load_master_keys(source)
    kind, _, rest = source.partition(":")
    if kind == "file":
        if await finished(store, keyring):
            add_master_key(Path(rest))
            console.report(
                f"{rest} has a new primary key: copy it to every machine that serves this database"
            )
            keyring = load_master_keys(source)
        else:
            console.report("an earlier rotation was interrupted: continuing it")
    elif await finished(store, keyring):
        console.report(
            "everything is wrapped by the first key of the source: to rotate, put a new one before it"
        )
    return await wrap_anew(store, keyring, progress=progress)
