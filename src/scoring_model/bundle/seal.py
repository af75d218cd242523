"""Hashes and signatures: SHA-256 for every file, Ed25519 (RFC 8032) over the manifest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.durable import create_whole
from scoring_model.bundle.errors import KeyInvalid, SignatureInvalid

if TYPE_CHECKING:  # cryptography takes 30 ms to import and most readers check no signature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE_BYTES = 64  # RFC 8032, section 5.1.6
PRIVATE_MODE = 0o600
PUBLIC_MODE = 0o644


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class FileSeal:
    """The seal of a file in the manifest: `sha256`, 64 hexadecimal digits, and its size in `bytes`."""

    sha256: str
    bytes: int


def seal_file(data: bytes) -> FileSeal:
    """Return the seal of these bytes."""
    return FileSeal(sha256_hex(data), len(data))


def sign(data: bytes, key: Ed25519PrivateKey) -> bytes:
    """Return the 64 bytes of the Ed25519 signature, the same for the same data and key."""
    return key.sign(data)


def verify(data: bytes, signature: bytes, key: Ed25519PublicKey) -> None:
    """Raise `SignatureInvalid` unless `signature` is one of `data` under `key`."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, data)
    except InvalidSignature:
        raise SignatureInvalid("the signature is not one of this manifest under the given key") from None


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """Read an unencrypted Ed25519 private key in PEM form (PKCS #8, RFC 5958 and RFC 8410).

    Raises
    ------
    KeyInvalid
        When the file can not be read or holds anything else.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    pem = _read_pem(path, "PRIVATE KEY")
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise KeyInvalid(f"{path}: the private key is encrypted; decrypt it first") from None
    except Exception as error:
        raise KeyInvalid(f"{path}: not a readable private key ({type(error).__name__})") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyInvalid(f"{path}: a private key, but not of Ed25519")
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Read an Ed25519 public key in PEM form (SubjectPublicKeyInfo, RFC 8410).

    Raises
    ------
    KeyInvalid
        When the file can not be read or holds anything else, a private key above all.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    pem = _read_pem(path, "PUBLIC KEY")
    try:
        key = load_pem_public_key(pem)
    except Exception as error:
        raise KeyInvalid(f"{path}: not a readable public key ({type(error).__name__})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyInvalid(f"{path}: a public key, but not of Ed25519")
    return key


def _read_pem(path: Path, expected: str) -> bytes:
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise KeyInvalid(f"{path}: can not be read ({error.strerror})") from None
    if b"-----BEGIN " not in pem:
        raise KeyInvalid(f"{path}: not in PEM form")
    if f"{expected}-----".encode() not in pem:
        other = "public" if expected.startswith("PRIVATE") else "private"
        raise KeyInvalid(f"{path}: holds no {expected.lower()}; was the {other} one meant?")
    return pem


def generate_key_pair(private_path: Path, public_path: Path) -> None:
    """Write a new Ed25519 key pair as two PEM files, the private one readable only by its owner.

    Raises
    ------
    KeyInvalid
        If either path exists, since keys are never replaced.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if standing := [str(path) for path in (private_path, public_path) if path.exists()]:
        raise KeyInvalid(f"a key is never replaced: {', '.join(standing)} exists")
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    _create_key(private_path, private, PRIVATE_MODE)
    try:
        _create_key(public_path, public, PUBLIC_MODE)
    except BaseException:
        private_path.unlink()
        raise


def _create_key(path: Path, pem: bytes, mode: int) -> None:
    try:
        create_whole(path, pem, mode=mode)
    except OSError as error:
        raise KeyInvalid(f"{path}: can not be written ({error.strerror})") from None
