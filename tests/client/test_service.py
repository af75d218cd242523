"""Both clients conform to the reference against a real service."""

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from either_client import Either, Kind
from outside_client import new_credentials, open_service
from running_service import Running
from scoring_model.client import Address, Label, NotFound

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


@pytest.fixture(scope="module")
def folder(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service has its database."""
    return Path(shutil.copy(migrated, tmp_path_factory.mktemp("client"))).parent


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

    def one() -> Either:
        made = new_credentials(folder, quota="100000/1")
        named = {"client_id": made["x-client-id"], "api_key": made["x-api-key"]}
        clients.append(Either(kind, service.url, None, **named))
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
    before = made.created_at - timedelta(microseconds=1)
    assert client.all(lambda c: c.verifications.list(created_after=before, outcome=made.scoring_outcome)) == [
        made
    ]
    assert client.all(lambda c: c.verifications.list(subject_id="s", page_size=1)) == [made]
    assert client.all(lambda c: c.verifications.list(created_before=made.created_at)) == []
    assert client.all(lambda c: c.identities.list(status="VALIDATED")) == [identity]
    assert client.all(lambda c: c.identities.list(external_id="nobody")) == []
    label = Label(label="fraud", known_at=made.completed_at, verification_id=made.id)
    other = Label(label="genuine", known_at=made.completed_at, identity_id=made.id)
    report = client.do(lambda c: c.labels.create([label, other, label]))
    assert [result.status for result in report.results] == ["CREATED", "REFUSED", "UNCHANGED"]
    assert report.results[1].errors[0].pointer == "/labels/1/identityId"
    resolved = client.do(
        lambda c: c.resolutions.create(made.id, result="APPROVED", method="liveness", note="n")
    )
    assert (resolved.verification_id, resolved.result, resolved.note) == (made.id, "APPROVED", "n")
    assert client.do(lambda c: c.resolutions.list(made.id)).resolutions == (resolved,)
    assert client.all(lambda c: c.verifications.list(resolution="approved")) == [made]
    assert client.all(lambda c: c.verifications.list(resolution="none")) == []
    erased = client.do(lambda c: c.verifications.erase_signals(made.id))
    assert erased == made.model_copy(update={"subject_id": None})
    added = client.do(lambda c: c.lists.add("farms", ["d-1", "d-2"], key="device", outcome="FAILED"))
    assert (added.changed, added.unchanged, added.entries) == (2, 0, 2)
    removed = client.do(lambda c: c.lists.remove("farms", ["d-2", "d-3"]))
    assert (removed.changed, removed.unchanged, removed.entries) == (1, 1, 1)
    shown_lists = client.do(lambda c: c.lists.list()).lists
    assert [(one.list, one.key, one.outcome, one.entries) for one in shown_lists] == [
        ("farms", "device", "FAILED", 1)
    ]
    hooks = [client.do(lambda c: c.webhooks.create(destination_url=URL)) for _ in range(3)]
    shown = [hook.model_copy(update={"secret": None}) for hook in hooks]
    assert all(hook.secret.startswith("whsec_") for hook in hooks)
    assert client.all(lambda c: c.webhooks.list(page_size=2)) == shown
    assert client.do(lambda c: c.webhooks.get(hooks[0].id)) == shown[0]
    changed = client.do(lambda c: c.webhooks.update(hooks[0].id, destination_url=URL, active=False))
    assert (changed.active, changed.event_types) == (False, hooks[0].event_types)
    assert client.do(lambda c: c.webhooks.test(hooks[0].id)) == changed
    assert client.all(lambda c: c.webhooks.deliveries(hooks[0].id, status="DEAD")) == []
    assert client.do(lambda c: c.webhooks.rotate_secret(hooks[0].id)).secret != hooks[0].secret
    deleted = client.do(lambda c: c.webhooks.delete(hooks[1].id))
    assert deleted == shown[1]
    assert [hook.id for hook in client.all(lambda c: c.webhooks.list())] == [hooks[0].id, hooks[2].id]
    with pytest.raises(NotFound):
        client.do(lambda c: c.webhooks.get(hooks[1].id))
    redacted = client.do(lambda c: c.identities.erase(identity.id))
    assert (redacted.id, redacted.status, redacted.first_name) == (identity.id, "REDACTED", None)
    assert client.do(lambda c: c.identities.erase(identity.id)) == redacted


def test_one_that_is_pending(connected: Callable[..., Either], folder: Path) -> None:
    """What could not be scored in time is PENDING, `wait` gives its verdict, and so does its key."""
    client, other = connected(), connected()
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
    done = client.do(lambda c: c.verifications.wait(made))
    assert (done.id, done.status) == (made.id, "COMPLETED")
    again = client.do(lambda c: c.verifications.create(signals={"vpn": True}, idempotency_key="k"))
    assert again == made
