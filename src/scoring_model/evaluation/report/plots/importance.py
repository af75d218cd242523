"""What the model looks at: importance, beeswarm and dependence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.importance import Importance, Weight
from scoring_model.evaluation.report.style import (
    ACCENT,
    LOW_TO_HIGH,
    MUTED,
    NOTE,
    NothingToDraw,
    row_names,
    with_ends,
)
from scoring_model.evaluation.report.words import (
    category_name,
    feature_title,
    frequent_codes,
    in_days,
    on_two_lines,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

GREY: Final = "#8c8c8c"

_NAMED: Final = 4
"""Categories that are named under a drawing."""

_SWARM: Final = 3000
"""Largest number of marks of one feature."""


def measured(importance: Importance | None) -> Importance:
    """Return the importance, or say why there is none."""
    if importance is None:
        raise NothingToDraw(
            "importance: the evaluation explained no records; decisions that were made earlier "
            "come without the values of features"
        )
    return importance


def draw_weights(ax: "Axes", weights: Sequence[Weight]) -> None:
    """Draw mean absolute contributions as bars, with intervals."""
    places = np.arange(len(weights))[::-1]
    means, lows, highs = with_ends([one.weight for one in weights])
    ax.barh(places, means, height=0.62, color=ACCENT, alpha=0.75)
    if np.isfinite(lows).all():
        ax.hlines(places, lows, highs, color=MUTED, lw=2.2)
    row_names(ax, [on_two_lines(feature_title(one)) for one in weights], places)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel("Mean absolute contribution, log-odds")


def draw_beeswarm(ax: "Axes", importance: Importance, top: int) -> None:
    """Draw the contributions of the heaviest features to single records, coloured by the rank of the value; rasterised.

    Missing values are grey, and so are categories, which have no order.
    """
    weights = importance.features[:top]
    generator = np.random.default_rng(0)
    kept = generator.permutation(len(importance.values))[:_SWARM]
    for place, column in enumerate(reversed(range(len(weights)))):
        value, given = importance.values[kept, column], importance.contributions[kept, column]
        known = np.isfinite(value) & (not weights[column].categorical)
        height = place + 0.36 * _spread(given, generator)
        ax.scatter(given[~known], height[~known], s=2.2, color=GREY, lw=0, rasterized=True)
        ax.scatter(
            given[known], height[known], s=2.2, c=_ranks(value[known]), cmap=_colours(), vmin=0, vmax=1, lw=0,
            rasterized=True,
        )  # fmt: skip
    ax.axvline(0, color=MUTED, lw=1)
    row_names(ax, [on_two_lines(feature_title(one)) for one in weights[::-1]], range(len(weights)))
    ax.set_xlabel("Contribution to the log-odds of fraud")


def draw_dependence(ax: "Axes", importance: Importance, feature: str) -> None:
    """Draw the contribution of one feature against its value; rasterised. Missing values are left out."""
    column = [one.name for one in importance.features].index(feature)
    weight = importance.features[column]
    unit, values = in_days(weight.unit, importance.values[:, column])
    known = np.flatnonzero(np.isfinite(values))[:_SWARM]
    given = importance.contributions[known, column]
    ax.scatter(values[known], given, s=4, color=ACCENT, alpha=0.35, lw=0, rasterized=True)
    ax.axhline(0, color=MUTED, lw=1)
    spread = values[known]
    if weight.categories:
        codes = frequent_codes(spread, _NAMED)
        ax.set_xticks(codes, [shortened(category_name(weight, code), most=10) for code in codes])
        unit = "category"
    elif len(spread) and spread.min() >= 0 and np.quantile(spread, 0.98) * 20 < spread.max():
        ax.set_xscale("symlog", linthresh=max(float(np.quantile(spread, 0.5)), 1.0))
    else:
        ax.locator_params(axis="x", nbins=5)
    ax.set_title(on_two_lines(feature_title(weight)), fontsize=NOTE)
    ax.set_xlabel(unit, fontsize=NOTE)


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
