"""One retraining of a service's model: its records in, an answer out, and after `promote` the next bundle serves."""

from scoring_model.retraining.run import Retrained, retrain
from scoring_model.retraining.settings import Retraining, RetrainingError

__all__ = ["Retrained", "Retraining", "RetrainingError", "retrain"]
