"""Law 1: nothing but features builds a row, nothing but decision compares a score with a threshold."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring_model import features

SOURCE = Path(__file__).parents[1] / "src" / "scoring_model"
FAMILIES = {*features.FAMILIES, "links"}
THRESHOLDS = {"step_up_from", "fail_from"}


def modules_outside(package: str, *words: str) -> Iterator[tuple[str, ast.Module]]:
    """Every module that is not in a package and has one of some words in its text, by its path."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(SOURCE).parts[0] != package and any(word in text for word in words):
            yield str(path.relative_to(SOURCE)), ast.parse(text)


def compared_thresholds(tree: ast.Module) -> list[int]:
    """Lines that compare a score with a threshold."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            words = {getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(node)}
            if words & THRESHOLDS and any("score" in word for word in words):
                lines.append(node.lineno)
    return lines


def imported_families(tree: ast.Module) -> list[str]:
    """Families of value functions that a module imports."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scoring_model.features"):
            last = (node.module or "").rpartition(".")[2]
            found += [last] if last in FAMILIES else [a.name for a in node.names if a.name in FAMILIES]
    return found


def test_nothing_but_decision_compares_a_score_with_a_threshold() -> None:
    """Outside the package of decisions no comparison has a score on one side and a threshold on the other."""
    found = {path: compared_thresholds(tree) for path, tree in modules_outside("decision", *THRESHOLDS)}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_nothing_but_features_calls_a_value_function() -> None:
    """Outside the package of features no module imports a family: rows come from the matrix alone."""
    found = {
        path: imported_families(tree) for path, tree in modules_outside("features", "scoring_model.features")
    }
    assert {path: families for path, families in found.items() if families} == {}


@pytest.mark.parametrize(
    ("code", "lines", "families"),
    [
        ("if score >= policy.fail_from: pass", [1], []),
        ("from scoring_model.features import names", [], ["names"]),
        ("from scoring_model.features.dates import age", [], ["dates"]),
        ("if card.fail_from > 1000: pass", [], []),
    ],
)
def test_the_search_finds_what_it_looks_for(code: str, lines: list[int], families: list[str]) -> None:
    """The two searches see a comparison and an import of the kinds that are forbidden, and no others."""
    assert (compared_thresholds(ast.parse(code)), imported_families(ast.parse(code))) == (lines, families)
