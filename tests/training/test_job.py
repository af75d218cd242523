"""The training job: its output files, its errors, and its MLflow run."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from report_use import Page
from scoring_model.bundle import Bundle, read_bundle
from scoring_model.bundle.errors import KeyInvalid
from scoring_model.configuration import (
    Configuration,
    Tuned,
    TuningSettings,
    read_settings,
    read_yaml,
)
from scoring_model.records.quarantine import TooManyBadRows
from scoring_model.training.job import Job, JobDone, run_job
from scoring_model.training.journal import JournalError
from scoring_model.training.tracking import TrackingError
from undrawn import pages_undrawn

LEFT = {
    "evaluation.json",
    "evaluation.md",
    "importance.json",
    "findings.json",
    "split.json",
    "parameters.yaml",
    "report.html",
    "quarantine.csv",
    "thresholds.csv",
    "training_records.key",
    "training_records.npz",
}


@pytest.fixture(scope="module")
def configuration(small_use: Configuration) -> Configuration:
    """The use with a tiny search."""
    settings = TuningSettings(trials=2, folds=1, max_rounds=8, patience=4)
    return replace(small_use, training=replace(small_use.training, tuned=None, tuning=settings))


@pytest.fixture(scope="module")
def searched(
    small: Path,
    configuration: Configuration,
    tracking_folder: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Job, JobDone]:
    """A job with a search, logged to MLflow."""
    out = tmp_path_factory.mktemp("jobs") / "searched"
    job = Job(source=small, configuration=configuration, out=out, threads=1)
    tracking_folder(job.tracking)
    return job, run_job(job)


@dataclass(frozen=True)
class Again:
    """The same training by the found parameters, under another path, for a server that does not answer."""

    job: Job
    done: JobDone
    said: list[str]


@pytest.fixture(scope="module")
def again(
    searched: tuple[Job, JobDone],
    tracking_folder: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Again:
    """A job without a search, whose tracking server is unreachable."""
    job, done = searched
    other = replace(
        job,
        configuration=_given(job, done),
        out=tmp_path_factory.mktemp("others") / "again",
        tracking_uri="unheard://me:s3cret@host",
    )
    tracking_folder(other.tracking)
    said: list[str] = []
    with pages_undrawn():
        return Again(other, run_job(other, report=said.append), said)


def test_a_job_writes_bundle_and_reports(searched: tuple[Job, JobDone]) -> None:
    """The bundle is intact, and parameters, evaluation, quarantine and journal are beside it."""
    job, done = searched
    assert read_bundle(done.bundle).manifest.name == "identity"
    assert {path.name for path in job.folder.iterdir()} >= {*LEFT, "tuning.journal"}
    assert json.loads(done.evaluation.read_text())["overall"]["records"] > 0
    assert done.summary.read_text().startswith("# identity: the test period\n")
    assert (job.folder / "quarantine.csv").read_text() == "row,field,rule,detail,recordId,file\n"


def test_a_report_is_about_the_bundle_and_its_training(searched: tuple[Job, JobDone]) -> None:
    """It names the model, the parts of the split, every check and the recall lost without each family."""
    job, done = searched
    page = Page.of(done.report.read_text(encoding="utf-8"))
    manifest = read_bundle(done.bundle).manifest
    assert f"Model {manifest.model_version}, policy {manifest.policy_version}." in page.text
    assert "Green: the pairs that are certified to keep all promises" in page.text
    first_cells = [row[0] for table in page.tables for row in table]
    checks = json.loads((job.folder / "findings.json").read_text())
    parts = json.loads((job.folder / "split.json").read_text())
    assert {*(check["code"] for check in checks), *(part["part"] for part in parts)} <= set(first_cells)
    importance = json.loads((job.folder / "importance.json").read_text())
    assert set(importance["recall_lost"]) == {family["name"] for family in importance["families"]}


def test_parameters_of_a_job_make_its_bundle(searched: tuple[Job, JobDone], again: Again) -> None:
    """Training with the parameters file gives the same bundle without a search, under any path."""
    _, done = searched
    for file in done.bundle.iterdir():
        assert (again.done.bundle / file.name).read_bytes() == file.read_bytes(), file.name
    assert {path.name for path in again.job.folder.iterdir()} == LEFT


def test_the_training_is_logged(searched: tuple[Job, JobDone]) -> None:
    """The database has the run, metrics, trials, and the bundle as the challenger, byte for byte."""
    from mlflow import MlflowClient

    job, done = searched
    assert done.tracked is not None
    uri = f"sqlite:///{job.tracking / 'mlflow.db'}"
    assert done.tracked.uri == uri
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    run = client.get_run(done.tracked.run_id)
    evaluation = json.loads(done.evaluation.read_text())["overall"]
    assert run.data.metrics["roc_auc"] == evaluation["figures"]["roc_auc"]["value"]
    assert run.data.metrics["step_up_share"] == evaluation["figures"]["step_up"]["value"]
    assert run.data.params["seed"] == "7"
    assert run.info.start_time < run.info.end_time
    sealed, files = read_bundle(done.bundle), Path(run.info.artifact_uri.removeprefix("file://"))
    assert run.data.tags["library.lightgbm"] == sealed.manifest.libraries["lightgbm"]
    assert (
        run.data.tags["bundle.seal"]
        == read_bundle(files / "model" / "bundle").manifest.seal
        == sealed.manifest.seal
    )
    assert len(json.loads((files / "trials.json").read_text())["data"]) == 2
    logged = {"model", "plots", "report.html", "requirements.txt", "trials.json"}
    assert {path.name for path in files.iterdir()} == logged
    assert (files / "report.html").read_bytes() == done.report.read_bytes()
    assert run.inputs is not None
    (data,) = run.inputs.dataset_inputs
    assert json.loads(str(data.dataset.profile))["num_rows"] == 5000
    version = client.get_model_version_by_alias("identity", "challenger")
    assert version.run_id == done.tracked.run_id


def test_a_journal_of_something_else_is_refused(searched: tuple[Job, JobDone]) -> None:
    """A journal of another seed is refused with an error that says so, and the bundle is unchanged."""
    job, done = searched
    seal = read_bundle(done.bundle).manifest.seal
    other = replace(job.configuration, training=replace(job.configuration.training, seed=8))
    with pytest.raises(JournalError, match="belongs to other seed") as caught:
        run_job(replace(job, configuration=other, replace=True, resume=True))
    assert isinstance(caught.value, ValueError)
    assert read_bundle(done.bundle).manifest.seal == seal


def test_a_wrong_key_is_refused_before_reading(identity: Configuration, tmp_path: Path) -> None:
    """An invalid signing key is refused before the records are read."""
    key = tmp_path / "key.pem"
    key.write_text("no key")
    absent = tmp_path / "absent.parquet"
    with pytest.raises(KeyInvalid):
        run_job(Job(source=absent, configuration=identity, out=tmp_path / "out", signing_key=key))


def test_too_many_bad_rows_leave_the_quarantine_alone(
    small: Path, configuration: Configuration, tmp_path: Path
) -> None:
    """A run that stops because of bad rows writes the quarantine with row, field and rule, and no bundle."""
    table = pq.read_table(small).slice(0, 50)
    births = pa.array(["canary"] * 2 + table.column("dob").to_pylist()[2:])
    pq.write_table(
        table.set_column(table.schema.get_field_index("dob"), "dob", births), tmp_path / "bad.parquet"
    )
    job = Job(source=tmp_path / "bad.parquet", configuration=configuration, out=tmp_path / "out")
    with pytest.raises(TooManyBadRows):
        run_job(job)
    assert not job.out.exists()
    lines = (job.folder / "quarantine.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["0", "dob", "not_a_date"],
        ["1", "dob", "not_a_date"],
    ]
    assert "canary" not in "".join(lines)


def test_an_unreachable_server_loses_nothing(searched: tuple[Job, JobDone], again: Again) -> None:
    """The bundle is written, the run is kept beside it, and the warning has no credentials."""
    _, done = searched
    assert read_bundle(again.job.out).manifest.seal == read_bundle(done.bundle).manifest.seal
    assert again.done.tracked is not None
    assert again.done.tracked.uri == f"sqlite:///{again.job.tracking / 'mlflow.db'}"
    assert again.said[-1].startswith("warning: unheard://host does not have the run: ")
    assert again.said[-1].endswith(f"to log it later: scoring-model tracking sync {again.job.tracking}")
    assert "s3cret" not in "".join(again.said)


@pytest.mark.usefixtures("undrawn")
def test_a_folder_that_cannot_store_the_run_is_an_error(
    searched: tuple[Job, JobDone], tmp_path: Path
) -> None:
    """If the run cannot be stored anywhere, the error says so after the bundle was sealed."""
    job, done = searched
    (tmp_path / "tracking").write_text("no folder")
    lost = replace(job, configuration=_given(job, done), out=tmp_path / "lost")
    with pytest.raises(TrackingError, match="lost is sealed, but its run could not be logged"):
        run_job(lost)
    assert read_bundle(lost.out).manifest.name == "identity"


def _given(job: Job, done: JobDone) -> Configuration:
    """The configuration with the parameters that a search found."""
    tuned = read_settings(Tuned, read_yaml(done.parameters))
    return replace(job.configuration, training=replace(job.configuration.training, tuned=tuned))


def test_an_interrupted_job_writes_no_bundle(
    searched: tuple[Job, JobDone], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that is interrupted when it is about to seal leaves no bundle, but the trials of its own search.

    It was not to resume: it removed the journal of an earlier search with another seed.
    """
    job, _ = searched
    other = replace(job.configuration, training=replace(job.configuration.training, seed=8))
    dead = replace(job, configuration=other, out=tmp_path / "dead", track=False)
    dead.folder.mkdir()
    journal = dead.folder / "tuning.journal"
    shutil.copy(job.folder / "tuning.journal", journal)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bundle, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_job(dead)
    assert not dead.out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["dead.training"]
    assert journal.stat().st_size > 0
    assert journal.read_bytes() != (job.folder / "tuning.journal").read_bytes()
