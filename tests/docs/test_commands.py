"""The page of the commands against the program."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from scoring_model.cli.app import app

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    for word, inner in getattr(command, "commands", {}).items():
        path = f"{name} {word}".strip()
        if hasattr(inner, "commands"):
            yield from commands(inner, path)
        else:
            yield path, inner


def options(command: Any) -> set[str]:
    """Every option of a command, both sides of a switch."""
    given = (option for option in command.params if option.param_type_name == "option")
    return {word for option in given for word in (*option.opts, *option.secondary_opts)} - {"--help"}


PROGRAM: Final = typer.main.get_command(app)
COMMANDS: Final = dict(commands(PROGRAM))


def section(name: str) -> str:
    """The page's section of a command."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_the_program_has_commands() -> None:
    """The walk over the program finds something."""
    assert {"train", "keys generate", "clients create"} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_described(name: str) -> None:
    """Each command has its section, in which it is called by all its words."""
    assert f"scoring-model {name}" in section(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_exactly_the_options_that_exist_are_described(name: str) -> None:
    """The first column of a command's table holds its options, no more and no fewer."""
    cells = re.findall(r"^\| (`--.*?) \|", section(name), re.MULTILINE)
    assert set(re.findall(r"--[a-z-]+", " ".join(cells))) == options(COMMANDS[name])


def test_options_of_the_program_are_described() -> None:
    """Common options are described before all sections."""
    shown = {word for word in options(PROGRAM) if not word.startswith("--no-")}
    assert shown == {"--debug", "--version", "--install-completion", "--show-completion"}
    assert all(f"`{word}`" in PAGE[: PAGE.index("\n## ")] for word in shown)
