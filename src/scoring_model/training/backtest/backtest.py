"""What a backtest found, with plots and a report."""

from pathlib import Path

from scoring_model.evaluation.report import overview, write_html
from scoring_model.training.backtest.plots import BacktestPlots
from scoring_model.training.backtest.report import backtest_report
from scoring_model.training.backtest.result import BacktestResult


class Backtest(BacktestResult):
    """How models that are trained again and again would have fared."""

    def __repr__(self) -> str:
        return overview(backtest_report(self))

    @property
    def plot(self) -> BacktestPlots:
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        return BacktestPlots(self)

    def report(self, path: str | Path) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``."""
        write_html(backtest_report(self), path)
