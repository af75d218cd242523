"""Errors of bundles: one class for each reason for refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

from scoring_model.contract.violation import Invalid, Violation, pointer


class BundleError(Exception):
    """A bundle, or something that belongs to one, was refused."""


class NotABundle(BundleError):
    """There is no directory with a manifest at the path."""


class BundleExists(BundleError):
    """The path exists, and replacing it was not requested."""


class NewerProtocol(BundleError):
    """The bundle was written by a later version of this package, whose layout is not known here."""


class OlderProtocol(BundleError):
    """The bundle was written by an earlier version of this package and must not score new records."""


class UnreleasedProtocol(BundleError):
    """The bundle was made before the first release, by a protocol that no release reads."""


class FeaturesUnknown(BundleError):
    """Another version of this package computed the features that the bundle decides about."""


class ContentInvalid(BundleError):
    """The bytes of a file do not have its format."""


class KeyInvalid(BundleError):
    """A file does not hold the expected Ed25519 key, or a key cannot be written there."""


class SignatureMissing(BundleError):
    """A public key was given and the bundle is not signed."""


class SignatureInvalid(BundleError):
    """The signature is malformed, or not valid for this manifest under the given key."""


class ManifestInvalid(Invalid, BundleError):
    """The manifest breaks its own rules."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__(violations, "manifest refused")

    @classmethod
    def of_whole(cls, code: str, detail: str) -> Self:
        """Make the error of one rule that the whole manifest breaks."""
        return cls([Violation("", code, detail)])


class FilesRefused(Invalid, BundleError):
    """Files of the bundle are not those that were sealed; `violations` point at them by name.

    Raised as one of its subclasses. The code of a violation is that of its own subclass.
    """

    code: ClassVar[str]

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__(violations, "files refused")

    @classmethod
    def of(cls, violations: Sequence[Violation]) -> FilesRefused:
        """Make one error of all violations; its class is that of the gravest among them."""
        codes = {violation.code for violation in violations}
        kinds = (AlteredFile, IrregularFile, MissingFile, UnexpectedFile)
        return next(kind for kind in kinds if kind.code in codes)(violations)

    @classmethod
    def one(cls, name: str, detail: str) -> Self:
        """Make the error of a single file."""
        return cls([cls.violation(name, detail)])

    @classmethod
    def violation(cls, name: str, detail: str) -> Violation:
        """Make the violation of a single file."""
        return Violation(pointer(ascii(name)[1:-1]), cls.code, detail)


class UnexpectedFile(FilesRefused):
    """The directory holds an entry that the manifest does not name."""

    code = "unexpected_file"


class MissingFile(FilesRefused):
    """A file that the manifest names is not there."""

    code = "missing_file"


class IrregularFile(FilesRefused):
    """An entry that the manifest names is a link, a directory or a device."""

    code = "irregular_file"


class AlteredFile(FilesRefused):
    """The size or the hash of a file is not the sealed one."""

    code = "altered_file"


class GoldenMismatch(BundleError):
    """The bundle does not reproduce its original decisions."""

    def __init__(self, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__("golden rows differ: " + "; ".join(self.differences))
