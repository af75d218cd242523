"""Groups of options that several commands have: frozen values, each field an option.

A group that mirrors a type of the Python interface has its names and defaults (`tests/cli/test_options.py`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from scoring_model.cli import shared

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.configuration import GateSettings
    from scoring_model.scorer import Scorer

_BY = re.compile(r"(?P<column>(?:[^=]|==)*)(?:=(?P<value>.*))?", re.DOTALL)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its groups, in the order of its parameters."""
    signature = inspect.signature(command, eval_str=True)
    kinds: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if is_dataclass(one.annotation)
    }
    if not kinds:
        return command

    @wraps(command)
    def run(**given: Any) -> None:
        groups = {
            name: kind(**{one.name: given.pop(one.name) for one in fields(kind)})
            for name, kind in kinds.items()
        }
        command(**given, **groups)

    options = [
        option
        for one in signature.parameters.values()
        for option in (_options(kinds[one.name]) if one.name in kinds else [one])
    ]
    shown = [one.replace(kind=one.KEYWORD_ONLY) for one in options]
    vars(run)["__signature__"] = signature.replace(parameters=shown)
    return run


def _options(kind: Any) -> list[inspect.Parameter]:
    """Return a parameter for each field of a group."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(kind)
    ]


@dataclass(frozen=True, kw_only=True)
class Loading:
    """How a bundle is loaded."""

    public_key: shared.PublicKey = None
    threads: shared.Threads = 2

    @property
    def key(self) -> Ed25519PublicKey | None:
        """Return the key that verifies the signature."""
        return shared.key_of(self.public_key)

    def scorer(self, bundle: Path, names: shared.Names = None) -> Scorer:
        """Load a bundle."""
        from scoring_model.scorer import Scorer

        return Scorer.load(bundle, public_key=self.key, threads=self.threads).with_names(names)


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes besides standard output, and the gates that set the exit code."""

    json_path: shared.JsonFile = None
    report_path: shared.ReportFile = None
    gate: shared.GatesFile = None

    def gates(self) -> GateSettings | None:
        """Read the gates, if a file is given."""
        from scoring_model.configuration import load_gates

        return None if self.gate is None else load_gates(self.gate)


@dataclass(frozen=True, kw_only=True)
class Records:
    """Which records and labels count."""

    history: shared.History = None
    labels: shared.Labels = None
    names: shared.Names = None
    max_bad_share: shared.MaxBadShare = 0.01
    as_of: shared.AsOf = None

    def arguments(self) -> dict[str, Any]:
        """Return arguments of `evaluation.evaluate` and `evaluation.compare`, whose scorers know the names."""
        return {name: value for name, value in vars(self).items() if name != "names"}


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How records are grouped, and which of them are left out."""

    by: shared.By = None
    training: shared.Training = None
    matured_only: shared.MaturedOnly = False

    def arguments(self, gates: GateSettings | None, bundles: Iterable[Path], *, pair: bool) -> dict[str, Any]:
        """Return arguments of `evaluation.evaluate` (`evaluation.compare` for a pair).

        Parameters
        ----------
        bundles : iterable of Path
            Beside them may lie digests of the records of their training.
        """
        from scoring_model.evaluation.holdout import training_folder

        return {
            "by": grouped(self.by, () if gates is None else gates.columns(pair=pair)),
            "training": [*(self.training or ()), *map(training_folder, bundles)],
            "mute": () if gates is None else gates.findings.mute,
            "matured_only": self.matured_only,
        }


@dataclass(frozen=True, kw_only=True)
class PairJudging(Judging):
    """The same for two bundles, whose label maturities may differ."""

    label_maturity: shared.LabelMaturity = None

    def arguments(self, gates: GateSettings | None, bundles: Iterable[Path], *, pair: bool) -> dict[str, Any]:
        """Return arguments of `evaluation.compare`."""
        return super().arguments(gates, bundles, pair=pair) | {"label_maturity": self.label_maturity}


def grouped(by: Sequence[str] | None, columns: Iterable[str]) -> dict[str, str | None]:
    """Split each `COLUMN=VALUE` into the column and the value that others are compared with; add further columns."""
    parts = [_BY.fullmatch(text) for text in by or []]
    named = {match["column"].replace("==", "="): match["value"] or None for match in parts if match}
    return dict.fromkeys(columns) | named


@dataclass(frozen=True, kw_only=True)
class Past:
    """The verifications of a service, which are read instead of files."""

    database: shared.OfDatabase = None
    since: shared.Since = None
    master_key: shared.MasterKey = None

    @property
    def url(self) -> str:
        """Return the database that was chosen."""
        assert self.database is not None
        return self.database

    @property
    def shown(self) -> str:
        """Return the database without its password."""
        from scoring_model.service.settings import masked

        return masked(self.url)


@dataclass(frozen=True, kw_only=True)
class ReadRecords:
    """Which records of files are scored, and with which history."""

    names: shared.Names = None
    max_bad_share: shared.MaxBadShare = 0.01
    allow_repeats: shared.AllowRepeats = False


@dataclass(frozen=True, kw_only=True)
class FolderRun:
    """How a folder is written: options that a file does not have."""

    memory: shared.Memory = None
    resume: shared.Resume = False
    work: shared.WorkFolder = None
    dask: shared.Dask = None
