"""The look of every figure: one palette for light and dark, one set of sizes, and SVG for a page.

Figures are drawn in the colours of the light palette. `to_svg` replaces each by a CSS variable of the same name, so
that one drawing serves both palettes. Genuine is blue and fraud orange throughout: people with any common colour
blindness can distinguish them (Okabe and Ito 2008), and line styles and labels repeat what the colours say.
"""

import html
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Concatenate, Final, Literal, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.estimates import Estimate
from scoring_model.evaluation.report.words import tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIGHT: Final[Mapping[str, str]] = {
    "ink": "#1c2128",
    "muted": "#59636f",
    "rule": "#d5dbe2",
    "paper": "#fefefe",
    "genuine": "#0a66a6",
    "fraud": "#b94a04",
    "accent": "#12766a",
}
DARK: Final[Mapping[str, str]] = {
    "ink": "#e7ecf2",
    "muted": "#a3aebb",
    "rule": "#39424d",
    "paper": "#171b21",
    "genuine": "#62b4f2",
    "fraud": "#ff9b57",
    "accent": "#55c7b4",
}

GENUINE, FRAUD, INK, MUTED, RULE, PAPER, ACCENT = (
    LIGHT[name] for name in ("genuine", "fraud", "ink", "muted", "rule", "paper", "accent")
)
LOW_TO_HIGH: Final = ("#2f86c9", "#9a97a8", "#e0712c")
"""Colours of rasterised marks from low to high: they stand out from both papers."""

WIDTH: Final = 5.4
"""Width of a figure in inches: its text is readable on a phone, where the page scales it down by little."""

BAND: Final = 0.18
"""Opacity of bands."""

ROW: Final = 0.27
"""Height of a row of names in inches."""

TALL_ROW: Final = 0.34
"""Height of a row of names of two lines in inches."""

SMALL, NOTE, TITLE = 9, 9.5, 10.5
"""Sizes of text in points: beside marks, at edges, and of titles of one of several panels."""

DOTTED, DASHED, LONG = (0, (1, 2)), (0, (4, 2)), (0, (5, 3))
"""Lines: of what is compared with, of thresholds, and of levels."""

LIMIT: Final[Mapping[str, Any]] = {
    "loc": "right", "color": ACCENT, "fontsize": NOTE, "fontweight": "normal",
}  # fmt: skip
"""Look of the title that names a limit."""

COLOURS: Final[Mapping[str, str]] = {
    "false_reject": GENUINE,
    "step_up": GENUINE,
    "missed_fraud": FRAUD,
    "passed": GENUINE,
    "stepped_up": GENUINE,
    "failed": GENUINE,
}
"""Colour of each rate: that of the class that it concerns, genuine for rates of all records."""

_SETTINGS: Final[Mapping[str, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.labelsize": 10.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 0,
    "hatch.color": MUTED,
    "text.parse_math": False,  # values of records may hold dollar signs
    "svg.fonttype": "none",  # text stays text: small, sharp and searchable
    "svg.hashsalt": "report",  # the same figure gives the same bytes
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of the report; the settings of the caller come back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(cast(Any, _SETTINGS)), warnings.catch_warnings():
        # The page draws the text, with its own fonts; here it is only measured.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def new_axes(*, height: float, rows: int = 1, columns: int = 1) -> "list[Axes]":
    """Make the axes of one figure that belongs to no window; call it inside `styled`.

    Parameters
    ----------
    height : float
        Height of the figure in inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03)  # type: ignore[union-attr,call-arg]
    return list(figure.subplots(rows, columns, squeeze=False).ravel())


@contextmanager
def given_axes(ax: "Axes | None") -> "Iterator[Axes]":
    """Give the axes, or new ones in the style of the report."""
    if ax is not None:
        yield ax
        return
    import matplotlib.pyplot as plt

    # Loads the backend: within the style, what a notebook's backend sets when it is loaded would be lost.
    plt.draw_if_interactive()  # type: ignore[no-untyped-call]
    with styled():
        yield plt.subplots(layout="constrained")[1]


_P = ParamSpec("_P")


def drawn(
    ax: "Axes | None",
    draw: "Callable[Concatenate[Axes, _P], object]",
    *args: _P.args,
    **options: _P.kwargs,
) -> "Axes":
    """Draw in the axes, or in new ones in the style of the report, and return them."""
    with given_axes(ax) as axes:
        draw(axes, *args, **options)
    return axes


def figure_of(ax: "Axes") -> Any:
    """Return the figure that axes belong to."""
    return ax.get_figure(root=True)


def row_names(ax: "Axes", names: Sequence[str], places: Sequence[int] | NDArray[np.integer]) -> None:
    """Name rows of marks, without lines between them."""
    ax.set_yticks(places, list(names), parse_math=False)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(visible=False, axis="y")


def share_ticks(ax: "Axes", which: Literal["x", "y"]) -> None:
    """Write the ticks of an axis as shares."""
    getattr(ax, f"{which}axis").set_major_formatter(lambda value, _: tick(value))


def log_shares(ax: "Axes", which: Literal["x", "y"], low: float) -> None:
    """Make an axis logarithmic from `low`, a share above 0, to 1, with round ticks."""
    powers = [10.0**power for power in range(-6, 1)]
    ticks = [power for power in powers if power >= 0.999 * low]
    if len(ticks) < 3:
        ticks = [step * power for power in powers for step in (1, 2, 5)]
        ticks = [share for share in ticks if 0.999 * low <= share <= 1]
    getattr(ax, f"set_{which}scale")("log")
    getattr(ax, f"set_{which}lim")(low, 1.0)
    _set_ticks(ax, which, ticks)


def sqrt_shares(ax: "Axes", which: Literal["x", "y"], high: float) -> None:
    """Scale an axis by square roots from 0 to `high`: small shares stay readable, and 0 is on the axis."""
    getattr(ax, f"set_{which}scale")("function", functions=(_root, np.square))
    getattr(ax, f"set_{which}lim")(0, high)
    ticks: list[float] = []
    for share in (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1):
        if share <= 1.001 * high and (not ticks or np.sqrt(share) - np.sqrt(ticks[-1]) > 0.1 * np.sqrt(high)):
            ticks.append(share)
    _set_ticks(ax, which, ticks)


def _set_ticks(ax: "Axes", which: str, ticks: list[float]) -> None:
    axis = getattr(ax, f"{which}axis")
    axis.set_ticks(ticks, [tick(share) for share in ticks])
    axis.set_ticks([], minor=True)


def _root(values: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(values, 0.0))


def numbers(values: Sequence[float | None]) -> FloatArray:
    """Return values with NaN for None, which no mark shows."""
    return np.array(values, dtype=np.float64)


def with_ends(estimates: Iterable[Estimate]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values, and both ends of their intervals."""
    parts = [(one.value, one.low, one.high) for one in estimates]
    values, lows, highs = np.array(parts, dtype=np.float64).reshape(-1, 3).T
    return values, lows, highs


def to_svg(figure: "Figure", *, name: str, label: str) -> str:
    """Write a figure as an SVG element for a page.

    Parameters
    ----------
    name : str
        Unique in the page: prefix of all identifiers.
    label : str
        Text for people who do not see the figure.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Arranged here, once: `savefig` would draw the whole figure to nowhere first, only to have it arranged.
    FigureCanvasSVG(figure)
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)
    text = io.StringIO()
    figure.savefig(
        text, format="svg", dpi=150, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    return _for_page(text.getvalue(), name, label)


def _for_page(text: str, name: str, label: str) -> str:
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', svg)
    assert view is not None
    svg = svg[svg.index(">") + 1 :]
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href="|url\()#', rf"\1#{name}-", svg)
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", svg)  # a hundredth of a point is enough
    svg = re.sub(r">\s+<", "><", svg)
    for token, colour in LIGHT.items():
        svg = svg.replace(colour, f"var(--{token})")
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {view[0]} role="img" aria-label="{html.escape(label)}">'
    return head + svg.strip()


class NothingToDraw(ValueError):
    """The result lacks the numbers of a plot."""


class MissingExtra(ImportError):
    """A library of an extra is not installed."""


def require_libraries() -> None:
    """Refuse to draw without the libraries of the extra.

    Raises
    ------
    MissingExtra
    """
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"reports and plots need {' and '.join(missing)}: pip install 'scoring-model[train]'"
        )
