"""What a window of new records says about a bundle, with plots and a report."""

from pathlib import Path

from scoring_model.evaluation.report import overview, write_html
from scoring_model.monitoring.plots import MonitoringPlots
from scoring_model.monitoring.report import monitoring_report
from scoring_model.monitoring.result import MonitoringResult


class Monitoring(MonitoringResult):
    """What a window says about a bundle."""

    def __repr__(self) -> str:
        return overview(monitoring_report(self))

    @property
    def plot(self) -> MonitoringPlots:
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        return MonitoringPlots(self)

    def report(self, path: str | Path) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``.

        Raises
        ------
        MissingExtra
        """
        write_html(monitoring_report(self), path)
