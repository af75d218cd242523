"""A service stopped under load finishes all earlier requests and stores what it answered."""

import json
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from outside_client import (
    VERIFICATIONS,
    Answer,
    OutsideClient,
    Wire,
    answer_of,
    new_credentials,
    open_service,
    port_of,
)
from running_service import SECONDS, Running

CLIENTS: Final = 12
BEFORE: Final = 150
"""Requests that are sent before the service is asked to stop."""
HELD_SECONDS: Final = 0.8
"""For which the database is locked: longer than it takes a server to see that it shall stop."""


@dataclass
class Sent:
    """One request.

    Parameters
    ----------
    key : str
        Of idempotency.
    at : float
        When its last byte was handed over, on the clock of this process.
    answer : Answer or None
        None if the connection ended without one.
    """

    key: str
    at: float
    answer: Answer | None = None


def body_of(key: str) -> bytes:
    """What is verified under a key."""
    return json.dumps({"signals": {"deviceId": f"d-{key}"}, "subjectId": key}).encode()


def keep_asking(client: OutsideClient, name: str, requests: list[Sent]) -> None:
    """Send one request after the other on a connection that stays open, until one is not answered."""
    connection = HTTPConnection("127.0.0.1", client.port, timeout=SECONDS)
    headers = {**client.credentials, "Content-Type": "application/json"}
    try:
        for number in range(100_000):
            key = f"{name}-{number}"
            connection.request("POST", VERIFICATIONS, body_of(key), {**headers, "Idempotency-Key": key})
            requests.append(Sent(key, time.monotonic()))
            requests[-1].answer = answer_of(connection.getresponse())
    except (OSError, HTTPException):
        pass
    finally:
        connection.close()


def load(service: Running, client: OutsideClient) -> tuple[float, list[Sent]]:
    """Ask from many threads, and ask the service to stop in the middle; when that was, and all requests."""
    asked: list[list[Sent]] = [[] for _ in range(CLIENTS)]
    threads = [
        threading.Thread(target=keep_asking, args=(client, f"t{place}", requests))
        for place, requests in enumerate(asked)
    ]
    for thread in threads:
        thread.start()
    while sum(map(len, asked)) < BEFORE:
        time.sleep(0.005)
    stopped_at = time.monotonic()
    assert service.stop() == 0
    for thread in threads:
        thread.join(SECONDS)
    return stopped_at, [request for requests in asked for request in requests]


def stored(client: OutsideClient, requests: list[Sent]) -> Iterator[str]:
    """Ids under the same keys, sent again."""
    for request in requests:
        again = client.ask("POST", VERIFICATIONS, body_of(request.key), {"Idempotency-Key": request.key})
        assert again.status == 201, again
        if request.answer is not None and request.answer.status == 201:
            assert again.headers["idempotency-replayed"] == "true"
            assert again.body == request.answer.body
        yield again.json["id"]


def test_no_request_is_lost(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """Under load: all that was sent before SIGTERM is answered 201, every 201 is stored, none twice."""
    shutil.copy(migrated, tmp_path)
    with open_service(tmp_path, sealed) as service:
        credentials = new_credentials(tmp_path)
        stopped_at, requests = load(service, OutsideClient(port_of(service), credentials))
    before = [request for request in requests if request.at < stopped_at]
    assert len(before) >= BEFORE
    assert [request for request in before if request.answer is None or request.answer.status != 201] == []
    assert {request.answer.status for request in requests if request.answer is not None} <= {201, 503}
    with open_service(tmp_path, sealed) as service:
        client = OutsideClient(port_of(service), credentials)
        ids = list(stored(client, requests))
        assert len(set(ids)) == len(requests)
    assert "places" not in service.log.read_text()


def test_what_is_under_way_is_finished(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """Requests that arrive together with the signal, on new and on idle connections, are read, waited for, answered."""
    shutil.copy(migrated, tmp_path)
    with open_service(tmp_path, sealed) as service:
        client = OutsideClient(port_of(service), new_credentials(tmp_path))
        content = body_of("x")
        request = client.head(
            "POST", VERIFICATIONS, "Content-Type: application/json", f"Content-Length: {len(content)}"
        )
        idle = [Wire(client.port) for _ in range(8)]
        for wire in idle:
            wire.send(client.head("GET", "/health/live"))
            assert wire.answer() is not None
        new = []
        with closing(sqlite3.connect(tmp_path / "scoring.db", isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")  # nobody else can write
            with stopped(service.process.pid):
                new += [Wire(client.port) for _ in range(8)]
                for wire in idle + new:
                    wire.send(request, content)
                service.process.send_signal(signal.SIGTERM)
            time.sleep(HELD_SECONDS)
            connection.execute("ROLLBACK")
        answers = [wire.answer() for wire in idle + new]
        for wire in idle + new:
            wire.__exit__()
        assert service.process.wait(SECONDS) == 0
    statuses = [None if answer is None else answer.status for answer in answers]
    assert statuses == [201] * 16


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Keep a process from running."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
