"""What grows with stored rows: every command on a database says what bounds it, or reads no more than a few rows."""

import re
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
FEW: Final = {
    "bundles activate",
    "bundles list",
    "bundles rollback",
    "clients create",
    "clients grant",
    "clients list",
    "clients revoke",
    "clients rotate",
    "clients unknown-signals",
    "database migrate",
    "deliver",
    "rules activate",
    "rules rollback",
    "serve",
    "verifications replay",
}
"""Those that read clients, bundles, rules or one verification, change tables, or serve."""


def commands() -> set[str]:
    """Commands that take a database, from the page of commands."""
    parts = (DOCS / "commands.md").read_text(encoding="utf-8").split("\n### ")[1:]
    return {part.partition("\n")[0] for part in parts if "`--database`" in part}


def test_every_command_on_a_database_says_what_bounds_it() -> None:
    """The table of commands names all others, and none that does not exist."""
    text = (DOCS / "service-load.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.partition("| Command |")[2].splitlines() if line[:2] == "| "]
    named = {name.removesuffix(" --database") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named | FEW == commands()
