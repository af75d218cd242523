"""A small bundle to be broken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scoring_model.bundle.manifest import Manifest
from scoring_model.bundle.seal import seal_file
from scoring_model.bundle.writer import write_bundle

FIELDS: dict[str, Any] = {
    "name": "sign-up",
    "model_version": "2026-01",
    "policy_version": "1a2b",
    "feature_fingerprint": "f" * 64,
    "data": {
        "sha256": "d" * 64,
        "records": 1000,
        "from": "2024-01-01T00:00:00.000000Z",
        "to": "2025-12-31T23:59:59.999999Z",
        "source": "invented",
    },
    "configuration_sha256": "c" * 64,
    "libraries": {"numpy": "2.4.6", "lightgbm": "4.7.0"},
}
FILES = {"model.onnx": bytes(range(256)) * 3, "policy.json": b'{"fail_from": 700}\n', "empty": b""}


@pytest.fixture
def fields() -> dict[str, Any]:
    """Return the fields of a sound manifest."""
    return {**FIELDS, "data": dict(FIELDS["data"]), "libraries": dict(FIELDS["libraries"])}


@pytest.fixture
def files() -> dict[str, bytes]:
    """Return the contents of a bundle."""
    return dict(FILES)


@pytest.fixture
def key() -> Ed25519PrivateKey:
    """Return a private key, always the same."""
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def write(fields: dict[str, Any], files: dict[str, bytes]) -> Callable[..., Path]:
    """Return a writer of the small bundle, any argument of which may be given otherwise."""

    def writer(out: Path, **changes: Any) -> Path:
        given = {**fields, **changes}
        written = given.pop("files", files)
        options = {name: given.pop(name) for name in ("signing_key", "replace") if name in given}
        return write_bundle(out, written, Manifest(**given, files={"any": seal_file(b"")}), **options)

    return writer


@pytest.fixture
def bundle(tmp_path: Path, write: Callable[..., Path]) -> Path:
    """Return the path of a bundle that is not signed."""
    return write(tmp_path / "bundle")


@pytest.fixture
def signed(tmp_path: Path, write: Callable[..., Path], key: Ed25519PrivateKey) -> Path:
    """Return the path of a signed bundle."""
    return write(tmp_path / "signed", signing_key=key)
