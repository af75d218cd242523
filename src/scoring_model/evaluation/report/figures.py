"""A figure of a report: the drawing, a text for people who do not see it, and its numbers as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.report.style import new_axes, styled, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.uncertainty import Share


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of text under heads; the first cell of a row names it.

    Parameters
    ----------
    caption : str
        What the rows are.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers or "no records" and the like: aligned to the right; the first never is."""
        columns = list(zip(*self.rows, strict=True))
        return (False, *(all(map(_is_numeric, column)) for column in columns[1:]))

    @property
    def wide(self) -> bool:
        """Whether the table takes the whole width of a page."""
        return len(self.heads) > 4


NEEDS_BOTH: Final = "It needs genuine records and frauds, and one of the classes is absent."
NO_RECORDS: Final = "There are no evaluated records."
NO_BAND: Final = "There is no band, since the records lie on fewer than ten days."

_NUMERIC: Final = frozenset("0123456789+-−–∞")


def _is_numeric(cell: str) -> bool:
    return (cell[:1] in _NUMERIC or cell.startswith("no")) and ": " not in cell


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A drawing with its text and table.

    Parameters
    ----------
    name : str
        Unique in the report: letters, digits and hyphens.
    caption : str
        How to read the figure, and on how many records it rests.
    alt : str
        What the figure shows, with its main numbers.
    svg : str or None
        None where the numbers for it are missing.
    missing : str
        Why there is no drawing; empty where there is one.
    """

    name: str
    title: str
    caption: str
    alt: str
    svg: str | None
    table: Table | None
    missing: str = ""


def absent(name: str, title: str, why: str) -> Figure:
    """Make a figure whose numbers are missing, with the reason."""
    return Figure(name=name, title=title, caption="", alt="", svg=None, table=None, missing=why)


def drawn(
    name: str,
    title: str,
    *,
    draw: Callable[..., object],
    alt: str,
    caption: str,
    table: Table,
    height: float = 3.4,
    rows: int = 1,
    columns: int = 1,
) -> Figure:
    """Draw a figure in the style of the report.

    Parameters
    ----------
    draw : callable
        Gets the axes, one by one.
    height : float
        In inches.
    """
    with styled():
        axes = new_axes(height=height, rows=rows, columns=columns)
        draw(*axes)
        svg = to_svg(figure_of(axes[0]), name=name, label=alt)
    return Figure(name=name, title=title, caption=caption, alt=alt, svg=svg, table=table)


def figure_of(ax: "Axes") -> Any:
    """Return the figure that axes belong to."""
    return ax.get_figure(root=True)


def range_text(low: float | None, high: float | None, write: Callable[[float], str] = percent) -> str:
    """Write an interval, or that there is none."""
    if low is None or high is None or low != low or high != high:
        return "–"
    return f"{write(low)} to {write(high)}"


def share_text(share: "Share") -> str:
    """Write a share with its interval."""
    return "–" if share.share is None else f"{percent(share.share)} ({range_text(share.low, share.high)})"


def thin(count: int, most: int = 25) -> Sequence[int]:
    """Return at most `most` places out of `count`, evenly spread, with both ends."""
    if count <= most:
        return range(count)
    return sorted({round(place * (count - 1) / (most - 1)) for place in range(most)})
