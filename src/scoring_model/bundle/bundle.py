"""A bundle in memory: what training gives, before and after it is sealed into a directory."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.bundle.contents import CONFIGURATION, VERSIONED, Contents
from scoring_model.bundle.writer import write_bundle
from scoring_model.features import fingerprint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """Everything that a sealed directory will hold.

    Parameters
    ----------
    name : str
        Of the use that it serves.
    contents : Contents
        What decides.
    described : mapping of str to bytes
        The files that describe: resolved configuration, evaluation, reference profile, card.
    data : mapping of str to plain values
        Where the model comes from; see `Manifest`.
    libraries : mapping of str to str
        Versions of what computed it.
    """

    name: str
    contents: Contents
    described: Mapping[str, bytes]
    data: Mapping[str, object]
    libraries: Mapping[str, str]

    @property
    def model_version(self) -> str:
        """The name and a hash of what computes margin and score: equal versions decide alike."""
        return model_version(self.name, self.contents)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """All files by name."""
        return {**self.contents.to_files(), **self.described}

    def save(
        self, path: str | Path, *, signing_key: "Ed25519PrivateKey | None" = None, replace: bool = False
    ) -> Path:
        """Seal the bundle into a directory, whole or not at all; see `write_bundle`.

        Raises
        ------
        BundleExists
            When something stands at `path` and `replace` is False.
        """
        return write_bundle(
            Path(path),
            self.files,
            name=self.name,
            model_version=self.model_version,
            policy_version=self.contents.rules.policy.version,
            feature_fingerprint=fingerprint(self.contents.features),
            data=self.data,
            configuration_sha256=hashlib.sha256(self.described[CONFIGURATION]).hexdigest(),
            libraries=self.libraries,
            signing_key=signing_key,
            replace=replace,
        )


def model_version(name: str, contents: Contents) -> str:
    """The name of a use and a hash of what computes margin, score and probability."""
    files = contents.to_files()
    digest = hashlib.sha256()
    for file in VERSIONED:
        digest.update(files[file])
    return f"{name}-{digest.hexdigest()[:12]}"
