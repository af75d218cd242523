"""A training job: reads a file, writes a bundle and its reports, logs a run to MLflow."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import yaml

from scoring_model.batch.sources import list_files
from scoring_model.bundle.seal import load_private_key
from scoring_model.bundle.writer import check_place
from scoring_model.configuration import Configuration, Tuned
from scoring_model.escaping import for_markdown
from scoring_model.evaluation import summary
from scoring_model.evaluation.result import Provenance
from scoring_model.evaluation.training_digests import TrainingDigests
from scoring_model.findings import Finding
from scoring_model.parallel import Workers, open_workers
from scoring_model.parallel.progress import Report
from scoring_model.records.atomic import json_text, write_whole
from scoring_model.records.quarantine import accept, write_quarantine
from scoring_model.records.reading import read_records, without_columns
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.sources import file_paths
from scoring_model.records.stored import StoredFile
from scoring_model.records.times import later_than_now
from scoring_model.training.assembly import evaluation_document
from scoring_model.training.certification import InfeasiblePolicy
from scoring_model.training.fitting import import_lightgbm_alone
from scoring_model.training.leakage import TrainingStopped
from scoring_model.training.mlflow_runs import TrackedRun, without_credentials
from scoring_model.training.report import training_sections
from scoring_model.training.run import Training, run_prepared, run_training
from scoring_model.training.run_description import describe
from scoring_model.training.thinned_files import prepare_files
from scoring_model.training.tracking import TrackingError, track

_EVALUATION: Final = "evaluation.json"
_FINDINGS: Final = "findings.json"
_MODEL: Final = "without_policy"
_PARAMETERS: Final = "parameters.yaml"
_REPORT: Final = "report.html"
_QUARANTINE: Final = "quarantine.csv"
_SUMMARY: Final = "evaluation.md"
_THRESHOLDS: Final = "thresholds.csv"


@dataclass(frozen=True, kw_only=True)
class Job:
    """Input and output of a training.

    Parameters
    ----------
    source : path or sequence of paths
        Labelled records: Parquet, CSV or JSON Lines; files, patterns and folders, with `training.thinning` also URIs.
    out : Path
        Directory of the bundle. Beside it ``<out>.training`` keeps the journal of the search, the resolved
        parameters, the refused rows, the evaluation, and keyed digests of the records; ``tracking``, which all
        bundles of the folder share, holds MLflow's database and artifacts, unless the server at `tracking_uri` has
        the run.
    resume : bool
        Whether to continue the search of an earlier, interrupted job.
    signing_key : Path, optional
        Ed25519 private key, PEM.
    processes : int
        Number of concurrent trials of the search.
    dask : str, optional
        Address of a Dask scheduler, or ``local:N``, whose workers run the trials instead, one each at once, and
        with thinning read the sources and compute link features.
    memory : int, optional
        Bytes for the reading of records that `training.thinning` thins, by default 4 GB; others are read as a whole.
    """

    source: Path | str | Sequence[Path | str]
    configuration: Configuration
    out: Path
    resume: bool = False
    replace: bool = False
    signing_key: Path | None = None
    tracking_uri: str | None = None
    track: bool = True
    threads: int = 2
    processes: int = 1
    dask: str | None = None
    memory: int | None = None

    @property
    def sources(self) -> list[str]:
        """Return the sources as texts."""
        given = [self.source] if isinstance(self.source, str | Path) else self.source
        return [str(one) for one in given]

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """List the files of the sources."""
        if self.configuration.training.thinning is not None:
            return list_files(self.sources)
        return tuple(path for source in self.sources for path in _whole_files(source))

    @property
    def folder(self) -> Path:
        """Return the folder of training files next to the bundle."""
        return self.out.with_name(self.out.name + ".training")

    @property
    def tracking(self) -> Path:
        """Return the MLflow store shared by all bundles of the folder, for comparison of their trainings."""
        return self.out.with_name("tracking")


@dataclass(frozen=True, kw_only=True)
class JobDone:
    """The result of a job: files, and its run in MLflow, if it was logged.

    Parameters
    ----------
    bundle, parameters, evaluation, summary, report : Path
        The sealed directory, the resolved parameters (YAML), and the evaluation as JSON, as Markdown and as a report
        (HTML).
    evaluated_part : str
        Part of the records that the evaluation rests on: 'test', or 'validation' without a test part.
    """

    bundle: Path
    parameters: Path
    evaluation: Path
    summary: Path
    evaluated_part: str
    report: Path
    tracked: TrackedRun | None


def run_job(job: Job, *, report: Report = lambda text: None) -> JobDone:
    """Read, train, seal, and log the run.

    If a tracking server does not accept the run, `report` gets a warning and the run is kept for `tracking.sync`.

    Raises
    ------
    BundleError
        Before reading, if `out` exists and must not be replaced, or is not a bundle.
    TooManyBadRows
        After writing the refused rows to ``quarantine.csv``.
    LostWorker
        If a process ended, or the Dask scheduler cannot be reached; the trials so far are in the journal.
    DifferentVersions
        If the scheduler or a worker has other versions of packages.
    LeakageError, OneCode
        After writing the findings to ``findings.json``.
    InfeasiblePolicy
        If a model was fitted, after writing ``parameters.yaml``, ``thresholds.csv`` and ``without_policy``, a bundle
        that passes everyone, to be given another policy.
    TrackingError
        After sealing the bundle, if its run could not be kept next to it either.
    """
    started = _now()
    check_place(job.out, replace=job.replace)
    signing_key = None if job.signing_key is None else load_private_key(job.signing_key)
    job.folder.mkdir(parents=True, exist_ok=True)
    try:
        with open_workers(job.processes, job.dask, extra="train", prepare=import_lightgbm_alone) as workers:
            training = _train(job, workers, report)
    except TrainingStopped as error:
        _write_file(job, _FINDINGS, _findings(error.findings))
        raise
    except InfeasiblePolicy as error:
        if error.alternatives is not None:
            thresholds = _write_file(job, _THRESHOLDS, error.alternatives.to_csv())
            report(f"results of each pair of thresholds: {thresholds}")
        if error.bundle is not None:
            model = error.bundle.save(job.folder / _MODEL, signing_key=signing_key, replace=True)
            report(
                f"to set other bounds without a training: scoring-model policy {model} --config CONFIG --out {job.out}"
            )
        raise
    _write(job, training)
    _digest(training).save(job.folder)
    training.bundle.save(job.out, signing_key=signing_key, replace=job.replace)
    report(f"bundle sealed: {job.out}")
    tracked = _track(job, training, started=started, report=report) if job.track else None
    return JobDone(
        bundle=job.out,
        parameters=job.folder / _PARAMETERS,
        evaluation=job.folder / _EVALUATION,
        summary=job.folder / _SUMMARY,
        evaluated_part=training.split.evaluated.name,
        report=job.folder / _REPORT,
        tracked=tracked,
    )


def _train(job: Job, workers: Workers, report: Report) -> Training:
    configuration = job.configuration
    run: Callable[..., Training]
    if configuration.training.thinning is None:
        paths = [file.location for file in job.files]
        reading = read_records(paths, configuration.schema, labelled=True)
        report(f"{len(reading.table):,} records read, {reading.rows - len(reading.table):,} rows refused")
        for guess in reading.guesses:
            report(f"guessed: {guess}")
        as_of = configuration.training.split.as_of
        future = "" if as_of is not None else later_than_now(reading.table.latest_instant + 1)
        for warning in filter(None, (without_columns(reading.table, configuration.schema), future)):
            report(f"warning: {warning}")
        write_quarantine(reading, job.folder / _QUARANTINE)
        accept(reading, max_share=configuration.records.max_bad_share)
        run = partial(run_training, reading.table)
    else:
        prepared = prepare_files(
            job.sources,
            configuration,
            work=job.folder / "work",
            quarantine=job.folder / _QUARANTINE,
            memory=4_000_000_000 if job.memory is None else job.memory,
            processes=job.threads,
            stages=None if job.dask is None else workers,
            report=report,
        )
        run = partial(run_prepared, prepared)
    return run(
        configuration,
        journal=_journal(job),
        resume=job.resume,
        threads=job.threads,
        workers=workers,
        report=report,
        keep_parameters=lambda tuned: _write_file(job, _PARAMETERS, _yaml(tuned)),
        recall_lost=True,
    )


def _whole_files(source: str) -> tuple[StoredFile, ...]:
    """List the files of a source that are read as a whole."""
    if "://" not in source and not Path(source).is_dir():
        return tuple(StoredFile(str(path)) for path in file_paths(source) or ())
    files = list_files([source])
    for file in files:
        if "://" in file.location or file.partitions:
            raise UnreadableSource(
                f"{file.location}: files of object stores or in folders named column=value are read in parts only: set "
                "training.thinning (genuine: 1 keeps all records)"
            )
    return files


def _journal(job: Job) -> Path:
    """Return the path of the journal; remove that of an earlier job unless it is resumed."""
    journal = job.folder / "tuning.journal"
    if not job.resume:
        journal.unlink(missing_ok=True)
    return journal


def _write(job: Job, training: Training) -> None:
    further = tuple(training_sections(training.split, training.alternatives, training.thinning))
    texts = {
        "split.json": json_text([asdict(segment) for segment in training.split.summaries]),
        _FINDINGS: _findings(training.evaluation.findings),
        _EVALUATION: json_text(evaluation_document(training.evaluation, training.split.evaluated)),
        _SUMMARY: f"# {for_markdown(job.configuration.name)}: the {training.split.evaluated.name} period\n\n"
        + summary(training.evaluation, further=further),
        _THRESHOLDS: training.alternatives.to_csv(),
    }
    if training.evaluation.importance is not None:
        texts["importance.json"] = json_text(training.evaluation.importance.to_json())
    for name, text in texts.items():
        _write_file(job, name, text)
    evaluation = replace(training.evaluation, provenance=_provenance(job, training))
    evaluation.report(job.folder / _REPORT, further=further)


def _digest(training: Training) -> TrainingDigests:
    """Digest the records that fitted the model or chose its thresholds."""
    rows = np.concatenate([training.split.train, training.split.validation])
    return TrainingDigests.of(
        training.table.take(rows),
        training.bundle.contents.schema.fields,
        model_version=training.bundle.model_version,
    )


def _findings(findings: Sequence[Finding]) -> str:
    return json_text([finding.to_json() for finding in findings])


def _provenance(job: Job, training: Training) -> Provenance | None:
    """Name the bundle, the source and the evaluated period; None without records."""
    events = training.evaluation.records.event_times
    if not len(events):
        return None
    return Provenance(
        name=training.bundle.name,
        model_version=training.bundle.model_version,
        policy_version=training.bundle.contents.policy_version,
        files=tuple(file.name for file in job.files),
        since=int(events.min()),
        until=int(events.max()),
        scored_earlier=False,
        notes=(),
    )


def _write_file(job: Job, name: str, text: str) -> Path:
    path = job.folder / name
    write_whole(path, text, private=True)
    return path


def _yaml(tuned: Tuned) -> str:
    # Shortest digits that round-trip, so that the same parameters train the same model.
    return yaml.safe_dump(json.loads(json.dumps(asdict(tuned))), sort_keys=True)


def _track(job: Job, training: Training, *, started: int, report: Report) -> TrackedRun:
    try:
        with tempfile.TemporaryDirectory() as scratch:
            record = describe(
                training,
                job.configuration,
                bundle=job.out,
                source=", ".join(file.name for file in job.files),
                started=started,
                ended=_now(),
                scratch=Path(scratch),
                report=job.folder / _REPORT,
                resumed=job.resume,
            )
            run = track(record, folder=job.tracking, uri=job.tracking_uri)
    except TrackingError as error:
        raise TrackingError(f"{job.out} is sealed, but its run could not be logged: {error}") from error
    if run.not_logged is not None:
        report(
            f"warning: {without_credentials(str(job.tracking_uri))} does not have the run: {run.not_logged}. "
            f"It is kept in {job.tracking}; to log it later: scoring-model tracking sync {job.tracking}"
        )
    return run


def _now() -> int:
    """Milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000
