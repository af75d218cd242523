"""The contract's section Rate limit, as far as HTTP goes."""

import pytest

from fake_service import PERSON, Client
from scoring_model.service.store import Bucket


def test_rate_limit_headers_stand_on_every_authenticated_answer() -> None:
    """Successes and errors report the remaining quota."""
    client = Client()
    client.service.bucket = Bucket(True, 4711, 12.001, 0.0)
    answers = [
        client.ask("POST", "/scoring/v1/identities", json=PERSON),
        client.ask("GET", "/scoring/v1/webhooks"),
        client.ask("GET", "/scoring/v1/nothing"),
        client.ask("PATCH", "/scoring/v1/webhooks"),
        client.ask("POST", "/scoring/v1/identities", content=b"{"),
    ]
    client.service.fault = RuntimeError()
    answers.append(client.ask("GET", "/scoring/v1/webhooks"))
    assert [answer.status_code for answer in answers] == [201, 200, 404, 405, 415, 500]
    for answer in answers:
        assert answer.headers["ratelimit-policy"] == '"default";q=6000;w=60'
        assert answer.headers["ratelimit"] == '"default";r=4711;t=13'


@pytest.mark.parametrize(("wait", "reported"), [(0.0001, "1"), (1.0, "1"), (1.001, "2"), (59.2, "60")])
def test_rate_limit_says_how_long_to_wait(wait: float, reported: str) -> None:
    """429 has `Retry-After` in whole seconds, at least 1."""
    client = Client()
    client.service.bucket = Bucket(False, 0, 60.0, wait)
    answer = client.ask("GET", "/scoring/v1/nothing")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == reported
    assert answer.headers["ratelimit"] == '"default";r=0;t=60'
    assert answer.json()["code"] == "rate_limited"
