"""The plan of a run: what is read, in which units, and how much of it at once. It is made once and then kept."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from secrets import token_bytes
from typing import Final, Literal

from pydantic import TypeAdapter

from scoring_model.batch.scan import ScannedFile, Unit, scan_file
from scoring_model.batch.segments import write_private
from scoring_model.features.matrix import FeatureMatrix
from scoring_model.history.digests import SECRET_BYTES
from scoring_model.parallel import Workers, in_order
from scoring_model.records import Names, RecordSchema
from scoring_model.records.stored import StoredFile

Stage = Literal["partition", "links", "score"]
Content = Literal["decisions", "features", "contributions"]
"""Columns of a dataset: decisions, features of the model, or features with what each adds to the margin."""

STAGES: Final[tuple[Stage, ...]] = ("partition", "links", "score")

_BASE: Final = 450_000_000
"""Bytes of a process without data."""

_RECORD, _RECORD_FEATURE = 3_500, 20
_LINK_ROW, _LINK_FEATURE = 400, 32
"""Bytes of a record while it is scored, of a link row while it is counted, and of each of their features."""

_MOST_PART_ROWS: Final = 65_536
_LEAST_PART_ROWS: Final = 1_024


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much is in memory at once.

    Parameters
    ----------
    part_rows : int
        Records of a part.
    piece_rows : int
        Link rows of a piece.
    """

    part_rows: int
    piece_rows: int

    @classmethod
    def of(cls, memory: int, processes: int, matrix: FeatureMatrix) -> "Limits":
        """Divide bytes of memory among processes that compute these features.

        Raises
        ------
        ValueError
            If it is not enough.
        """
        # The parent process has no data, and about a third of the base.
        free = (memory - _BASE // 3) // processes - _BASE
        record = _RECORD + _RECORD_FEATURE * len(matrix.names)
        if free < _LEAST_PART_ROWS * record:
            least = processes * (_BASE + _LEAST_PART_ROWS * record) + _BASE // 3
            raise ValueError(
                f"memory must be at least {least / 1e9:.1f} GB for {processes} processes, got {memory / 1e9:.1f} GB"
            )
        fitting = free // record
        widest = max(map(matrix.link_width, matrix.link_keys), default=0)
        return cls(
            part_rows=min(_MOST_PART_ROWS, 1 << (fitting.bit_length() - 1)),
            piece_rows=min(2_000_000, free // (_LINK_ROW + _LINK_FEATURE * widest)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Files that are read as one.

    Parameters
    ----------
    has_ids : bool
        Whether any file has record ids.
    """

    files: tuple[ScannedFile, ...]
    has_ids: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of all files, with their rows in the source."""
        found, before = [], 0
        for place, file in enumerate(self.files):
            found += [replace(unit, file=place, first_row=unit.first_row + before) for unit in file.units]
            before += file.rows
        return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceUnit:
    """A unit of one of the sources.

    Parameters
    ----------
    before : int
        Rows of the sources before this one.
    """

    source: int
    unit: Unit
    before: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What decides about the result of a run. A run is resumed with an equal request only.

    Parameters
    ----------
    bundle : str
        Path of the bundle.
    model_version, policy_version : str
        Versions of what decides.
    files : tuple of tuple of (str, int, str)
        Location, size and time of change of each file: of the records, then of each history.
    out : str
        Folder of the scored dataset, a path or URI.
    as_of : int or None
    reasons : bool
    max_bad_share : float
    allow_repeats : bool
    content : {"decisions", "features", "contributions"}
    names : {"contract", "own"} or None
        Whose names count in a file that has both.
    rules : str or None
        Canonical JSON of rules of an operator.
    """

    bundle: str
    model_version: str
    policy_version: str
    files: tuple[tuple[tuple[str, int, str], ...], ...]
    out: str
    as_of: int | None
    reasons: bool
    max_bad_share: float
    content: Content = "decisions"
    names: Names | None = None
    allow_repeats: bool = False
    rules: str | None = None

    def differences(self, other: "Request") -> Iterable[str]:
        """Yield the names of the parts that differ."""
        return (name for name in self.__slots__ if getattr(self, name) != getattr(other, name))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run.

    Parameters
    ----------
    sources : tuple of Source
        The records that are scored, then each history.
    partitions : int
        Partitions of link keys and record ids.
    linked : bool
        Whether the bundle has link keys.
    reads_all : bool
        Whether the first stage reads whole records, and not only their ids.
    """

    request: Request
    sources: tuple[Source, ...]
    limits: Limits
    partitions: int
    linked: bool
    reads_all: bool

    @classmethod
    def of(
        cls,
        request: Request,
        sources: Sequence[Source],
        limits: Limits,
        matrix: FeatureMatrix,
        *,
        processes: int,
        reads_all: bool = False,
    ) -> "Plan":
        """Choose the number of partitions.

        Parameters
        ----------
        reads_all : bool
            Whether the first stage reads whole records even without links and labels to count.
        """
        rows = sum(source.rows for source in sources)
        # Half full on average, so that most partitions are one piece; several for each process, to keep all busy.
        enough = -(-2 * rows // limits.piece_rows)
        return cls(
            request=request,
            sources=tuple(sources),
            limits=limits,
            partitions=max(1, enough, min(4 * processes, rows // 20_000)),
            linked=bool(matrix.link_keys),
            reads_all=reads_all or bool(matrix.link_keys) or request.as_of is not None,
        )

    @cached_property
    def units(self) -> tuple[SourceUnit, ...]:
        """The units of all sources, in order."""
        found, before = [], 0
        for place, source in enumerate(self.sources):
            found += [SourceUnit(source=place, unit=unit, before=before) for unit in source.units]
            before += source.rows
        return tuple(found)

    @property
    def scored_units(self) -> int:
        """Number of units that are scored, the first ones."""
        return sum(unit.source == 0 for unit in self.units)

    def compares_content(self, source: int) -> bool:
        """Whether records of a source are compared by content, since they or those of the other side have no ids."""
        named = [self.sources[0].has_ids and one.has_ids for one in self.sources]
        return self.linked and len(named) > 1 and not (named[source] if source else all(named))

    def tasks(self, stage: Stage) -> int:
        """Return the number of tasks of a stage."""
        if stage == "links":
            return self.partitions if self.linked else 0
        if stage == "score":
            return self.scored_units
        if self.reads_all:
            return len(self.units)
        return self.scored_units if self.sources[0].has_ids else 0


class Work:
    """The folder that stages share: plan, secret, spilled rows, and a manifest of each finished task."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan_path = folder / "plan.json"
        self.secret_path = folder / "secret"

    def create(self, make_plan: Callable[[], Plan]) -> Plan:
        """Return the plan of the folder, made once; the folder may be shared by several machines."""
        if not self.plan_path.exists():
            plan = make_plan()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("spill", *STAGES):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
            _write_once(self.secret_path, token_bytes(SECRET_BYTES))
            _write_once(self.plan_path, _PLANS.dump_json(plan))
        return self.plan()

    def plan(self) -> Plan:
        """Read the plan."""
        return _PLANS.validate_json(self.plan_path.read_bytes())

    def secret(self) -> bytes:
        """Read the key of the digests."""
        return self.secret_path.read_bytes()

    def manifest(self, stage: Stage, task: int) -> Path:
        """Return the path of the manifest of a task, which appears when the task is done."""
        return self.folder / stage / f"{task:06}.json"

    def done(self, stage: Stage) -> set[int]:
        """Return the tasks of a stage that are done."""
        folder = self.folder / stage
        return {int(path.stem) for path in folder.glob("[0-9]*.json")} if folder.is_dir() else set()

    def quarantine_file(self, unit: int) -> Path:
        """Return the path of the list of the refused rows of a unit."""
        return self.folder / "spill" / f"unit-{unit:06}-quarantine"

    def link_file(self, unit: int, key: int) -> Path:
        """Return the path of the link rows of a unit."""
        return self.folder / "spill" / f"unit-{unit:06}-{key}"

    def id_file(self, unit: int) -> Path:
        """Return the path of the record ids of a unit."""
        return self.folder / "spill" / f"unit-{unit:06}-ids"

    def content_file(self, unit: int) -> Path:
        """Return the path of the contents of a unit's records."""
        return self.folder / "spill" / f"unit-{unit:06}-contents"

    def fact_file(self, unit: int) -> Path:
        """Return the path of what else is kept of the records of a unit."""
        return self.folder / "spill" / f"unit-{unit:06}-facts"

    def feature_file(self, partition: int, key: int, piece: int) -> Path:
        """Return the path of link features."""
        return self.folder / "spill" / f"partition-{partition:06}-{key}-{piece}"

    def remove(self) -> None:
        """Remove everything, the secret first: without it the digests say nothing of the values."""
        self.secret_path.unlink(missing_ok=True)
        for name in ("spill", *STAGES):
            for path in (self.folder / name).glob("*"):
                path.unlink(missing_ok=True)
            if (self.folder / name).is_dir():
                (self.folder / name).rmdir()
        self.plan_path.unlink(missing_ok=True)
        for path in self.folder.glob(".*"):
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


_PLANS: Final = TypeAdapter(Plan)


def _write_once(path: Path, content: bytes) -> None:
    """Write a file unless it exists; of several writers one wins."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{token_bytes(4).hex()}")
    write_private(partial, content)
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()


def scan_source(
    workers: Workers, files: Sequence[StoredFile], schema: RecordSchema, limits: Limits
) -> Source:
    """Scan the files of a source."""
    found = in_order(workers.run(scan_file, [(file, schema, limits.part_rows) for file in files]))
    return Source(files=tuple(found), has_ids=any(file.id_column is not None for file in found))
