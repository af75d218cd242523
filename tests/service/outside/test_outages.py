"""An unavailable database: requests are refused with that reason, and everything works once it is back."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from applying import Ledger, LoadSettings
from databases import Databases, running_server
from fleet import Replica
from kill_run import Scene, one_machine, playing, start_again
from outside_client import IDENTITIES, PERSON, VERIFICATIONS, WEBHOOKS, Answer, OutsideClient
from running_service import SECONDS, start, until

CALM: Final = LoadSettings(pause=0.03)
SOME: Final = 30
"""Things that are acknowledged before anything happens, and after it."""


def acknowledged(ledger: Ledger, more: int) -> None:
    """Wait until so many further things were acknowledged."""
    before = len(ledger.entries)
    until(lambda: len(ledger.entries) >= before + more, f"{more} further acknowledgements")


def only(scene: Scene) -> Replica:
    """The service of one machine."""
    (replica,) = scene.fleet.replicas
    return replica


def stranger(scene: Scene) -> OutsideClient:
    """A client whose requests are not repeated."""
    port = only(scene).port
    assert port is not None
    return OutsideClient(port, scene.credentials[0])


def refused(answer: Answer) -> bool:
    """Whether a request is refused as it has to be while the database is away."""
    if answer.status != 503:
        return False
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    assert (answer.json["status"], answer.json["code"]) in ((503, "unavailable"), (503, "not_ready"))
    return True


def asked(client: OutsideClient) -> list[Answer]:
    """One request of each kind; none of them can be answered without the database, and none leaves anything."""
    return [
        client.ask("GET", "/health/ready"),
        client.ask("GET", WEBHOOKS),
        client.ask("GET", f"{IDENTITIES}/01890a5d-ac96-774b-bcce-b302099a8057"),
        client.ask("POST", IDENTITIES, {**PERSON, "dob": "x"}),
        client.ask("POST", VERIFICATIONS, {}),
    ]


def test_a_server_that_goes_away_and_comes_back(sealed: Path, tmp_path: Path) -> None:
    """Law 10: while PostgreSQL is stopped, under load, 503; then the same processes serve, and nothing is missing.

    It is stopped in order, and then as in a crash.
    """
    with (
        running_server() as server,
        Databases(server).fresh() as url,
        playing(tmp_path, sealed, url, one_machine) as scene,
    ):
        client = stranger(scene)
        process = only(scene).pid
        with scene.applying(seed=1, settings=CALM) as ledger:
            for how in (signal.SIGINT, signal.SIGQUIT):
                acknowledged(ledger, SOME)
                server.stop(how)
                until(lambda: all(map(refused, asked(client))), "refusals of everything")
                assert client.ask("GET", "/health/live").status == 200
                time.sleep(0.5)  # of load on a database that is away
                start_again(server)
                acknowledged(ledger, SOME)
                scene.fleet.await_ready()
        assert only(scene).pid == process
        scene.settle(leases=False)
        audit = scene.audit(ledger)
    assert audit.losses == ()
    assert ledger.retries


@contextmanager
def limited(pid: int, size: int) -> Iterator[None]:
    """Let no file of a process be written beyond a size, as a full disk or an exhausted quota does."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_a_full_disk(sealed: Path, tmp_path: Path, sqlite_url: str) -> None:
    """Law 10: on a full disk changes get 503 and reads are answered; once there is space again, nothing is missing.

    First no file can be written at all, then none can grow beyond the present size of SQLite's log.
    """
    database = Path(sqlite_url.removeprefix("sqlite:///"))
    log = database.with_name(f"{database.name}-wal")
    with playing(tmp_path, sealed, sqlite_url, one_machine) as scene:
        client = stranger(scene)
        with scene.applying(seed=1, settings=CALM) as ledger:
            for space in ("none", "that of the log"):
                acknowledged(ledger, SOME)
                known = ledger.entries[-1]
                reader = OutsideClient(client.port, known.credentials)
                with limited(only(scene).pid, 0 if space == "none" else log.stat().st_size):
                    before = len(ledger.retries)
                    until(lambda before=before: len(ledger.retries) >= before + 10, "refusals")  # type: ignore[misc]
                    if space == "none":
                        assert refused(client.ask("POST", IDENTITIES, PERSON))
                    answer = reader.ask("GET", f"{known.path}/{known.id}")
                    assert (answer.status, answer.json["id"]) == (200, known.id)
                    assert client.ask("GET", "/health/live").status == 200
                acknowledged(ledger, SOME)
        scene.settle(leases=False)
        audit = scene.audit(ledger)
    assert audit.losses == ()


def test_a_start_on_a_full_disk(sealed: Path, tmp_path: Path, sqlite_url: str) -> None:
    """Law 10: without space for its files a service does not start and reports why; with space it has everything."""
    words = ("--bundle", sealed, "--database", sqlite_url)
    with playing(tmp_path, sealed, sqlite_url, one_machine) as scene:
        with scene.applying(seed=1, settings=CALM) as ledger:
            acknowledged(ledger, SOME)
        only(scene).kill_all()
        Path(
            f"{sqlite_url.removeprefix('sqlite:///')}-shm"
        ).unlink()  # which every start creates that finds none
        with limited(os.getpid(), 1 << 14):  # which the process inherits; less than any `-shm`
            process = start(tmp_path, *words, environment=scene.site.environment)
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 1
        assert "error: SQLite: SQLITE_" in errors
        only(scene).start()
        scene.settle(leases=False)
        assert scene.audit(ledger).losses == ()
