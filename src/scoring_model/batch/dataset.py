"""Scores a dataset of any size: plans, runs the stages, and completes the output.

Decision record: docs/adr/0026-datasets.md.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scoring_model.arrays import FloatArray
from scoring_model.batch import process_settings
from scoring_model.batch.dataset_run import MANIFEST, WORK, DatasetRun, Run, Shard, StageIncomplete
from scoring_model.batch.outputs import read_output
from scoring_model.batch.plan import Content, Limits, Request, Stage, Work
from scoring_model.batch.sources import absolute_location, describe_files, list_files
from scoring_model.parallel import open_workers
from scoring_model.records import Names, RecordTable
from scoring_model.rules import Rules
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import RECORD_ID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_MEMORY: Final = 4_000_000_000
_DASK_MEMORY: Final = 2_000_000_000


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
        run = Run(
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


def _work_folder(out: str, work: Path | None) -> Path:
    if work is not None:
        return work
    if "://" in out:
        raise ValueError("a dataset in an object store needs --work, a local folder for what is spilled")
    return Path(out) / WORK
