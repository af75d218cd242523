"""Attacks on a training: does anything in its features show what no one could have known."""

from scoring_model.training.attacks.findings import AttackReport, Finding, LeakageError, Verdict
from scoring_model.training.attacks.running import attack

__all__ = ["AttackReport", "Finding", "LeakageError", "Verdict", "attack"]
