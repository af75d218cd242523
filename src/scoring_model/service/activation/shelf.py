"""The directory with every bundle ever served with a database, for the replay of verdicts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.bundle import BundleError, Manifest, SealedFiles, read_bundle
from scoring_model.bundle.durable import (
    remove_directory,
    replace_directory,
    sibling,
    write_synced,
)
from scoring_model.bundle.manifest import MANIFEST, SIGNATURE
from scoring_model.bundle.reader import read_manifest
from scoring_model.records.atomic import sync
from scoring_model.service.store import WHOLE_DATABASE, Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_DIRECTORY_FACT: Final = "bundle_directory"


class BundlesMissing(BundleError):
    """The directory lacks bundles that served the database, given by model and policy version."""

    def __init__(self, directory: Path, versions: tuple[tuple[str, str], ...]) -> None:
        named = ", ".join(f"{model} with policy {policy}" for model, policy in versions)
        super().__init__(
            f"{directory}: bundles that served this database are missing: {named}. "
            "Put them back, or name the directory that holds them (--bundles)"
        )
        self.versions = versions


class BundleShelf:
    """The bundles in one directory, which is created with the first bundle."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def find(self, model_version: str, policy_version: str | None = None) -> Path | None:
        """Find a bundle by the versions in its manifest, whatever the name of its directory.

        Reads only manifests: loading the bundle checks the rest. Without a policy version, returns any bundle of the
        model.
        """
        for path in self._directories():
            manifest = _manifest(path)
            if manifest is None or manifest.model_version != model_version:
                continue
            if policy_version in (None, manifest.policy_version):
                return path
        return None

    def keep(self, path: Path, *, public_key: Ed25519PublicKey | None = None) -> Path:
        """Copy a bundle into the directory as ``<model>.<policy>``, unless it exists already.

        A bundle in the directory under another name is copied too: training may replace it there. A read-only directory
        is accepted if it holds the bundle. A copy with a torn file is replaced. With a public key, the bundle must
        carry its signature. Returns the path of the copy.

        Raises
        ------
        BundleError
            If the bundle is invalid, or its name in the directory is taken by something else.
        OSError
            If the directory lacks the bundle and can't be written.
        """
        sealed = read_bundle(path, public_key=public_key)
        place = self.directory / f"{sealed.manifest.model_version}.{sealed.manifest.policy_version}"
        if os.path.lexists(place):
            return self._mended(_standing(place, sealed.manifest), sealed)
        try:
            self._add(place, contents_of(sealed))
        except OSError:
            if os.path.lexists(place):  # another process was faster
                return _standing(place, sealed.manifest)
            found = self.find(sealed.manifest.model_version, sealed.manifest.policy_version)
            if found is None:
                raise
            return found
        return place

    def restore(self, contents: Mapping[str, bytes], *, public_key: Ed25519PublicKey | None = None) -> Path:
        """Keep a bundle that is given by its files, as `contents_of` returns them; see `keep`."""
        manifest = Manifest.from_bytes(contents.get(MANIFEST, b""))
        if unexpected := contents.keys() - {*manifest.files, MANIFEST, SIGNATURE}:
            raise BundleError(f"files that are not in the manifest: {', '.join(sorted(unexpected))}")
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.items():
                (Path(folder) / name).write_bytes(content)
            return self.keep(Path(folder), public_key=public_key)

    def require(self, versions: Iterable[tuple[str, str]]) -> None:
        """Raise `BundlesMissing` unless the bundles of these model and policy versions exist."""
        present = {_versions(manifest) for path in self._directories() if (manifest := _manifest(path))}
        if missing := sorted(set(versions) - present):
            raise BundlesMissing(self.directory, tuple(missing))

    def _directories(self) -> list[Path]:
        if not self.directory.is_dir():
            return []
        return sorted(path for path in self.directory.iterdir() if not path.name.startswith("."))

    def _mended(self, place: Path, sealed: SealedFiles) -> Path:
        """Replace a copy that is not intact."""
        if not is_intact(place):
            self._add(place, contents_of(sealed), replace=True)
        return place

    def _add(self, place: Path, contents: dict[str, bytes], *, replace: bool = False) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        partial = sibling(place)
        try:
            partial.mkdir()
            for name, content in contents.items():
                write_synced(partial / name, content)
            sync(partial)
            if replace:
                remove_directory(replace_directory(partial, place), contents)
            else:
                os.rename(partial, place)
        except BaseException:
            remove_directory(partial, contents)
            raise
        sync(self.directory)


def is_intact(path: Path) -> bool:
    """Return True if every file of a bundle is the one of its seal."""
    try:
        read_bundle(path)
    except (BundleError, OSError):
        return False
    return True


def contents_of(sealed: SealedFiles) -> dict[str, bytes]:
    """Return every file of a bundle by name, with manifest and signature."""
    contents = {**sealed.files, MANIFEST: sealed.manifest.to_bytes()}
    if sealed.signed:
        contents[SIGNATURE] = (sealed.path / SIGNATURE).read_bytes()
    return contents


def _standing(place: Path, wanted: Manifest) -> Path:
    found = _manifest(place)
    if found is None or _versions(found) != _versions(wanted):
        raise BundleError(f"{place}: is not the bundle that its name says")
    return place


def _versions(manifest: Manifest) -> tuple[str, str]:
    return manifest.model_version, manifest.policy_version


def _manifest(path: Path) -> Manifest | None:
    """Return the manifest of a bundle; None for anything else in the directory."""
    try:
        return read_manifest(path)
    except (BundleError, OSError):
        return None


async def write_bundle_directory(store: Store, directory: Path) -> None:
    """Store the absolute path of the directory in the database; the server that started last wins."""
    value = os.fsencode(directory.resolve())
    async with store.writing([WHOLE_DATABASE]) as transaction:
        if await transaction.fact(_DIRECTORY_FACT) != value:
            await transaction.set_fact(_DIRECTORY_FACT, value)


async def read_bundle_directory(store: Store) -> Path | None:
    """Read the path of the directory; None if none has served the database."""
    async with store.reading() as reader:
        value = await reader.fact(_DIRECTORY_FACT)
    return None if value is None else Path(os.fsdecode(value))
