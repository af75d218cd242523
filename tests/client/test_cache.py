"""Answers that the service allows to be kept (contract: idempotency and caching)."""

from collections.abc import Callable

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from either_client import Either
from scoring_model.client import ApiError, NotFound
from scoring_model.client.cache import Cache, lifetime
from scoring_peer import Peer, Time

Opened = Callable[..., Either]


def test_what_is_fresh_is_not_asked_for(client: Either, peer: Peer, time: Time) -> None:
    """An identity is read from the service once a minute, a completed verification every five."""
    identity = client.do(lambda c: c.identities.create(first_name="Ada"))
    found = client.do(lambda c: c.verifications.create(signals={}))
    for age, asked in ((0, 2), (59, 2), (60, 3), (119, 3), (299, 4), (300, 5)):
        time.now = 1000.0 + age
        assert client.do(lambda c: c.identities.get(identity.id)) == identity
        assert client.do(lambda c: c.verifications.get(found.id)) == found
        assert len(peer.of("GET")) == asked


def test_what_is_old_is_asked_for_by_its_etag(client: Either, peer: Peer, time: Time) -> None:
    """304 makes it fresh again; a change comes as 200."""
    hook = client.do(lambda c: c.webhooks.create(destination_url="https://x.example"))
    first = client.do(lambda c: c.webhooks.get(hook.id))
    time.now += 61
    assert client.do(lambda c: c.webhooks.get(hook.id)) is first
    assert "if-none-match" in peer.seen[-1].headers
    assert client.do(lambda c: c.webhooks.get(hook.id)) is first
    assert len(peer.of("GET")) == 2
    peer.deactivate(hook.id)
    time.now += 61
    assert client.do(lambda c: c.webhooks.get(hook.id)).active is False


def test_switched_off_everything_is_asked_for(opened: Opened, peer: Peer) -> None:
    """With a cache of size 0 nothing is stored and no ETag is sent."""
    client = opened(cache_entries=0)
    identity = client.do(lambda c: c.identities.create())
    for _ in range(3):
        client.do(lambda c: c.identities.get(identity.id))
    assert len(peer.of("GET")) == 3
    assert all("if-none-match" not in seen.headers for seen in peer.seen)


def test_a_negative_size_is_refused(opened: Opened) -> None:
    """The size of the cache is at least 0."""
    with pytest.raises(ValueError, match="cache_entries must be at least 0"):
        opened(cache_entries=-1)


def test_the_least_used_answer_makes_room(opened: Opened, peer: Peer) -> None:
    """Two entries: the third read drops the one that was used longest ago."""
    client = opened(cache_entries=2)
    a, b, c = (client.do(lambda c: c.identities.create()).id for _ in range(3))

    def asked(one: str) -> int:
        client.do(lambda c: c.identities.get(one))
        return len(peer.of("GET"))

    assert [asked(one) for one in (a, b, a, c, a, b)] == [1, 2, 2, 3, 3, 4]


def test_a_pending_verification_is_never_kept(client: Either, peer: Peer) -> None:
    """A `no-store` answer is requested every time."""
    peer.polls = 10
    found = client.do(lambda c: c.verifications.create(signals={}))
    for _ in range(3):
        client.do(lambda c: c.verifications.get(found.id))
    assert len(peer.of("GET")) == 3


def test_erasure_is_forgotten_here_as_well(client: Either, peer: Peer) -> None:
    """After an erasure nothing of the person is read from memory, in whatever record it stood."""
    identity = client.do(lambda c: c.identities.create(first_name="Ada"))
    found = client.do(lambda c: c.verifications.create(signals={}, subject_id="me"))
    client.do(lambda c: c.identities.get(identity.id))
    client.do(lambda c: c.verifications.get(found.id))
    client.do(lambda c: c.identities.erase(identity.id))
    assert client.do(lambda c: c.identities.get(identity.id)).first_name is None
    client.do(lambda c: c.verifications.get(found.id))
    assert len(peer.of("GET")) == 4


def test_erased_signals_are_forgotten_here_as_well(client: Either) -> None:
    """After it a verification is read anew, without its subject."""
    found = client.do(lambda c: c.verifications.create(signals={}, subject_id="me"))
    client.do(lambda c: c.verifications.get(found.id))
    client.do(lambda c: c.verifications.erase_signals(found.id))
    assert client.do(lambda c: c.verifications.get(found.id)).subject_id is None


@pytest.mark.parametrize("fault", [Response(status_code=500), None])
def test_a_change_is_read_after_it(fault: Response | None, client: Either, peer: Peer) -> None:
    """A resource that was or may have been changed is read again."""
    hook = client.do(lambda c: c.webhooks.create(destination_url="https://x.example"))
    client.do(lambda c: c.webhooks.get(hook.id))
    if fault is not None:
        peer.faults.append(fault)
        peer.deactivate(hook.id)
        with pytest.raises(ApiError):
            client.do(lambda c: c.webhooks.update(hook.id, destination_url="https://x.example", active=False))
    else:
        client.do(lambda c: c.webhooks.update(hook.id, destination_url="https://x.example", active=False))
    assert client.do(lambda c: c.webhooks.get(hook.id)).active is False
    client.do(lambda c: c.webhooks.delete(hook.id))
    with pytest.raises(NotFound):
        client.do(lambda c: c.webhooks.get(hook.id))


def test_a_304_that_nobody_asked_for_is_an_error(client: Either, peer: Peer) -> None:
    """There is nothing that it could confirm."""
    peer.faults.append(Response(status_code=304))
    with pytest.raises(ApiError, match="304") as caught:
        client.do(lambda c: c.identities.get("x"))
    assert type(caught.value) is ApiError


def test_errors_are_not_kept(client: Either, peer: Peer) -> None:
    """What is not there now may be there next time."""
    peer.faults.append(JSONResponse({}, 404, {"Cache-Control": "private, max-age=60"}))
    with pytest.raises(NotFound):
        client.do(lambda c: c.identities.get("x"))
    with pytest.raises(NotFound):
        client.do(lambda c: c.identities.get("x"))
    assert len(peer.seen) == 2


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("private, max-age=60", 60),
        ("max-age=0", 0),
        ("Max-Age=5,private", 5),
        ("", None),
        ("private", None),
        ("no-store", None),
        ("no-store, max-age=60", None),
        ("max-age=60, no-cache", None),
        ("s-maxage=60", None),
        ("max-age=-1", None),
        ("max-age=1e3", None),
    ],
)
def test_only_what_names_its_lifetime_is_kept(control: str, seconds: int | None) -> None:
    """RFC 9111, section 5.2.2."""
    assert lifetime(httpx.Response(200, headers={"Cache-Control": control})) == seconds


def test_an_answer_from_before_an_erasure_is_not_kept() -> None:
    """Asked for before the cache was emptied, answered after: it may hold what was erased."""
    cache = Cache(4)
    response = httpx.Response(200, headers={"Cache-Control": "max-age=60"})
    age = cache.age
    cache.clear()
    cache.put("/a", "old", response, now=0, age=age)
    assert cache.get("/a") is None
    cache.put("/a", "new", response, now=0, age=cache.age)
    kept = cache.get("/a")
    assert kept is not None
    assert kept.value == "new"
    assert "new" not in repr(kept)
