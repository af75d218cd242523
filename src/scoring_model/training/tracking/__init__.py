"""Log trainings to MLflow: one run, its sealed bundle as an artifact, and one registered version."""

from scoring_model.training.tracking.errors import TrackingError
from scoring_model.training.tracking.record import RunRecord
from scoring_model.training.tracking.run_logging import TrackedRun
from scoring_model.training.tracking.syncing import Synced, sync
from scoring_model.training.tracking.tracking import track

__all__ = ["RunRecord", "Synced", "TrackedRun", "TrackingError", "sync", "track"]
