"""The folder of a challenger between the runs that look at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scoring_model.bundle.reader import read_manifest
from scoring_model.records import rfc3339
from scoring_model.records.atomic import write_json
from scoring_model.service.activation.activations import Versions

_PREFIX: Final = "challenger-"


@dataclass(frozen=True, slots=True)
class Challenger:
    """The folder of a challenger: bundle, training, looks and, once it is known, the decision."""

    folder: Path

    @classmethod
    def all_in(cls, work: Path) -> list["Challenger"]:
        """Return the challengers of a folder, oldest first."""
        return [cls(path) for path in sorted(work.glob(f"{_PREFIX}*"))]

    @classmethod
    def trained_as_of(cls, work: Path, as_of: int) -> "Challenger":
        """Return the challenger that is trained on the records before an instant."""
        return cls(work / f"{_PREFIX}{rfc3339(as_of).replace(':', '')}")

    @property
    def bundle(self) -> Path:
        """Return the directory of the sealed bundle."""
        return self.folder / "bundle"

    @property
    def looks(self) -> Path:
        """Return the file of looks."""
        return self.folder / "looks.json"

    @property
    def versions(self) -> Versions:
        """Return model and policy version."""
        manifest = read_manifest(self.bundle)
        return Versions(manifest.model_version, manifest.policy_version)

    @property
    def is_decided(self) -> bool:
        """Whether no run looks at it any more."""
        return self._decision.exists()

    @property
    def _decision(self) -> Path:
        return self.folder / "decision.json"

    def decide(self, document: Mapping[str, object]) -> None:
        """Keep the decision: it is not looked at again."""
        write_json(self._decision, document)
