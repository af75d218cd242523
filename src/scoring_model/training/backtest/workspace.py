"""The work directory of a backtest: finished folds and the trials of searches, by which a run can be resumed."""

import io
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from scoring_model.configuration import Configuration
from scoring_model.findings import Finding
from scoring_model.records.atomic import write_whole
from scoring_model.training.assembly import LIBRARIES
from scoring_model.training.backtest.calendar import BacktestError
from scoring_model.training.backtest.fold import JOURNAL, FoldOutcome

_MANIFEST: Final = "manifest.json"
_FINDINGS: Final = "findings.json"
_DOCUMENT: Final = "document"
_FOLD: Final = "fold-{}.npz"
MATRIX: Final = "rows-{}.npy"
"""Name of a file of feature rows. Only a kill leaves such files behind."""


def run_key(configuration: Configuration, **given: object) -> str:
    """Hash all that the results of a run depend on: configuration, records, options and versions of libraries."""
    versions = {name: version(name) for name in LIBRARIES}
    plain = {"configuration": asdict(configuration), "versions": versions, **given}
    return sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


class Workspace:
    """A directory of mode 0700 that only its owner can read.

    Parameters
    ----------
    folder : Path
        Created if it is absent.
    key : str
        Result of `run_key`.
    resume : bool
        Whether to keep the finished folds and begun searches of an interrupted run. Otherwise they are removed.

    Raises
    ------
    BacktestError
        If the directory is no work directory, or holds the folds of another run that cannot be resumed.
    """

    def __init__(self, folder: Path, key: str, *, resume: bool) -> None:
        self.folder = folder
        found = self._found_key()
        if found is not None and resume and found != key:
            raise BacktestError(
                f"{folder} is from a backtest of other records, options, settings or versions; to begin anew, leave "
                "out --resume (resume=True)"
            )
        if found is not None and not resume:
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._remove_matrices()
        self._write(_MANIFEST, json.dumps({"key": key}).encode())

    def _found_key(self) -> str | None:
        """Return the key of an earlier run; None if there is none."""
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            return str(json.loads(manifest.read_text(encoding="utf-8"))["key"])
        if self.folder.exists() and any(self.folder.iterdir()):
            raise BacktestError(f"{self.folder} exists and is not the work directory of a backtest")
        return None

    def finished(self, number: int) -> bool:
        """Return True if a fold is finished."""
        return self._fold(number).exists()

    def save(self, number: int, outcome: FoldOutcome) -> None:
        """Keep a finished fold, whole or not at all, instead of the journal of its search."""
        text = np.frombuffer(json.dumps(outcome.document).encode(), dtype=np.uint8)
        held = io.BytesIO()
        arrays: dict[str, Any] = {_DOCUMENT: text, **outcome.arrays}
        np.savez(held, **arrays)
        self._write(self._fold(number).name, held.getvalue())
        (self.folder / JOURNAL.format(f"{number:04d}")).unlink(missing_ok=True)

    def load(self, number: int) -> FoldOutcome:
        """Read a finished fold."""
        with np.load(self._fold(number)) as held:
            arrays = {name: held[name] for name in held.files}
        return FoldOutcome(document=json.loads(arrays.pop(_DOCUMENT).tobytes()), arrays=arrays)

    @property
    def findings(self) -> tuple[Finding, ...] | None:
        """Return the findings of the leakage checks; None if these did not run yet."""
        path = self.folder / _FINDINGS
        if not path.exists():
            return None
        return tuple(map(Finding.of, json.loads(path.read_text(encoding="utf-8"))))

    def keep_findings(self, found: Iterable[Finding]) -> None:
        """Keep the findings of the leakage checks."""
        self._write(_FINDINGS, json.dumps([finding.to_json() for finding in found]).encode())

    def keep_finished(self) -> None:
        """Remove everything but finished folds and begun searches, and the directory if there are none."""
        if any(any(self.folder.glob(name.format("*"))) for name in (_FOLD, JOURNAL)):
            self._remove_matrices()
        else:
            self.remove()

    def _remove_matrices(self) -> None:
        """Remove all feature rows, which are large and are computed again."""
        for path in self.folder.glob(MATRIX.format("*")):
            path.unlink()

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.folder)

    def _fold(self, number: int) -> Path:
        return self.folder / _FOLD.format(f"{number:04d}")

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)
