"""What HTTP answers when the service is overloaded."""

import asyncio
import gc
import io
import json
import os
import time
import weakref
from typing import Any

import pytest

from fake_service import GOOD, PERSON, Client
from scoring_model.service.core.errors import NotFound, Overloaded
from scoring_model.service.http import HttpSettings, context
from scoring_model.service.store import Bucket

PATH = "/scoring/v1/verifications"
BODY = {"signals": {"device": "d"}}


def overloaded(*, access_log: bool = False) -> Client:
    """A client of a service that admits no change."""
    client = Client(settings=HttpSettings(access_log=access_log))
    client.service.overload = Overloaded(7)
    return client


async def refuse(client: Client, count: int) -> None:
    """Send requests that are refused, without a client that reads the answers."""

    async def send(_: object) -> None:
        pass

    for _ in range(count):
        headers = [(name.encode(), value.encode()) for name, value in GOOD.items()]
        scope = {"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": headers}
        await client.app(scope, send, send)  # type: ignore[arg-type]


def test_a_refusal_at_arrival_says_when_to_come_back_and_spends_no_token() -> None:
    """A refusal is a problem with the last known quota; nothing is read, stored or counted."""
    client = overloaded()
    answer = client.ask("POST", PATH, json=BODY)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["ratelimit"] == '"default";r=6000;t=0'
    problem = answer.json()
    assert problem.pop("instance") == f"urn:uuid:{problem['requestId']}"
    assert problem.pop("requestId") == answer.headers["x-request-id"]
    assert problem == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "The service is overloaded. Wait as Retry-After says.",
        "code": "unavailable",
    }
    assert client.service.tokens == []
    client.service.overload, client.service.bucket = None, Bucket(True, 17, 3.0, 0.0)
    client.ask("GET", "/scoring/v1/webhooks")
    client.service.overload = Overloaded()
    assert client.ask("POST", PATH, json=BODY).headers["ratelimit"] == '"default";r=17;t=3'


def test_admission_comes_after_credentials_and_before_the_rate_limit() -> None:
    """Overload is not visible without credentials; a refused request is not counted."""
    client = overloaded()
    client.service.bucket = Bucket(False, 0, 60.0, 1.0)
    assert client.ask("POST", PATH, credentials=None, json=BODY).status_code == 401
    assert client.ask("POST", PATH, json=BODY).status_code == 503
    client.service.overload = None
    assert client.ask("POST", PATH, json=BODY).status_code == 429


def test_a_refused_request_is_freed_at_once() -> None:
    """Error, frames and body refer to each other in no cycle, which a collection of garbage would have to find."""
    client = Client()
    error = NotFound()
    client.service.fault, freed = error, weakref.ref(error)
    gc.disable()
    try:
        assert client.ask("POST", PATH, json=BODY).status_code == 404
        client.service.fault = None
        del error
        assert freed() is None
    finally:
        gc.enable()


def test_reading_needs_no_admission() -> None:
    """Requests that change nothing are not refused."""
    client = Client()
    path = f"/scoring/v1/identities/{client.new_identity()['id']}"
    client.service.overload = Overloaded()
    assert client.ask("GET", path).status_code == 200
    assert client.ask("HEAD", path).status_code == 200
    assert client.ask("DELETE", path).status_code == 503


@pytest.mark.parametrize("content", [{"json": PERSON}, {"content": b"{"}, {"json": {"nickname": 1}}])
def test_an_admitted_request_leaves(content: dict[str, Any]) -> None:
    """The place of a request becomes free, however it ends."""
    client = Client()
    client.ask("POST", "/scoring/v1/identities", **content)
    client.service.fault = RuntimeError()
    client.ask("POST", "/scoring/v1/identities", **content)
    assert client.service.under_load == 0


def test_refusals_at_arrival_share_a_line_of_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals are logged periodically as a number per client."""
    monkeypatch.setattr(context, "REFUSED_SECONDS", 0.05)
    stream = io.StringIO()
    context.configure(stream)

    async def story() -> None:
        await refuse(overloaded(access_log=True), 3)
        assert stream.getvalue() == ""
        await asyncio.sleep(0.2)

    asyncio.run(story())
    (line,) = stream.getvalue().splitlines()
    assert {name: value for name, value in json.loads(line).items() if name != "time"} == {
        "process": os.getpid(),
        "requestId": None,
        "status": 503,
        "refused": 3,
        "clientId": "cl_1",
    }


def test_a_refusal_at_arrival_is_cheap() -> None:
    """At most 60 us of CPU, as benchmarks/overload.py measures; here a machine may be five times slower."""
    client = overloaded(access_log=True)

    async def seconds() -> float:
        began = time.thread_time()
        await refuse(client, 200)
        return (time.thread_time() - began) / 200

    assert min(asyncio.run(seconds()) for _ in range(5)) < 300e-6
