"""The scorer: a bundle in, decisions out. The only package that runs a graph."""

from scoring_model.decision.rules import Decisions
from scoring_model.scorer.decider import Decision, Reason
from scoring_model.scorer.explanation import Explanation, Weighed
from scoring_model.scorer.scorer import Scorer

__all__ = ["Decision", "Decisions", "Explanation", "Reason", "Scorer", "Weighed"]
