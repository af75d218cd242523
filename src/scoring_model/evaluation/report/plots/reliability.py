"""The reliability diagram: predicted against observed shares of fraud."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.evaluation.decomposition import Reliability
from scoring_model.evaluation.report.style import DOTTED, FRAUD, GENUINE, MUTED, NothingToDraw, sqrt_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_reliability(ax: "Axes", fit: Reliability) -> None:
    """Draw the isotonic fit of the outcomes on the probabilities, with consistency bands around the diagonal.

    Dimitriadis, Gneiting and Jordan 2021, doi 10.1073/pnas.2016191118. Both axes are square roots. Below the curve
    stand the numbers of records by predicted probability, on a logarithmic scale of their own.
    """
    if not fit.records:
        raise NothingToDraw("the evaluated records lack records")
    end = float(min(1.0, 1.05 * max(fit.predicted[-1], fit.recalibrated[-1], fit.high.max(initial=0.0))))
    diagonal = np.linspace(0, end, 200)
    if len(fit.grid):
        ax.fill_between(fit.grid, fit.low, fit.high, color=MUTED, alpha=0.24, lw=0)
    ax.plot(diagonal, diagonal, color=MUTED, lw=1, ls=DOTTED)
    ax.plot(fit.predicted, fit.recalibrated, color=FRAUD, marker="o", ms=2.2)
    sqrt_shares(ax, "x", end)
    sqrt_shares(ax, "y", end)
    ax.set_xlabel("Predicted probability of fraud")
    ax.set_ylabel("Observed share of frauds")
    most = max(fit.genuine.max(initial=1), fit.frauds.max(initial=1))
    for counts, colour in ((fit.genuine, GENUINE), (fit.frauds, FRAUD)):
        sizes = 0.16 * np.log1p(counts) / np.log1p(most)
        ax.stairs(
            sizes, fit.bin_edges, fill=True, color=colour, alpha=0.3, transform=ax.get_xaxis_transform()
        )
