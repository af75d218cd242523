"""What is imported is declared: each third-party package in the group of those who import it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
EXTRAS: Final = {
    "evaluation": "train",
    "monitoring": "train",
    "parallel": "dask",
    "retraining": "train",
    "service": "serve",
    "training": "train",
}
"""The extra that a part of the package needs beyond the dependencies of all."""

OF_CLIENT: Final = ("client", "contract")
"""What is in the distribution of the client, which has dependencies of its own."""

PARTS: Final = sorted(
    path.name for path in (ROOT / "src" / "scoring_model").iterdir() if path.suffix == ".py" or path.is_dir()
)
DEVELOPMENT: Final = ("tests", "benchmarks", "pipelines", "examples")
OWN: Final = {"scoring_model", "tests", "shared", "_typeshed"} | {
    path.stem
    for folder in ("benchmarks", "pipelines", "tests/support")
    for path in (ROOT / folder).glob("*.py")
}


def declared() -> dict[str, set[str]]:
    """Distributions by extra; those of all under the empty name, those of development under ``dev``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["project"]["optional-dependencies"] | project["dependency-groups"]
    groups[""] = project["project"]["dependencies"]
    client = tomllib.loads((ROOT / "packaging" / "client" / "pyproject.toml").read_text(encoding="utf-8"))
    groups["client"] = client["project"]["dependencies"]
    return {
        group: {normalised(re.split(r"[<>=;\[ ~!]", one)[0]) for one in lines}
        for group, lines in groups.items()
    }


def normalised(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Third-party packages that the files of a folder, or a file, import anywhere, with the place."""
    for file in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                root = name.partition(".")[0]
                if root not in sys.stdlib_module_names and root not in OWN:
                    yield root, f"{file.relative_to(ROOT)} imports {root}"


@cache
def providers() -> Mapping[str, list[str]]:
    """Distributions by the packages that they provide."""
    return packages_distributions()


def undeclared(folder: Path, allowed: set[str]) -> list[str]:
    """Imports of a folder that no allowed distribution provides."""
    return [
        place
        for root, place in imported(folder)
        if not allowed & {normalised(name) for name in providers().get(root, [])}
    ]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_package_imports_what_its_extra_declares(part: str) -> None:
    """Each part needs the common dependencies and at most one extra; the client needs its own alone."""
    groups = declared()
    common = groups["client"] if part in OF_CLIENT else groups[""]
    allowed = common | groups.get(EXTRAS.get(part, ""), set())
    assert undeclared(ROOT / "src" / "scoring_model" / part, allowed) == []


@pytest.mark.parametrize("folder", DEVELOPMENT)
def test_development_imports_what_some_group_declares(folder: str) -> None:
    """Nothing is imported that only another package happened to install."""
    assert undeclared(ROOT / folder, set().union(*declared().values())) == []
