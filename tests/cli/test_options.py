"""What the command line states, it states once."""

import ast
import inspect
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest

import scoring_model.cli
from scoring_model.batch.dataset import score_dataset
from scoring_model.cli.option_groups import (
    FolderRun,
    Judging,
    Loading,
    PairJudging,
    ReadRecords,
    Records,
    expanded,
)
from scoring_model.cli.retraining import RetrainingOptions
from scoring_model.cli.training import JobOptions
from scoring_model.evaluation import compare, evaluate
from scoring_model.monitoring import monitor
from scoring_model.retraining import Retraining
from scoring_model.training.job import Job

SOURCES: Final = sorted(Path(scoring_model.cli.__file__).parent.glob("*.py"))


def declared(text: str) -> list[str]:
    """The help texts of all options and arguments that a module declares, as they are written."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    made = (call for call in calls if ast.unparse(call.func) in ("typer.Option", "typer.Argument"))
    keywords = (keyword for call in made for keyword in call.keywords if keyword.arg == "help")
    return [ast.unparse(keyword.value) for keyword in keywords if isinstance(keyword.value, ast.Constant)]


def test_no_option_is_declared_twice() -> None:
    """An option or argument that several commands have is written once: no help text stands in two places."""
    found = Counter(text for path in SOURCES for text in declared(path.read_text(encoding="utf-8")))
    assert len(found) > 100
    assert [text for text, count in found.items() if count > 1] == []


@pytest.mark.parametrize(
    "code", ["a = typer.Option(help='x')", "def f(a: A[str, typer.Argument(help='x')]): ..."]
)
def test_the_search_finds_what_it_looks_for(code: str) -> None:
    """The search sees a declaration by itself and one in a signature."""
    assert declared(code) == ["'x'"]


@pytest.mark.parametrize(
    ("group", "mirrored"),
    [
        (JobOptions, Job),
        (RetrainingOptions, Retraining),
        (Records, evaluate),
        (Records, compare),
        (Records, monitor),
        (Judging, evaluate),
        (PairJudging, compare),
        (ReadRecords, score_dataset),
        (FolderRun, score_dataset),
    ],
)
def test_a_group_has_the_names_and_defaults_of_what_it_mirrors(group: Any, mirrored: Any) -> None:
    """Every option of a group is a parameter of the Python interface, with its default if it has one of its own."""
    known = inspect.signature(mirrored).parameters
    given = {one.name: one.default for one in fields(group) if one.name != "names" or "names" in known}
    assert given.keys() <= known.keys()
    assert {name: value for name, value in given.items() if value is not None} == {
        name: known[name].default for name, value in given.items() if value is not None
    }


def test_a_command_takes_a_group_as_one_value() -> None:
    """A command with a group has its fields as options, and gets them as one frozen value."""
    got = []

    def command(path: str, loading: Loading) -> None:
        got.append((path, loading))

    run = expanded(command)
    assert list(inspect.signature(run).parameters) == ["path", "public_key", "threads"]
    run(path="a", public_key=None, threads=3)
    assert got == [("a", Loading(threads=3))]
