"""What a backtest found, with plots and a report."""

from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.training.backtest.result import BacktestResult

if TYPE_CHECKING:
    from scoring_model.training.backtest.plots import BacktestPlots


class Backtest(BacktestResult):
    """How models that are trained again and again would have fared."""

    @property
    def plot(self) -> "BacktestPlots":
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        from scoring_model.training.backtest.plots import BacktestPlots

        return BacktestPlots(self)

    def report(self, path: str | Path) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``."""
        from scoring_model.training.backtest.report import write_backtest_report

        write_backtest_report(self, Path(path))
