"""The program `scoring-model`: its commands, errors and exit codes."""

import re
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from scoring_model import cli
from scoring_model.cli import console
from scoring_model.cli.groups import MEMBERS, Group
from scoring_model.cli.option_groups import expanded


class Program(TyperGroup):
    """The program, whose help lists the commands by group as plain text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each group with their first sentence."""
        width = formatter.width - 6 - max(map(len, self.commands))
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in Group}
        commands: Mapping[str, Any] = self.commands
        for name, one in commands.items():
            rows[one.rich_help_panel].append((name, one.get_short_help_str(width)))
        for group, found in rows.items():
            with formatter.section(group):
                formatter.write_dl(found)


def _name(member: Any) -> str:
    """Return the name of a command, by which the help lists a group."""
    return str(member.info.name if isinstance(member, typer.Typer) else member.__name__)


app = typer.Typer(
    name="scoring-model",
    cls=Program,
    help="Identity risk scoring: from labelled identity records to one sealed ONNX bundle, and back to decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for found in iter_modules(cli.__path__):
    import_module(f"{cli.__name__}.{found.name}")
for panel, members in MEMBERS.items():
    for member in sorted(members, key=_name):
        if isinstance(member, typer.Typer):
            app.add_typer(member, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(expanded(member))


def _show_version(value: bool) -> None:
    if value:
        from importlib import metadata

        console.say(f"scoring-model {metadata.version('scoring-model')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Set the options of all commands."""
    console.state.debug = debug


@cache
def _command() -> Callable[[Sequence[str] | None], None]:
    """Build the tree of commands once: tests run many of them in one process."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the program's name; default: those of the process.

    Returns
    -------
    int
        Exit code: 0 done; 1 the input is unusable, with the reason on standard error; 2 wrong usage; 130 interrupted.
        A replay also has 3 and 4, an evaluation 10, 11 and 12.
    """
    console.state.is_process = arguments is None
    if console.state.is_process:
        warnings.showwarning = lambda message, *_, **__: console.warn(str(message))
    try:
        _command()(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except ModuleNotFoundError as error:
        if (extra := _extra_with(str(error.name))) is None:
            raise
        console.fail(f"this needs {error.name}: pip install 'scoring-model[{extra}]'")
        return 1
    except Exception as error:
        from scoring_model.service.standard_error import is_explained, text_of

        if not is_explained(error):
            raise
        if console.state.debug:
            traceback.print_exc()
        console.fail(text_of(error))
        return 1
    return 0


def _extra_with(module: str) -> str | None:
    """Return the extra with the distribution that is called like a module."""
    from importlib import metadata

    for text in metadata.requires("scoring-model") or ():
        name = re.split(r"[^\w-]", text, maxsplit=1)[0].replace("-", "_").lower()
        found = re.search(r"extra == ['\"](\w+)", text)
        if name == module and found and found[1] != "all":
            return found[1]
    return None
