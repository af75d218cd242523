"""What MLflow is told of a training, at once or later: one run, its bundle, one registered version."""

from scoring_model.training.tracking.errors import TrackingError
from scoring_model.training.tracking.settings import Patience, TrackingSettings
from scoring_model.training.tracking.syncing import Synced, sync
from scoring_model.training.tracking.telling import Measured, Telling, TrackedData
from scoring_model.training.tracking.tracking import TrackedRun, track

__all__ = [
    "Measured",
    "Patience",
    "Synced",
    "Telling",
    "TrackedData",
    "TrackedRun",
    "TrackingError",
    "TrackingSettings",
    "sync",
    "track",
]
