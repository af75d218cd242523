"""A report as Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from scoring_model.escaping import for_markdown, sentence_for_markdown
from scoring_model.evaluation.report.section import (
    Card,
    Drawing,
    Grid,
    Report,
    Section,
    Text,
    made,
    texts_of,
)


def markdown(report: Report, *, drawings: bool = True) -> str:
    """Write a report: its basis, and every section under a heading of the third level.

    Parameters
    ----------
    drawings : bool
        Whether to write also what those pictures show whose numbers take time or stand elsewhere in the report.
    """
    parts = [sentence_for_markdown(report.basis)] if report.basis else []
    parts += [section_markdown(one, drawings=drawings) for one in (*report.first, *report.sections)]
    return "\n\n".join(parts) + "\n"


def overview(report: Report, *, most: int = 40) -> str:
    """Write what a result is in a few lines: its basis and first screen, cut after `most` lines."""
    text = "\n\n".join((report.name, report.basis, *map(section_markdown, report.first)))
    lines = text.splitlines()
    return text if len(lines) <= most else "\n".join((*lines[: most - 1], "…"))


def section_markdown(section: Section, *, drawings: bool = True) -> str:
    """Write a section with its heading."""
    return "\n\n".join([f"### {sentence_for_markdown(section.title)}", *_parts(section, drawings=drawings)])


def _parts(section: Section, *, drawings: bool) -> Iterator[str]:
    yield from _paragraphs(texts_of(section.texts))
    if section.cards:
        yield "\n".join(map(_card, section.cards))
    for one in section.drawings:
        if drawings or isinstance(one, Drawing):
            yield _drawing(made(one))
    for grid in sorted(section.grids, key=lambda grid: grid.wide):  # as on a page
        yield grid_markdown(grid)
    yield from _paragraphs(texts_of(section.notes))


def _paragraphs(texts: Sequence[Text]) -> Iterator[str]:
    """Write paragraphs; items that follow each other are one list."""
    items: list[str] = []
    for one in texts:
        if one.kind == "item":
            items.append(f"- {sentence_for_markdown(one.text)}")
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield sentence_for_markdown(one.text)
    if items:
        yield "\n".join(items)


def _card(card: Card) -> str:
    said = sentence_for_markdown(" ".join(filter(None, (card.sentence, card.detail))))
    return f"- **{for_markdown(card.head)}: {sentence_for_markdown(card.title)}.** {said}"


def _drawing(drawing: Drawing) -> str:
    text = f"Not drawn. {drawing.missing}" if drawing.grid is None else drawing.caption
    head = f"**{sentence_for_markdown(drawing.title)}.** {sentence_for_markdown(text)}"
    return head if drawing.grid is None else f"{head}\n\n{grid_markdown(drawing.grid)}"


def grid_markdown(grid: Grid) -> str:
    """Write a grid under its caption."""
    caption = f"*{sentence_for_markdown(grid.caption)}*"
    if not grid.rows:
        return f"{caption}\n\nNone."
    return f"{caption}\n\n{draw_table(grid.heads, ([cell.text for cell in row] for row in grid.rows))}"


def draw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table; cells are text, which shows as it stands, and the first of a row may be a value."""
    shown = [[for_markdown(first), *map(sentence_for_markdown, others)] for first, *others in (heads, *rows)]
    lines = [shown[0], ["---"] * len(heads), *shown[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
