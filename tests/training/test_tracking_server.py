"""Tracking with a real server: told at once, kept while it is away, copied later, killed in the middle."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.tracking._tracking_service import utils

from running_service import PROGRAM, SECONDS, until
from scoring_model.cli import main
from scoring_model.training.tracking import (
    Patience,
    Telling,
    TrackedRun,
    TrackingError,
    TrackingSettings,
    sync,
    track,
)
from scoring_model.training.tracking.patience import patiently
from scoring_model.training.tracking.store import open_folder, open_uri
from scoring_model.training.tracking.writing import write
from tracking_server import Relay, TrackingServer, free_port, kill, tracking_server
from tracking_use import contents, runs_of, telling_of

AWAY = Patience(request=1, total=20.0)


@pytest.fixture(scope="module", autouse=True)
def starting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackingServer]:
    """A server that starts while tests without it run."""
    with tracking_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def kept(empty: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps two runs whose server was away, told in the order of their trainings."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "tracking").mkdir()
    (folder / "tracking" / "mlflow.db").write_bytes(empty)
    for number in (1, 2):
        told = telling_of(folder / f"bundle-{number}", number=number, model_name="kept")
        settings = TrackingSettings(
            uri=f"http://risk:s3cret@127.0.0.1:{free_port()}", folder=folder / "tracking", patience=AWAY
        )
        run = track(settings, told)
        assert run.untold is not None
        assert "refused" in run.untold
        assert run.uri == f"sqlite:///{folder.resolve()}/tracking/mlflow.db"
    return folder / "tracking"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database of a folder in which nothing is kept yet: MLflow takes seconds to make one."""
    folder = tmp_path_factory.mktemp("empty")
    open_folder(folder, create=True)
    return (folder / "mlflow.db").read_bytes()


@pytest.fixture
def folder(empty: bytes, tmp_path: Path) -> Path:
    """A folder to keep runs in."""
    path = tmp_path / "tracking"
    path.mkdir()
    (path / "mlflow.db").write_bytes(empty)
    return path


@pytest.fixture
def server(starting: TrackingServer) -> TrackingServer:
    """The server, answering."""
    return starting.await_ready()


def client_of(uri: str) -> MlflowClient:
    """A client of a store."""
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def take(folder: Path) -> None:
    """Take a folder as a sync does, unless one has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)


def challenger(uri: str, name: str) -> str:
    """The number of the version that wants to serve."""
    return str(client_of(uri).get_model_version_by_alias(name, "challenger").version)


def whole_once(uri: str, telling: Telling, folder: Path) -> None:
    """In a store stands exactly one run of a telling, with all of it, and one version."""
    client = client_of(uri)
    (run,) = [run for run in runs_of(client, telling) if run.info.lifecycle_stage == "active"]
    assert run.info.status == "FINISHED"
    assert (run.info.start_time, run.info.end_time) == (telling.started, telling.ended)
    assert run.info.run_name == telling.name
    assert run.data.params == telling.params
    assert telling.tags.items() <= run.data.tags.items()
    for metric in telling.metrics:
        (found,) = client.get_metric_history(run.info.run_id, metric.name)
        assert (found.value, found.timestamp) == (metric.value, metric.time)
    assert len(run.data.metrics) == len(telling.metrics)
    (data,) = run.inputs.dataset_inputs  # type: ignore[union-attr]
    assert (data.dataset.name, data.dataset.schema) == (telling.data.name, telling.data.schema)
    assert data.dataset.profile == telling.data.profile
    fetched = folder / f"fetched-{telling.key}"
    fetched.mkdir()
    client.download_artifacts(run.info.run_id, "", str(fetched))
    assert contents(fetched) == {name: path.read_bytes() for name, path in telling.files.items()}
    (version,) = client.search_model_versions(f"run_id='{run.info.run_id}'")
    assert telling.version_tags.items() <= version.tags.items()
    assert version.name == telling.model_name


def test_what_is_kept_says_what_for(kept: Path) -> None:
    """Runs that a server could not be told of are whole in the folder, with that server's name and no password."""
    store = open_folder(kept, create=False)
    (experiment,) = [e for e in store.client.search_experiments() if e.name == "tests"]
    runs = store.client.search_runs([experiment.experiment_id])
    assert len(runs) == 2
    for run in runs:
        assert run.info.status == "FINISHED"
        assert run.data.tags["meant_for"].startswith("http://127.0.0.1:")
    assert b"s3cret" not in (kept / "mlflow.db").read_bytes()


def test_a_silent_server_is_left(folder: Path, tmp_path: Path) -> None:
    """One that takes connections and says nothing is given up after a request's time; the run is kept."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uri = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = TrackingSettings(uri=uri, folder=folder, patience=AWAY)
        told = telling_of(tmp_path / "bundle")
        run = track(settings, told)
    assert run.untold is not None
    assert "timed out" in run.untold
    whole_once(run.uri, told, tmp_path)
    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ


def test_all_of_a_telling_ends_in_time(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a request may take longer than everything, everything ends first."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "600")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uri = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = TrackingSettings(uri=uri, folder=folder, patience=Patience(request=1, total=0.3))
        run = track(settings, telling_of(tmp_path / "bundle"))
    assert run.untold == "it took longer than 0.3 s"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "600"


def test_a_folder_without_a_store_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is made in a folder that keeps no runs, and the error names it."""
    assert main(["tracking", "sync", str(tmp_path), "--tracking-uri", "http://127.0.0.1:1"]) == 1
    assert f"{tmp_path}: holds no mlflow.db" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_broken_store_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A database that is none is an error with the folder's name, and no traceback."""
    (tmp_path / "mlflow.db").write_bytes(b"garbage" * 1000)
    assert main(["tracking", "sync", str(tmp_path), "--tracking-uri", "http://127.0.0.1:1"]) == 1
    error = capsys.readouterr().err
    assert f"error: {tmp_path}: " in error
    assert "not a database" in error
    assert "Traceback" not in error


def test_runs_without_files_are_named(kept: Path, tmp_path: Path) -> None:
    """A folder that lacks a run's artifacts is refused with the names of all such runs, and nothing is copied."""
    (tmp_path / "mlflow.db").write_bytes((kept / "mlflow.db").read_bytes())
    ids = [path.name for path in (kept / "artifacts").iterdir()]
    with pytest.raises(TrackingError, match="holds no artifacts of the runs") as caught:
        sync(tmp_path, uri=f"http://127.0.0.1:{free_port()}", patience=AWAY)
    assert len(ids) == 2
    assert all(name in str(caught.value) for name in ids)


def test_a_server_is_told(server: TrackingServer, tmp_path: Path) -> None:
    """A server that answers has the run, and nothing is kept beside the bundle."""
    told = telling_of(tmp_path / "bundle", model_name="direct")
    run = track(TrackingSettings(uri=server.uri, folder=tmp_path / "tracking"), told)
    assert run == TrackedRun(run_id=run.run_id, model_version="1", uri=server.uri)
    whole_once(server.uri, told, tmp_path)
    assert challenger(server.uri, "direct") == "1"
    assert not (tmp_path / "tracking").exists()


def test_a_sync_copies_once(server: TrackingServer, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command copies each run in the order of their trainings; called again it copies nothing."""
    capsys.readouterr()
    command = ["tracking", "sync", str(kept), "--tracking-uri", server.uri, "--json"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert [run["model_version"] for run in said["copied"]] == ["1", "2"]
    assert (said["present"], said["unaddressed"], said["incomplete"]) == (0, 0, 0)
    assert challenger(server.uri, "kept") == "2"
    versions = [client_of(server.uri).get_model_version("kept", number) for number in ("1", "2")]
    assert [version.tags["model_version"] for version in versions] == ["kept-of-1", "kept-of-2"]
    assert main(command[:-1]) == 0
    assert capsys.readouterr().out == "0 runs copied, 2 were there already\n"


def test_a_copy_is_whole(server: TrackingServer, kept: Path, tmp_path: Path) -> None:
    """What was copied is what was told: times, parameters, metrics, tags, data, files, version."""
    told = telling_of(tmp_path / "bundle", number=2, model_name="kept")
    sync(kept, uri=server.uri)
    whole_once(server.uri, told, tmp_path)
    (run,) = runs_of(client_of(server.uri), told)
    assert "meant_for" not in run.data.tags
    mlflow_table = client_of(server.uri).download_artifacts(run.info.run_id, "trials.json", str(tmp_path))
    assert json.loads(Path(mlflow_table).read_text())["columns"] == ["trial", "value", "rounds"]


def test_each_run_goes_where_it_was_meant_to(
    server: TrackingServer, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a server named, runs go to theirs, those of none stay, broken ones too; a folder may be moved."""
    with Relay(server.port, requests=3) as relay:
        settings = TrackingSettings(uri=relay.uri, folder=folder, patience=AWAY)
        meant = telling_of(tmp_path / "one", model_name="meant")
        assert track(settings, meant).untold is not None
        assert relay.over.is_set()
        relay_port, relay_uri = relay.port, relay.uri
    stays = telling_of(tmp_path / "two", model_name="meant", number=2)
    track(TrackingSettings(folder=folder), stays)
    store = open_folder(folder, create=False)
    (experiment,) = [e for e in store.client.search_experiments() if e.name == "tests"]
    store.client.create_run(experiment.experiment_id, tags={"training_key": "broken"})
    folder.rename(tmp_path / "moved")
    assert main(["tracking", "sync", str(tmp_path / "moved")]) == 1
    assert f"{relay_uri}: " in capsys.readouterr().err
    with Relay(server.port, requests=1000, listen=relay_port):
        assert main(["tracking", "sync", str(tmp_path / "moved")]) == 0
    said = capsys.readouterr().out
    assert "1 runs copied" in said
    assert "1 runs are meant for no server" in said
    assert "1 runs broke off" in said
    whole_once(server.uri, meant, tmp_path / "one")
    assert runs_of(client_of(server.uri), stays) == []


def test_the_alias_never_goes_back(server: TrackingServer, tmp_path: Path) -> None:
    """A training that is told after a later one is a version, and the alias stays; a still later one moves it."""
    store = open_uri(server.uri)
    for number, version, at in ((5, "1", "1"), (3, "2", "1"), (7, "3", "3"), (6, "4", "3")):
        told = telling_of(tmp_path / f"bundle-{number}", number=number, model_name="ordered")
        assert write(store, told).model_version == version
        assert challenger(server.uri, "ordered") == at


def test_a_version_by_another_hand_counts_by_its_registration(server: TrackingServer, tmp_path: Path) -> None:
    """A version that this package did not register is as old as its registration: the alias stays with it."""
    client, told = client_of(server.uri), telling_of(tmp_path / "bundle", model_name="foreign")
    client.create_registered_model("foreign")
    run = client.create_run(client.create_experiment("foreign"))
    client.create_model_version("foreign", f"{run.info.artifact_uri}/model", run.info.run_id)
    client.set_registered_model_alias("foreign", "challenger", "1")
    assert write(open_uri(server.uri), told).model_version == "2"
    assert challenger(server.uri, "foreign") == "1"


def test_what_was_deleted_is_not_copied_again(server: TrackingServer, tmp_path: Path) -> None:
    """A run that somebody deleted on the server stays deleted."""
    client, told = client_of(server.uri), telling_of(tmp_path / "bundle", model_name="deleted")
    first = write(open_uri(server.uri), told)
    client.delete_model_version("deleted", "1")
    client.delete_run(first.run_id)
    again = write(open_uri(server.uri), told)
    assert (again.was_there, again.run_id, again.model_version) == (True, first.run_id, None)


def test_wherever_it_breaks_off_it_is_finished(
    server: TrackingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A telling that breaks off after no request, after one, after two and so on ends as one run and one version."""
    told = telling_of(tmp_path / "bundle", model_name="broken")
    broken = 0
    for requests in range(40):
        # MLflow remembers by run alone where artifacts go: here that would be the last relay.
        monkeypatch.setattr(utils, "_artifact_repos_cache", OrderedDict())
        with Relay(server.port, requests=requests) as relay, contextlib.suppress(TrackingError):
            patiently(partial(write, open_uri(relay.uri), told), AWAY)
            break
        broken += 1
    assert 12 < broken < 30
    assert len(runs_of(client_of(server.uri), told)) == 1
    monkeypatch.setattr(utils, "_artifact_repos_cache", OrderedDict())
    whole_once(server.uri, told, tmp_path)
    assert challenger(server.uri, told.model_name) == "1"


def test_two_that_were_begun_become_one(server: TrackingServer, tmp_path: Path) -> None:
    """Where an answer was lost and a second run or version was made, one run and the first version stay."""
    client, told = client_of(server.uri), telling_of(tmp_path / "bundle", model_name="twice")
    experiment = client.get_experiment_by_name("tests")
    experiment_id = client.create_experiment("tests") if experiment is None else experiment.experiment_id
    client.create_registered_model("twice")
    for _ in range(2):
        run = client.create_run(experiment_id, tags={"training_key": told.key})
        for _ in range(2):
            client.create_model_version("twice", f"{run.info.artifact_uri}/bundle", run.info.run_id)
    write(open_uri(server.uri), told)
    assert len(client.search_model_versions("name='twice'")) == 1
    (run,) = [run for run in runs_of(client, told) if run.info.lifecycle_stage == "active"]
    assert run.info.status == "FINISHED"


def test_a_killed_sync_is_finished_by_the_next(server: TrackingServer, folder: Path, tmp_path: Path) -> None:
    """Killed with -9 in the middle, a sync frees the folder for one that waits, which finishes what was begun."""
    told = telling_of(tmp_path / "bundle", model_name="killed")
    track(TrackingSettings(folder=folder), told)
    client = client_of(server.uri)
    with Relay(server.port, requests=6, then="silent") as relay, ThreadPoolExecutor(1) as pool:
        process = subprocess.Popen([PROGRAM, "tracking", "sync", folder, "--tracking-uri", relay.uri])
        until(relay.over.is_set, "the seventh request")
        with pytest.raises(BlockingIOError):
            take(folder)
        waiting = pool.submit(sync, folder, uri=server.uri)
        assert process.poll() is None
        assert [run.info.status for run in runs_of(client, told)] == ["RUNNING"]
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = waiting.result(timeout=SECONDS)
    assert (len(done.copied), done.present) == (1, 0)
    assert len(runs_of(client, told)) == 1
    whole_once(server.uri, told, tmp_path)


def test_a_server_that_is_killed_is_done_without(
    server: TrackingServer, folder: Path, tmp_path: Path
) -> None:
    """Killed between two trainings, a server has the first; the second is kept. Nothing here comes after it."""
    settings = TrackingSettings(uri=server.uri, folder=folder, patience=AWAY)
    first, second = (telling_of(tmp_path / str(n), number=n, model_name="last") for n in (1, 2))
    assert track(settings, first).untold is None
    kill(server.process)
    run = track(settings, second)
    assert run.untold is not None
    whole_once(run.uri, second, tmp_path)
