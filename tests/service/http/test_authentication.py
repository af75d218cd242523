"""The contract's section Authentication, as far as HTTP goes."""

import time
from ipaddress import ip_network

import pytest

from fake_service import GOOD, NARROW, Client
from scoring_model.service.http import HttpSettings, authentication

LIST = "/scoring/v1/webhooks"
WRONG = {"x-client-id": "cl_1", "x-api-key": "sk_2"}


@pytest.mark.parametrize("twice", ["x-client-id", "x-api-key"])
def test_authentication_of_a_header_that_comes_twice(twice: str) -> None:
    """A header that comes twice counts as missing, even with the same value."""
    assert Client().ask("GET", LIST, headers={twice: GOOD[twice]}).status_code == 401


@pytest.mark.parametrize("path", ["/scoring", "/scoring/", "/scoring/v1/nothing", "/scoring/v2/identities"])
def test_authentication_comes_before_the_path(path: str) -> None:
    """Without credentials no path below /scoring reveals whether it exists."""
    client = Client()
    assert client.ask("GET", path, credentials=None).status_code == 401
    assert client.ask("GET", path).status_code == 404


def test_authentication_scopes() -> None:
    """Without the scope every operation of a path that exists is refused with 403."""
    client = Client()
    for path in ("identities", "verifications", "webhooks"):
        answer = client.ask("POST", f"/scoring/v1/{path}", credentials=NARROW)
        assert answer.status_code == 403
        assert answer.json()["code"] == "missing_scope"
        assert path in answer.json()["detail"]


def test_authentication_failures_are_limited_by_address() -> None:
    """After 60 failures an address gets 429; valid pairs from it and other addresses do not."""
    client = Client()
    for _ in range(60):
        assert client.ask("GET", LIST, credentials=WRONG).status_code == 401
    answer = client.ask("GET", LIST, credentials=WRONG)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert "ratelimit" not in answer.headers
    assert client.ask("GET", LIST).status_code == 200
    assert client.service.failed_from == ["192.0.2.1"] * 61
    assert client.service.tokens == ["cl_1"]  # of the good pair alone


def test_authentication_of_an_address_above_the_limit_delays_nobody() -> None:
    """Pairs from a limited address are looked up separately; a valid one is still served."""
    client = Client()
    client.service.failures_left = 1
    for _ in range(2):
        client.ask("GET", LIST, credentials=WRONG)
    assert client.ask("GET", LIST).status_code == 200
    assert client.ask("GET", LIST, address="192.0.2.2").status_code == 200
    assert client.service.limited == [False, False, True, False]


def test_authentication_limited_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses are forgotten after a time, and the oldest first if there are too many."""
    client = Client()
    client.service.failures_left = 0
    monkeypatch.setattr(authentication, "MOST_LIMITED", 2)
    for last in (1, 2, 3):
        client.ask("GET", LIST, credentials=None, address=f"192.0.2.{last}")
    for last in (1, 2, 3):
        client.ask("GET", LIST, address=f"192.0.2.{last}")
    assert client.service.limited == [False, True, True]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + authentication.LIMITED_SECONDS + 1)
    client.ask("GET", LIST, address="192.0.2.3")
    assert client.service.limited[-1] is False


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),  # no configured proxy
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7", "10.0.0.2"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 10.9.9.9"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.7:443"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::/64"),
        ("10.0.0.1", ["198.51.100.7, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, nonsense, 10.0.0.3"], "10.0.0.3"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("", [], "unknown"),
    ],
)
def test_authentication_address(peer: str, forwarded: list[str], counted: str) -> None:
    """The rightmost address that no configured proxy has is counted, of IPv6 its /64."""
    settings = HttpSettings(trusted_proxies=(ip_network("10.0.0.0/8"),), access_log=False)
    client = Client(settings=settings)
    headers = [("x-forwarded-for", value) for value in forwarded]
    client.ask("GET", LIST, credentials=None, address=peer, headers=headers)
    assert client.service.failed_from == [counted]
