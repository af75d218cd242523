"""A report as data: sections of texts, cards, grids and drawings, which HTML and Markdown both render."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, TypeAlias

Tone: TypeAlias = Literal["", "good", "bad", "open", "none", "better", "worse"]
"""What a verdict or a difference says: `open` where nobody can know, `none` where nothing is judged."""

TextKind: TypeAlias = Literal["text", "lead", "note", "missing", "item"]

NEEDS_BOTH: Final = "It needs genuine records and frauds, and one of the classes is absent."
NO_RECORDS: Final = "There are no evaluated records."
NO_BAND: Final = "There is no band, since it takes ten days of genuine records and ten independent frauds."

_NUMERIC: Final = frozenset("0123456789+-−–∞")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A text of a grid.

    Parameters
    ----------
    key : str
        What it shows: names of grid, row and column, as ``ranking/roc_auc/value``. Unique in a report; `Grid.of` gives
        it. Before that, the key of a row's first cell is the name of the row.
    bar : float or None
        Share in [0, 1] that HTML also draws as a bar.
    """

    text: str
    tone: Tone = ""
    key: str = ""
    bar: float | None = None


Row: TypeAlias = Sequence[str | Cell]
"""Cells, of which the first names the row; its key, or else its text, is the name of the row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Rows of cells under heads; the first cell of a row names it.

    Parameters
    ----------
    name : str
        Unique in the report.
    caption : str
        What the rows are.
    """

    name: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, name: str, caption: str, heads: Mapping[str, str], rows: Iterable[Row]) -> Self:
        """Make a grid, and the key of each of its cells.

        Parameters
        ----------
        heads : mapping of str to str
            Title of each column by its name.
        """
        return cls(
            name=name,
            caption=caption,
            heads=tuple(heads.values()),
            rows=tuple(tuple(_keyed(name, list(heads), row)) for row in rows),
        )

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers or "no records" and the like: aligned to the right; the first never is."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.heads)
        return (False, *(bool(column) and all(map(_is_numeric, column)) for column in columns[1:]))

    @property
    def wide(self) -> bool:
        """Whether the grid takes the whole width of a page."""
        return len(self.heads) > 4


def _keyed(name: str, columns: Sequence[str], row: Row) -> Iterator[Cell]:
    cells = [one if isinstance(one, Cell) else Cell(text=one) for one in row]
    for column, cell in zip(columns, cells, strict=True):
        yield replace(cell, key=f"{name}/{cells[0].key or cells[0].text}/{column}")


def _is_numeric(cell: Cell) -> bool:
    return (cell.text[:1] in _NUMERIC or cell.text.startswith("no")) and ": " not in cell.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A paragraph that is no plain one.

    Parameters
    ----------
    kind : {'text', 'lead', 'note', 'missing', 'item'}
        `missing` says why a part is not there; an `item` is a line of a list.
    """

    text: str
    kind: TextKind = "text"


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A verdict in words.

    Parameters
    ----------
    tone : Tone
        Chooses colour and mark; the head says the same in words.
    """

    tone: Tone
    head: str
    title: str
    sentence: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """How to draw a picture, its text, and its numbers as a grid.

    Parameters
    ----------
    name : str
        Unique in the report: letters, digits and hyphens.
    draw : callable or None
        Draws in the axes that it gets, one by one. HTML alone calls it. None where the numbers are missing.
    caption : str
        How to read the picture, and on how many records it rests.
    alt : str
        What it shows, with its main numbers, for people who do not see it.
    missing : str
        Why there is no picture; empty where there is one.
    height : float
        In inches.
    rows, columns : int
        Of axes.
    """

    name: str
    title: str
    draw: Callable[..., object] | None = None
    caption: str = ""
    alt: str = ""
    grid: Grid | None = None
    missing: str = ""
    height: float = 3.4
    rows: int = 1
    columns: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a report.

    Parameters
    ----------
    name : str
        Unique in the report: the target of links.
    texts : tuple of str or Text
        Paragraphs before all else.
    drawings : tuple of Drawing or callable
        A callable makes a drawing whose numbers take time, or stand in a grid of the section too, when a page asks for
        it.
    notes : tuple of str or Text
        Paragraphs after all else.
    """

    name: str
    title: str
    texts: tuple[str | Text, ...] = ()
    cards: tuple[Card, ...] = ()
    drawings: tuple[Drawing | Callable[[], Drawing], ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str | Text, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A result in words.

    Parameters
    ----------
    kicker : str
        What kind of report it is.
    title : str
        For the tab of a browser.
    name : str
        Of the use.
    basis : str
        Which model decided, on which records.
    first : tuple of Section
        The first screen.
    sections : tuple of Section
        All others, which the page lists after the first screen.
    """

    kicker: str
    title: str
    name: str
    basis: str
    first: tuple[Section, ...]
    sections: tuple[Section, ...]


def made(drawing: Drawing | Callable[[], Drawing]) -> Drawing:
    """Return a drawing with its numbers."""
    return drawing if isinstance(drawing, Drawing) else drawing()


def texts_of(texts: Iterable[str | Text]) -> tuple[Text, ...]:
    """Return paragraphs with their kinds."""
    return tuple(one if isinstance(one, Text) else Text(text=one) for one in texts)
