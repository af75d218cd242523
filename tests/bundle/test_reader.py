"""The reader returns a bundle exactly as sealed, or refuses it with the reason."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.errors import (
    AlteredFile,
    BundleError,
    FilesRefused,
    IrregularFile,
    ManifestInvalid,
    MissingFile,
    NewerProtocol,
    NotABundle,
    SignatureInvalid,
    SignatureMissing,
    UnexpectedFile,
    UnreleasedProtocol,
)
from scoring_model.bundle.manifest import PROTOCOL, Manifest
from scoring_model.bundle.reader import read_bundle, read_manifest

REFUSAL = {
    "manifest.json": (ManifestInvalid, NewerProtocol, UnreleasedProtocol),
    "manifest.sig": SignatureInvalid,
}
one_bundle = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def flip(path: Path, position: int, mask: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)


def refusal(path: Path) -> BundleError:
    """Return the error with which the bundle is refused."""
    with pytest.raises(BundleError) as caught:
        read_bundle(path)
    return caught.value


def test_what_was_sealed_is_read(bundle: Path, files: dict[str, bytes]) -> None:
    """The reader returns the bytes that were given to the writer, and their manifest; it does not show the bytes."""
    sealed = read_bundle(bundle)
    assert sealed.files == files
    assert sealed.manifest.files.keys() == files.keys()
    assert sealed.manifest == read_manifest(bundle)
    assert sealed.path == bundle
    assert not sealed.signed
    assert not [name for name, content in files.items() if content and repr(content)[2:40] in repr(sealed)]


@pytest.mark.parametrize("name", ["model.onnx", "policy.json", "manifest.json", "manifest.sig"])
@one_bundle
@given(data=st.data())
def test_one_flipped_byte_is_refused(
    signed: Path, key: Ed25519PrivateKey, name: str, data: st.DataObject
) -> None:
    """Any byte of any file changed in any way is refused by name; with a public key a manifest by its signature."""
    whole = (signed / name).read_bytes()
    flip(signed / name, data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255)))
    try:
        with pytest.raises(SignatureInvalid if name.startswith("manifest") else AlteredFile):
            read_bundle(signed, public_key=key.public_key())
        if name != "manifest.sig":  # without a key its bytes are not checked
            assert isinstance(refusal(signed), REFUSAL.get(name, AlteredFile))  # type: ignore[arg-type]
    finally:
        (signed / name).write_bytes(whole)
    assert read_bundle(signed, public_key=key.public_key()).signed


@pytest.mark.parametrize("name", ["model.onnx", "policy.json", "manifest.json", "manifest.sig"])
def test_a_truncated_file_is_refused(signed: Path, name: str) -> None:
    """A file that ends early, at whatever byte, is refused by name."""
    whole = (signed / name).read_bytes()
    for length in {0, 1, len(whole) // 2, len(whole) - 1}:
        (signed / name).write_bytes(whole[:length])
        with pytest.raises(REFUSAL.get(name, AlteredFile)):  # type: ignore[call-overload]
            read_bundle(signed)


@pytest.mark.parametrize("name", ["model.onnx", "policy.json", "empty", "manifest.json", "manifest.sig"])
def test_a_lengthened_file_is_refused(signed: Path, name: str) -> None:
    """A byte more at the end, in an empty file too, is refused by name."""
    with (signed / name).open("ab") as file:
        file.write(b"\n")
    assert isinstance(refusal(signed), REFUSAL.get(name, AlteredFile))  # type: ignore[arg-type]


def test_a_missing_file_is_refused(bundle: Path) -> None:
    """A file that the manifest names and the directory lacks is refused by name, an empty one too."""
    (bundle / "empty").unlink()
    error = refusal(bundle)
    assert isinstance(error, MissingFile)
    assert [found.field for found in error.violations] == ["empty"]


@pytest.mark.parametrize("name", ["extra", ".hidden", "manifest.json.bak", "b\udcff"])
def test_an_unexpected_file_is_refused(bundle: Path, name: str) -> None:
    """A file missing from the manifest is refused, even if its name is hidden or not text."""
    Path(os.fsdecode(os.fsencode(bundle / name))).touch()
    error = refusal(bundle)
    assert isinstance(error, UnexpectedFile)
    assert [found.field for found in error.violations] == [ascii(name)[1:-1]]
    assert str(error).isascii()


def test_an_unexpected_directory_is_refused(bundle: Path) -> None:
    """A bundle is flat."""
    (bundle / "sub").mkdir()
    assert isinstance(refusal(bundle), UnexpectedFile)


def test_all_file_violations_are_reported_at_once(bundle: Path) -> None:
    """One error lists all violations; its class is that of the gravest one."""
    (bundle / "empty").unlink()
    (bundle / "extra").touch()
    flip(bundle / "model.onnx", 5, 1)
    error = refusal(bundle)
    assert isinstance(error, AlteredFile)
    found = {violation.field: violation.code for violation in error.violations}
    assert found == {"empty": MissingFile.code, "extra": UnexpectedFile.code, "model.onnx": AlteredFile.code}
    assert all(name in str(error) for name in found)


@pytest.mark.parametrize("name", ["model.onnx", "manifest.json", "manifest.sig"])
def test_links_within_are_refused(signed: Path, tmp_path: Path, name: str) -> None:
    """A symbolic link is refused though it leads to the very bytes that were sealed."""
    (signed / name).rename(tmp_path / "elsewhere")
    (signed / name).symlink_to(tmp_path / "elsewhere")
    assert isinstance(refusal(signed), IrregularFile)


@pytest.mark.parametrize("name", ["model.onnx", "manifest.json", "manifest.sig"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused(signed: Path, name: str, make: Callable[[Path], None]) -> None:
    """A directory or a pipe in place of a file is refused, and the reader does not wait on the pipe."""
    (signed / name).unlink()
    make(signed / name)
    assert isinstance(refusal(signed), IrregularFile)


def test_a_link_to_the_whole_bundle_is_followed(
    bundle: Path, tmp_path: Path, files: dict[str, bytes]
) -> None:
    """The path itself may be a link, by which deployments switch between bundles."""
    (tmp_path / "champion").symlink_to(bundle)
    assert read_bundle(tmp_path / "champion").files == files


def test_files_come_from_the_directory_that_was_opened(
    bundle: Path, tmp_path: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle that is moved away after its manifest was read is still read to its end, not mixed."""
    read = Manifest.from_bytes

    def move_then_read(written: bytes) -> Manifest:
        bundle.rename(tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", bundle)
        flip(bundle / "model.onnx", 0, 1)
        return read(written)

    monkeypatch.setattr(Manifest, "from_bytes", move_then_read)
    assert read_bundle(bundle).files == files


def test_what_was_read_does_not_change(bundle: Path, files: dict[str, bytes]) -> None:
    """The bytes returned are those that were hashed: they outlive the directory and can not be replaced."""
    sealed = read_bundle(bundle)
    shutil.rmtree(bundle)
    assert sealed.files == files
    with pytest.raises(TypeError):
        sealed.files["model.onnx"] = b""  # type: ignore[index]


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: None])
def test_what_is_no_bundle_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """An empty directory, a file and a missing path are not bundles."""
    make(tmp_path / "place")
    assert isinstance(refusal(tmp_path / "place"), NotABundle)


def test_a_newer_protocol_is_refused(bundle: Path) -> None:
    """A bundle of a later version is refused as such, whatever files it contains."""
    (bundle / "manifest.json").write_bytes(json_bytes({"protocol": PROTOCOL + 1, "layout": "new"}))
    (bundle / "extra").touch()
    assert isinstance(refusal(bundle), NewerProtocol)


def test_a_huge_manifest_is_not_read(bundle: Path) -> None:
    """A manifest of a size that none can have is refused before it is read."""
    os.truncate(bundle / "manifest.json", 2**40)
    error = refusal(bundle)
    assert isinstance(error, FilesRefused)
    assert [found.field for found in error.violations] == ["manifest.json"]


def test_a_signature_is_asked_for_with_a_key(bundle: Path, key: Ed25519PrivateKey) -> None:
    """With a public key a bundle without a signature is refused."""
    with pytest.raises(SignatureMissing):
        read_bundle(bundle, public_key=key.public_key())


def test_the_signature_of_another_key_is_refused(signed: Path) -> None:
    """A sound signature by someone else is invalid."""
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    with pytest.raises(SignatureInvalid):
        read_bundle(signed, public_key=other.public_key())


def test_a_signature_is_reported_without_a_key(signed: Path, bundle: Path) -> None:
    """Without a key a signature is left unchecked, but its presence is reported."""
    flip(signed / "manifest.sig", 3, 1)
    assert read_bundle(signed).signed
    assert not read_bundle(bundle).signed


def test_a_signature_of_another_bundle_is_refused(
    signed: Path, tmp_path: Path, write: Callable[..., Path], key: Ed25519PrivateKey
) -> None:
    """A signature can not be carried from one bundle to another of the same signer."""
    other = write(tmp_path / "other", model_version="2026-02", signing_key=key)
    shutil.copy(signed / "manifest.sig", other / "manifest.sig")
    with pytest.raises(SignatureInvalid):
        read_bundle(other, public_key=key.public_key())
