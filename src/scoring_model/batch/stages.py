"""The tasks of the three stages. Each reads what the stage before it left, and writes its manifest last.

- partition: the link rows and record ids of one unit of the sources, sorted into partitions by digest;
- links: the link features of one partition, sorted by unit;
- score: the decisions about one unit of the records.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from socket import gethostname
from threading import Lock
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.batch import links
from scoring_model.batch.outputs import write_output
from scoring_model.batch.plan import Plan, SourceUnit, Stage, Work
from scoring_model.batch.scan import ScannedFile, read_sheets
from scoring_model.batch.segments import Rows, read_segment, segment_size, write_private, write_segments
from scoring_model.batch.single_file import scored_columns
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.contract.rules import Rule
from scoring_model.features import FeatureMatrix
from scoring_model.records import RecordSchema, RecordTable
from scoring_model.records.quarantine import quarantine_lines
from scoring_model.records.reading import Reading, read_ids, read_part
from scoring_model.rules import RuleEvaluator
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import feature_columns
from scoring_model.scorer.frames import score_rows


@dataclass(frozen=True)
class Context:
    """What every task of a process shares."""

    work: Work
    plan: Plan
    schema: RecordSchema
    matrix: FeatureMatrix
    secret: bytes

    def facts(self, table: RecordTable, first_row: int) -> Rows | None:
        """Return what else the stage partition keeps of the records of a part, one row of a structured type for each.

        Parameters
        ----------
        first_row : int
            The row of all sources that is row 0 of the table's source.
        """
        return None

    def is_counted(self, rows: IntArray) -> BoolArray:
        """Whether link features of these rows are computed; the others are history alone."""
        return rows < self.plan.sources[0].rows

    @property
    def units(self) -> tuple[SourceUnit, ...]:
        """The units of all sources."""
        return self.plan.units

    @cached_property
    def repeated(self) -> IntArray:
        """The rows that do not count, ascending; needs every partition task.

        Their `recordId` occurs earlier in their source, or they are copies of scored records in a history.
        """
        again, copies = repeated_rows(self.work, self.plan)
        return np.union1d(again["row"], copies["row"])

    @property
    def pieces(self) -> list[list[int]]:
        """The number of files of link features by partition and link key; needs every links task."""
        manifests = (self.work.manifest("links", task) for task in range(self.plan.partitions))
        return [json.loads(manifest.read_bytes())["pieces"] for manifest in manifests]

    def file(self, unit: SourceUnit) -> ScannedFile:
        """Return the file of a unit."""
        return self.plan.sources[unit.source].files[unit.unit.file]


@dataclass(frozen=True)
class ScoringContext(Context):
    """What every task of a run that scores shares."""

    scorer: Scorer

    @cached_property
    def rules(self) -> RuleEvaluator | None:
        """The rules of the run, prepared for its bundle."""
        text = self.plan.request.rules
        return None if text is None else self.scorer.rule_evaluator(json.loads(text))

    @classmethod
    def of(cls, folder: str) -> "ScoringContext":
        """Read the plan of a work folder, and load its bundle."""
        work = Work(Path(folder))
        plan = work.plan()
        scorer = Scorer.load(plan.request.bundle)
        versions = (scorer.manifest.model_version, scorer.manifest.policy_version)
        if versions != (plan.request.model_version, plan.request.policy_version):
            raise ValueError(f"{plan.request.bundle}: the bundle changed since the run began")
        return cls(work, plan, scorer.contents.schema, scorer.matrix, work.secret(), scorer)


def context(folder: str) -> ScoringContext:
    """Return the context of a work folder, read once for each plan by each process."""
    path = Work(Path(folder)).plan_path
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: {gethostname()} sees no such file; all processes of a run need the same paths"
        )
    plan = path.stat()
    with _loading:
        return _context(folder, plan.st_ino, plan.st_mtime_ns)


_loading = Lock()
"""Several threads of a Dask worker wait for one scorer."""


@lru_cache(maxsize=1)
def _context(folder: str, _inode: int, _written: int) -> ScoringContext:
    return ScoringContext.of(folder)


def run_task(folder: str, stage: Stage, task: int) -> int:
    """Run a task and write its manifest; return its records."""
    here = context(folder)
    complete(
        here, stage, task, score_unit(here, task) if stage == "score" else prepare_task(here, stage, task)
    )
    return records_of(here.plan, stage, task)


def prepare_task(here: Context, stage: Stage, task: int) -> dict[str, object]:
    """Run a task of the stages before the last one."""
    return partition_unit(here, task) if stage == "partition" else link_partition(here, task)


def complete(here: Context, stage: Stage, task: int, done: dict[str, object]) -> None:
    """Write the manifest of a task."""
    write_private(here.work.manifest(stage, task), json.dumps(done).encode())


def records_of(plan: Plan, stage: Stage, task: int) -> int:
    """Return the records of a task, for progress."""
    if stage == "links":
        rows = sum(source.rows for source in plan.sources)
        return rows * (task + 1) // plan.partitions - rows * task // plan.partitions
    return plan.units[task].unit.rows


@dataclass(frozen=True)
class ReadPart:
    """A part of a unit.

    Parameters
    ----------
    number : int
        Index in its unit.
    first_row : int
        Its first row, counted over all sources.
    """

    number: int
    first_row: int
    reading: Reading


def read_parts(here: Context, unit: SourceUnit, repeated: IntArray | None = None) -> Iterator[ReadPart]:
    """Read the records of a unit part by part.

    Parameters
    ----------
    repeated : ndarray of int64, optional
        All rows of the sources whose `recordId` occurs earlier.
    """
    source, scanned = here.plan.sources[unit.source], here.file(unit)
    schema, size = scanned.schema_of(here.schema), here.plan.limits.part_rows
    in_source = unit.unit.first_row
    for number, sheet in enumerate(read_sheets(scanned, unit.unit, schema, part_rows=size)):
        first = unit.before + in_source
        inside = None
        if repeated is not None:
            start, end = np.searchsorted(repeated, (first, first + sheet.rows))
            inside = repeated[start:end] - first
        reading = read_part(
            sheet,
            schema,
            dates=scanned.dates,
            first_row=in_source,
            has_ids=source.has_ids,
            repeated=inside,
        )
        yield ReadPart(number, first, reading)
        in_source += sheet.rows


def partition_unit(here: Context, task: int) -> dict[str, object]:
    """Spill the link rows and record ids of a unit."""
    unit = here.units[task]
    if not here.plan.reads_all:
        return _partition_ids(here, task, unit)
    by_key: dict[str, list[Any]] = {key.name: [] for key in here.matrix.link_keys}
    ids, contents, facts, refused_rows, late_labels = [], [], [], 0, 0
    counts: Counter[tuple[str, str]] = Counter()
    for part in read_parts(here, unit):
        reading = part.reading
        others = [(row, one) for row, one in reading.violations if one.code != Rule.DUPLICATE]
        counts.update((one.field, one.code) for _, one in others)
        refused = _mask(reading.rows, [row for row, _ in others])
        table, late = _labelled_by(here.plan.request.as_of, reading)
        refused_rows += int(refused.sum())
        late_labels += int(late.sum())
        if (noted := here.facts(table, part.first_row)) is not None:
            facts.append(noted)
        if here.plan.compares_content(unit.source):
            contents.append(links.content_rows(table, part.first_row, here.secret))
        for name, linked in links.link_rows(table, part.first_row, here.matrix, here.secret).items():
            by_key[name].append(linked)
        if reading.ids is not None:
            rows = links.id_rows(reading.ids, part.first_row, refused=refused, late=late, secret=here.secret)
            ids.append(rows)
    for place, parts in enumerate(by_key.values()):
        _write_partitioned(here, here.work.link_file(task, place), parts)
    _write_ids(here, here.work.id_file(task), ids)
    if contents:
        _write_ids(here, here.work.content_file(task), contents)
    if facts:
        noted = np.concatenate(facts)
        write_segments(here.work.fact_file(task), noted, np.array([0, len(noted)]))
    return {
        "refused": refused_rows,
        "late": late_labels,
        "violations": [[*rule, count] for rule, count in counts.items()],
    }


def _partition_ids(here: Context, task: int, unit: SourceUnit) -> dict[str, object]:
    scanned, ids, first = here.file(unit), [], unit.before + unit.unit.first_row
    schema, size = scanned.schema_of(here.schema), here.plan.limits.part_rows
    for sheet in read_sheets(scanned, unit.unit, schema, part_rows=size, ids_only=True):
        found = read_ids(sheet, schema)
        if found is not None:
            nobody = np.zeros(sheet.rows, np.bool_)
            ids.append(links.id_rows(found, first, refused=nobody, late=nobody, secret=here.secret))
        first += sheet.rows
    _write_ids(here, here.work.id_file(task), ids)
    return {}


def _write_ids(here: Context, path: Path, ids: list[Any]) -> None:
    _write_partitioned(here, path, [np.zeros(0, links.ID_ROW), *ids])


def _write_partitioned(here: Context, path: Path, parts: list[Any]) -> None:
    write_segments(path, *links.partitioned(np.concatenate(parts), here.plan.partitions))


def _labelled_by(as_of: int | None, reading: Reading) -> tuple[RecordTable, BoolArray]:
    """Return the records without the labels of an instant or later, and the mask of the rows that had one."""
    table, late = reading.table, np.zeros(reading.rows, np.bool_)
    if as_of is None:
        return table, late
    late[table.source_rows] = table.labelled_from(as_of)
    return table.labelled_before(as_of), late


def _mask(rows: int, chosen: list[int]) -> BoolArray:
    found = np.zeros(rows, np.bool_)
    found[chosen] = True
    return found


def repeated_rows(work: Work, plan: Plan) -> tuple[Any, Any]:
    """Return the rows of record ids that occur earlier in their source, and those of a history that are scored."""
    again, copied = [np.zeros(0, links.ID_ROW)], [np.zeros(0, links.ID_ROW)]
    ends = np.cumsum([source.rows for source in plan.sources])
    for ids in _partitions(plan, [work.id_file(task) for task in range(plan.tasks("partition"))]):
        again.append(links.repeated_ids(ids, ends))
        if plan.linked and len(ends) > 1:
            copied.append(links.copies(ids, again[-1], ends[0]))
    first, second = (np.concatenate(found) for found in (again, copied))
    return first[np.argsort(first["row"])], second[np.argsort(second["row"])]


def equal_records(work: Work, plan: Plan) -> int:
    """Count the records of histories that equal a scored one, where one of both sides has no ids."""
    places = [place for place, unit in enumerate(plan.units) if plan.compares_content(unit.source)]
    if not places:
        return 0
    again, _ = repeated_rows(work, plan)
    found = _partitions(plan, [work.content_file(place) for place in places])
    return sum(len(links.copies(rows, again, plan.sources[0].rows)) for rows in found)


def _partitions(plan: Plan, files: list[Path]) -> Iterator[Any]:
    for place in range(plan.partitions if files else 0):
        yield np.concatenate([read_segment(file, place, links.ID_ROW) for file in files])


def link_partition(here: Context, task: int) -> dict[str, object]:
    """Compute the link features of a partition."""
    matrix, plan = here.matrix, here.plan
    dtype = links.link_dtype(len(matrix.amounts))
    starts = np.array([*(_first(unit) for unit in here.units[: plan.scored_units]), plan.sources[0].rows])
    written = []
    for place, key in enumerate(matrix.link_keys):
        files = [here.work.link_file(unit, place) for unit in range(len(here.units))]

        def read(file: int, start: int, end: int, files: list[Path] = files) -> Any:
            return read_segment(files[file], task, dtype, start, end)

        before, number = np.zeros(0, dtype), 0
        sizes = [segment_size(file, task) for file in files]
        for rows, following in links.pieces(sizes, read, plan.limits.piece_rows):
            kept = rows[~np.isin(rows["row"], here.repeated)] if len(here.repeated) else rows
            counted = here.is_counted(kept["row"])
            numbers, block = links.count_links(matrix, key, kept, before, is_counted=counted)
            found = np.zeros(len(numbers), links.feature_dtype(block.shape[1]))
            found["row"], found["features"] = numbers, block
            write_segments(
                here.work.feature_file(task, place, number), found, np.searchsorted(numbers, starts)
            )
            number += 1
            if following is not None:
                before = links.carried(np.concatenate([before, kept]), following, matrix.specs[key.name])
        written.append(number)
    return {"pieces": written}


def _first(unit: SourceUnit) -> int:
    return unit.before + unit.unit.first_row


_PART: Final = "part-{:06}-{:03}.parquet"


def score_unit(here: ScoringContext, task: int) -> dict[str, object]:
    """Score a unit, and write its parts of the dataset."""
    unit = here.units[task]
    linked = dict(_linked(here, task))
    outcomes: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    parts, lines, records = [], [], 0
    for part in read_parts(here, unit, here.repeated):
        reading = part.reading
        places = np.full(reading.rows, -1, dtype=np.int64)
        places[reading.table.source_rows] = np.arange(len(reading.table))
        inside = {name: list(_inside(found, part.first_row, places)) for name, found in linked.items()}
        rows = here.matrix.linked_rows(reading.table, inside)
        result = _columns(here, reading.table, rows, outcomes)
        name = _PART.format(task, part.number)
        write_output(here.plan.request.out, name, [parquet_bytes(result)])
        parts.append({"name": name, "records": len(result)})
        records += len(result)
        counts.update((found.field, found.code) for _, found in reading.violations)
        lines.append(quarantine_of(here, unit, part))
    write_private(here.work.quarantine_file(task), "".join(lines).encode())
    return {
        "records": records,
        "outcomes": dict(outcomes),
        "parts": parts,
        "refused": unit.unit.rows - records,
        "violations": [[*rule, count] for rule, count in counts.items()],
    }


def _columns(here: ScoringContext, table: RecordTable, rows: FloatArray, outcomes: Counter[str]) -> pa.Table:
    """Return the columns of a part of the dataset; count the outcomes of its decisions."""
    request = here.plan.request
    if request.content != "decisions":
        return feature_columns(here.scorer, table, rows, contributions=request.content == "contributions")
    scored = score_rows(here.scorer, table, rows, reasons=request.reasons, rules=here.rules)
    found = Counter(scored.decisions.outcomes.tolist())
    outcomes.update({str(OUTCOMES[code]): count for code, count in found.items()})
    return scored_columns(scored.to_arrow(), here.scorer, table)


def list_violations(folder: str, task: int) -> None:
    """Write the lines of the quarantine of a unit, without scoring it."""
    here = context(folder)
    unit = here.units[task]
    lines = [quarantine_of(here, unit, part) for part in read_parts(here, unit, here.repeated)]
    write_private(here.work.quarantine_file(task), "".join(lines).encode())


def quarantine_of(here: Context, unit: SourceUnit, part: ReadPart) -> str:
    """Return the lines of the quarantine of a part."""
    files = here.plan.sources[unit.source].files
    name = files[unit.unit.file].file.name if len(files) > 1 else ""
    before = unit.before + sum(file.rows for file in files[: unit.unit.file])
    return quarantine_lines(
        (
            row + part.first_row - before,
            found.field,
            found.code,
            found.detail,
            part.reading.refused_ids.get(row, ""),
            name,
        )
        for row, found in part.reading.violations
    )


def _linked(here: Context, task: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the link features of a unit by link key."""
    if not here.plan.linked:
        return
    work, matrix, pieces = here.work, here.matrix, here.pieces
    for place, key in enumerate(matrix.link_keys):
        dtype = links.feature_dtype(matrix.link_width(key))
        yield (
            key.name,
            [
                read_segment(work.feature_file(partition, place, piece), task, dtype)
                for partition in range(here.plan.partitions)
                for piece in range(pieces[partition][place])
            ],
        )


def _inside(found: list[Any], first_row: int, places: IntArray) -> Iterator[tuple[IntArray, Any]]:
    """Yield the places of the records of a part in its table, and their features."""
    for rows in found:
        start, end = np.searchsorted(rows["row"], (first_row, first_row + len(places)))
        here = rows[start:end]
        yield places[here["row"] - first_row], here["features"]


def parquet_bytes(table: pa.Table) -> memoryview:
    """Write a table as Parquet in memory."""
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return memoryview(sink.getvalue())


def merged(counts: Iterator[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Add the violations of several manifests, the most frequent first."""
    total: Counter[tuple[str, str]] = Counter()
    for one in counts:
        for field, rule, count in one["violations"]:
            total[field, rule] += count
    return dict(total.most_common())
