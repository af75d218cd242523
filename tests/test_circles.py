"""Modules import one another in one direction: no circle, not through functions or types either."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import scoring_model

ROOT = Path(scoring_model.__file__).parent.parent


def modules() -> dict[str, Path]:
    """Find all modules of the package by name."""
    found = {}
    for path in (ROOT / "scoring_model").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_names(path: Path) -> set[tuple[str, str]]:
    """List what a file imports from the package, wherever the import stands, as module and name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
    return {pair for pair in found if pair[0].partition(".")[0] == "scoring_model"}


def imports(paths: dict[str, Path]) -> dict[str, set[str]]:
    """Map each module to those that it imports. What a package passes on is imported from where it is defined."""
    shown = {
        f"{package}.{name}": f"{module}.{name}" if f"{module}.{name}" in paths else module
        for package, path in paths.items()
        if path.name == "__init__.py"
        for module, name in imported_names(path)
    }

    def defined_in(module: str, name: str) -> str:
        target = f"{module}.{name}"
        while target not in paths and target in shown:
            target = shown[target]
        return target if target in paths else module

    graph = {own: {defined_in(*pair) for pair in imported_names(path)} - {own} for own, path in paths.items()}
    for own, path in paths.items():
        if path.name == "__init__.py":  # it only passes on what lies in the package
            graph[own] = {other for other in graph[own] if not other.startswith(f"{own}.")}
    return graph


def test_no_module_imports_itself_through_others() -> None:
    """The modules have an order in which each imports earlier ones alone."""
    paths = modules()
    assert len(paths) > 400
    tuple(TopologicalSorter(imports(paths)).static_order())


def test_a_circle_through_a_function_and_a_type_is_found(tmp_path: Path) -> None:
    """An import inside a function and one for types make a circle."""
    for name, text in (
        ("a", "def f():\n    from scoring_model.b import g\n"),
        ("b", "if TYPE_CHECKING:\n    import scoring_model.a\n"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(CycleError):
        TopologicalSorter(
            imports({f"scoring_model.{name}": tmp_path / f"{name}.py" for name in "ab"})
        ).prepare()
