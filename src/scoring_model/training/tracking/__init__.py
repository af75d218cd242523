"""Log trainings to MLflow: one run, its sealed bundle as an artifact, and one registered version."""

from scoring_model.training.tracking.run_logging import RunRecord, TrackedRun
from scoring_model.training.tracking.store import TrackingError
from scoring_model.training.tracking.tracking import Synced, sync, track

__all__ = ["RunRecord", "Synced", "TrackedRun", "TrackingError", "sync", "track"]
