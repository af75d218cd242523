"""Reseals an older bundle: the same model, with reasons of the current protocol."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.contents import CARD, REASONS, Contents
from scoring_model.bundle.errors import NewerProtocol, OlderProtocol
from scoring_model.bundle.manifest import WITHOUT_CONTROL
from scoring_model.bundle.reader import SealedFiles
from scoring_model.bundle.reasons import Use, reason_factors
from scoring_model.bundle.writer import write_bundle
from scoring_model.decision.reasons import FactualReasons

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def upgrade(
    sealed: SealedFiles,
    out: Path,
    *,
    use: Use,
    share: float,
    signing_key: Ed25519PrivateKey | None = None,
    replace: bool = False,
) -> str:
    """Reseal a bundle of an earlier protocol as one of the current protocol.

    The files of model, scale and policy stay byte for byte, so scores, outcomes and the model version are the same. The
    reasons change, and with them the policy version.

    Parameters
    ----------
    share : float
        Minimum share, in [0, 1], of all positive contributions for a reason after the first.

    Returns
    -------
    str
        The new version of the policy.

    Raises
    ------
    NewerProtocol
        If it already has the current protocol.
    FeaturesUnknown
        When this package does not compute its features, so that it could not score.
    """
    manifest = sealed.manifest
    if manifest.protocol >= WITHOUT_CONTROL:
        raise NewerProtocol(
            f"{sealed.path}: is of protocol {manifest.protocol} already; there is nothing to upgrade"
        )
    contents = Contents.of(sealed)
    factors = reason_factors(contents.features, use=use, share=share)
    upgraded = dataclasses.replace(contents, reasons=FactualReasons(factors, contents.features.names))
    version = upgraded.policy_version
    write_bundle(
        out,
        {**sealed.files, REASONS: json_bytes(factors.to_json()), CARD: _card(sealed, version)},
        name=manifest.name,
        model_version=manifest.model_version,
        policy_version=version,
        feature_fingerprint=manifest.feature_fingerprint,
        data=manifest.data,
        configuration_sha256=manifest.configuration_sha256,
        libraries=manifest.libraries,
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
    if protocol < WITHOUT_CONTROL:
        raise OlderProtocol(
            f"{sealed.path}: is of protocol {protocol}, whose reasons may be false; it scores no "
            f"new records. Seal it again: scoring-model upgrade {sealed.path} --out NEW"
        )


def _card(sealed: SealedFiles, version: str) -> bytes:
    """Return the card with the new policy version and a note on the upgrade."""
    before = sealed.manifest.policy_version
    text = sealed.files[CARD].decode().replace(f"policy `{before}`", f"policy `{version}`", 1)
    note = (
        f"Sealed again from protocol {sealed.manifest.protocol}, where its policy was `{before}`. Scores and outcomes "
        f"are the same. The reasons are those of `{REASONS}`; codes of reasons above are former ones."
    )
    return f"{text}\n## Upgrade\n\n{note}\n".encode()
