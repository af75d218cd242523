"""Evaluation of decisions on records with known labels."""

from scoring_model.evaluation.coverage import Coverage, LeftOut, known_targets
from scoring_model.evaluation.evaluation import Evaluation, EvaluationError, evaluate
from scoring_model.evaluation.holdout import HoldoutEvaluation, NothingToEvaluate, evaluate_table
from scoring_model.evaluation.summary import summary
from scoring_model.evaluation.uncertainty import Interval, Share

__all__ = [
    "Coverage",
    "Evaluation",
    "EvaluationError",
    "HoldoutEvaluation",
    "Interval",
    "LeftOut",
    "NothingToEvaluate",
    "Share",
    "evaluate",
    "evaluate_table",
    "known_targets",
    "summary",
]
