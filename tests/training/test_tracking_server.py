"""Tracking with a real server: direct logging, outages, later copies, and killed processes."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from program import Captured
from running_service import PROGRAM, SECONDS, free_port, until
from scoring_model.cli import main
from scoring_model.training.mlflow_runs import TrackedRun, client_of
from scoring_model.training.tracking import TrackingError, sync, track
from tracking_server import Relay, TrackingServer, tracking_server
from tracking_use import assert_logged_once, challenger, record_of, runs_of


@pytest.fixture(scope="module", autouse=True)
def starting(
    tracking_folder: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TrackingServer]:
    """A server that starts while tests that do not need it run."""
    with tracking_server(tracking_folder(tmp_path_factory.mktemp("servers") / "server")) as server:
        yield server


@pytest.fixture
def server(starting: TrackingServer) -> TrackingServer:
    """The server, when it answers."""
    return starting.await_ready()


@pytest.fixture
def folder(tracking_folder: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A folder for runs, with an empty database."""
    return tracking_folder(tmp_path / "tracking")


@pytest.fixture(scope="module")
def kept(tracking_folder: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs whose server was unreachable, the later training first."""
    scratch = tmp_path_factory.mktemp("kept")
    folder = tracking_folder(scratch / "tracking")
    for number in (2, 1):
        record = record_of(scratch / f"bundle-{number}", number=number, use="kept")
        run = track(record, folder=folder, uri=f"http://risk:s3cret@127.0.0.1:{free_port()}")
        assert run.not_logged is not None
        assert "refused" in run.not_logged
    return folder


def test_a_run_of_an_unreachable_server_is_kept(kept: Path, tmp_path: Path) -> None:
    """The folder has the complete run with the name of its server, without credentials."""
    record = record_of(tmp_path / "bundle", use="kept")
    run = assert_logged_once(f"sqlite:///{kept}/mlflow.db", record, tmp_path)
    assert run.data.tags["meant_for"].startswith("http://127.0.0.1:")
    assert b"s3cret" not in (kept / "mlflow.db").read_bytes()


@pytest.mark.parametrize(("given", "seconds"), [(None, 1), ("2", 2)])
def test_a_silent_server_times_out(
    given: str | None, seconds: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request to a server that never answers ends after a third of the time, or after the user's limit."""
    if given is not None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", given)
    record = record_of(tmp_path / "bundle")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run = track(record, folder=folder, uri=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=3)
    assert f"timeout={seconds})" in str(run.not_logged)
    assert_logged_once(run.uri, record, tmp_path)
    assert os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT") == given
    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ


def test_the_total_is_limited_whatever_a_request_may_take(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the user's limit of a request is above the total limit, the total limit ends the call."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "600")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uri = f"http://127.0.0.1:{listener.getsockname()[1]}"
        run = track(record_of(tmp_path / "bundle"), folder=folder, uri=uri, timeout=0.3)
    assert run.not_logged == "it took longer than 0.3 s"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "600"


def test_ctrl_c_ends_the_wait_and_keeps_the_run(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C during the wait for a silent server keeps the run as a timeout does."""
    record = record_of(tmp_path / "bundle")
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as connections:

        def interrupt() -> None:
            caller = connections.enter_context(listener.accept()[0])  # closed later: that is another error
            caller.recv(1)  # the request is sent: what remains is the wait
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        run = track(
            record, folder=folder, uri=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=SECONDS
        )
    assert run.not_logged == "interrupted"
    assert_logged_once(run.uri, record, tmp_path)


def test_a_folder_without_a_store_is_refused(capsys: Captured, tmp_path: Path) -> None:
    """A folder without runs is an error that names it; nothing is created there."""
    assert main(["tracking", "sync", str(tmp_path), "--tracking-uri", "http://127.0.0.1:1"]) == 1
    assert f"{tmp_path}: holds no mlflow.db" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_absent_folder_is_an_error(tmp_path: Path) -> None:
    """The error names the folder and what it lacks."""
    with pytest.raises(TrackingError, match=r"absent: holds no mlflow\.db"):
        sync(tmp_path / "absent")


def test_a_server_that_fails_is_asked_once(kept: Path) -> None:
    """After a failure the other runs of the same server are not tried."""
    with Relay(free_port(), limit=0) as relay:
        with pytest.raises(TrackingError, match="0 runs copied, 0 were there; "):
            sync(kept, uri=relay.uri)
        assert relay.count == 1


def test_a_broken_store_is_named(capsys: Captured, tmp_path: Path) -> None:
    """A file that is not a database is an error that names the folder, without a traceback."""
    (tmp_path / "mlflow.db").write_bytes(b"garbage" * 1000)
    assert main(["tracking", "sync", str(tmp_path), "--tracking-uri", "http://127.0.0.1:1"]) == 1
    error = capsys.readouterr().err
    assert f"error: {tmp_path}: " in error
    assert "not a database" in error
    assert "Traceback" not in error


def test_runs_without_artifacts_are_named(kept: Path, tmp_path: Path) -> None:
    """A folder without artifacts is refused with the ids of all affected runs; nothing is copied."""
    shutil.copy(kept / "mlflow.db", tmp_path)
    ids = [path.name for path in (kept / "artifacts").iterdir()]
    with pytest.raises(TrackingError, match="holds no artifacts of the runs") as caught:
        sync(tmp_path, uri=f"http://127.0.0.1:{free_port()}")
    assert len(ids) == 2
    assert all(name in str(caught.value) for name in ids)


def test_a_server_that_answers_has_the_run(server: TrackingServer, tmp_path: Path) -> None:
    """The server has the run and its bundle as the challenger; nothing is kept beside the bundle."""
    record = record_of(tmp_path / "bundle", use="direct")
    run = track(record, folder=tmp_path / "tracking", uri=server.uri)
    assert run == TrackedRun(run_id=run.run_id, model_version="1", uri=server.uri)
    assert_logged_once(server.uri, record, tmp_path)
    assert challenger(server.uri, "direct") == "1"
    assert not (tmp_path / "tracking").exists()


def test_a_sync_copies_each_run_once(
    server: TrackingServer, kept: Path, tmp_path: Path, capsys: Captured
) -> None:
    """The command copies complete runs in the order of their ends; a second call copies nothing."""
    command = ["tracking", "sync", str(kept), "--tracking-uri", server.uri, "--json"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert [run["model_version"] for run in result["copied"]] == ["1", "2"]
    assert (result["present"], result["unaddressed"], result["incomplete"]) == (0, 0, 0)
    assert challenger(server.uri, "kept") == "2"
    for number in (1, 2):
        record = record_of(tmp_path / str(number), number=number, use="kept")
        run = assert_logged_once(server.uri, record, tmp_path)
        assert run.info.run_id == result["copied"][number - 1]["run_id"]
        assert "meant_for" not in run.data.tags
    assert main(command[:-1]) == 0
    assert capsys.readouterr().out == "0 runs copied, 2 were there already\n"


def test_each_run_goes_to_its_server(
    server: TrackingServer, folder: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Without a URI runs go to their own servers, from a moved folder too; other and incomplete runs stay."""
    meant = record_of(tmp_path / "one", use="meant")
    stays = record_of(tmp_path / "two", use="meant", number=2)
    moved = ["tracking", "sync", str(tmp_path / "moved")]
    with Relay(server.port, limit=3) as relay:
        assert track(meant, folder=folder, uri=relay.uri).not_logged is not None
        client = client_of(track(stays, folder=folder).uri)
        experiment = client.get_experiment_by_name("meant")
        assert experiment is not None
        client.create_run(experiment.experiment_id, tags={"training_key": "incomplete"})
        folder.rename(tmp_path / "moved")
        assert main(moved) == 1
        assert f"0 runs copied, 0 were there; {relay.uri}: " in capsys.readouterr().err
        relay.reset(1000)
        assert main(moved) == 0
    output = capsys.readouterr().out
    assert "1 runs copied" in output
    assert "1 runs have no server" in output
    assert "1 runs are incomplete" in output
    assert_logged_once(server.uri, meant, tmp_path)
    assert runs_of(server.uri, stays) == []


def test_the_alias_never_goes_back(server: TrackingServer, tmp_path: Path) -> None:
    """A training that is logged after a later one gets no alias; a still later training gets it."""
    for number, version, holder in ((5, "1", "1"), (3, "2", "1"), (7, "3", "3"), (6, "4", "3")):
        record = record_of(tmp_path / f"bundle-{number}", number=number, use="ordered")
        assert track(record, folder=tmp_path, uri=server.uri).model_version == version
        assert challenger(server.uri, "ordered") == holder


def test_a_foreign_version_counts_by_its_registration(server: TrackingServer, tmp_path: Path) -> None:
    """A version of another program keeps the alias if the training ended before its registration."""
    client, record = client_of(server.uri), record_of(tmp_path / "bundle", use="foreign")
    client.create_registered_model("foreign")
    run = client.create_run(client.create_experiment("foreign"))
    client.create_model_version("foreign", f"{run.info.artifact_uri}/model", run.info.run_id)
    client.set_registered_model_alias("foreign", "challenger", "1")
    assert track(record, folder=tmp_path, uri=server.uri).model_version == "2"
    assert challenger(server.uri, "foreign") == "1"


def test_a_deleted_run_is_not_copied_again(server: TrackingServer, tmp_path: Path) -> None:
    """A run that was deleted on the server stays deleted."""
    client, record = client_of(server.uri), record_of(tmp_path / "bundle", use="deleted")
    first = track(record, folder=tmp_path, uri=server.uri)
    client.delete_model_version("deleted", "1")
    client.delete_run(first.run_id)
    again = track(record, folder=tmp_path, uri=server.uri)
    assert (again.existed, again.run_id, again.model_version) == (True, first.run_id, None)


def test_a_run_is_logged_once_wherever_it_is_interrupted(
    server: TrackingServer, folder: Path, tmp_path: Path
) -> None:
    """If the first, second, third and so on response is lost, one run and one version remain."""
    record = record_of(tmp_path / "bundle", use="interrupted")
    track(record, folder=folder)
    failed = 0
    with Relay(server.port, limit=0, lost=True) as relay:
        while not _completes(folder, relay):
            failed += 1
            relay.reset(failed)
    assert 12 < failed < 30
    assert len(runs_of(server.uri, record)) == 1
    assert_logged_once(server.uri, record, tmp_path)
    assert challenger(server.uri, "interrupted") == "1"


def _completes(folder: Path, relay: Relay) -> bool:
    """Sync through a relay; return whether it succeeds."""
    try:
        sync(folder, uri=relay.uri)
    except TrackingError:
        return False
    return True


def test_duplicates_become_one(server: TrackingServer, tmp_path: Path) -> None:
    """Of two unfinished runs with two versions each, one run and its first version remain."""
    client, record = client_of(server.uri), record_of(tmp_path / "bundle", use="twice")
    experiment = client.create_experiment("twice")
    client.create_registered_model("twice")
    for _ in range(2):
        run = client.create_run(experiment, tags={"training_key": record.key}, run_name=record.name)
        for _ in range(2):
            client.create_model_version("twice", f"{run.info.artifact_uri}/bundle", run.info.run_id)
    track(record, folder=tmp_path, uri=server.uri)
    assert len(client.search_model_versions("name='twice'")) == 1
    (run,) = [run for run in runs_of(server.uri, record) if run.info.lifecycle_stage == "active"]
    assert run.info.status == "FINISHED"


def test_the_next_sync_completes_what_a_killed_one_began(
    server: TrackingServer, folder: Path, tmp_path: Path
) -> None:
    """Killing a sync with -9 unlocks the folder for the next one, which completes the run."""
    record = record_of(tmp_path / "bundle", use="killed")
    track(record, folder=folder)
    with Relay(server.port, limit=6, silent=True) as relay, ThreadPoolExecutor(1) as pool:
        process = subprocess.Popen([PROGRAM, "tracking", "sync", folder, "--tracking-uri", relay.uri])
        until(relay.over.is_set, "the seventh request")
        assert _is_locked(folder)
        waiting = pool.submit(sync, folder, uri=server.uri)
        assert [run.info.status for run in runs_of(server.uri, record)] == ["RUNNING"]
        process.kill()
        process.wait()
        done = waiting.result(timeout=SECONDS)
    assert (len(done.copied), done.present) == (1, 0)
    assert len(runs_of(server.uri, record)) == 1
    assert_logged_once(server.uri, record, tmp_path)


def _is_locked(folder: Path) -> bool:
    """Return whether a process syncs a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
