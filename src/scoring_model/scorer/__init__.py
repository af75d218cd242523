"""The scorer: decides with a bundle. The only package that runs a graph."""

from scoring_model.decision.rules import Decisions
from scoring_model.scorer.decider import Decision, Reason
from scoring_model.scorer.scorer import Explanation, Scorer, Weighed

__all__ = ["Decision", "Decisions", "Explanation", "Reason", "Scorer", "Weighed"]
