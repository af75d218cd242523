"""What the command line states, it states once."""

import ast
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

import scoring_model.cli

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
