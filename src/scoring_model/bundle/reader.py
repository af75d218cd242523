"""Read a bundle: check every byte against the seal."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from scoring_model.bundle.errors import (
    AlteredFile,
    ContentInvalid,
    FilesRefused,
    IrregularFile,
    MissingFile,
    NotABundle,
    SignatureInvalid,
    SignatureMissing,
    UnexpectedFile,
)
from scoring_model.bundle.manifest import MANIFEST, SIGNATURE, Manifest
from scoring_model.bundle.seal import SIGNATURE_BYTES, FileSeal, seal_file, verify
from scoring_model.contract.violation import Violation

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST_MANIFEST_BYTES = 2**20
OPEN_FILE = (
    os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
)  # do not follow links, do not block on pipes
NOT_REGULAR = frozenset({errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedFiles:
    """A bundle as it was sealed.

    Parameters
    ----------
    files : mapping of str to bytes
        The bytes that were hashed; later changes of the directory have no effect.
    signed : bool
        Whether it is signed. The signature was verified only if the reader got a public key.
    """

    path: Path
    manifest: Manifest
    files: Mapping[str, bytes] = field(repr=False)
    signed: bool

    def file(self, name: str) -> bytes:
        """Return the bytes of a file that every bundle of a model has.

        Raises
        ------
        ContentInvalid
            If it is not there.
        """
        if name not in self.files:
            raise ContentInvalid(f"the bundle lacks {name}")
        return self.files[name]


def read_bundle(path: Path, *, public_key: Ed25519PublicKey | None = None) -> SealedFiles:
    """Read and check every file of a bundle.

    The directory is opened once, so that nothing can be swapped in between, and each file in it is read once.
    `path` itself may be a symbolic link to the directory, as deployments that switch between bundles use;
    what is in the directory may not.

    Parameters
    ----------
    public_key : Ed25519PublicKey, optional
        Key that must verify the signature of the bundle, before the manifest is parsed.

    Raises
    ------
    NotABundle
        When `path` is no directory with a manifest.
    SignatureMissing, SignatureInvalid
        When a public key is given; a signature of a wrong size is invalid in any case.
    NewerProtocol, UnreleasedProtocol, ManifestInvalid
        When the manifest can not be read.
    AlteredFile, IrregularFile, MissingFile, UnexpectedFile
        When the files are not those sealed. The class is that of the gravest violation, in this order; the
        error holds all of them.
    """
    with _directory(path) as directory:
        written = _read_manifest_bytes(directory, path)
        signed = _check_signature(directory, written, public_key)
        manifest = Manifest.from_bytes(written)
        files = _read_files(directory, manifest)
    return SealedFiles(path=path, manifest=manifest, files=MappingProxyType(files), signed=signed)


def read_manifest(path: Path) -> Manifest:
    """Read only the manifest, without checking files or signature: for listing bundles, not for loading.

    Raises
    ------
    NotABundle, NewerProtocol, UnreleasedProtocol, ManifestInvalid
        As `read_bundle`.
    """
    with _directory(path) as directory:
        return Manifest.from_bytes(_read_manifest_bytes(directory, path))


@contextlib.contextmanager
def _directory(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotABundle(f"{path}: is not a directory") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_manifest_bytes(directory: int, path: Path) -> bytes:
    try:
        return _read_regular(directory, MANIFEST, most=MOST_MANIFEST_BYTES)
    except FileNotFoundError:
        raise NotABundle(f"{path}: holds no {MANIFEST}") from None


def _check_signature(directory: int, manifest: bytes, public_key: Ed25519PublicKey | None) -> bool:
    """Return whether the bundle is signed; verify the signature if `public_key` is given."""
    try:
        signature = _read_regular(directory, SIGNATURE, most=SIGNATURE_BYTES)
    except FileNotFoundError:
        if public_key is not None:
            raise SignatureMissing("a signed bundle is asked for and this one is not signed") from None
        return False
    except AlteredFile:
        signature = b""
    if len(signature) != SIGNATURE_BYTES:
        raise SignatureInvalid(f"{SIGNATURE} must hold {SIGNATURE_BYTES} bytes")
    if public_key is not None:
        verify(manifest, signature, public_key)
    return True


def _read_files(directory: int, manifest: Manifest) -> dict[str, bytes]:
    """Return the files by name, or raise one error with every violation."""
    files: dict[str, bytes] = {}
    violations: list[Violation] = []
    for name in sorted(manifest.files):
        try:
            files[name] = _read_sealed(directory, name, manifest.files[name])
        except FilesRefused as error:
            violations.extend(error.violations)
    unexpected = set(os.listdir(directory)) - {*manifest.files, MANIFEST, SIGNATURE}
    violations += [UnexpectedFile.violation(name, "is not in the manifest") for name in sorted(unexpected)]
    if violations:
        raise FilesRefused.of(violations)
    return files


def _read_sealed(directory: int, name: str, seal: FileSeal) -> bytes:
    try:
        content = _read_regular(directory, name, most=seal.bytes)
    except FileNotFoundError:
        raise MissingFile.one(name, "is missing") from None
    if len(content) != seal.bytes:
        raise AlteredFile.one(name, f"holds {len(content)} bytes, sealed were {seal.bytes}")
    if seal_file(content) != seal:
        raise AlteredFile.one(name, "has another SHA-256 than was sealed")
    return content


def _read_regular(directory: int, name: str, *, most: int) -> bytes:
    """Read a regular file of at most `most` bytes, following no link.

    Raises
    ------
    FileNotFoundError
        When there is no such entry.
    IrregularFile
        When it is a link, a directory, a pipe or a device.
    AlteredFile
        When it is larger; then nothing of it is read.
    """
    try:
        descriptor = os.open(name, OPEN_FILE, dir_fd=directory)
    except OSError as error:
        if error.errno in NOT_REGULAR:
            raise IrregularFile.one(name, "is not a regular file") from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise IrregularFile.one(name, "is not a regular file")
        if status.st_size > most:
            raise AlteredFile.one(name, f"holds {status.st_size} bytes, {most} at most were expected")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(descriptor)
