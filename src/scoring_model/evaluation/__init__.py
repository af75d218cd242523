"""Evaluation of decisions on records with known labels."""

from scoring_model.evaluation.coverage import Coverage, LeftOut, known_targets
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.evaluation import Evaluation, evaluate_records
from scoring_model.evaluation.holdout import EvaluationOptions, NothingToEvaluate, evaluate, evaluate_table
from scoring_model.evaluation.paired import paired_differences
from scoring_model.evaluation.summary import summary
from scoring_model.evaluation.uncertainty import Estimate, Interval, Share

__all__ = [
    "Coverage",
    "Estimate",
    "EvaluatedRecords",
    "Evaluation",
    "EvaluationError",
    "EvaluationOptions",
    "Interval",
    "LeftOut",
    "NothingToEvaluate",
    "Share",
    "evaluate",
    "evaluate_records",
    "evaluate_table",
    "known_targets",
    "paired_differences",
    "summary",
]
