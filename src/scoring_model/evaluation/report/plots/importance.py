"""What the model looks at: importance, beeswarm and dependence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.report.style import ACCENT, LOW_TO_HIGH, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

ROW: Final = 0.27
"""Height of one bar in inches."""

GREY: Final = "#8c8c8c"

_SWARM: Final = 3000
"""Largest number of marks of one feature."""


def draw_importance(
    ax: "Axes", *, names: Sequence[str], means: FloatArray, ends: tuple[FloatArray, FloatArray] | None
) -> None:
    """Draw mean absolute contributions as bars, with intervals.

    Parameters
    ----------
    means : ndarray of shape (k,), float64
        In log-odds, descending.
    ends : tuple of ndarray of shape (k,), optional
    """
    places = np.arange(len(names))[::-1]
    ax.barh(places, means, height=0.62, color=ACCENT, alpha=0.75)
    if ends is not None:
        ax.hlines(places, *ends, color=MUTED, lw=2.2)
    ax.set_yticks(places, list(names))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("Mean absolute contribution, log-odds")


def draw_beeswarm(
    ax: "Axes",
    *,
    names: Sequence[str],
    values: FloatArray,
    contributions: FloatArray,
    categorical: Sequence[bool],
) -> None:
    """Draw the contributions of features to single records, coloured by the rank of the value; rasterised.

    Parameters
    ----------
    values, contributions : ndarray of shape (n, k), float64
        NaN values are missing and drawn grey, as are categories, which have no order.
    categorical : sequence of bool of length k
    """
    generator = np.random.default_rng(0)
    kept = generator.permutation(len(values))[:_SWARM]
    columns = zip(values[kept].T[::-1], contributions[kept].T[::-1], list(categorical)[::-1], strict=True)
    for place, (value, given, is_code) in enumerate(columns):
        known = np.isfinite(value) & (not is_code)
        height = place + 0.36 * _spread(given, generator)
        ax.scatter(given[~known], height[~known], s=2.2, color=GREY, lw=0, rasterized=True)
        ax.scatter(
            given[known], height[known], s=2.2, c=_ranks(value[known]), cmap=_colours(), vmin=0, vmax=1, lw=0,
            rasterized=True,
        )  # fmt: skip
    ax.axvline(0, color=MUTED, lw=1)
    ax.set_yticks(range(len(names)), list(names)[::-1])
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("Contribution to the log-odds of fraud")


def draw_dependence(
    ax: "Axes", *, name: str, unit: str, values: FloatArray, contributions: FloatArray
) -> None:
    """Draw the contribution of one feature against its value; rasterised.

    Parameters
    ----------
    values, contributions : ndarray of shape (n,), float64
        Missing values are left out.
    """
    if unit == "seconds":
        unit, values = "days", values / 86_400
    known = np.flatnonzero(np.isfinite(values))[:_SWARM]
    ax.scatter(values[known], contributions[known], s=4, color=ACCENT, alpha=0.35, lw=0, rasterized=True)
    ax.axhline(0, color=MUTED, lw=1)
    spread = values[known]
    if len(spread) and spread.min() >= 0 and np.quantile(spread, 0.98) * 20 < spread.max():
        ax.set_xscale("symlog", linthresh=max(float(np.quantile(spread, 0.5)), 1.0))
    else:
        ax.locator_params(axis="x", nbins=5)
    ax.set_title(name, fontsize=9.5)
    ax.set_xlabel(unit, fontsize=9.5)


def _spread(values: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Heights in [-1, 1] that are wide where values are dense."""
    counts, edges = np.histogram(values, bins=80)
    cell = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, 79)
    width: FloatArray = np.sqrt(counts[cell] / max(counts.max(initial=1), 1))
    return width * generator.uniform(-1, 1, len(values))


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks of values in [0, 1]; equal values have one rank."""
    distinct, place = np.unique(values, return_inverse=True)
    return place / max(len(distinct) - 1, 1)


def _colours() -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low_to_high", LOW_TO_HIGH)
