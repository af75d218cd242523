"""Leakage checks of a training: does anything in its features show what no one could have known."""

from scoring_model.training.leakage.checks import run_leakage_checks
from scoring_model.training.leakage.findings import CheckResult, Finding, LeakageError, LeakageReport

__all__ = ["CheckResult", "Finding", "LeakageError", "LeakageReport", "run_leakage_checks"]
