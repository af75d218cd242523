"""The service as real processes: its start, its end, and the death of a worker."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Final

import pytest

from databases import Databases
from outside_client import (
    IDENTITIES,
    PERSON,
    VERIFICATIONS,
    WEBHOOKS,
    OutsideClient,
    new_credentials,
    port_of,
)
from running_service import Running, is_alive, running, start, until
from scoring_model.bundle import BundleError
from scoring_model.bundle.reader import read_manifest
from scoring_model.service.activation.shelf import BundlesMissing
from scoring_model.service.core.rows import BundleRow
from scoring_model.service.keys.keyring import generate_master_key
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.run import AddressUnavailable, base_url, listen, prepare
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.store import SchemaMissing, Store, open_store, with_store
from scraping import metrics_url, scraped, value
from webhook_receiver import Receiver, receiving

HEAVY: Final = "numba pyarrow pandas lightgbm sklearn sqlalchemy alembic"
UNNEEDED: Final = ("numba", "llvmlite", "pyarrow")
"""What the image that serves leaves out."""
WORKERS: Final = 2
BATCH: Final = QueueLimits().batch
KEY: Final = generate_master_key()


@contextmanager
def serving_on(url: str, bundle: Path, folder: Path) -> Iterator[Running]:
    """A service of two workers on PostgreSQL."""
    (folder / "sitecustomize.py").write_text(f"import sys; sys.modules.update(dict.fromkeys({UNNEEDED}))")
    environment = on(url.replace("scoring@", "scoring:s3cret@")) | {"PYTHONPATH": str(folder)}
    with running(folder, *two_workers(bundle), environment=environment) as service:
        yield service


@pytest.fixture(scope="module")
def url_of_two(postgres: Databases) -> Iterator[str]:
    """The database of `two`."""
    with postgres.fresh() as url:
        yield url


@pytest.fixture(scope="module")
def two(sealed: Path, url_of_two: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One such service for tests that leave it with two workers."""
    with serving_on(url_of_two, sealed, tmp_path_factory.mktemp("two")) as service:
        yield service


@pytest.fixture
def own(sealed: Path, postgres: Databases, tmp_path: Path) -> Iterator[Running]:
    """One for a test that ends it."""
    with postgres.fresh() as url, serving_on(url, sealed, tmp_path) as service:
        yield service


def two_workers(bundle: Path) -> list[object]:
    """Arguments of a service of two workers, without its database."""
    words = ["--workers", WORKERS, "--metrics-port", "0", "--no-request-log", "--development"]
    return ["--bundle", bundle, "--bundles", "shelf", *words]


def on(url: str) -> dict[str, str]:
    """Variables of a service on PostgreSQL."""
    keys = {"SCORING_MODEL_MASTER_KEY": "env:KEYS", "KEYS": KEY}
    return {"SCORING_MODEL_DATABASE": url, **keys}


def arguments(bundle: Path, database: str = "sqlite:///scoring.db") -> list[object]:
    """Arguments of a service with its own shelf folder."""
    return ["--bundle", bundle, "--bundles", "shelf", "--database", database]


def settings_of(bundle: Path, folder: Path, **changed: object) -> ServiceSettings:
    """Settings of a service on SQLite."""
    plain = {
        "bundle": bundle,
        "bundles": folder / "shelf",
        "database": f"sqlite:///{folder / 'scoring.db'}",
        **changed,
    }
    return ServiceSettings(**plain)  # type: ignore[arg-type]


def prepared(settings: ServiceSettings) -> tuple[ServiceSettings, list[str]]:
    """Prepare the service; return what it serves, and its reports."""
    reported: list[str] = []
    return asyncio.run(prepare(settings, report=reported.append)), reported


def test_it_answers_once_it_says_so_and_stops_when_asked(sealed: Path, tmp_path: Path) -> None:
    """Standard output has only the URL, the service is then ready, and SIGTERM ends it with 0."""
    with running(tmp_path, *arguments(sealed)) as service:
        status, body = service.request("GET", "/health/ready")
        assert (status, body["status"]) == (200, "ready")
        assert service.stop() == 0
        assert service.process.stdout is not None
        assert service.process.stdout.read() == ""
    log = service.log.read_text()
    assert "NEW MASTER KEY in scoring.db.key" in log
    assert '"route":"/health/ready"' in log
    assert "DEVELOPMENT" not in log
    last = json.loads(log.splitlines()[-1])
    assert (last["notice"], last["process"]) == ("stopped", service.process.pid)
    assert last["time"] > "2026"
    assert stat.S_IMODE((tmp_path / "scoring.db.key").stat().st_mode) == 0o600


def test_a_taken_port_is_reported_before_anything_is_made(sealed: Path, tmp_path: Path) -> None:
    """A used port is reported with exit code 1, and neither database nor key is created."""
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        process = start(tmp_path, *arguments(sealed), "--port", port)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"can't listen on 127.0.0.1 port {port}: the port is taken" in error
    assert list(tmp_path.iterdir()) == []


def test_a_worker_serves_without_heavy_libraries(two: Running) -> None:
    """A worker loads no library of tables, training or migrations."""
    maps = Path(f"/proc/{two.workers()[0]}/maps").read_text()
    assert "onnxruntime" in maps
    assert not [name for name in HEAVY.split() if f"/{name}/" in maps]


def test_all_that_is_served_works_without_what_the_image_leaves_out(
    two: Running, url_of_two: str, tmp_path: Path
) -> None:
    """Identities, verifications, deliveries and erasure work where compilers and tables can't be imported.

    Nothing of them is on the page of metrics.
    """
    client = OutsideClient(port_of(two), new_credentials(tmp_path, url_of_two))
    with receiving() as receiver:
        client.made(WEBHOOKS, {"destinationUrl": receiver.url, "active": True})
        identity = client.made(IDENTITIES, PERSON)
        outcome = client.made(VERIFICATIONS, {"identityId": identity["id"]})["scoringOutcome"]
        erased = client.ask("DELETE", f"{IDENTITIES}/{identity['id']}")
        assert (erased.status, erased.json["status"]) == (200, "REDACTED")
        types = {"identity.created", f"verification.{outcome.lower()}", "identity.redacted"}
        until(lambda: types <= {json.loads(one.body)["type"] for one in receiver.taken}, "all events")
    labels = [
        text
        for samples in scraped(metrics_url(two)).values()
        for one in samples
        for text in one.labels.values()
    ]
    for text in (PERSON["firstName"], PERSON["lastName"], identity["id"], client.credentials["x-client-id"]):
        assert not [label for label in labels if text.lower() in label.lower()]


def test_a_worker_that_dies_is_replaced(two: Running) -> None:
    """A worker that crashes is logged, with its stacks, and replaced while requests are still answered."""
    before = two.workers()
    assert len(before) == WORKERS
    os.kill(before[0], signal.SIGSEGV)
    assert two.request("GET", "/health/live")[0] == 200
    until(lambda: len(two.workers()) == WORKERS and before[0] not in two.workers(), "another worker")
    assert before[1] in two.workers()
    line = f"worker {before[0]} ended with -11; another one starts in 0.5 s"
    until(lambda: line in two.log.read_text(), "the line of its end")
    assert "Fatal Python error: Segmentation fault" in two.log.read_text()
    assert two.request("GET", "/health/ready")[0] == 200


def test_metrics_are_those_of_all_workers_also_of_dead_ones(
    two: Running, url_of_two: str, tmp_path: Path
) -> None:
    """Counters equal the rows; after SIGKILL under load they lack at most one batch, and then go on."""
    page = metrics_url(two)
    client = OutsideClient(port_of(two), new_credentials(tmp_path, url_of_two))
    assert OutsideClient(client.port).ask("GET", WEBHOOKS).status == 401
    before = completed(url_of_two)
    over = threading.Event()

    def load(most: int) -> None:
        for _ in range(most):
            if not over.is_set():
                with contextlib.suppress(OSError, HTTPException):  # its worker was killed
                    client.ask("POST", VERIFICATIONS, {"signals": {"vpn": True}})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, [5] * 4))
        samples = scraped(page)
        assert value(samples, "verifications_total") == completed(url_of_two) == before + 20
        assert value(samples, "requests_total", operation="createVerification", status="201") == before + 20
        assert value(samples, "score_count") == before + 20
        assert value(samples, "errors_total", code="unauthorized") == 1
        assert value(samples, "database_up") == 1
        loads = [pool.submit(load, 10_000) for _ in range(4)]
        victim = two.workers()[0]
        until(lambda: value(scraped(page), "verifications_total") > before + 40, "a load")
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(two.workers()) == WORKERS and victim not in two.workers(), "another worker")
        over.set()
        for one in loads:
            one.result()
    until(lambda: value(scraped(page), "queue_waiting") == 0, "an empty queue")
    missed = completed(url_of_two) - value(scraped(page), "verifications_total")
    assert 0 <= missed <= BATCH


def completed(url: str) -> int:
    """Number of completed verifications."""

    async def count(store: Store) -> int:
        async with store.reading() as reader:
            return sum((await reader.outcomes()).values())

    return with_store(url, count)


def test_workers_stop_with_the_first_process(own: Running) -> None:
    """SIGTERM ends all of them and the exit code is 0; the URL of the database is in no log."""
    workers = own.workers()
    assert own.stop() == 0
    assert not any(is_alive(worker) for worker in workers)
    assert "s3cret" not in own.log.read_text()


def test_workers_do_not_outlive_a_killed_supervisor(own: Running) -> None:
    """If the parent process is killed, its workers exit and free the port."""
    workers = own.workers()
    own.process.kill()
    own.process.wait()
    until(lambda: not any(is_alive(worker) for worker in workers), "the end of the workers")
    assert len(workers) == 2


def test_attempts_under_way_end_before_the_service(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """After SIGTERM an attempt is finished and recorded, so nothing is sent again."""
    shutil.copy(migrated, tmp_path)
    with receiving() as receiver, running(tmp_path, *arguments(sealed), "--development") as service:
        assert delivers(service)
        receiver.open.clear()
        send_test(service, receiver, tmp_path)
        until(lambda: len(receiver.taken) == 1, "an attempt")
        service.process.send_signal(signal.SIGTERM)
        until(lambda: not answers(service), "the end of requests")
        assert service.process.poll() is None
        receiver.open.set()
        assert service.process.wait(timeout=60) == 0
    assert delivered(tmp_path) == [("DELIVERED", 1, None)]
    assert len(receiver.taken) == 1


def test_attempts_hold_the_end_up_no_longer_than_the_grace(
    sealed: Path, migrated: Path, tmp_path: Path
) -> None:
    """An attempt that outlasts the grace period is repeated by another process after its lease; so at Ctrl-C."""
    shutil.copy(migrated, tmp_path)
    words = [*arguments(sealed), "--development", "--shutdown-grace", "1s"]
    with receiving() as receiver, running(tmp_path, *words) as service:
        receiver.open.clear()
        send_test(service, receiver, tmp_path)
        until(lambda: len(receiver.taken) == 1, "an attempt")
        assert service.stop(signal.SIGINT) == 0
        ((status, attempts, leased),) = delivered(tmp_path)
    assert (status, attempts, leased is None) == ("WAITING", 0, False)
    assert "DEVELOPMENT MODE" in service.log.read_text()
    assert "Traceback" not in service.log.read_text()


def test_a_service_that_does_not_deliver(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """Without delivery events wait and no delivery code is loaded."""
    shutil.copy(migrated, tmp_path)
    words = [*arguments(sealed), "--development", "--no-deliver"]
    with receiving() as receiver, running(tmp_path, *words) as service:
        assert not delivers(service)
        send_test(service, receiver, tmp_path)
        assert service.stop() == 0
        assert (receiver.taken, delivered(tmp_path)) == ([], [])


def send_test(service: Running, receiver: Receiver, folder: Path) -> None:
    """Create a client with a webhook of a receiver, and send a test event to it."""
    client = new_credentials(folder)
    body = {"destinationUrl": receiver.url, "active": True}
    _, webhook = service.request("POST", "/scoring/v1/webhooks", body, client)
    service.request("POST", f"/scoring/v1/webhooks/{webhook['id']}/test", headers=client)


def delivers(service: Running) -> bool:
    """Return True if a service has loaded the code of deliveries."""
    return "/aiohttp/" in Path(f"/proc/{service.process.pid}/maps").read_text()


def answers(service: Running) -> bool:
    """Return True if a service accepts connections."""
    try:
        service.request("GET", "/health/live")
    except OSError:
        return False
    return True


def delivered(folder: Path) -> list[tuple[str, int, int | None]]:
    """Status, attempts and lease of all deliveries."""
    with closing(sqlite3.connect(folder / "scoring.db")) as connection:
        return connection.execute("SELECT status, attempts, leased_until FROM deliveries").fetchall()


def test_a_second_service_on_a_file_is_refused(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """A second service names PostgreSQL and exits with 1; one that crashed leaves its stacks and no lock."""
    shutil.copy(migrated, tmp_path)
    with running(tmp_path, *arguments(sealed)) as service:
        process = start(tmp_path, *arguments(sealed))
        said, error = process.communicate(timeout=60)
        assert (process.returncode, said) == (1, "")
        assert "error: another process serves scoring.db" in error
        assert "PostgreSQL" in error
        client = new_credentials(tmp_path)
        assert service.request("GET", "/scoring/v1/webhooks", headers=client)[0] == 200
        service.process.send_signal(signal.SIGSEGV)
        service.process.wait()
        assert "Fatal Python error: Segmentation fault" in service.log.read_text()
    with running(tmp_path, *arguments(sealed)) as service:
        assert service.request("GET", "/scoring/v1/webhooks", headers=client)[0] == 200


def test_a_worker_that_never_answers_ends_the_service(
    sealed: Path, tmp_path: Path, postgres_url: str
) -> None:
    """If a bundle's link keys differ from the history's, preparation succeeds but every worker fails: exit 1."""

    async def forge() -> None:
        store = await open_store(postgres_url)
        async with store.writing(["*"]) as transaction:
            await transaction.set_fact("link_keys", b"{}")
        await store.close()

    asyncio.run(forge())
    process = start(tmp_path, *two_workers(sealed), environment=on(postgres_url))
    said, error = process.communicate(timeout=60)
    assert (process.returncode, said) == (1, "")
    assert "the bundle's link keys are" in error
    assert "a worker ended with 1 before it answered" in error
    assert "Traceback" not in error


def test_the_bundle_that_serves_is_the_one_that_is_kept(sealed: Path, tmp_path: Path) -> None:
    """Preparing gives settings of the copy on the shelf; repeating it makes nothing new."""
    manifest = read_manifest(sealed)
    settings, _ = prepared(settings_of(sealed, tmp_path))
    assert settings.bundle == tmp_path / "shelf" / f"{manifest.model_version}.{manifest.policy_version}"
    assert settings.bundles == tmp_path / "shelf"
    key = (tmp_path / "scoring.db.key").read_bytes()
    again, reported = prepared(settings_of(sealed, tmp_path))
    assert (again, reported, (tmp_path / "scoring.db.key").read_bytes()) == (settings, [], key)


def test_a_lost_master_key_is_never_replaced(sealed: Path, tmp_path: Path) -> None:
    """A database with a root secret gets no new key: the start fails with the name of the missing file."""
    prepared(settings_of(sealed, tmp_path))
    (tmp_path / "scoring.db.key").unlink()
    with pytest.raises(Exception, match=r"scoring\.db\.key"):
        prepared(settings_of(sealed, tmp_path))
    assert not (tmp_path / "scoring.db.key").exists()


def test_bundles_that_served_must_be_there(sealed: Path, tmp_path: Path) -> None:
    """A model of the database missing from the shelf is reported by its versions."""
    prepared(settings_of(sealed, tmp_path))

    async def know() -> None:
        store = await open_store(f"sqlite:///{tmp_path / 'scoring.db'}")
        async with store.writing([]) as transaction:
            await transaction.insert([BundleRow("lost-1", "p", "{}", 0)])
        await store.close()

    asyncio.run(know())
    with pytest.raises(BundlesMissing, match="lost-1 with policy p"):
        prepared(settings_of(sealed, tmp_path))


def test_a_torn_bundle_is_named_with_its_folder(sealed: Path, tmp_path: Path) -> None:
    """So that an operator with several bundles knows which one to replace."""
    torn = shutil.copytree(sealed, tmp_path / "torn")
    (torn / "scale.json").write_bytes(b"{}")
    with pytest.raises(BundleError, match=rf"{torn}: .*scale\.json"):
        prepared(settings_of(torn, tmp_path))


def test_a_further_machine_begins_with_an_empty_shelf(sealed: Path, tmp_path: Path) -> None:
    """The served bundle is copied to a new shelf."""
    prepared(settings_of(sealed, tmp_path))
    manifest = read_manifest(sealed)

    async def serve() -> None:
        store = await open_store(f"sqlite:///{tmp_path / 'scoring.db'}")
        async with store.writing([]) as transaction:
            await transaction.insert([BundleRow(manifest.model_version, manifest.policy_version, "{}", 0)])
        await store.close()

    asyncio.run(serve())
    settings, _ = prepared(settings_of(sealed, tmp_path, bundles=tmp_path / "further"))
    assert settings.bundle.parent == tmp_path / "further"


def test_a_new_postgresql_database_is_migrated_by_its_operator(
    sealed: Path, tmp_path: Path, postgres_url: str
) -> None:
    """PostgreSQL with tables and a configured key is prepared like a file; without tables nothing is created."""
    key = tmp_path / "master.key"
    key.write_text(f"{generate_master_key()}\n")
    key.chmod(0o600)
    named = {"database": postgres_url, "master_key": f"file:{key}"}
    settings, reported = prepared(settings_of(sealed, tmp_path, **named))
    assert (settings.database, reported) == (postgres_url, [])
    empty = postgres_url.rpartition("/")[0] + "/postgres"
    with pytest.raises(SchemaMissing, match="database migrate"):
        prepared(settings_of(sealed, tmp_path, **{**named, "database": empty}))


def test_a_failure_to_reach_the_database_hides_the_password(sealed: Path, tmp_path: Path) -> None:
    """The error for an unreachable server contains no password, even with its traceback."""
    variables = {
        "SCORING_MODEL_DATABASE": "postgresql://u:s3cret@127.0.0.1:1/d",
        "SCORING_MODEL_MASTER_KEY": "env:K",
    }
    process = start(tmp_path, "--bundle", sealed, environment=variables)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "error: " in error
    assert "s3cret" not in error


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:"), ("localhost", "http://")],
)
def test_the_url_reaches_the_socket(host: str, url: str) -> None:
    """The URL reaches the service from this machine for every listening address."""
    with listen(host, 0) as listener:
        shown = base_url(listener)
        assert shown.startswith(url)
        name, _, port = shown.removeprefix("http://").rpartition(":")
        with socket.create_connection((name.strip("[]"), int(port)), timeout=10):
            pass


def test_an_address_of_another_machine_is_reported() -> None:
    """A foreign address or an invalid name is refused with host and port."""
    for host in ("192.0.2.1", "no.such.host.invalid"):
        with pytest.raises(AddressUnavailable, match=f"can't listen on {host} port 0: "):
            listen(host, 0)
