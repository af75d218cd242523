"""Labels of an identity with many verifications: memory, tokens, other clients, and callers who go."""

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from multiplied import multiply
from outside_client import (
    IDENTITIES,
    PERSON,
    VERIFICATIONS,
    Answer,
    OutsideClient,
    Wire,
    new_credentials,
    port_of,
)
from running_service import Running, until

LABELS: Final = "/scoring/v1/labels"
MANY: Final = 1_000
MEBIBYTES: Final = 200


def peak(service: Running) -> int:
    """The most memory that a process ever held, MiB."""
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def stored(folder: Path, identity: str) -> int:
    """Labels of an identity."""
    with closing(sqlite3.connect(folder / "scoring.db", timeout=60)) as connection:
        statement = "SELECT count(*) FROM labels JOIN verifications v ON v.id = verification_id WHERE v.identity_id = ?"
        return int(connection.execute(statement, (UUID(identity).bytes,)).fetchone()[0])


def labels(identity: str, count: int) -> dict[str, Any]:
    """Different labels of one identity."""
    return {
        "labels": [
            {"identityId": identity, "label": "fraud", "knownAt": f"2026-01-01T00:00:00.{place:06}Z"}
            for place in range(count)
        ]
    }


@pytest.fixture
def labelled(service: Running, folder: Path, client: OutsideClient) -> str:
    """An identity with a thousand verifications."""
    made = client.made(IDENTITIES, {**PERSON, "externalId": str(time.monotonic())})["id"]
    first = client.made(VERIFICATIONS, {"identityId": made})["id"]
    multiply(folder / "scoring.db", first, MANY - 1)
    return str(made)


def test_a_hundred_requests_at_once_cost_little(
    service: Running, folder: Path, client: OutsideClient, labelled: str
) -> None:
    """A million pairs are refused by their number; of those with ten thousand one is stored and the others wait."""
    before = peak(service)

    def ask(count: int) -> Answer:
        return client.ask("POST", LABELS, labels(labelled, count))

    with ThreadPoolExecutor(100) as threads:
        large = list(threads.map(ask, [1_000] * 100))
        answers = list(threads.map(ask, [10] * 100))
    assert 422 in {answer.status for answer in large} <= {422, 429}
    assert {answer.json["errors"][0]["code"] for answer in large if answer.status == 422} == {
        "too_many_pairs"
    }
    refused = [answer for answer in answers if answer.status == 429]
    assert {(answer.json["code"], answer.headers["retry-after"]) for answer in refused} == {
        ("one_at_a_time", "1")
    }
    assert {answer.status for answer in answers if answer not in refused} == {200}
    assert stored(folder, labelled) == 10 * MANY
    assert peak(service) - before < MEBIBYTES


def test_a_second_request_is_refused_before_its_body_is_read(client: OutsideClient) -> None:
    """While the body of a client's first report is on its way, the head of the next one is enough for a 429."""
    head = client.head("POST", LABELS, "content-type: application/json", "content-length: 100000")
    with Wire(client.port) as first, Wire(client.port) as second:
        first.send(head, b"{")
        until(lambda: client.ask("POST", LABELS, {}).status == 429, "the first report")
        second.send(head)
        answer = second.answer()
        assert answer is not None
        assert (answer.status, answer.json["code"]) == (429, "one_at_a_time")


def test_lists_and_erasures_of_large_persons_cost_little(
    service: Running, folder: Path, client: OutsideClient, neighbour: OutsideClient, labelled: str
) -> None:
    """A hundred full pages, a hundred that check a thousand rows in vain, and an erasure, all at once."""
    before = peak(service)
    pages = [f"{VERIFICATIONS}?identityId={labelled}{more}" for more in ("", "&modelVersion=x")]
    with ThreadPoolExecutor(100) as threads:
        read = [threads.submit(client.ask, "GET", page) for page in pages * 100]
        erased = threads.submit(client.ask, "DELETE", f"{IDENTITIES}/{labelled}")
        written = [neighbour.ask("POST", VERIFICATIONS, {"signals": {"vpn": True}}) for _ in range(5)]
        answers = [erased.result(), *(one.result() for one in read)]
    assert {answer.status for answer in answers} == {200}
    assert {answer.status for answer in written} == {201}
    assert {row["subjectId"] for row in client.ask("GET", pages[0]).json} == {None}
    with closing(sqlite3.connect(folder / "scoring.db", timeout=60)) as connection:
        statement = "SELECT count(*) FROM verifications WHERE identity_id = ? AND coalesce(payload, links) IS NOT NULL"
        assert connection.execute(statement, (UUID(labelled).bytes,)).fetchone() == (0,)
    assert peak(service) - before < MEBIBYTES


def test_pairs_are_paid_for(service: Running, folder: Path) -> None:
    """A thousand pairs take ten tokens of the quota; who has fewer keeps them, and is told when there are enough."""
    poor = OutsideClient(port_of(service), new_credentials(folder, quota="30/3600"))
    made = poor.made(IDENTITIES, PERSON)["id"]
    multiply(folder / "scoring.db", poor.made(VERIFICATIONS, {"identityId": made})["id"], MANY - 1)
    answers = [poor.ask("POST", LABELS, labels(made, 1)) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.headers["ratelimit"].partition(";t=")[0] for answer in answers] == [
        f'"default";r={left}' for left in (18, 8, 7)
    ]
    assert 100 < int(answers[2].headers["retry-after"]) <= 240
    assert answers[2].json["code"] == "rate_limited"


def test_others_are_answered_meanwhile_and_nothing_is_done_for_who_has_gone(
    service: Running, folder: Path, client: OutsideClient, neighbour: OutsideClient, labelled: str
) -> None:
    """Between the transactions of a large request others write too; after a disconnect it stores no more."""
    body = json.dumps(labels(labelled, 10)).encode()
    head = client.head("POST", LABELS, "content-type: application/json", f"content-length: {len(body)}")
    before = stored(folder, labelled)
    with Wire(client.port) as wire:
        wire.socket.sendall(head + body)
        until(lambda: stored(folder, labelled) > before, "the first labels")
        for _ in range(3):
            neighbour.made(VERIFICATIONS, {"signals": {"vpn": True}})
        meanwhile = stored(folder, labelled) - before
    until(lambda: client.ask("POST", LABELS, labels(labelled, 1)).status == 200, "a request of its own")
    assert 0 < meanwhile < 10 * MANY
    assert stored(folder, labelled) - before < 10 * MANY
