"""The tasks of the three stages. Each reads what the stage before it left, and writes its manifest last.

- partition: the link rows and record ids of one unit of the sources, sorted into partitions by digest;
- links: the link features of one partition, sorted by unit;
- score: the decisions about one unit of the records.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.batch import links
from scoring_model.batch.plan import Plan, SourceUnit, Stage, Work
from scoring_model.batch.scan import ScannedFile, read_sheets
from scoring_model.batch.segments import read_segment, segment_size, write_private, write_segments
from scoring_model.batch.single_file import scored_columns
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.contract.rules import Rule
from scoring_model.records.atomic import atomic_file
from scoring_model.records.quarantine import quarantine_lines
from scoring_model.records.reading import Reading, read_ids, read_part
from scoring_model.records.stored import file_system
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_rows


@dataclass(frozen=True)
class Context:
    """What every task of a process shares."""

    work: Work
    plan: Plan
    scorer: Scorer
    secret: bytes

    @classmethod
    def of(cls, folder: str) -> "Context":
        """Read the plan of a work folder, and load its bundle."""
        work = Work(Path(folder))
        plan = work.plan()
        scorer = Scorer.load(plan.request.bundle)
        versions = (scorer.manifest.model_version, scorer.manifest.policy_version)
        if versions != (plan.request.model_version, plan.request.policy_version):
            raise ValueError(f"{plan.request.bundle}: the bundle changed since the run began")
        return cls(work, plan, scorer, work.secret())

    @property
    def units(self) -> tuple[SourceUnit, ...]:
        """The units of all sources."""
        return self.plan.units

    @cached_property
    def repeated(self) -> IntArray:
        """The rows whose `recordId` occurs earlier in their source, ascending; needs every partition task."""
        found: IntArray = repeated_rows(self.work, self.plan)["row"]
        return found

    def file(self, unit: SourceUnit) -> ScannedFile:
        """Return the file of a unit."""
        return self.plan.sources[unit.source].files[unit.unit.file]


def context(folder: str) -> Context:
    """Return the context of a work folder, read once for each plan."""
    plan = Work(Path(folder)).plan_path.stat()
    return _context(folder, plan.st_ino, plan.st_mtime_ns)


@lru_cache(maxsize=1)
def _context(folder: str, _inode: int, _written: int) -> Context:
    return Context.of(folder)


def run_task(folder: str, stage: Stage, task: int) -> tuple[int, int]:
    """Run a task and write its manifest; return its number and its records."""
    here = context(folder)
    done = {"partition": partition_unit, "links": link_partition, "score": score_unit}[stage](here, task)
    write_private(here.work.manifest(stage, task), json.dumps(done).encode())
    return task, records_of(here.plan, stage, task)


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
    schema, size = here.scorer.contents.schema, here.plan.limits.part_rows
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
    as_of = here.plan.request.as_of
    by_key: dict[str, list[Any]] = {key.name: [] for key in here.scorer.matrix.link_keys}
    ids, refused_rows, late_labels = [], 0, 0
    counts: Counter[tuple[str, str]] = Counter()
    for part in read_parts(here, unit):
        reading = part.reading
        others = [(row, one) for row, one in reading.violations if one.code != Rule.DUPLICATE]
        counts.update((one.field, one.code) for _, one in others)
        refused = _mask(reading.rows, [row for row, _ in others])
        late = np.zeros(reading.rows, np.bool_)
        table = reading.table
        if as_of is not None:
            late[table.source_rows] = (table.labels >= 0) & (table.label_times >= as_of)
            table = table.labelled_before(as_of)
        refused_rows += int(refused.sum())
        late_labels += int(late.sum())
        for name, rows in links.link_rows(table, part.first_row, here.scorer.matrix, here.secret).items():
            by_key[name].append(rows)
        if reading.ids is not None:
            found = links.id_rows(
                reading.ids,
                part.first_row,
                source=unit.source,
                refused=refused,
                late=late,
                secret=here.secret,
            )
            ids.append(found)
    for place, parts in enumerate(by_key.values()):
        write_segments(
            here.work.link_file(task, place),
            *links.partitioned(np.concatenate(parts), here.plan.partitions),
        )
    _write_ids(here, task, ids)
    return {
        "refused": refused_rows,
        "late": late_labels,
        "violations": [[*rule, count] for rule, count in counts.items()],
    }


def _partition_ids(here: Context, task: int, unit: SourceUnit) -> dict[str, object]:
    schema, ids, first = here.scorer.contents.schema, [], unit.before + unit.unit.first_row
    for sheet in read_sheets(
        here.file(unit), unit.unit, schema, part_rows=here.plan.limits.part_rows, ids_only=True
    ):
        found = read_ids(sheet, schema)
        if found is not None:
            nobody = np.zeros(sheet.rows, np.bool_)
            ids.append(
                links.id_rows(
                    found, first, source=unit.source, refused=nobody, late=nobody, secret=here.secret
                )
            )
        first += sheet.rows
    _write_ids(here, task, ids)
    return {}


def _write_ids(here: Context, task: int, ids: list[Any]) -> None:
    rows = np.concatenate([np.zeros(0, links.ID_ROW), *ids])
    write_segments(here.work.id_file(task), *links.partitioned(rows, here.plan.partitions))


def _mask(rows: int, chosen: list[int]) -> BoolArray:
    found = np.zeros(rows, np.bool_)
    found[chosen] = True
    return found


def repeated_rows(work: Work, plan: Plan) -> Any:
    """Return the rows of record ids that occur earlier in their source, ascending by row."""
    tasks = range(plan.tasks("partition"))
    found = [
        links.repeated_ids(
            np.concatenate([read_segment(work.id_file(task), place, links.ID_ROW) for task in tasks])
        )
        for place in range(plan.partitions if tasks else 0)
    ]
    every = np.concatenate([np.zeros(0, links.ID_ROW), *found])
    return every[np.argsort(every["row"])]


def link_partition(here: Context, task: int) -> dict[str, object]:
    """Compute the link features of a partition."""
    matrix, plan = here.scorer.matrix, here.plan
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
            numbers, block = links.count_links(matrix, key, kept, before, counted_rows=plan.sources[0].rows)
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


def score_unit(here: Context, task: int) -> dict[str, object]:
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
        rows = here.scorer.matrix.linked_rows(reading.table, inside)
        scored = score_rows(here.scorer, reading.table, rows, reasons=here.plan.request.reasons)
        result = scored_columns(scored.to_arrow(), here.scorer, reading.table)
        name = _PART.format(task, part.number)
        write_output(here.plan.request.out, name, [parquet_bytes(result)])
        parts.append({"name": name, "records": len(result)})
        records += len(result)
        outcomes.update(
            {
                str(OUTCOMES[code]): count
                for code, count in Counter(scored.decisions.outcomes.tolist()).items()
            }
        )
        counts.update((found.field, found.code) for _, found in reading.violations)
        lines.append(_quarantine(here, unit, part))
    write_private(here.work.quarantine_file(task), "".join(lines).encode())
    return {
        "records": records,
        "outcomes": dict(outcomes),
        "parts": parts,
        "refused": unit.unit.rows - records,
        "violations": [[*rule, count] for rule, count in counts.items()],
    }


def list_violations(folder: str, task: int) -> None:
    """Write the lines of the quarantine of a unit, without scoring it."""
    here = context(folder)
    unit = here.units[task]
    lines = [_quarantine(here, unit, part) for part in read_parts(here, unit, here.repeated)]
    write_private(here.work.quarantine_file(task), "".join(lines).encode())


def _quarantine(here: Context, unit: SourceUnit, part: ReadPart) -> str:
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
    work, matrix = here.work, here.scorer.matrix
    pieces = [
        json.loads(work.manifest("links", partition).read_bytes())["pieces"]
        for partition in range(here.plan.partitions)
    ]
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


def write_output(out: str, name: str, blocks: Iterable[bytes | memoryview]) -> None:
    """Write a file of the dataset. It appears whole: on local disks by a rename, in object stores by their own rule."""
    if "://" not in out:
        with atomic_file(Path(out) / name) as partial, partial.open("wb") as file:
            file.writelines(blocks)
        return
    base, mark, options = out.partition("?")
    system, path = file_system(f"{base.rstrip('/')}/{name}{mark}{options}")
    with system.open_output_stream(path) as stream:
        for block in blocks:
            stream.write(block)


def merged(counts: Iterator[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Add the violations of several manifests, the most frequent first."""
    total: Counter[tuple[str, str]] = Counter()
    for one in counts:
        for field, rule, count in one["violations"]:
            total[field, rule] += count
    return dict(total.most_common())
