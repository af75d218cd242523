"""What can be wrong with a bundle, one class each, so that a refusal has a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self


class BundleError(Exception):
    """A bundle, or something that belongs to one, was refused."""


class NotABundle(BundleError):
    """There is no directory with a manifest at the path."""


class BundleExists(BundleError):
    """The writer would have to replace what stands at the path and was not asked to."""


class NewerProtocol(BundleError):
    """The bundle was written by a later version of this package, whose layout is not known here."""


class OlderProtocol(BundleError):
    """The bundle was written by an earlier version of this package and decides about nothing new."""


class FeaturesUnknown(BundleError):
    """Another version of this package computed the features that the bundle decides about."""


class ContentInvalid(BundleError):
    """The bytes of a file are not what its format asks for."""


class KeyInvalid(BundleError):
    """A file does not hold the Ed25519 key that was asked for, or a key can not be written there."""


class SignatureMissing(BundleError):
    """A public key was given and the bundle is not signed."""


class SignatureInvalid(BundleError):
    """The signature is not one of this manifest under the given key, or is no signature at all."""


class ManifestInvalid(BundleError):
    """The manifest breaks its own rules.

    Parameters
    ----------
    problems : sequence of str
        Everything that is wrong, each with the name of its field.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("manifest refused: " + "; ".join(self.problems))


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One file that is not as sealed: its name, the class of the refusal and what was seen."""

    name: str
    kind: type[FilesRefused]
    detail: str

    def __str__(self) -> str:
        return f"{self.name!a} {self.detail}"


class FilesRefused(BundleError):
    """Files of the bundle are not those that were sealed. Raised as one of its subclasses.

    Parameters
    ----------
    problems : sequence of FileProblem
        Every file that is not as sealed, whatever is wrong with it, in order of names.
    """

    gravity: ClassVar[int] = 0

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("files refused: " + "; ".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, problems: Sequence[FileProblem]) -> FilesRefused:
        """Return one error that holds all problems; its class is that of the gravest among them."""
        gravest = max((problem.kind for problem in problems), key=lambda kind: kind.gravity)
        return gravest(problems)

    @classmethod
    def one(cls, name: str, detail: str) -> Self:
        """Return the error of a single file."""
        return cls([FileProblem(name, cls, detail)])


class UnexpectedFile(FilesRefused):
    """The directory holds an entry that the manifest does not name."""

    gravity = 1


class MissingFile(FilesRefused):
    """A file that the manifest names is not there."""

    gravity = 2


class IrregularFile(FilesRefused):
    """An entry that the manifest names is a link, a directory or a device."""

    gravity = 3


class AlteredFile(FilesRefused):
    """The size or the hash of a file is not the sealed one."""

    gravity = 4


class GoldenMismatch(BundleError):
    """The bundle does not decide as it did when it was made.

    Parameters
    ----------
    differences : sequence of str
        Each output that differs, with the rows where it does.
    """

    def __init__(self, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__("golden rows differ: " + "; ".join(self.differences))
