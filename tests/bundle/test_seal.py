"""Hashes and signatures against the vectors of their standards, and keys that are what they should be."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from scoring_model.bundle.errors import KeyInvalid
from scoring_model.bundle.seal import (
    FileSeal,
    generate_key_pair,
    load_private_key,
    load_public_key,
    seal_file,
    sha256_hex,
    sign,
    verify,
)

# RFC 8032, section 7.1, test 3
SECRET = bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
MESSAGE = bytes.fromhex("af82")
SIGNATURE = bytes.fromhex(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)


def test_sha256_is_that_of_the_standard() -> None:
    """The hash of ``abc`` is the example of FIPS 180-4, and a seal holds it with the size."""
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_hex(b"abc") == expected
    assert seal_file(b"abc") == FileSeal(expected, 3)


def test_signature_is_that_of_the_standard() -> None:
    """Signing gives the signature of RFC 8032's test vector, and verifying takes it."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRET)
    assert sign(MESSAGE, key) == SIGNATURE
    verify(MESSAGE, SIGNATURE, key.public_key())


def test_generated_keys_fit_each_other(tmp_path: Path) -> None:
    """What one file signs the other verifies, and only the owner may read the private one."""
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    generate_key_pair(private, public)
    verify(MESSAGE, sign(MESSAGE, load_private_key(private)), load_public_key(public))
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["private.pem", "public.pem"]


@pytest.mark.parametrize("standing", ["private.pem", "public.pem"])
def test_a_key_is_never_replaced(tmp_path: Path, standing: str) -> None:
    """If either file exists, nothing is written."""
    (tmp_path / standing).write_text("mine")
    with pytest.raises(KeyInvalid, match="never replaced"):
        generate_key_pair(tmp_path / "private.pem", tmp_path / "public.pem")
    assert os.listdir(tmp_path) == [standing]
    assert (tmp_path / standing).read_text() == "mine"


def test_one_path_does_not_hold_two_keys(tmp_path: Path) -> None:
    """The same path for both keys is refused and leaves nothing."""
    with pytest.raises(KeyInvalid):
        generate_key_pair(tmp_path / "key.pem", tmp_path / "key.pem")
    assert os.listdir(tmp_path) == []


def test_half_a_key_pair_is_not_left(tmp_path: Path) -> None:
    """When the public key can not be written the private one is taken back."""
    with pytest.raises(KeyInvalid, match="can not be written"):
        generate_key_pair(tmp_path / "private.pem", tmp_path / "absent" / "public.pem")
    assert os.listdir(tmp_path) == []


def test_a_key_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fails before the key is on it no file appears."""

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyInvalid, match="No space"):
        generate_key_pair(tmp_path / "private.pem", tmp_path / "public.pem")
    assert os.listdir(tmp_path) == []


def test_keys_of_another_kind_are_named(tmp_path: Path) -> None:
    """Each thing that is not the key asked for is refused with what it is."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRET)
    pem, pkcs8 = form.Encoding.PEM, form.PrivateFormat.PKCS8
    other = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(pem, pkcs8, form.NoEncryption())
    public = key.public_key().public_bytes(pem, form.PublicFormat.SubjectPublicKeyInfo)
    foreign = other.public_key().public_bytes(pem, form.PublicFormat.SubjectPublicKeyInfo)
    cases = [
        (load_private_key, key.private_bytes(pem, pkcs8, form.BestAvailableEncryption(b"x")), "encrypted"),
        (load_private_key, other.private_bytes(pem, pkcs8, form.NoEncryption()), "not of Ed25519"),
        (load_private_key, public, "was the public one meant"),
        (load_private_key, b"\x00\x01", "not in PEM form"),
        (load_private_key, private[:60] + private[70:], "not a readable private key"),
        (load_public_key, private, "was the private one meant"),
        (load_public_key, foreign, "not of Ed25519"),
        (load_public_key, public[:40] + b"!" + public[41:], "not a readable public key"),
    ]
    path = tmp_path / "key.pem"
    for load, content, expected in cases:
        path.write_bytes(content)
        with pytest.raises(KeyInvalid, match=expected):
            load(path)
    with pytest.raises(KeyInvalid, match="can not be read"):
        load_private_key(tmp_path / "absent.pem")


def test_key_errors_hold_no_key(tmp_path: Path) -> None:
    """The error does not quote the content of the file."""
    path = tmp_path / "key.pem"
    path.write_text("-----BEGIN PRIVATE KEY-----\nCanary\n-----END PRIVATE KEY-----\n")
    with pytest.raises(KeyInvalid) as caught:
        load_private_key(path)
    assert "Canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_hashing_needs_no_cryptography() -> None:
    """Reading an unsigned bundle does not import cryptography."""
    script = "import sys, scoring_model.bundle.reader; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert hashlib.sha256(b"").hexdigest() == sha256_hex(b"")
