"""Monitoring of a bundle on new records: drift, promises before labels, estimates, matured labels."""

from scoring_model.monitoring.drift import Drift
from scoring_model.monitoring.early import EarlyVerdict, Estimates, Knowledge
from scoring_model.monitoring.gates import check_window_gates
from scoring_model.monitoring.monitoring import Monitoring
from scoring_model.monitoring.report import monitoring_summary
from scoring_model.monitoring.result import JSON_VERSION, Maturity, PromiseBasis
from scoring_model.monitoring.window import NothingToMonitor, monitor, monitor_rows

__all__ = [
    "JSON_VERSION",
    "Drift",
    "EarlyVerdict",
    "Estimates",
    "Knowledge",
    "Maturity",
    "Monitoring",
    "NothingToMonitor",
    "PromiseBasis",
    "check_window_gates",
    "monitor",
    "monitor_rows",
    "monitoring_summary",
]
