"""Evaluation of decisions on records with known labels."""

from scoring_model.estimates import Estimate
from scoring_model.evaluation.comparing import RecordRows, compare, compare_rows
from scoring_model.evaluation.comparison import Comparison, compare_evaluations
from scoring_model.evaluation.comparison_result import ComparedBundle
from scoring_model.evaluation.coverage import Coverage, LeftOut
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.evaluation import Evaluation, evaluate_records
from scoring_model.evaluation.gates import GateReport, GateResult, GateVerdict, check_gates
from scoring_model.evaluation.holdout import EvaluationOptions, NothingToEvaluate, evaluate, evaluate_table
from scoring_model.evaluation.paired import paired_differences
from scoring_model.evaluation.report.comparison_page import comparison_summary
from scoring_model.evaluation.report.evaluation_page import summary
from scoring_model.evaluation.report.gate_section import gates_summary
from scoring_model.evaluation.trained_records import trained_records

__all__ = [
    "ComparedBundle",
    "Comparison",
    "Coverage",
    "Estimate",
    "EvaluatedRecords",
    "Evaluation",
    "EvaluationError",
    "EvaluationOptions",
    "GateReport",
    "GateResult",
    "GateVerdict",
    "LeftOut",
    "NothingToEvaluate",
    "RecordRows",
    "check_gates",
    "compare",
    "compare_evaluations",
    "compare_rows",
    "comparison_summary",
    "evaluate",
    "evaluate_records",
    "evaluate_table",
    "gates_summary",
    "paired_differences",
    "summary",
    "trained_records",
]
