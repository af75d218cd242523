"""HTTP Basic for connectors: off by default, never for browsers, and as limited as the headers."""

import base64
from typing import Any

import pytest

from fake_service import GOOD, Client
from scoring_model.service.http import HttpSettings
from scoring_model.service.http.authentication import LONGEST_BASIC
from scoring_model.service.http.errors import BASIC_CHALLENGE, CHALLENGE

LIST = "/scoring/v1/webhooks"


def basic(text: str = "cl_1:sk_1", scheme: str = "Basic") -> dict[str, str]:
    """The header of a pair."""
    return {"authorization": f"{scheme} {base64.b64encode(text.encode()).decode()}"}


def asked(headers: dict[str, str], *, enabled: bool = True, credentials: Any = None) -> Any:
    """Ask with these headers."""
    client = Client(settings=HttpSettings(access_log=False, basic_auth=enabled))
    return client.ask("GET", LIST, credentials=credentials, headers=headers)


def test_a_pair_counts_where_it_is_enabled() -> None:
    """Whatever the case of the scheme; without the setting it is as if it were not there."""
    for scheme in ("Basic", "basic", "BASIC"):
        assert asked(basic(scheme=scheme)).status_code == 200
    assert asked(basic(), enabled=False).status_code == 401
    assert asked({}, credentials=GOOD).status_code == 200
    assert asked(basic(), enabled=False, credentials=GOOD).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        basic("cl_1:sk_2"),
        basic("cl_1:sk_1:more"),
        basic("cl_1"),
        basic(scheme="Bearer"),
        {"authorization": "Basic"},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic w6Q"},
        basic("cl_1:" + "k" * LONGEST_BASIC),
        basic() | {"origin": "https://evil.example"},
        basic() | {"sec-fetch-site": "none"},
        basic() | {"x-client-id": "cl_1"},
    ],
)
def test_other_pairs_are_refused_like_wrong_headers(headers: dict[str, str]) -> None:
    """Wrong, malformed, long, of browsers, or beside a header: one answer, which spends a failure."""
    client = Client(settings=HttpSettings(access_log=False, basic_auth=True))
    answer = client.ask("GET", LIST, credentials=None, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert client.service.failed_from == ["192.0.2.1"]


def test_both_together_are_refused() -> None:
    """Which pair would count is not guessed."""
    assert asked(basic(), credentials=GOOD).status_code == 401


@pytest.mark.parametrize("name", ["origin", "sec-fetch-mode"])
def test_no_browser_is_asked_for_a_password(name: str) -> None:
    """The challenge names Basic only where it is enabled and the request is not of a browser."""
    assert asked({}).headers["www-authenticate"] == BASIC_CHALLENGE
    assert asked({name: "x"}).headers["www-authenticate"] == CHALLENGE
    assert asked({}, enabled=False).headers["www-authenticate"] == CHALLENGE


def test_the_pair_is_split_at_the_first_colon() -> None:
    """A key may have colons, a client id has none."""
    client = Client(settings=HttpSettings(access_log=False, basic_auth=True))
    client.service.callers["cl_1", "a:b"] = client.service.callers["cl_1", "sk_1"]
    assert client.ask("GET", LIST, credentials=None, headers=basic("cl_1:a:b")).status_code == 200
