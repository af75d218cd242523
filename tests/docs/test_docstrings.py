"""Examples in docstrings are what the program answers."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SHOWN = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SHOWN])
def test_examples_hold(name: str) -> None:
    """Each line after `>>>` gives what stands below it; failures are printed."""
    module = import_module(name.removesuffix(".__init__"))
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
