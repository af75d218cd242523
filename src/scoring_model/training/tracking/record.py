"""The record of a run: everything that is logged of one training."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUNDLE: Final = "bundle"
"""Artifact folder that holds the sealed bundle."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """Everything that is logged of one training.

    Attributes
    ----------
    key : str
        Identifies the training in every store. Logging is idempotent by this key.
    use : str
        Name of the experiment and of the registered model.
    name : str
        Name of the run.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    params, tags : Mapping[str, str]
    metrics : Mapping[str, float]
    dataset : Mapping[str, str]
        Arguments of `mlflow.entities.Dataset`: name, hash, columns and number of rows of the training data.
    artifacts : Mapping[str, Path]
        Files by artifact name, such as ``bundle/model.onnx``. Those in the folder `BUNDLE` are registered.
    """

    key: str
    use: str
    name: str
    started: int
    ended: int
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    dataset: Mapping[str, str]
    artifacts: Mapping[str, Path]


def files_below(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return all files below a folder by artifact name: the prefix and the path within the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path for path in files}
