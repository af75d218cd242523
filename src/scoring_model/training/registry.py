"""Fetches registered bundles from MLflow."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.training.mlflow_runs import BUNDLE, MODEL, client_of
from scoring_model.training.tracking import TrackingError, call_within

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

_MODEL: Final = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@]+)|/(?P<version>[0-9]+))")
_SECONDS: Final = 600.0


def fetch_bundle(model: str, *, uri: str, folder: Path) -> Path:
    """Fetch the bundle of a registered version; returns its directory below `folder`. Loading it checks it.

    Parameters
    ----------
    model : str
        ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION``, as MLflow writes it.

    Raises
    ------
    TrackingError
        If there is no such version, or if the registry cannot be read.
    """
    named = _MODEL.fullmatch(model)
    if named is None:
        raise TrackingError(f"{model!r} has neither the form models:/NAME@ALIAS nor models:/NAME/VERSION")
    return call_within(_SECONDS, partial(_fetch, uri, named, folder))


def _fetch(uri: str, named: re.Match[str], folder: Path) -> Path:
    client = client_of(uri)
    if named["alias"] is None:
        version = client.get_model_version(named["name"], named["version"])
    else:
        version = client.get_model_version_by_alias(named["name"], named["alias"])
    return download(client, version, folder / "fetched")


def download(client: "MlflowClient", version: "ModelVersion", folder: Path) -> Path:
    """Fetch the bundle of a version into a new folder; the seal is checked when it is loaded."""
    folder.mkdir()
    # Versions of earlier releases registered the bundle itself.
    place = f"{MODEL}/{BUNDLE}" if str(version.source).endswith(f"/{MODEL}") else BUNDLE
    return Path(client.download_artifacts(str(version.run_id), place, str(folder)))
