"""Registered bundles in MLflow: which one decides, and their files."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.bundle.reader import read_manifest
from scoring_model.training.mlflow_runs import BUNDLE, MODEL, client_of, pages
from scoring_model.training.tracking import TrackingError, call_within

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

CHAMPION: Final = "champion"
"""Alias of the version that decides."""

REPLACED_TAG: Final = "promotion.champion"
"""Tag of a promoted version: the version that was the champion before it, or `none`."""

SEAL_TAG: Final = "bundle.seal"
"""Tag of a version: the seal of its bundle."""

NO_CHAMPION: Final = "none"
"""Value of `REPLACED_TAG` of the first champion."""

_MODEL: Final = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@]+)|/(?P<version>[0-9]+))")
_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """A registered version.

    Parameters
    ----------
    number : str
    model_version, policy_version : str or None
        Of its bundle; None if another program registered it.
    replaced : str or None
        Version that was the champion before this one was promoted; None if there was none.
    """

    number: str
    model_version: str | None
    policy_version: str | None
    replaced: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    """The registered versions of a use, latest first, and the champion among them."""

    name: str
    versions: tuple[Registered, ...]
    champion: Registered | None

    def of(self, model_version: str, policy_version: str) -> Registered | None:
        """Return the latest version with a bundle; None if it is not registered."""
        wanted = (model_version, policy_version)
        return next((one for one in self.versions if (one.model_version, one.policy_version) == wanted), None)


def read_registry(name: str, *, uri: str) -> Registry:
    """Read the registered versions of a use.

    Raises
    ------
    TrackingError
        If the registry cannot be read.
    """
    return call_within(_SECONDS, partial(_read_registry, uri, name))


def make_champion(name: str, number: str, *, uri: str) -> None:
    """Give a version the alias of the champion.

    Raises
    ------
    TrackingError
        If the registry cannot be changed.
    """
    call_within(_SECONDS, lambda: client_of(uri).set_registered_model_alias(name, CHAMPION, number))


def _read_registry(uri: str, name: str) -> Registry:
    client = client_of(uri)
    found = sorted(
        pages(client.search_model_versions, f"name='{name}'"), key=lambda one: int(one.version), reverse=True
    )
    champion = find_champion(client, name) if found else None
    return Registry(
        name=name,
        versions=tuple(map(_version, found)),
        champion=None if champion is None else _version(champion),
    )


def _version(version: "ModelVersion") -> Registered:
    replaced = version.tags.get(REPLACED_TAG, NO_CHAMPION)
    return Registered(
        number=str(version.version),
        model_version=version.tags.get("model_version"),
        policy_version=version.tags.get("policy_version"),
        replaced=None if replaced == NO_CHAMPION else replaced,
    )


def find_champion(client: "MlflowClient", name: str) -> "ModelVersion | None":
    """Return the version with the alias; None if no version has it."""
    aliases = client.get_registered_model(name).aliases
    return client.get_model_version(name, str(aliases[CHAMPION])) if CHAMPION in aliases else None


def fetch_bundle(model: str, *, uri: str, folder: Path) -> Path:
    """Fetch the bundle of a registered version, which must be the one that was registered. Loading it checks the rest.

    Parameters
    ----------
    model : str
        ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION``, as MLflow writes it.

    Returns
    -------
    Path
        Its directory below `folder`.

    Raises
    ------
    TrackingError
        If there is no such version, if the registry cannot be read, or if seal or policy version of the bundle are not
        those of the version's tags: its artifacts were exchanged.
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
    fetched = download(client, version, folder / "fetched")
    manifest = read_manifest(fetched)
    held = {SEAL_TAG: manifest.seal, "policy_version": manifest.policy_version}
    for tag, value in held.items():
        if tag in version.tags and version.tags[tag] != value:
            raise TrackingError(
                f"version {version.version} of {named['name']}: its artifacts are not the registered bundle: they have "
                f"{tag} {value}, its tag says {version.tags[tag]}"
            )
    return fetched


def download(client: "MlflowClient", version: "ModelVersion", folder: Path) -> Path:
    """Fetch the bundle of a version into a new folder; the seal is checked when it is loaded."""
    folder.mkdir()
    return Path(client.download_artifacts(str(version.run_id), f"{MODEL}/{BUNDLE}", str(folder)))
