"""All that one training has to say, whether it comes from the training itself or from a store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUNDLE: Final = "bundle"
"""Artifact folder of a run that holds the bundle."""

TRIALS: Final = "trials.json"
REQUIREMENTS: Final = "requirements.txt"

KEY_TAG: Final = "training_key"
"""Tag by which a run is found again in whatever store: the key of its telling."""

MEANT_TAG: Final = "meant_for"
"""Tag of a run that was kept because its server was away: that server."""

TRAINED_TAG: Final = "trained_at"
"""Tag of a version: when its training ended, RFC 3339. Versions are numbered by when they were registered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedData:
    """What the training learnt from.

    Attributes
    ----------
    name : str
        For people.
    digest : str
        Hash of the content; MLflow keeps its first 36 characters here, and all of it among the run's tags.
    schema : str
        JSON text that describes the columns, as MLflow writes one.
    profile : str
        JSON text: how many rows, and from when to when.
    """

    name: str
    digest: str
    schema: str
    profile: str = "{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One metric.

    Attributes
    ----------
    name : str
    value : float
    time : int
        When it was measured, milliseconds since 1970-01-01 UTC.
    """

    name: str
    value: float
    time: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """All that is told of one training.

    Attributes
    ----------
    key : str
        Of this training and no other; two stores that hold it hold the same run.
    experiment, name, model_name : str
        Of the experiment and the registered model, which are made if absent, and of the run.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    params : Mapping[str, str]
    metrics : tuple of Measured
    tags, version_tags : Mapping[str, str]
        Of the run and of the registered version.
    data : TrackedData
    files : Mapping[str, Path]
        Artifact by artifact, as 'folder/name' to the file that holds it; those of the bundle are in `BUNDLE`.
    """

    key: str
    experiment: str
    name: str
    model_name: str
    started: int
    ended: int
    params: Mapping[str, str]
    metrics: tuple[Measured, ...]
    tags: Mapping[str, str]
    version_tags: Mapping[str, str]
    data: TrackedData
    files: Mapping[str, Path]


def files_below(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Name every file below a folder as an artifact.

    Parameters
    ----------
    folder : Path
    prefix : str
        Artifact folder, ending in '/', or nothing.

    Returns
    -------
    dict
        In order of the names.
    """
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path for path in found}
