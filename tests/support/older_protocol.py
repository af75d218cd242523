"""A protocol before the first, which no release has: its reasons have no share."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from scoring_model.bundle import read_bundle
from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.contents import REASONS, read_decision_part
from scoring_model.bundle.manifest import MANIFEST, OLDER_READERS, PROTOCOL
from scoring_model.bundle.writer import write_bundle

OLDER: Final = PROTOCOL - 1
SHARE: Final = 0.1
"""The share that every bundle of it meant."""


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bundles of the older protocol be read, during a test."""

    def read(files: Any) -> dict[str, Any]:
        said = {**read_json(files[REASONS]), "share": SHARE}
        return read_decision_part({**files, REASONS: json_bytes(said)})

    monkeypatch.setitem(OLDER_READERS, OLDER, read)


def older_bundle(present: Path, out: Path) -> Path:
    """Seal a bundle as the older protocol would have."""
    sealed = read_bundle(present)
    said = read_json(sealed.files[REASONS])
    assert said.pop("share") == SHARE
    write_bundle(out, {**sealed.files, REASONS: json_bytes(said)}, sealed.manifest)
    with_protocol(out, OLDER)
    return out


def with_protocol(bundle: Path, protocol: int) -> None:
    """Give the manifest of a bundle another protocol, under a seal of its own."""
    manifest = replace(read_bundle(bundle).manifest, protocol=protocol)
    (bundle / MANIFEST).write_bytes(manifest.to_bytes())
