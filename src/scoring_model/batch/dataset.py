"""Scores a dataset of any size: plans, runs the stages, and completes the output.

Decision record: docs/adr/0026-datasets.md.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from scoring_model.arrays import FloatArray
from scoring_model.batch import process_settings
from scoring_model.batch.outputs import read_output, remove_output, write_output
from scoring_model.batch.plan import STAGES, Content, Limits, Plan, Request, Source, Stage, Work
from scoring_model.batch.scan import scan_file
from scoring_model.batch.sources import list_files
from scoring_model.batch.stages import (
    equal_records,
    list_violations,
    merged,
    records_of,
    repeated_rows,
    run_task,
)
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.contract.rules import Rule
from scoring_model.parallel import Workers, in_order, open_workers
from scoring_model.parallel.progress import Progress
from scoring_model.records import Names, RecordSchema, RecordTable
from scoring_model.records.atomic import json_text
from scoring_model.records.quarantine import QUARANTINE_COLUMNS, accept_counts, quarantine_lines
from scoring_model.records.stored import StoredFile, file_system
from scoring_model.rules import Rules, parse_rules
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import RECORD_ID
from scoring_model.scorer.frames import EqualRecords, RepeatedRecords

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MANIFEST: Final = "_manifest.json"
SUMMARY: Final = "summary.json"
QUARANTINE: Final = "quarantine.csv"
WORK: Final = "_work"
_MEMORY: Final = 4_000_000_000
_DASK_MEMORY: Final = 2_000_000_000
_SHARD: Final = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


class StageIncomplete(ValueError):
    """A stage needs another one that is not done as a whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One of several equal shares of the tasks of a stage: `number` of 1 to `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `3/16`.

        Raises
        ------
        ValueError
            If it is not of this form, or there are not so many shards.
        """
        match = _SHARD.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(f"a shard must be like 3/16, its number from 1 on, got {text!r}")
        return cls(number=int(match[1]), of=int(match[2]))


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetRun:
    """The result of scoring a dataset.

    Parameters
    ----------
    complete : bool
        Whether the dataset is complete; if not, other stages or shards are missing and the counts are 0.
    refused : int
        Rows that break the contract.
    quarantine : str or None
        Path of the list of the refused rows, if any.
    later_labels : int or None
        Labels that became known at the as-of instant or later, which did not count; None without such an instant.
    """

    complete: bool
    records: int = 0
    refused: int = 0
    outcomes: Mapping[str, int]
    quarantine: str | None = None
    later_labels: int | None = None


def score_dataset(
    bundle: Path,
    sources: Sequence[str],
    out: str,
    *,
    histories: Sequence[str] = (),
    work: Path | None = None,
    stage: Stage | None = None,
    shard: Shard | None = None,
    resume: bool = False,
    as_of: int | None = None,
    reasons: bool = False,
    content: Content = "decisions",
    names: Names | None = None,
    max_bad_share: float = 0.01,
    allow_repeats: bool = False,
    memory: int | None = None,
    limits: Limits | None = None,
    processes: int = 2,
    dask: str | None = None,
    public_key: "Ed25519PublicKey | None" = None,
    report: Callable[[str], None] = lambda _: None,
    rules: Rules | Mapping[str, Any] | None = None,
) -> DatasetRun:
    """Score files of any size into a folder of Parquet files.

    Decisions, refused rows and counts are those of `score_file` on the same records, whatever the number and order of
    files, the memory, the processes and the shards; of records that share a `recordId` the first one counts.

    Parameters
    ----------
    sources : sequence of str
        Paths, folders, patterns or URIs of `pyarrow.fs`, read as one.
    out : str
        Folder or URI. It gets parts, `quarantine.csv` if rows were refused, `summary.json`, and last `_manifest.json`,
        which lists the parts: a folder without it is not complete.
    content : {"decisions", "features", "contributions"}
        What is written of each record: the decision; or, as `export_features` does, what the model reads of it, and on
        request what each feature adds to the margin.
    names : {"contract", "own"}, optional
        As for `Scorer.with_names`.
    rules : Rules or mapping, optional
        Rules of an operator, which decide after score and thresholds, as for `Scorer.score`.
    histories : sequence of str
        Each like a source, read by itself: earlier records, which are not scored.
    work : Path, optional
        Local or shared folder for what is spilled, of which only its owner reads anything; by default in `out`.
    allow_repeats : bool
        Whether records of the histories with the `recordId` of a scored one are left out of them.
    stage, shard : optional
        Run one stage, or a share of its tasks, to be completed by other calls with the same `work`.
    resume : bool
        Whether to continue the run in `work`, whose finished tasks are kept.
    memory : int, optional
        Bytes for all processes together; by default 4 GB, with `dask` 2 GB for each.
    limits : Limits, optional
        Records of a part and link rows of a piece; by default as many as the memory allows.
    processes : int
        With more than one, the caller's module must be importable without running this (`if __name__ == "__main__"`).
    dask : str, optional
        Address of a Dask scheduler, or ``local:N``, whose workers run the tasks instead of `processes`. They need the
        same versions of all packages, and the same paths of the bundle, the sources, `out` and `work`.

    Raises
    ------
    TooManyBadRows
        After the quarantine was written.
    RepeatedRecords
        If the histories have such records and they are not left out. `report` gets the number of equal records of
        sources without ids.
    StageIncomplete
        If an earlier stage is not complete, or a shard is asked for that needs stages.
    LostWorker
        If a process ended, or the Dask scheduler or its workers cannot be reached; finished tasks are kept for
        `resume`.
    DifferentVersions
        If the scheduler or a worker has other versions of packages.
    ValueError
        If `out` holds another run or files, or the work folder belongs to another run.
    """
    staged = stage is not None or shard is not None
    scorer = Scorer.load(bundle, public_key=public_key).with_names(names)
    _check_shares(scorer, work, stage, shard)
    sources, histories = list(map(absolute_location, sources)), list(map(absolute_location, histories))
    with open_workers(processes, dask, prepare=process_settings.configure_worker) as workers:
        run = _Run(
            out=out,
            work=Work(_work_folder(out, work).absolute()),
            workers=workers,
            max_bad_share=max_bad_share,
            report=report,
        )
        checked = None if rules is None else scorer.rule_evaluator(rules).rules
        finished = run.finished(scorer, content, checked, resume=resume or staged)
        if finished is not None:
            return finished
        run.check_folder(resume=resume or staged)
        given = [list_files(sources), *(list_files([one]) for one in histories)]
        request = Request(
            bundle=str(bundle.absolute()),
            model_version=scorer.manifest.model_version,
            policy_version=scorer.manifest.policy_version,
            files=tuple(map(describe_files, given)),
            out=absolute_location(out),
            as_of=as_of,
            reasons=reasons,
            max_bad_share=max_bad_share,
            content=content,
            names=names,
            allow_repeats=allow_repeats,
            rules=None if checked is None else checked.to_bytes().decode(),
        )
        if memory is None:
            memory = _MEMORY if dask is None else _DASK_MEMORY * workers.processes
        plan = run.plan(request, given, scorer, limits or Limits.of(memory, workers.processes, scorer.matrix))
        return run.stages(plan, stage, shard)


def _check_shares(scorer: Scorer, work: Path | None, stage: Stage | None, shard: Shard | None) -> None:
    """Refuse to share out work without a common folder, and whole records where each depends on all others."""
    if (stage is not None or shard is not None) and work is None:
        raise ValueError("stages and shards need --work, a folder that all of them share")
    if shard is not None and stage is None and scorer.matrix.link_keys:
        raise StageIncomplete(
            "the bundle has link keys, so that each record depends on all others: "
            "run --stage partition, then links, then score, each with --shard"
        )


def dataset_parts(folder: Path) -> list[Path]:
    """List the parts of a scored dataset in order.

    Raises
    ------
    ValueError
        If the folder holds no complete dataset.
    """
    content = read_output(str(folder), MANIFEST)
    if content is None:
        raise ValueError(f"{folder}: has no {MANIFEST}, so it is no scored dataset, or not a complete one")
    return [folder / part["name"] for part in json.loads(content)["parts"]]


def dataset_features(
    scorer: Scorer,
    table: RecordTable,
    *,
    bundle: Path,
    sources: Sequence[str],
    work: str | Path,
    **options: Any,
) -> FloatArray:
    """Compute the feature rows of records on the workers of `score_dataset`, through a folder of features.

    Parameters
    ----------
    table : RecordTable
        The valid records of the sources.
    work : path
        Empty folder that all workers reach.
    options
        As for `score_dataset`.

    Returns
    -------
    ndarray of shape (n, d), float64

    Raises
    ------
    ValueError
        If the workers found other valid records in the sources.
    """
    out = Path(work).absolute() / "features"
    score_dataset(bundle, sources, str(out), content="features", **options)
    found = pa.concat_tables([pq.read_table(part) for part in dataset_parts(out)])
    if not found.column(RECORD_ID).equals(pa.chunked_array([pa.array(table.record_ids, pa.string())])):
        raise ValueError(
            f"{', '.join(sources)}: the workers found other valid records than this process: a file changed meanwhile, "
            "or rows break the rules of a column to group by"
        )
    return np.column_stack([found.column(name).to_numpy() for name in scorer.matrix.names])


def absolute_location(location: str) -> str:
    """Return a location that other processes understand."""
    return location if "://" in location else str(Path(location).absolute())


def _work_folder(out: str, work: Path | None) -> Path:
    if work is not None:
        return work
    if "://" in out:
        raise ValueError("a dataset in an object store needs --work, a local folder for what is spilled")
    return Path(out) / WORK


def describe_files(files: Iterable[StoredFile]) -> tuple[tuple[str, int, str], ...]:
    """Return location, size and time of change of files."""
    found = []
    for file in files:
        system, path = file_system(file.location)
        info = system.get_file_info(path)
        if info.type != FileType.File:
            raise FileNotFoundError(f"{file.location}: there is no such file")
        found.append((file.location, int(info.size), str(info.mtime_ns)))
    return tuple(found)


def scan_source(
    workers: Workers, files: Sequence[StoredFile], schema: RecordSchema, limits: Limits
) -> Source:
    """Scan the files of a source."""
    found = in_order(workers.run(scan_file, [(file, schema, limits.part_rows) for file in files]))
    return Source(files=tuple(found), has_ids=any(file.id_column is not None for file in found))


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A call of `score_dataset`."""

    out: str
    work: Work
    workers: Workers
    max_bad_share: float
    report: Callable[[str], None]

    def finished(
        self, scorer: Scorer, content: Content, rules: Rules | None, *, resume: bool
    ) -> DatasetRun | None:
        """Return the result of a dataset that is complete already; remove what its run left."""
        text = read_output(self.out, SUMMARY) if read_output(self.out, MANIFEST) is not None else None
        if text is None:
            return None
        summary = json.loads(text)
        given = (scorer.manifest.model_version, scorer.manifest.policy_version)
        if (summary["modelVersion"], summary["policyVersion"]) != given:
            raise ValueError(f"{self.out}: holds a dataset that another bundle scored")
        if summary.get("rulesVersion") != (None if rules is None else rules.version):
            raise ValueError(f"{self.out}: holds a dataset that was scored with other rules")
        if summary.get("content", "decisions") != content:
            raise ValueError(f"{self.out}: holds a dataset of {summary.get('content', 'decisions')}")
        if not resume:
            raise ValueError(f"{self.out}: holds a scored dataset already; name another folder, or remove it")
        if self.work.plan_path.exists() and self.work.plan().request.out == absolute_location(self.out):
            self.work.remove()  # the run ended between its manifest and this
        return self._result(summary)

    def plan(
        self, request: Request, given: Sequence[Sequence[StoredFile]], scorer: Scorer, limits: Limits
    ) -> Plan:
        """Return the plan of the work folder, which must be of this request, or make it."""

        def make() -> Plan:
            sources = [scan_source(self.workers, files, scorer.contents.schema, limits) for files in given]
            return Plan.of(request, sources, limits, scorer.matrix, processes=self.workers.processes)

        plan = self.work.create(make)
        if different := ", ".join(plan.request.differences(request)):
            raise ValueError(f"{self.work.folder}: holds the work of another run; what differs: {different}")
        system, path = file_system(self.out)
        system.create_dir(path, recursive=True)
        return plan

    def _result(self, summary: Mapping[str, Any]) -> DatasetRun:
        return DatasetRun(
            complete=True,
            records=summary["records"],
            refused=summary["refused"],
            outcomes=summary["outcomes"],
            quarantine=f"{self.out.rstrip('/')}/{QUARANTINE}" if summary["refused"] else None,
            later_labels=summary.get("laterLabels"),
        )

    def check_folder(self, *, resume: bool) -> None:
        """Refuse a folder with files, unless a run is resumed."""
        system, path = file_system(self.out)
        if system.get_file_info(path).type == FileType.File:
            raise ValueError(f"{self.out}: must be a folder")
        held = [info.base_name for info in system.get_file_info(FileSelector(path, allow_not_found=True))]
        if self.work.plan_path.exists():
            if resume:
                return
            raise ValueError(
                f"{self.out}: a run was begun here and is not complete; continue it with --resume, or remove "
                f"{self.out} and {self.work.folder}"
            )
        # A refused run leaves the one, a failed start the other.
        if others := sorted({*held} - {QUARANTINE, WORK}):
            raise ValueError(f"{self.out}: must be empty, it holds {', '.join(others[:3])}")

    def stages(self, plan: Plan, stage: Stage | None, shard: Shard | None) -> DatasetRun:
        """Run the stages that were asked for; complete the dataset if nothing is missing."""
        for name in STAGES if stage is None else [stage]:
            self._check_before(plan, name)
            if name == "links":
                self._accept_early(plan)
            whole = name != "score" and stage is None  # without stages only scores are shared out
            self._run_stage(plan, name, None if whole else shard)
        if missing := plan.tasks("score") - len(self.work.done("score")):
            self.report(f"{missing} of {plan.tasks('score')} units are not scored yet")
            return DatasetRun(complete=False, outcomes={})
        return self._complete(plan)

    def _check_before(self, plan: Plan, stage: Stage) -> None:
        for name in STAGES[: STAGES.index(stage)]:
            missing = set(range(plan.tasks(name))) - self.work.done(name)
            if missing:
                raise StageIncomplete(
                    f"stage {stage} needs the whole stage {name}: {len(missing)} of {plan.tasks(name)} tasks are "
                    f"missing (the first is {min(missing)}); run its other shards, or those that failed again"
                )

    def _run_stage(self, plan: Plan, stage: Stage, shard: Shard | None) -> None:
        done = self.work.done(stage)
        every = range(plan.tasks(stage))
        mine = every if shard is None else every[shard.number - 1 :: shard.of]
        tasks = [(str(self.work.folder), stage, task) for task in mine if task not in done]
        sizes = {task: records_of(plan, stage, task) for task in mine}
        progress = Progress(
            name=stage,
            total=sum(sizes.values()),
            done=sum(sizes[task] for task in mine if task in done),
            report=self.report,
        )
        for _, records in self.workers.run(run_task, tasks):
            progress.add(records)

    def _manifests(self, plan: Plan, stage: Stage) -> list[dict[str, Any]]:
        return [json.loads(self.work.manifest(stage, task).read_bytes()) for task in range(plan.tasks(stage))]

    def _accept_early(self, plan: Plan) -> None:
        """Refuse too many bad rows, and scored records in the history, before anything is scored."""
        scored = self._manifests(plan, "partition")[: plan.scored_units]
        repeated, copies = repeated_rows(self.work, plan)
        if len(copies) and not plan.request.allow_repeats:
            self._give_up()
            raise RepeatedRecords(
                len(copies), f"the first is row {copies['row'][0] - plan.sources[0].rows} there"
            )
        if equal := equal_records(self.work, plan):
            self.report(f"warning: {EqualRecords(equal)}")
        repeated = repeated[repeated["row"] < plan.sources[0].rows]
        refused = sum(one.get("refused", 0) for one in scored) + int(np.count_nonzero(~repeated["refused"]))
        if refused > self.max_bad_share * plan.sources[0].rows:
            counts = Counter(merged(one for one in scored if one))
            counts["recordId", str(Rule.DUPLICATE)] += len(repeated)
            tasks = [(str(self.work.folder), task) for task in range(plan.scored_units)]
            list(self.workers.run(list_violations, tasks))
            self._refuse(plan, refused, dict(counts.most_common()))

    def _give_up(self) -> None:
        """Leave nothing, so that the same command can be run again."""
        self.work.remove()
        if "://" not in self.out and not any(Path(self.out).iterdir()):
            Path(self.out).rmdir()

    def _refuse(self, plan: Plan, refused: int, counts: Mapping[tuple[str, str], int]) -> None:
        """Leave the quarantine alone, and raise."""
        counts = {rule: count for rule, count in counts.items() if count}
        self._write_quarantine(plan)
        for manifest in self.work.folder.glob("score/[0-9]*.json"):
            for part in json.loads(manifest.read_bytes())["parts"]:
                remove_output(self.out, part["name"])
        self.work.remove()
        accept_counts(
            plan.sources[0].rows,
            refused,
            counts,
            max_share=self.max_bad_share,
            more=f"; {self.out.rstrip('/')}/{QUARANTINE} lists them: repair the source and run the same command again",
        )

    def _write_quarantine(self, plan: Plan) -> None:
        listed = (self.work.quarantine_file(task).read_bytes() for task in range(plan.scored_units))
        write_output(self.out, QUARANTINE, chain([quarantine_lines([QUARANTINE_COLUMNS]).encode()], listed))

    def _complete(self, plan: Plan) -> DatasetRun:
        """Write what describes the whole dataset, its manifest last."""
        units = self._manifests(plan, "score")
        refused = sum(unit["refused"] for unit in units)
        if refused > self.max_bad_share * plan.sources[0].rows:
            self._refuse(plan, refused, merged(iter(units)))
        if refused:
            self._write_quarantine(plan)
        else:
            remove_output(self.out, QUARANTINE)
        outcomes: Counter[str] = Counter()
        for unit in units:
            outcomes.update(unit["outcomes"])
        summary: dict[str, Any] = {
            "records": sum(unit["records"] for unit in units),
            "refused": refused,
            "outcomes": {str(outcome): outcomes[str(outcome)] for outcome in OUTCOMES},
            "violations": [
                {"field": field, "rule": rule, "rows": count}
                for (field, rule), count in merged(iter(units)).items()
            ],
            "modelVersion": plan.request.model_version,
            "policyVersion": plan.request.policy_version,
        }
        if plan.request.content != "decisions":
            summary["content"] = plan.request.content
        if plan.request.rules is not None:
            summary["rulesVersion"] = parse_rules(json.loads(plan.request.rules)).version
        if plan.request.as_of is not None:
            summary["laterLabels"] = self._later_labels(plan)
        parts = [part for unit in units for part in unit["parts"]]
        self._remove_partial_files()
        _write_json(self.out, SUMMARY, summary)
        _write_json(self.out, MANIFEST, {"parts": parts, "records": summary["records"]})
        self.work.remove()
        return self._result(summary)

    def _remove_partial_files(self) -> None:
        """Remove what processes left that were killed while they wrote a part."""
        if "://" not in self.out:
            for path in Path(self.out).glob(".*.part-*"):
                path.unlink(missing_ok=True)

    def _later_labels(self, plan: Plan) -> int:
        late = sum(one["late"] for one in self._manifests(plan, "partition"))
        return int(late - sum(np.count_nonzero(rows["late"]) for rows in repeated_rows(self.work, plan)))


def _write_json(out: str, name: str, document: Mapping[str, Any]) -> None:
    write_output(out, name, [json_text(document).encode()])
