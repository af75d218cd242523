"""Write a bundle atomically."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.durable import (
    remove_directory,
    replace_directory,
    sibling,
    write_synced,
)
from scoring_model.bundle.errors import BundleExists, UnexpectedFile
from scoring_model.bundle.manifest import MANIFEST, PROTOCOL, SIGNATURE, Manifest
from scoring_model.bundle.reader import read_manifest
from scoring_model.bundle.seal import seal_file, sign
from scoring_model.records.atomic import sync

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def write_bundle(
    out: Path,
    files: Mapping[str, bytes],
    manifest: Manifest,
    *,
    signing_key: Ed25519PrivateKey | None = None,
    replace: bool = False,
) -> Path:
    """Seal files into the bundle `out`; equal arguments give equal bytes.

    Everything is written and synced to a hidden directory next to `out`, which is then renamed atomically. A killed
    writer leaves `out` unchanged and the hidden directory (``.<name>.<random>.partial``), which is never read and may
    be deleted.

    Parameters
    ----------
    files : mapping of str to bytes
        Contents by plain file name.
    manifest : Manifest
        Its protocol and its files are those that are written.
    signing_key : Ed25519PrivateKey, optional
        Signs the manifest, and through its hashes every file. Ed25519 is deterministic (RFC 8032).
    replace : bool
        Whether to replace a bundle at `out`. Only bundles are ever replaced.

    Raises
    ------
    ManifestInvalid
        When a field or the name of a file breaks its rule.
    BundleExists
        If `out` exists and `replace` is False.
    NotABundle, NewerProtocol, UnreleasedProtocol, UnexpectedFile
        If `out` exists but is not a bundle of a known protocol, or holds files outside of its manifest.
    """
    seals = {file: seal_file(content) for file, content in files.items()}
    manifest = dataclasses.replace(manifest, protocol=PROTOCOL, files=seals)
    contents = {**files, MANIFEST: manifest.to_bytes()}
    if signing_key is not None:
        contents[SIGNATURE] = sign(contents[MANIFEST], signing_key)
    check_place(out, replace=replace)
    _publish(out, contents, replace=replace)
    return out


def check_place(out: Path, *, replace: bool) -> None:
    """Raise, as `write_bundle` would, unless `out` is free, or a bundle that may be replaced."""
    if os.path.lexists(out):
        if not replace:
            raise BundleExists(f"{out} exists; pass --replace (replace=True) to overwrite it")
        _names_of_standing(out)


def _names_of_standing(out: Path) -> set[str]:
    """Return the names of the files of the bundle at `out`; raise unless it is one and nothing more."""
    if out.is_symlink():
        raise BundleExists(f"{out}: is a symbolic link, which is not replaced; name the directory itself")
    names = {*read_manifest(out).files, MANIFEST, SIGNATURE}
    if foreign := sorted(set(os.listdir(out)) - names):
        raise UnexpectedFile.one(foreign[0], "is not of the bundle that was to be replaced")
    return names


def _publish(out: Path, contents: Mapping[str, bytes], *, replace: bool) -> None:
    """Write the directory next to `out`, rename it, and only then remove the old one."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = sibling(out)
    names: set[str] = set()
    old: Path | None = None
    try:
        _write_directory(partial, contents)
        if replace and os.path.lexists(out):
            names = _names_of_standing(out)
            old = replace_directory(partial, out)
        else:
            _take_name(out, partial)
    except BaseException:
        remove_directory(partial, contents)
        raise
    sync(out.parent)
    if old is not None:
        remove_directory(old, names)


def _write_directory(path: Path, contents: Mapping[str, bytes]) -> None:
    path.mkdir()
    for name in sorted(contents):
        write_synced(path / name, contents[name])
    sync(path)


def _take_name(out: Path, partial: Path) -> None:
    try:
        os.rename(partial, out)
    except OSError as error:
        if os.path.lexists(out):  # another writer was first
            raise BundleExists(f"{out}: appeared while the bundle was being written") from error
        raise
