"""The page of the commands, which is made from the program."""

import importlib.util
import re
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from scoring_model.cli.app import app
from scoring_model.cli.groups import Group

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PROGRAM: Final[Any] = typer.main.get_command(app)
LONGEST_HELP: Final = 12
"""Most lines of the help of a command, before its options."""


def pipeline() -> Any:
    """The pipeline that writes pages."""
    spec = importlib.util.spec_from_file_location("docs_pipeline", ROOT / "pipelines" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DOCS: Final = pipeline()
COMMANDS: Final[dict[str, Any]] = dict(DOCS.walk(PROGRAM.commands))


def options(command: Any) -> set[str]:
    """Every option of a command, both sides of a switch."""
    shown = (one for one in command.params if one.param_type_name == "option" and not one.hidden)
    return {word for option in shown for word in (*option.opts, *option.secondary_opts)} - {"--help"}


def section(name: str) -> str:
    """The page's section of a command."""
    found = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_the_page_is_up_to_date() -> None:
    """The committed page is what the program gives, behind its introduction."""
    assert DOCS.commands_page() == PAGE


def test_the_program_has_commands() -> None:
    """The walk over the program finds something."""
    assert {"train", "keys generate", "clients create"} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_described(name: str) -> None:
    """A command has its section with its usage and a row for each option that is not hidden, and all have help."""
    text = section(name)
    rows = re.findall(r"^\| (`--.*?) \| ", text, re.MULTILINE)
    assert f"scoring-model {name}" in text
    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) == options(COMMANDS[name])
    assert all(one.help for one in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_stays_short(name: str) -> None:
    """What a command says before its options fits a screen: longer facts stand in the page of their topic."""
    assert 1 <= len(COMMANDS[name].help.splitlines()) <= LONGEST_HELP


def test_the_help_of_the_program_groups_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command stands once in the help, under the group that the page gives it."""
    with pytest.raises(SystemExit):
        PROGRAM(["--help"])
    said = capsys.readouterr().out.partition("\nData:\n")
    shown = dict(re.findall(r"(\w+):\n((?:  .*\n)+)", f"Data:\n{said[2]}"))
    assert list(shown) == list(Group) == re.findall(r"^## (.*)", PAGE, re.MULTILINE)
    words = [word for lines in shown.values() for word in re.findall(r"^  ([\w-]+)", lines, re.MULTILINE)]
    assert sorted(words) == sorted(PROGRAM.commands)


def test_options_of_the_program_are_described() -> None:
    """Common options are described before all sections."""
    shown = {word for word in options(PROGRAM) if not word.startswith("--no-")}
    assert shown == {"--debug", "--version", "--install-completion", "--show-completion"}
    assert all(f"`{word}`" in PAGE[: PAGE.index("\n## ")] for word in shown)
