"""Law 11: no log, error, event or plaintext byte of the database contains personal data."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from outside_client import (
    HOOK,
    IDENTITIES,
    UNKNOWN,
    VERIFICATIONS,
    WEBHOOKS,
    Answer,
    OutsideClient,
    Wire,
    new_credentials,
    open_service,
    port_of,
)

_numbers = count(1)


@dataclass
class Canaries:
    """Texts that occur nowhere else, those that a database may hold in the clear, and what was answered."""

    personal: list[str] = field(default_factory=list)
    clear: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def new(self) -> str:
        """Another one: letters, so that names, text and hosts can be one."""
        made = f"Canary{next(_numbers):04d}x".translate(str.maketrans("0123456789", "bcdfghjklm"))
        self.personal.append(made)
        return made

    def person(self) -> dict[str, Any]:
        """An identity that is valid, every text of it a canary."""
        address = {name: self.new() for name in ("line1", "line2", "city", "region", "postalCode")}
        return {
            "firstName": self.new(),
            "lastName": self.new(),
            "dob": "1987-06-05",
            "citizenship": "GB",
            "documentType": "PASSPORT",
            "imageUrls": [f"https://images.example/{self.new()}?{self.new()}=1"],
            "address": {**address, "country": "GB"},
            "externalId": self.new(),
        }

    def webhook(self) -> dict[str, Any]:
        """A webhook that is right. Where events go, and what that is called, is nobody's secret but stays here."""
        made = {**HOOK, "destinationUrl": f"https://hooks.example/{self.new()}", "description": self.new()}
        self.clear += [self.personal.pop(), self.personal.pop()]
        return made

    @property
    def every(self) -> list[str]:
        """All of them."""
        return self.personal + self.clear

    def signals(self) -> dict[str, Any]:
        """Signals that are right, the names of unused ones too."""
        return {
            "signals": {"deviceId": self.new(), "emailDomain": self.new(), self.new(): self.new()},
            "subjectId": self.new(),
        }


def broken(value: Any) -> Iterator[Any]:
    """The same in every wrong way that keeps what was written: too long, of another type, somewhere else."""
    yield {name: {"x": part} if isinstance(part, str) else str(part) for name, part in value.items()}
    yield {name: [part] * 300 for name, part in value.items()}
    yield {name: part * 300 if isinstance(part, str) else 5 for name, part in value.items()}
    yield [value]
    yield json.dumps(value)


def sent(client: OutsideClient, canaries: Canaries, *request: Any) -> Answer:
    """Send a request and keep the answer."""
    answer = client.ask(*request)
    canaries.answers.append(answer)
    return answer


def use_everything(client: OutsideClient, other: OutsideClient, canaries: Canaries) -> None:
    """Every operation, well and badly, with canaries wherever a client can write."""
    made: dict[str, str] = {}
    for path, body in (
        (IDENTITIES, canaries.person()),
        (VERIFICATIONS, canaries.signals()),
        (WEBHOOKS, canaries.webhook()),
    ):
        key = {"Idempotency-Key": canaries.new()}
        for _ in range(2):
            answer = sent(client, canaries, "POST", path, body, key)
            assert answer.status in (200, 201), answer.body
        made[path] = answer.json["id"]
        spoilt = {**body, "destinationUrl": f"ftp://{canaries.new()}@x/#{canaries.new()}"}
        for wrong in (*broken(body), spoilt, {**body, "dob": f"1987-{canaries.new()}"}):
            assert sent(client, canaries, "POST", path, wrong).status == 422
        assert sent(client, canaries, "POST", path, {**body, "active": False}, key).status == 422
        assert sent(client, canaries, "POST", path, f'{{"{canaries.new()}'.encode()).status == 400
        assert sent(client, canaries, "POST", path, canaries.new().encode() * 40_000).status == 413
        form = {"Content-Type": f"text/{canaries.new()}"}
        assert sent(client, canaries, "POST", path, b"{}", form).status == 415
    verify = {**canaries.signals(), "identityId": made[IDENTITIES]}
    assert sent(client, canaries, "POST", VERIFICATIONS, verify).status == 201
    incomplete = sent(client, canaries, "POST", IDENTITIES, {"firstName": canaries.new()}).json["id"]
    state = {**canaries.signals(), "identityId": incomplete}
    assert sent(client, canaries, "POST", VERIFICATIONS, state).status == 409
    for path in made:
        for asker in (client, other):
            sent(
                asker, canaries, "GET", f"{path}/{made[path]}", None, {"If-None-Match": f'"{canaries.new()}"'}
            )
        sent(client, canaries, "GET", f"{path}/{canaries.new()}?{canaries.new()}={canaries.new()}")
        sent(client, canaries, "PATCH", f"{path}/{canaries.new()}")
        sent(client, canaries, canaries.new().upper(), f"{path}/{UNKNOWN}")
    hook = f"{WEBHOOKS}/{made[WEBHOOKS]}"
    for rest in ("/test", "/rotate-secret"):
        assert sent(client, canaries, "POST", hook + rest).status == 200
        assert sent(client, canaries, "POST", hook + rest, {canaries.new(): canaries.new()}).status == 422
    for wrong in broken({"destinationUrl": f"https://{canaries.new()}/", "active": True}):
        assert sent(client, canaries, "PUT", hook, wrong).status == 422
    assert (
        sent(client, canaries, "GET", f"{WEBHOOKS}?limit={canaries.new()}&cursor={canaries.new()}").status
        == 422
    )
    use_badly(client, canaries)
    assert sent(client, canaries, "DELETE", f"{VERIFICATIONS}/{made[VERIFICATIONS]}/signals").status == 200
    assert sent(client, canaries, "DELETE", f"{IDENTITIES}/{made[IDENTITIES]}").status == 200
    assert sent(client, canaries, "DELETE", hook).status == 200


def use_badly(client: OutsideClient, canaries: Canaries) -> None:
    """Without credentials, beside the paths, and with what is no HTTP."""
    nobody = OutsideClient(client.port, {"x-client-id": canaries.new(), "x-api-key": canaries.new()})
    assert sent(nobody, canaries, "POST", IDENTITIES, canaries.person()).status == 401
    assert sent(client, canaries, "GET", f"/{canaries.new()}/{canaries.new()}").status == 404
    for line in (f"Host {canaries.new()}", f"Content-Length: {canaries.new()}"):
        with Wire(client.port) as wire:
            wire.send(client.head("POST", f"{IDENTITIES}/{canaries.new()}", f"X-A: {canaries.new()}", line))
            answer = wire.answer()
            assert answer is not None
            canaries.answers.append(answer)
    with Wire(client.port) as wire:  # goes away in the middle
        wire.send(client.head("POST", IDENTITIES, "Content-Length: 999"), canaries.new().encode())


@dataclass(frozen=True)
class Used:
    """A service that was used, and stopped."""

    canaries: Canaries
    folder: Path
    log: str
    secrets: list[str]


@pytest.fixture(scope="module")
def used(sealed: Path, migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Used:
    """A service that every operation was asked of, at its default settings."""
    folder = tmp_path_factory.mktemp("canaries")
    canaries = Canaries()
    shutil.copy(migrated, folder)
    with open_service(folder, sealed) as service:
        client, other = (OutsideClient(port_of(service), new_credentials(folder)) for _ in range(2))
        use_everything(client, other, canaries)
        # Looked at while it runs too: what erasure takes away must not have been clear before.
        alive = b"".join(path.read_bytes() for path in sorted(folder.glob("scoring.db*")))
        assert found(canaries.personal, alive) == []
        assert service.stop() == 0
    keys = [client.credentials["x-api-key"], other.credentials["x-api-key"]]
    shown = b"".join(answer.body for answer in canaries.answers).decode(errors="replace")
    return Used(canaries, folder, service.log.read_text(), keys + re.findall(r"whsec_[A-Za-z0-9+/=]+", shown))


def found(canaries: list[str], data: bytes) -> list[str]:
    """The canaries that are in some bytes, however their letters are written."""
    plain = data.lower()
    return [one for one in canaries if one.lower().encode() in plain or one.encode("utf-16-le") in data]


def test_the_canaries_were_sent_and_answered(used: Used) -> None:
    """The search works: a client sees the canaries of its own resources."""
    shown = b"".join(answer.body for answer in used.canaries.answers if answer.status < 300)
    assert len(found(used.canaries.every, shown)) >= 12
    assert {answer.status for answer in used.canaries.answers} >= {
        200,
        201,
        400,
        401,
        404,
        405,
        409,
        413,
        415,
        422,
    }
    assert len(used.secrets) >= 4


def test_no_canary_is_in_the_log(used: Used) -> None:
    """Standard error of the process logs every request and holds nothing that was sent, and no secret."""
    lines = [line for line in used.log.splitlines() if line.startswith("{")]
    asked = [answer for answer in used.canaries.answers if b'"malformed_request"' not in answer.body]
    assert len(lines) >= len(asked)
    assert found(used.canaries.every, used.log.encode()) == []
    assert [secret for secret in used.secrets if secret in used.log] == []
    assert "127.0.0.1" not in "".join(lines)


def test_no_value_is_in_an_error(used: Used) -> None:
    """No problem repeats what was sent; only names do, of fields, signals and parameters, in pointers."""
    for answer in used.canaries.answers:
        if answer.status >= 400:
            problem = answer.json
            errors = problem.get("errors", [])
            pointers = [error.pop("pointer") for error in errors]
            problem["errors"] = errors
            assert found(used.canaries.every, json.dumps(problem).encode()) == []
            names = "".join(pointers)
            assert not re.search(r"Canary\w+/Canary|https?:|ftp:", names), names
            headers = {name: value for name, value in answer.headers.items() if name != "allow"}
            assert found(used.canaries.every, str(headers).encode()) == []


def test_no_canary_is_in_a_file(used: Used) -> None:
    """Neither the database nor anything beside it holds a canary, an API key or a secret of a webhook in the clear."""
    files = [path for path in used.folder.rglob("*") if path.is_file() and "shelf" not in path.parts]
    assert {path.name for path in files} >= {"scoring.db", "scoring.db.key", "serve.log"}
    for path in files:
        data = path.read_bytes()
        assert found(used.canaries.personal, data) == [], path
        assert [secret for secret in used.secrets if secret.encode() in data] == [], path


def test_events_are_thin(used: Used) -> None:
    """The events that wait for delivery have the fields that are promised and no canary."""
    known = {"id", "identityId", "status", "scoringOutcome", "scoringScore", "modelVersion", "sequence"}
    connection = sqlite3.connect(used.folder / "scoring.db")
    events = connection.execute("SELECT type, data FROM events").fetchall()
    connection.close()
    kinds = {"identity.created", "identity.validated", "identity.redacted", "verification.completed"}
    assert {kind for kind, _ in events} >= kinds | {"webhook.test"}
    assert {name for _, data in events for name in json.loads(data)} <= known
    assert found(used.canaries.every, str(events).encode()) == []
