"""Training past memory: the kept records of files of any size, with features from their whole history.

The first two stages of `batch` spill link rows and compute link features in processes. Between them records are chosen
from a few numbers of each; link features are computed for those alone. Then the kept records are read again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray, is_among
from scoring_model.batch import links, process_settings
from scoring_model.batch.plan import Limits, Plan, Request, Source, Stage, Work, scan_source
from scoring_model.batch.segments import Rows, read_segment, write_private
from scoring_model.batch.sources import absolute_location, describe_files, list_files
from scoring_model.batch.stages import (
    Context,
    complete,
    prepare_task,
    quarantine_of,
    read_parts,
    records_of,
)
from scoring_model.configuration import Configuration
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.parallel import Workers, in_order, open_workers
from scoring_model.parallel.progress import Progress, Report
from scoring_model.records import RecordTable
from scoring_model.records.layout import MissingColumns
from scoring_model.records.quarantine import QUARANTINE_COLUMNS, accept_counts, quarantine_lines
from scoring_model.records.reading import field_columns
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.split import JUDGED
from scoring_model.training.thinning import FACTS, KeptRecords, Thinning, by_time, choose, record_facts

_RECORD: Final = 600
"""Bytes of the values of a kept record."""


class TooManyKept(ValueError):
    """The kept records do not fit in memory."""


def prepare_files(
    sources: Sequence[str],
    configuration: Configuration,
    *,
    work: Path,
    quarantine: Path,
    memory: int = 4_000_000_000,
    limits: Limits | None = None,
    processes: int = 2,
    stages: Workers | None = None,
    report: Report = lambda _: None,
) -> Prepared:
    """Prepare the records of files that `training.thinning` keeps, equal to `prepare` of all their records.

    Parameters
    ----------
    sources : sequence of str
        Paths, folders, patterns or URIs of `pyarrow.fs`, read as one.
    work : Path
        Folder for what is spilled, of which only its owner reads anything; removed at the end.
    quarantine : Path
        CSV file for the violations.
    memory : int
        Bytes: one half for the processes that read, one half for the features of the kept records.
    limits : Limits, optional
        Records of a part and link rows of a piece; by default as many as the memory allows.
    processes : int
        With more than one, the caller's module must be importable without running this (`if __name__ == "__main__"`).
    stages : Workers, optional
        Those of a Dask cluster, which run the two stages instead; each thread needs as much memory as one of the
        processes. The kept records themselves are read here. `work` and the sources have the same paths everywhere.

    Raises
    ------
    TooManyKept
        If the kept records need more memory.
    TooManyBadRows, UnreadableSource, MissingColumns, SplitError
        As for a training in memory.
    LostWorker
        If a process ended.
    """
    work, sources = work.absolute(), list(map(absolute_location, sources))
    matrix = FeatureMatrix(configuration.feature_settings, FittedState())
    Work(work).remove()  # of a training that was killed
    try:
        with open_workers(processes, prepare=process_settings.configure_worker) as workers:
            run = _FileRun(
                key=_Key(folder=str(work), run=token_hex(8), configuration=configuration),
                workers=workers,
                stages=stages or workers,
                memory=memory,
                report=report,
            )
            run.plan(list_files(list(sources)), limits or _limits(memory, processes, matrix), matrix)
            kept = run.kept_records(quarantine)
        return prepare(kept, configuration)
    finally:
        Work(work).remove()


def _limits(memory: int, processes: int, matrix: FeatureMatrix) -> Limits:
    try:
        return Limits.of(memory // 2, processes, matrix)
    except ValueError as error:
        raise ValueError(f"half of --memory {memory / 1e9:.1f} GB is for reading: {error}") from error


@dataclass(frozen=True, kw_only=True)
class _Key:
    """What a process needs to know of a run; equal for tasks of one run."""

    folder: str
    run: str
    configuration: Configuration = field(compare=False)


@dataclass(frozen=True)
class _Training(Context):
    """What the tasks of a training share."""

    configuration: Configuration

    def facts(self, table: RecordTable, first_row: int) -> Rows:
        """Return the facts by which records are chosen."""
        if (as_of := self.configuration.training.split.as_of) is not None:
            table = table.before(as_of)
        return record_facts(table, self.configuration, first_row)

    def is_counted(self, rows: IntArray) -> BoolArray:
        """Compute link features of the kept records alone."""
        return is_among(rows, self.kept_rows)

    @cached_property
    def kept_rows(self) -> IntArray:
        """The rows of the kept records, ascending; needs the choice."""
        return np.fromfile(self.kept_path, np.int64)

    @property
    def kept_path(self) -> Path:
        """The file of the rows of the kept records."""
        return self.work.folder / "spill" / "kept"


@lru_cache(maxsize=1)
def _context(key: _Key) -> _Training:
    work, configuration = Work(Path(key.folder)), key.configuration
    matrix = FeatureMatrix(configuration.feature_settings, FittedState())
    return _Training(work, work.plan(), configuration.schema, matrix, work.secret(), configuration)


def _run_task(key: _Key, stage: Stage, task: int) -> int:
    """Run a task of the stages partition and links; return its records."""
    here = _context(key)
    complete(here, stage, task, prepare_task(here, stage, task))
    return records_of(here.plan, stage, task)


@dataclass(frozen=True, kw_only=True)
class _ReadUnit:
    """The kept records of a unit, and its violations."""

    table: RecordTable | None
    rows: int
    good: int
    violations: Counter[tuple[str, str]]
    quarantine: str


def _read_unit(key: _Key, task: int) -> _ReadUnit:
    here = _context(key)
    unit, as_of = here.units[task], here.configuration.training.split.as_of
    tables, lines, good = [], [], 0
    counts: Counter[tuple[str, str]] = Counter()
    for part in read_parts(here, unit, here.repeated):
        table = part.reading.table
        good += len(table)
        table = replace(table, source_rows=table.source_rows + part.first_row)
        table = table.take(np.flatnonzero(is_among(table.source_rows, here.kept_rows)))
        tables.append(table if as_of is None else table.labelled_before(as_of))
        counts.update((found.field, found.code) for _, found in part.reading.violations)
        lines.append(quarantine_of(here, unit, part))
    return _ReadUnit(
        table=joined(tables) if tables else None,
        rows=unit.unit.rows,
        good=good,
        violations=counts,
        quarantine="".join(lines),
    )


def joined(tables: Sequence[RecordTable]) -> RecordTable:
    """Append tables in pairs, so that the values of none are copied more often than needed."""
    while len(tables) > 1:
        tables = [reduce(RecordTable.append, tables[place : place + 2]) for place in range(0, len(tables), 2)]
    return tables[0]


@dataclass(frozen=True, kw_only=True)
class _FileRun:
    """A call of `prepare_files`."""

    key: _Key
    workers: Workers
    stages: Workers
    memory: int
    report: Report

    @property
    def here(self) -> _Training:
        """What tasks share."""
        return _context(self.key)

    def plan(self, files: Sequence[Any], limits: Limits, matrix: FeatureMatrix) -> None:
        """Scan the files, and plan the tasks."""
        configuration = self.key.configuration
        source = scan_source(self.stages, files, configuration.schema, limits)
        _check_labels(source, configuration)
        request = Request(
            bundle="",
            model_version="",
            policy_version="",
            files=(describe_files(files),),
            out="",
            as_of=configuration.training.split.as_of,
            reasons=False,
            max_bad_share=configuration.records.max_bad_share,
        )
        processes = self.stages.processes
        Work(Path(self.key.folder)).create(
            lambda: Plan.of(request, [source], limits, matrix, processes=processes, reads_all=True)
        )

    def kept_records(self, quarantine: Path) -> KeptRecords:
        """Choose and read the kept records; their link features stay on disk."""
        self._run_stage("partition")
        thinning = choose(self._facts, self.key.configuration)
        facts = np.concatenate([found[thinning.kept(found)] for found in self._facts()])
        facts = facts[np.argsort(facts["row"])]
        self._check_memory(facts, thinning)
        write_private(self.here.kept_path, facts["row"].tobytes())
        table = self._read(quarantine)
        self._run_stage("links")
        order = by_time(facts)
        table = table.take(order)
        return KeptRecords(
            table=table,
            used=thinning.used(facts[order]),
            thinning=thinning,
            rows=lambda matrix: matrix.linked_rows(table, self._linked(facts["row"], order)),
        )

    def _run_stage(self, stage: Stage) -> None:
        plan = self.here.plan
        tasks = [(self.key, stage, task) for task in range(plan.tasks(stage))]
        total = sum(records_of(plan, stage, task) for task in range(len(tasks)))
        progress = Progress(name=stage, total=total, report=self.report)
        for _, records in self.stages.run(_run_task, tasks):
            progress.add(records)

    def _facts(self) -> Iterator[Rows]:
        """Yield the facts of the records of each unit, without those whose `recordId` occurs earlier."""
        work, repeated = self.here.work, self.here.repeated
        for task in range(self.here.plan.tasks("partition")):
            path = work.fact_file(task)
            if path.exists():
                facts = read_segment(path, 0, FACTS)
                yield facts[~is_among(facts["row"], repeated)]

    def _check_memory(self, facts: Rows, thinning: Thinning) -> None:
        matrix = self.here.matrix
        # A second matrix of one part is made for the fit, when the readers are done.
        needed = len(facts) * (_RECORD + 8 * len(matrix.names))
        if needed > self.memory / 2:
            judged = sum(thinning.records[part] for part in JUDGED)
            raise TooManyKept(
                f"{len(facts):,} records are kept, which takes {2 * needed / 1e9:.1f} GB with {len(matrix.names)} "
                f"features, and memory is {self.memory / 1e9:.1f} GB. Of them {thinning.kept_genuine:,} are genuine "
                f"records of the train part (training.thinning keeps fewer), {judged:,} are the validation and test "
                "parts, which are whole (training.split makes them shorter with durations, such as 14d)"
            )

    def _read(self, quarantine: Path) -> RecordTable:
        """Read the kept records in the order of the source, and list the violations of all others."""
        tasks = [(self.key, task) for task in range(len(self.here.units))]
        progress = Progress(name="read", total=self.here.plan.sources[0].rows, report=self.report)
        read = dict[int, _ReadUnit]()
        for task, unit in self.workers.run(_read_unit, tasks):
            progress.add(unit.rows)
            read[task] = unit
        units = in_order(read.items())
        lines = [quarantine_lines([QUARANTINE_COLUMNS]), *(unit.quarantine for unit in units)]
        write_private(quarantine, "".join(lines).encode())
        rows, good = sum(unit.rows for unit in units), sum(unit.good for unit in units)
        counts = sum((unit.violations for unit in units), Counter[tuple[str, str]]())
        self.report(f"{good:,} records read, {rows - good:,} rows refused")
        accept_counts(
            rows, rows - good, dict(counts.most_common()), max_share=self.here.plan.request.max_bad_share
        )
        return joined([unit.table for unit in units if unit.table is not None])

    def _linked(self, rows: IntArray, order: IntArray) -> Mapping[str, Iterator[tuple[IntArray, FloatArray]]]:
        """Return the link features of the kept records, read as they are needed.

        Parameters
        ----------
        rows : ndarray of shape (n,), int64
            Rows of the kept records, ascending.
        order : ndarray of shape (n,), int64
            Their order in the table.
        """
        here = self.here
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        pieces = here.pieces if here.plan.linked else []

        def of_key(key: int) -> Iterator[tuple[IntArray, FloatArray]]:
            dtype = links.feature_dtype(here.matrix.link_width(here.matrix.link_keys[key]))
            for partition, counts in enumerate(pieces):
                for piece in range(counts[key]):
                    path = here.work.feature_file(partition, key, piece)
                    found = np.concatenate(
                        [read_segment(path, unit, dtype) for unit in range(len(here.units))]
                    )
                    yield places[np.searchsorted(rows, found["row"])], found["features"]

        return {key.name: of_key(place) for place, key in enumerate(here.matrix.link_keys)}


def _check_labels(source: Source, configuration: Configuration) -> None:
    """Refuse files without labels."""
    for scanned in source.files:
        try:
            field_columns(scanned.columns, scanned.schema_of(configuration.schema), labelled=True)
        except MissingColumns as error:
            raise MissingColumns(error.problems, scanned.file.name) from error
