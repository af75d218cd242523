"""A bundle in memory: the result of a training, before and after it is sealed into a directory."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.contents import CONFIGURATION, VERSIONED, Contents, DecisionPart
from scoring_model.bundle.errors import ManifestInvalid
from scoring_model.bundle.manifest import Manifest
from scoring_model.bundle.reader import SealedFiles
from scoring_model.bundle.seal import seal_file, sha256_hex
from scoring_model.bundle.short_card import ShortCard, short_card
from scoring_model.bundle.writer import write_bundle
from scoring_model.contract.violation import Violation, pointer
from scoring_model.features import fingerprint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, kw_only=True, repr=False)
class Bundle:
    """The contents of a sealed directory.

    Parameters
    ----------
    described : mapping of str to bytes
        The descriptive files: resolved configuration, evaluation, reference profile, counts of scores, card.
    data : mapping of str to plain values
        Origin of the model; see `Manifest`.
    libraries : mapping of str to str
        Versions of the libraries that computed it.
    """

    name: str
    contents: Contents
    described: Mapping[str, bytes]
    data: Mapping[str, object]
    libraries: Mapping[str, str]

    @property
    def model_version(self) -> str:
        """Return the name and a hash of the files that compute margin and score; equal versions decide equally."""
        return model_version(self.name, self.files)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Return all files by name."""
        return {**self.contents.to_files(), **self.described}

    def __repr__(self) -> str:
        return str(self._short_card)

    def _repr_html_(self) -> str:
        return self._short_card.html

    @property
    def _short_card(self) -> ShortCard:
        return short_card(f"Bundle {self.model_version}", self.contents, data=self.data, files=self.files)

    def save(
        self, path: str | Path, *, signing_key: "Ed25519PrivateKey | None" = None, replace: bool = False
    ) -> Path:
        """Seal the bundle into a directory, atomically; see `write_bundle`.

        Raises
        ------
        BundleExists
            If `path` exists and `replace` is False.
        """
        manifest = Manifest(
            name=self.name,
            model_version=self.model_version,
            policy_version=self.contents.policy_version,
            feature_fingerprint=fingerprint(self.contents.features),
            data=self.data,
            configuration_sha256=sha256_hex(self.described[CONFIGURATION]),
            libraries=self.libraries,
            files={name: seal_file(content) for name, content in self.files.items()},
        )
        return write_bundle(Path(path), self.files, manifest, signing_key=signing_key, replace=replace)


def model_version(name: str, files: Mapping[str, bytes]) -> str:
    """Return the name of a use and a hash of the files that compute margin, score and probability."""
    digest = hashlib.sha256()
    for file in VERSIONED:
        digest.update(files[file])
    return f"{name}-{digest.hexdigest()[:12]}"


def check_versions(sealed: SealedFiles, contents: DecisionPart) -> None:
    """Refuse a bundle whose manifest names other versions than its files have.

    Otherwise altered files could be resealed and signed under the name of the original model.

    Raises
    ------
    ManifestInvalid
        Naming every such field.
    """
    manifest = sealed.manifest
    actual = {
        "model_version": model_version(manifest.name, sealed.files),
        "policy_version": contents.policy_version,
    }
    if CONFIGURATION in sealed.files:
        actual["configuration_sha256"] = sha256_hex(sealed.files[CONFIGURATION])
    wrong = [name for name, value in actual.items() if getattr(manifest, name) != value]
    if wrong:
        raise ManifestInvalid(
            Violation(pointer(name), "altered", "is not that of the files") for name in wrong
        )
