"""Notebooks run, define nothing, and their output is there and of no machine."""

import ast
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import matplotlib as mpl
import nbformat
import pandas as pd
import pytest
from matplotlib import pyplot as plt

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
PICTURES: Final = {"challenger.ipynb": 3, "first_model.ipynb": 4, "thresholds.ipynb": 3}
PERSONAL: Final = re.compile(
    r"/(?:home|root|tmp|var|work|usr|opt|mnt|Users)/|[A-Z]:\\\\|hostname|execution_start"
)
TEXTS: Final = ("text/plain", "text/html")


@pytest.fixture(params=sorted(PICTURES))
def name(request: pytest.FixtureRequest) -> str:
    """The name of each notebook."""
    return str(request.param)


@pytest.fixture
def notebook(name: str) -> Any:
    """A notebook as committed."""
    return nbformat.read(FOLDER / name, as_version=4)  # type: ignore[no-untyped-call]


def test_every_notebook_is_checked() -> None:
    """The folder holds the notebooks that are checked here, and no others."""
    assert {path.name for path in FOLDER.glob("*.ipynb")} == set(PICTURES)


def code_cells(notebook: Any) -> list[Any]:
    """Its cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_defines_nothing(notebook: Any) -> None:
    """The notebook has no function and no class: reusable code is in the package."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    tree = ast.parse("\n".join(cell.source for cell in code_cells(notebook)))
    assert not [node for node in ast.walk(tree) if isinstance(node, definitions)]


def test_it_runs(notebook: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells in order, in this process: a kernel of its own would take longer than most of them."""
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    plt.close("all")  # of earlier tests
    width = ("display.max_colwidth", pd.get_option("display.max_colwidth"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with patch.dict(os.environ), mpl.rc_context(), pd.option_context(*width):
        for cell in code_cells(notebook):
            exec(compile(cell.source, f"cell {cell.execution_count}", "exec", dont_inherit=True), names)
        drawn = len(plt.get_fignums())
        plt.close("all")
    assert drawn == PICTURES[name]


def test_it_carries_its_output(notebook: Any, name: str) -> None:
    """Cells were run once, in order, some with a picture, none with an error or a warning."""
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == PICTURES[name]
    assert all(output.output_type != "error" and output.get("name") != "stderr" for output in outputs)


def test_it_is_of_no_machine(notebook: Any) -> None:
    """Neither source, text nor metadata holds a path, a name of a machine or a time of execution."""
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    texts = [cell.source for cell in notebook.cells] + [output.get("text", "") for output in outputs]
    texts += [output.get("data", {}).get(kind, "") for output in outputs for kind in TEXTS]
    texts.append(str(notebook.metadata))
    assert [text for text in texts if PERSONAL.search(text)] == []
    assert all(cell.metadata == {} for cell in notebook.cells)
