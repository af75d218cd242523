"""What a window of new records says about a bundle, with plots and a report."""

from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.monitoring.result import MonitoringResult

if TYPE_CHECKING:
    from scoring_model.monitoring.plots import MonitoringPlots


class Monitoring(MonitoringResult):
    """What a window says about a bundle."""

    @property
    def plot(self) -> "MonitoringPlots":
        """Plots as matplotlib axes, each alone; they need the extra ``[train]``."""
        from scoring_model.monitoring.plots import MonitoringPlots

        return MonitoringPlots(self)

    def report(self, path: str | Path) -> None:
        """Write the report as one HTML file, whole or not at all; it needs the extra ``[train]``.

        Raises
        ------
        MissingExtra
        """
        from scoring_model.monitoring.report import write_monitoring_report

        write_monitoring_report(self, path)
