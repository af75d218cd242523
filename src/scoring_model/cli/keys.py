"""Commands on keys."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console

app = typer.Typer(help="Keys that sign bundles.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Group the commands on keys."""


@app.command()
def generate(
    private: Annotated[Path, typer.Argument(help="File of the private key to write, for its owner alone.")],
    public: Annotated[Path, typer.Argument(help="File of the public key to write.")],
) -> None:
    """Make an Ed25519 key pair: the private key signs bundles, the public one verifies them."""
    from scoring_model.bundle.seal import generate_key_pair

    generate_key_pair(private, public)
    console.say(f"private key: {private}")
    console.say(f"public key: {public}")
