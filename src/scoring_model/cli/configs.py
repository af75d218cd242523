"""The command that copies the shipped configurations out of the package."""

from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import typer

from scoring_model.cli import console
from scoring_model.cli.groups import Group, in_group

INSTALLED: Final = Path(str(resources.files("scoring_model"))) / "configs"
SOURCE: Final = INSTALLED if INSTALLED.is_dir() else INSTALLED.parents[2] / "configs"  # of a checkout
"""The folder of the shipped configurations."""

app = in_group(Group.DATA)(
    typer.Typer(name="configs", help="The configurations of the package.", no_args_is_help=True)
)


@app.command()
def copy(
    folder: Annotated[
        Path, typer.Argument(file_okay=False, help="Folder to write them to, such as configs.")
    ],
    replace: Annotated[bool, typer.Option(help="Replace files of the same names.")] = False,
) -> None:
    """Copy the uses (identity, signup, transactions, duplicates, names), gates, settings and schemas to a folder."""
    from scoring_model.records.atomic import write_whole

    files = sorted(path for path in SOURCE.iterdir() if path.suffix in (".yaml", ".json"))
    existing = [str(folder / path.name) for path in files if (folder / path.name).exists()]
    if existing and not replace:
        raise FileExistsError(f"{', '.join(existing)}: exists; pass --replace to overwrite it")
    folder.mkdir(parents=True, exist_ok=True)
    for path in files:
        write_whole(folder / path.name, path.read_bytes())
        console.say(str(folder / path.name))
