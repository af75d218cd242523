"""The reliability diagram: predicted against observed shares of fraud."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.report.scales import sqrt_shares
from scoring_model.evaluation.report.style import FRAUD, GENUINE, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_reliability(
    ax: "Axes",
    *,
    predicted: FloatArray,
    recalibrated: FloatArray,
    grid: FloatArray,
    low: FloatArray,
    high: FloatArray,
    bin_edges: FloatArray,
    genuine: IntArray,
    frauds: IntArray,
) -> None:
    """Draw the isotonic fit of the outcomes on the probabilities, with consistency bands around the diagonal.

    Dimitriadis, Gneiting and Jordan 2021, doi 10.1073/pnas.2016191118. Both axes are square roots. Below the curve
    stand the numbers of records by predicted probability, on a logarithmic scale of their own.

    Parameters
    ----------
    predicted, recalibrated : ndarray of shape (m,), float64
        Points of the fit, ascending, m >= 1.
    grid, low, high : ndarray of shape (g,), float64
        Range in which 95 % of fits lie if the probabilities are right; empty if unknown.
    bin_edges, genuine, frauds : ndarray of shape (b + 1,), (b,) and (b,)
        Histogram of the predicted probabilities.
    """
    end = float(min(1.0, 1.05 * max(predicted[-1], recalibrated[-1], high.max(initial=0.0))))
    diagonal = np.linspace(0, end, 200)
    if len(grid):
        ax.fill_between(grid, low, high, color=MUTED, alpha=0.24, lw=0)
    ax.plot(diagonal, diagonal, color=MUTED, lw=1, ls=(0, (1, 2)))
    ax.plot(predicted, recalibrated, color=FRAUD, marker="o", ms=2.2)
    sqrt_shares(ax, "x", end)
    sqrt_shares(ax, "y", end)
    ax.set_xlabel("Predicted probability of fraud")
    ax.set_ylabel("Observed share of frauds")
    for counts, colour, height in ((genuine, GENUINE, 0.16), (frauds, FRAUD, 0.16)):
        sizes = np.log1p(counts) / np.log1p(max(genuine.max(initial=1), frauds.max(initial=1)))
        ax.stairs(
            height * sizes, bin_edges, fill=True, color=colour, alpha=0.3, transform=ax.get_xaxis_transform()
        )
