"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Final

from scoring_model.escaping import for_markdown

ABSENT: Final = "–"


class Markup(str):
    """A cell of our own, which is Markdown."""

    __slots__ = ()


def draw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table; cells are text, which shows as it stands, except where they are `Markup`."""
    lines = [heads, [Markup("---")] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def _cell(text: str) -> str:
    return text if isinstance(text, Markup) else for_markdown(text)
