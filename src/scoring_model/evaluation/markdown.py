"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Final

ABSENT: Final = "–"


def draw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
