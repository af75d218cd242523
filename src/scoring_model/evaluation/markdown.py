"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Final

from scoring_model.escaping import for_markdown

ABSENT: Final = "–"


class Markup(str):
    """A cell of our own, which is Markdown."""


def draw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table; cells are text, which shows as it stands, except where they are `Markup`."""
    lines = [heads, [Markup("---")] * len(heads), *rows]
    shown = ([one if isinstance(one, Markup) else for_markdown(one) for one in cells] for cells in lines)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)
