"""Where trainings are told of, and how long that may take."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long a server is waited for.

    Attributes
    ----------
    request : int
        Seconds for one answer, at least 1, unless ``MLFLOW_HTTP_REQUEST_TIMEOUT`` says otherwise.
    total : float
        Seconds for all of one run. Nothing that the server does, or does not do, makes it longer.
    """

    request: int = 10
    total: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackingSettings:
    """Where trainings are told of.

    Attributes
    ----------
    uri : str or None
        Tracking and registry server or database; None: SQLite in `folder`.
    folder : Path
        Holds 'mlflow.db' and 'artifacts/' where `uri` is None, or where it could not be told.
    patience : Patience
        With what `uri` names.
    """

    uri: str | None = None
    folder: Path = Path("runs")
    patience: Patience = field(default_factory=Patience)
