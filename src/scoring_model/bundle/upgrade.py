"""Reseals an older bundle: the same model, as a bundle of the present protocol."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.contents import CARD, Contents
from scoring_model.bundle.errors import NewerProtocol, OlderProtocol
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.bundle.reader import SealedFiles
from scoring_model.bundle.writer import write_bundle

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def upgrade(
    sealed: SealedFiles, out: Path, *, signing_key: Ed25519PrivateKey | None = None, replace: bool = False
) -> str:
    """Reseal a bundle of an earlier protocol as one of the present protocol.

    The files of the model and its scale stay byte for byte, so scores and the model version are the same; those of the
    policy are written as the present protocol has them.

    Returns
    -------
    str
        The version of the policy: another one if what is decided or said is another.

    Raises
    ------
    NewerProtocol
        If it already has the present protocol.
    FeaturesUnknown
        When this package does not compute its features, so that it could not score.
    """
    manifest = sealed.manifest
    if manifest.protocol == PROTOCOL:
        raise NewerProtocol(f"{sealed.path}: is of protocol {PROTOCOL} already; there is nothing to upgrade")
    contents = Contents.of(sealed)
    version = contents.policy_version
    write_bundle(
        out,
        {**sealed.files, **contents.policy_files(), CARD: _card(sealed, version)},
        dataclasses.replace(manifest, policy_version=version),
        signing_key=signing_key,
        replace=replace,
    )
    return version


def check_protocol(sealed: SealedFiles) -> None:
    """Refuse a bundle of an earlier protocol, which must not score new records.

    Raises
    ------
    OlderProtocol
        With the command that reseals it.
    """
    protocol = sealed.manifest.protocol
    if protocol < PROTOCOL:
        raise OlderProtocol(
            f"{sealed.path}: is of protocol {protocol}; new records are scored with protocol {PROTOCOL} alone. "
            f"Seal it again: scoring-model upgrade {sealed.path} --out NEW"
        )


def _card(sealed: SealedFiles, version: str) -> bytes:
    """Return the card with the new policy version and a note on the upgrade."""
    before = sealed.manifest.policy_version
    text = sealed.files[CARD].decode().replace(f"policy `{before}`", f"policy `{version}`", 1)
    note = f"Sealed again from protocol {sealed.manifest.protocol}, where its policy was `{before}`."
    return f"{text}\n## Upgrade\n\n{note} Scores are the same.\n".encode()
