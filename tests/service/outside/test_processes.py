"""Two services on one database of PostgreSQL are one: quota, idempotency and credentials hold across both."""

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
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
    open_service,
    port_of,
)
from running_service import PROGRAM
from scoring_model.service.keys.keyring import generate_master_key

BELIEVED: Final = 5.0
"""Seconds for which credentials may be remembered."""


@pytest.fixture(scope="module")
def url(postgres: Databases) -> Iterator[str]:
    """The database of both services."""
    with postgres.fresh() as found:
        yield found


@pytest.fixture(scope="module")
def both(sealed: Path, url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """The ports of two services on one database, with one master key and one shelf of bundles."""
    folder = tmp_path_factory.mktemp("both")
    environment = {"SCORING_MODEL_MASTER_KEY": "env:KEYS", "KEYS": generate_master_key()}
    with ExitStack() as stack:
        yield [
            port_of(stack.enter_context(open_service(folder, sealed, database=url, environment=environment)))
            for _ in range(2)
        ]
        assert "places" not in (folder / "serve.log").read_text()


def clients_of(ports: list[int], folder: Path, url: str, **settings: str) -> list[OutsideClient]:
    """One new client at both services."""
    credentials = new_credentials(folder, url, **settings)
    return [OutsideClient(port, credentials) for port in ports]


def test_rate_limit(both: list[int], tmp_path: Path, url: str) -> None:
    """A quota of 40 a day lets 40 requests pass, whichever service gets them, and both then say how long to wait."""
    clients = clients_of(both, tmp_path, url, quota="40/86400")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda place: clients[place % 2].ask("GET", WEBHOOKS), range(80)))
    statuses = [answer.status for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (40, 40)
    left = sorted(int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]) for answer in answers)
    assert left == [0] * 40 + list(range(40))
    for client in clients:
        refused = client.ask("GET", WEBHOOKS)
        assert refused.status == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 2160


def test_idempotency(both: list[int], tmp_path: Path, url: str) -> None:
    """What one service did the other replays, also when both are asked at once; another body is refused by both."""
    clients = clients_of(both, tmp_path, url)
    signals = {"signals": {"vpn": True}, "subjectId": "s"}
    for path, body in ((IDENTITIES, PERSON), (VERIFICATIONS, signals)):
        key = {"Idempotency-Key": "one after the other"}
        first, second = (client.ask("POST", path, body, key) for client in clients)
        assert (first.status, second.status) == (201, 201)
        assert second.headers["idempotency-replayed"] == "true"
        assert first.body == second.body
        other = clients[1].ask(
            "POST", path, {**body, "subjectId" if "signals" in body else "firstName": "t"}, key
        )
        assert (other.status, other.json["code"]) == (422, "idempotency_key_reused")
        with ThreadPoolExecutor(2) as pool:
            for number in range(20):
                key = {"Idempotency-Key": f"at once {number}"}
                pair = list(
                    pool.map(
                        lambda client, key=key, path=path, body=body: client.ask("POST", path, body, key),
                        clients,
                    )
                )
                assert [answer.status for answer in pair] == [201, 201]
                assert pair[0].body == pair[1].body
                assert sum("idempotency-replayed" in answer.headers for answer in pair) == 1


def test_what_one_does_the_other_knows(both: list[int], tmp_path: Path, url: str) -> None:
    """A resource of one service is read, verified and erased at the other, and is gone for both."""
    here, there = clients_of(both, tmp_path, url)
    made = here.made(IDENTITIES, PERSON)
    assert there.ask("GET", f"{IDENTITIES}/{made['id']}").json == made
    assert there.made(VERIFICATIONS, {"identityId": made["id"]})["status"] == "COMPLETED"
    assert there.ask("DELETE", f"{IDENTITIES}/{made['id']}").json["status"] == "REDACTED"
    assert here.ask("GET", f"{IDENTITIES}/{made['id']}").json["firstName"] is None
    assert here.ask("POST", VERIFICATIONS, {"identityId": made["id"]}).status == 409


def test_revocation(both: list[int], tmp_path: Path, url: str) -> None:
    """Credentials that both services have seen are refused by both 5 s after they were revoked at the latest."""
    clients = clients_of(both, tmp_path, url)
    identifier = clients[0].credentials["x-client-id"]
    assert [client.ask("GET", WEBHOOKS).status for client in clients] == [200, 200]
    subprocess.run(
        [PROGRAM, "clients", "revoke", identifier, "--database", url],
        capture_output=True,
        check=True,
    )
    end = time.monotonic() + BELIEVED
    while time.monotonic() < end:  # what is used all the time is not remembered for longer
        statuses = {client.ask("GET", WEBHOOKS).status for client in clients}
        assert statuses <= {200, 401}
        if statuses == {401}:
            break
        time.sleep(0.1)
    assert [client.ask("GET", WEBHOOKS).status for client in clients] == [401, 401]
