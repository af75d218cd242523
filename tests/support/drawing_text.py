"""What a drawing shows, as text: its words, and the values and colours of its marks."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Annotation

from scoring_model.evaluation.report.style import LIGHT

_TOKENS = {colour: name for name, colour in LIGHT.items()}
_SHOWN = 7


def drawing_text(ax: Axes) -> str:
    """Describe axes: words, limits, and each line, bar, dot and segment with its colour."""
    return "\n".join(f"- {line}" for line in _lines(ax))


def _lines(ax: Axes) -> Iterator[str]:
    titles = [ax.get_title(loc=side) for side in ("left", "center", "right")]
    yield f"title: {' | '.join(title for title in titles if title)}"
    yield f"axes: {ax.get_xlabel()} ({_ends(ax.get_xlim())}); {ax.get_ylabel()} ({_ends(ax.get_ylim())})"
    rows = [label.get_text().replace("\n", " / ") for label in ax.get_yticklabels() if label.get_text()]
    yield f"rows: {' | '.join(rows)}"
    for line in ax.lines:
        hollow = ", hollow" if line.get_markerfacecolor() == "none" else ""
        mark = line.get_marker() if line.get_marker() != "None" else line.get_linestyle()
        yield f"line {mark} {_colour(line.get_color())}{hollow} {_name(line)}: {_points(np.asarray(line.get_xydata()))}"
    for found in ax.collections:
        if isinstance(found, LineCollection):
            for segment in found.get_segments():
                yield f"segment {_colour(found.get_color())}: {_points(np.asarray(segment))}"
        elif isinstance(found, PathCollection):
            coloured = found.get_array()  # each dot by its own value
            by = (
                ""
                if coloured is None or not len(coloured)
                else f", coloured by {_ends((coloured.min(), coloured.max()))}"
            )
            yield f"dots {_name(found)}: {_points(np.asarray(found.get_offsets()))}{by}"
        else:
            for path in found.get_paths():
                yield f"area: {_points(np.asarray(path.vertices))}"
    for patch in ax.patches:
        if isinstance(patch, StepPatch):
            heights, edges, _ = patch.get_data()
            colour = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
            yield f"stairs {_colour(colour)}: {_points(np.column_stack([edges[1:], heights]))}"
        if isinstance(patch, Rectangle):
            sides = (patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height())
            yield f"bar {_colour(patch.get_facecolor())}: {' '.join(map(_number, sides))}"
    for text in ax.texts:
        # An annotation has the place that it is about, and its own beside that.
        places = [*([text.xy] if isinstance(text, Annotation) else []), text.get_position()]
        place = _points(np.array(places, dtype=float))
        yield f"text {_colour(text.get_color())} at {place}: {text.get_text()}"


def _name(artist: Artist) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _ends(limits: tuple[float, float]) -> str:
    return f"{_number(limits[0])} to {_number(limits[1])}"


def _colour(colour: object) -> str:
    found = np.asarray(colour, dtype=object)
    if found.ndim == 2:  # of each of several marks
        found = found[0]
    plain = to_hex(cast(Any, tuple(map(float, found)) if found.ndim else str(colour)))
    return _TOKENS.get(plain, plain)


def _points(xy: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> str:
    """Write a few points, evenly spread, and their number."""
    places = sorted({round(place) for place in np.linspace(0, len(xy) - 1, min(_SHOWN, len(xy)))})
    shown = ", ".join(f"({_number(xy[place][0])} {_number(xy[place][1])})" for place in places)
    return shown if len(xy) <= _SHOWN else f"{shown} of {len(xy)}"


def _number(value: object) -> str:
    return f"{float(np.asarray(value, dtype=float)):.4g}"
