"""The README is short, and every command that a page shows exists."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from command_lines import problem

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
GENERATED: Final = "commands.md"
"""Its usage lines have names in the place of values; it is compared with the program elsewhere."""
MOST_WORDS: Final = 900


def lines(page: Path) -> list[str]:
    """The commands of the program in the fenced blocks of a page, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
    blocks = re.findall(r"^```(?:sh|bash|)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\(?(?:umask 077; )?(scoring-model [a-z][^|>#)\n]*)", "".join(blocks), re.MULTILINE)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != GENERATED and lines(page)], ids=lambda page: page.name
)
def test_every_command_of_a_page_exists(page: Path) -> None:
    """Each command line of a page names a command, options that it has, and its required arguments."""
    assert [found for line in lines(page) if (found := problem(shlex.split(line)[1:]))] == []


def test_every_service_of_a_page_can_start() -> None:
    """The one setting without which nothing is served, the bundle, is in each command line that serves."""
    pages = [page for page in PAGES if page.name != GENERATED]
    served = [line for page in pages for line in lines(page) if line.startswith("scoring-model serve")]
    assert [line for line in served if "--bundle " not in line and "--config " not in line] == []
    assert len(served) > 5


def test_the_readme_is_short() -> None:
    """A stranger reads it in four minutes."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_WORDS


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_targets_exist(page: str) -> None:
    """Every `make` target that is named is in the Makefile, and described there."""
    targets = set(
        re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    reported = set(
        re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert reported
    assert reported <= targets
