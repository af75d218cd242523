"""Both clients against a real service: what the reference promises is what the client does."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from either_client import Either, Kind
from outside_client import new_credentials, open_service
from running_service import Running
from scoring_model.client import Address, NotFound
from scoring_peer import Time

PERSON: Final[dict[str, Any]] = {
    "first_name": "Marta",
    "last_name": "Wilson",
    "dob": "1991-07-23",
    "citizenship": "GB",
    "document_type": "PASSPORT",
    "image_urls": ["https://images.example/1.jpg"],
    "address": Address(line1="4 Mill Lane", city="Leeds", country="GB"),
    "external_id": "customer-7",
}
URL: Final = "https://receiver.example/scoring"
SCORING_SECONDS: Final = 1


class Wire(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Records requests and statuses, and loses the first answers.

    Parameters
    ----------
    lose : int
        How many of the first answers are lost after the service gave them.
    """

    def __init__(self, lose: int = 0) -> None:
        self.requests: list[httpx.Request] = []
        self.statuses: list[int] = []
        self._lose = lose
        self._blocking = httpx.HTTPTransport()
        self._async = httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it."""
        response = self._blocking.handle_request(request)
        response.read()
        return self._noted(request, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it."""
        response = await self._async.handle_async_request(request)
        await response.aread()
        return self._noted(request, response)

    def close(self) -> None:
        """Close it."""
        self._blocking.close()

    async def aclose(self) -> None:
        """Close it."""
        await self._async.aclose()

    def _noted(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        self.requests.append(request)
        self.statuses.append(response.status_code)
        if len(self.statuses) <= self._lose:
            raise httpx.ReadError("lost", request=request)
        return response


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service has its database."""
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def service(sealed: Path, folder: Path) -> Iterator[Running]:
    """A service that soon gives up waiting."""
    words = ["--scoring-timeout", f"{SCORING_SECONDS}s", "--commit-timeout", "5s"]
    with open_service(folder, sealed, *words) as found:
        yield found


@pytest.fixture
def connected(kind: Kind, service: Running, folder: Path) -> Iterator[Callable[..., Either]]:
    """Connects a new client of the service, by default on the real clock; closed after the test."""
    clients: list[Either] = []

    def one(*, quota: str = "100000/1", time: Time | None = None, **options: Any) -> Either:
        made = new_credentials(folder, quota=quota)
        named = {"client_id": made["x-client-id"], "api_key": made["x-api-key"]}
        clients.append(Either(kind, service.url, time, **{**named, **options}))
        return clients[-1]

    yield one
    for client in clients:
        client.close()


@contextmanager
def held(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep the service from writing; what is given lets it write again."""
    with closing(
        sqlite3.connect(folder / "scoring.db", isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute("BEGIN IMMEDIATE")

        def release() -> None:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

        yield release
        release()


def test_every_operation(connected: Callable[..., Either]) -> None:
    """Each method gets from the service what it says it gives."""
    client = connected()
    assert client.do(lambda c: c.health.live())
    assert client.do(lambda c: c.health.ready())
    identity = client.do(lambda c: c.identities.create(**PERSON))
    assert (identity.validated, identity.status, identity.address.city) == (True, "VALIDATED", "Leeds")
    assert client.do(lambda c: c.identities.get(identity.id)) == identity
    made = client.do(
        lambda c: c.verifications.create(
            identity_id=identity.id,
            signals={"deviceId": "d-1", "emailAgeDays": 3, "vpn": True},
            subject_id="s",
        )
    )
    assert (made.status, made.subject_id, made.identity_id) == ("COMPLETED", "s", identity.id)
    assert 0 <= made.scoring_score <= 1000
    assert client.do(lambda c: c.verifications.wait(made)) == made
    assert client.do(lambda c: c.verifications.get(made.id)) == made
    erased = client.do(lambda c: c.verifications.erase_signals(made.id))
    assert erased == made.model_copy(update={"subject_id": None})
    hooks = [client.do(lambda c: c.webhooks.create(destination_url=URL)) for _ in range(3)]
    shown = [hook.model_copy(update={"secret": None}) for hook in hooks]
    assert all(hook.secret.startswith("whsec_") for hook in hooks)
    assert client.all(lambda c: c.webhooks.list(page_size=2)) == shown
    assert client.do(lambda c: c.webhooks.get(hooks[0].id)) == shown[0]
    changed = client.do(lambda c: c.webhooks.update(hooks[0].id, destination_url=URL, active=False))
    assert (changed.active, changed.event_types) == (False, hooks[0].event_types)
    assert client.do(lambda c: c.webhooks.test(hooks[0].id)) == changed
    assert client.do(lambda c: c.webhooks.rotate_secret(hooks[0].id)).secret != hooks[0].secret
    deleted = client.do(lambda c: c.webhooks.delete(hooks[1].id))
    assert deleted == shown[1]
    assert [hook.id for hook in client.all(lambda c: c.webhooks.list())] == [hooks[0].id, hooks[2].id]
    with pytest.raises(NotFound):
        client.do(lambda c: c.webhooks.get(hooks[1].id))


def test_what_is_kept(connected: Callable[..., Either]) -> None:
    """A kept answer is given without asking for a minute; then the service says that it is still so."""
    wire, clock = Wire(), Time()
    client = connected(transport=wire, time=clock)
    identity = client.do(lambda c: c.identities.create(**PERSON))
    got = [client.do(lambda c: c.identities.get(identity.id)) for _ in range(3)]
    clock.now += 61
    got += [client.do(lambda c: c.identities.get(identity.id)) for _ in range(3)]
    assert got == [identity] * 6
    assert wire.statuses == [201, 200, 304]
    assert wire.requests[-1].headers["If-None-Match"]


def test_an_answer_that_is_lost(connected: Callable[..., Either]) -> None:
    """A request whose answer was lost is sent again, and the service replays what it did."""
    wire = Wire(lose=1)
    client = connected(transport=wire)
    hook = client.do(lambda c: c.webhooks.create(destination_url=URL))
    assert wire.statuses == [200, 200]
    assert [one.id for one in client.all(lambda c: c.webhooks.list())] == [hook.id]


def test_one_that_is_pending(connected: Callable[..., Either], folder: Path) -> None:
    """What could not be scored in time is PENDING, `wait` gives its verdict, and so does its key."""
    wire = Wire()
    client = connected(transport=wire)
    other = connected()
    with held(folder) as release:
        # One transaction waits for the database, so that the next request stays in the queue.
        before = threading.Thread(target=lambda: other.do(lambda c: c.identities.create()))
        before.start()
        time.sleep(SCORING_SECONDS / 2)
        timer = threading.Timer(2 * SCORING_SECONDS, release)
        timer.start()
        made = client.do(lambda c: c.verifications.create(signals={"vpn": True}, idempotency_key="k"))
        timer.join()
        before.join()
    assert (made.status, made.scoring_outcome) == ("PENDING", None)
    assert wire.statuses == [202]
    done = client.do(lambda c: c.verifications.wait(made))
    assert (done.id, done.status) == (made.id, "COMPLETED")
    again = client.do(lambda c: c.verifications.create(signals={"vpn": True}, idempotency_key="k"))
    assert again.id == made.id
    assert wire.statuses[-1] == 202
