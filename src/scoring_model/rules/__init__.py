"""Rules of operators, which decide after score and thresholds: one parser, and an evaluator for rows and for tables.

Decision record: docs/adr/0036-rules.md.
"""

from scoring_model.rules.evaluation import RuleEvaluator
from scoring_model.rules.names import Kind, RuleNames, names_of
from scoring_model.rules.parsing import InvalidRules, parse_rules
from scoring_model.rules.rule import Action, Condition, Operator, OperatorRule, Rules
from scoring_model.rules.verdict import OPERATOR_RULE, OPERATOR_RULE_SENTENCE, Verdict, verdict_of

__all__ = [
    "OPERATOR_RULE",
    "OPERATOR_RULE_SENTENCE",
    "Action",
    "Condition",
    "InvalidRules",
    "Kind",
    "Operator",
    "OperatorRule",
    "RuleEvaluator",
    "RuleNames",
    "Rules",
    "Verdict",
    "names_of",
    "parse_rules",
    "verdict_of",
]
