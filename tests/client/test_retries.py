"""When a request is sent again, after how long, and when not."""

import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from either_client import Either, Kind
from scoring_model.client import (
    Conflict,
    Forbidden,
    NotFound,
    RateLimited,
    RetryPolicy,
    TransportError,
    Unavailable,
)
from scoring_peer import Lost, Peer, Time, problem

Ask = Callable[[Any], Any]
OPERATIONS: dict[str, Ask] = {
    "GET": lambda c: c.identities.get("x"),
    "erasure": lambda c: c.identities.erase("x"),
    "POST": lambda c: c.identities.create(),
    "PUT": lambda c: c.webhooks.update("x", destination_url="https://x.example", active=True),
    "DELETE": lambda c: c.webhooks.delete("x"),
}
REPEATABLE = {"GET", "erasure", "POST"}


def refused(status: int, after: str | None = None, code: str = "code") -> Response:
    """An error, perhaps with a Retry-After."""
    return problem(status, code, headers={} if after is None else {"Retry-After": after})


def attempts(client: Either, peer: Peer, operation: str, *faults: Response | Lost) -> int:
    """How often an operation is sent while it meets these faults; what it comes to does not matter."""
    peer.faults.extend(faults)
    with suppress(NotFound, RateLimited, Unavailable, TransportError, Conflict):
        client.do(OPERATIONS[operation])
    return len(peer.seen)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("status", [429, 503])
def test_section_7_waits_as_long_as_stated_and_tries_again(
    operation: str, status: int, client: Either, peer: Peer, time: Time
) -> None:
    """Whatever was asked: the stated seconds, no less and no more, then once more."""
    assert attempts(client, peer, operation, refused(status, "7"), refused(status, "3")) == 3
    assert time.slept == [7, 3]


def test_a_retry_after_may_be_a_date(client: Either, peer: Peer, time: Time) -> None:
    """RFC 9110, section 10.2.3: also as an HTTP date; one that is past is now."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    assert attempts(client, peer, "GET", refused(503, soon), refused(503, past)) == 3
    assert len(time.slept) == 1
    assert 15 < time.slept[0] <= 20
    peer.faults.append(problem(403, "forbidden", headers={"Retry-After": past}))
    with pytest.raises(Forbidden) as caught:
        client.do(OPERATIONS["GET"])
    assert caught.value.retry_after == 0


@pytest.mark.parametrize(
    "after", [None, "", "soon", "-5", "1.5", "٣", "9" * 400, "Wed, 99 Foo 2026 00:00:00 GMT"]
)
def test_without_a_readable_retry_after_it_backs_off(
    after: str | None, opened: Any, peer: Peer, time: Time
) -> None:
    """The delay doubles from the first to the longest, shortened by up to a half."""
    client = opened(retry=RetryPolicy(attempts=5, first_delay=1.0, longest_delay=3.0))
    peer.faults.extend(refused(429, None) for _ in range(5))
    for fault in peer.faults:
        if after is not None and isinstance(fault, Response):
            fault.raw_headers.append((b"retry-after", after.encode()))
    with pytest.raises(RateLimited):
        client.do(OPERATIONS["GET"])
    assert len(time.slept) == 4
    for slept, longest in zip(time.slept, (1.0, 2.0, 3.0, 3.0), strict=True):
        assert longest / 2 <= slept <= longest


def test_attempts_are_bounded(opened: Any, peer: Peer, time: Time) -> None:
    """The last error is raised, with the delay advised by the service."""
    client = opened(retry=RetryPolicy(attempts=3))
    peer.faults.extend(refused(429, "2", "rate_limited") for _ in range(9))
    with pytest.raises(RateLimited) as caught:
        client.do(OPERATIONS["GET"])
    assert (len(peer.seen), time.slept) == (3, [2, 2])
    assert (caught.value.retry_after, caught.value.code) == (2, "rate_limited")


def test_the_total_time_is_bounded(opened: Any, peer: Peer, time: Time) -> None:
    """An attempt that would start too late is not waited for."""
    client = opened(retry=RetryPolicy(total_seconds=10))
    peer.faults.extend(refused(503, "4") for _ in range(9))
    with pytest.raises(Unavailable):
        client.do(OPERATIONS["GET"])
    assert time.slept == [4, 4]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 415, 422, 500, 501, 301])
def test_other_errors_are_final(status: int, opened: Any, peer: Peer) -> None:
    """Permanent errors are not retried, and no redirect is followed."""
    peer.faults.append(Response(status_code=status, headers={"Location": "/elsewhere", "Retry-After": "1"}))
    client = opened()
    with pytest.raises(Exception, match=str(status)):
        client.do(OPERATIONS["POST"])
    assert len(peer.seen) == 1


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", [Lost(done=False), Lost(done=True), 502, 504])
def test_only_what_is_done_once_however_often_is_repeated_in_doubt(
    operation: str, fault: Lost | int, client: Either, peer: Peer
) -> None:
    """A lost connection or a gateway's error leaves open whether the request was carried out."""
    made = fault if isinstance(fault, Lost) else Response("<html>", fault)
    assert attempts(client, peer, operation, made) == (2 if operation in REPEATABLE else 1)


@pytest.mark.parametrize("fault", [Lost(done=True), 502, 503])
def test_a_post_without_a_key_is_not_repeated_in_doubt(fault: Lost | int, opened: Any, peer: Peer) -> None:
    """Keys switched off: a POST that may have been carried out is left to the caller."""
    client = opened(idempotency=False)
    made = fault if isinstance(fault, Lost) else Response("<html>", fault)
    assert attempts(client, peer, "POST", made) == 1
    assert "idempotency-key" not in peer.seen[0].headers


def test_a_post_without_a_key_is_repeated_after_429(opened: Any, peer: Peer) -> None:
    """What was refused was not carried out."""
    assert attempts(opened(idempotency=False), peer, "POST", refused(429, "1")) == 2


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_answer_makes_one_identity(done: bool, client: Either, peer: Peer) -> None:
    """Every attempt has the same key and the same bytes, so that the thing is done once."""
    peer.faults.extend([Lost(done=done), Lost(done=done)])
    identity = client.do(lambda c: c.identities.create(first_name="Ada"))
    assert peer.ids == [identity.id]
    assert len(peer.seen) == 3
    assert len({(seen.headers["idempotency-key"], seen.body) for seen in peer.seen}) == 1


def test_every_post_has_a_key_of_its_own(client: Either, peer: Peer) -> None:
    """Two creations of the same thing are two things."""
    hook = client.do(lambda c: c.webhooks.create(destination_url="https://x.example"))
    posts: list[Ask] = [
        lambda c: c.verifications.create(signals={}),
        lambda c: c.webhooks.create(destination_url="https://x.example"),
        lambda c: c.webhooks.test(hook.id),
        lambda c: c.webhooks.rotate_secret(hook.id),
        lambda c: c.identities.create(),
    ]
    for post in posts + posts:
        client.do(post)
    keys = [seen.headers["idempotency-key"] for seen in peer.seen]
    assert len(set(keys)) == len(keys) == 11


@pytest.mark.parametrize("idempotency", [True, False])
def test_a_key_that_is_given_is_sent(idempotency: bool, opened: Any, peer: Peer) -> None:
    """The caller's own key makes calls of different programs one."""
    client = opened(idempotency=idempotency)
    first, second = (client.do(lambda c: c.identities.create(idempotency_key="order 7")) for _ in range(2))
    assert first == second
    assert {seen.headers["idempotency-key"] for seen in peer.seen} == {"order 7"}


@pytest.mark.parametrize("key", ["", "a" * 256, "a\r\nb: c", " a", "é"])
def test_a_key_that_cannot_be_one_is_refused_unsent(key: str, client: Either, peer: Peer) -> None:
    """1 to 255 printable characters."""
    with pytest.raises(ValueError, match="idempotency_key must be"):
        client.do(lambda c: c.identities.create(idempotency_key=key))
    assert peer.seen == []


def test_a_request_that_is_still_under_way_is_waited_for(client: Either, peer: Peer) -> None:
    """After a lost connection the first attempt may still be at work: its answer is what we get."""
    peer.faults.extend([Lost(done=False), refused(409, code="idempotency_in_progress")])
    identity = client.do(lambda c: c.identities.create())
    assert len(peer.seen) == 3
    assert identity.id in peer.ids


def test_another_conflict_is_final(client: Either, peer: Peer) -> None:
    """A state does not change by asking again."""
    assert attempts(client, peer, "POST", refused(409, code="identity_not_validated")) == 1


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_service_that_cannot_be_reached_was_sent_nothing(operation: str, opened: Any, time: Time) -> None:
    """Where no connection was made, anything is tried again."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = opened(f"http://127.0.0.1:{port}", retry=RetryPolicy(attempts=4))
    with pytest.raises(TransportError) as caught:
        client.do(OPERATIONS[operation])
    assert (caught.value.kind, caught.value.sent, len(time.slept)) == ("ConnectError", False, 3)
    assert caught.value.__cause__ is not None


def test_a_silent_service_is_not_waited_for_forever(opened: Any) -> None:
    """A timeout is set, and reported as a lack of an answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        client = opened(url, timeout=0.5, retry=RetryPolicy(attempts=2))
        with pytest.raises(TransportError) as caught:
            client.do(OPERATIONS["GET"])
    assert (caught.value.kind, caught.value.sent) == ("ReadTimeout", True)


def test_a_connection_closed_without_a_word_is_no_answer(opened: Any) -> None:
    """The server accepts and hangs up."""

    def hang_up(listener: socket.socket) -> None:
        for _ in range(2):
            listener.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=hang_up, args=(listener,))
        thread.start()
        client = opened(f"http://127.0.0.1:{listener.getsockname()[1]}", retry=RetryPolicy(attempts=2))
        with pytest.raises(TransportError) as caught:
            client.do(OPERATIONS["GET"])
        thread.join()
    assert caught.value.sent


def test_the_health_of_the_service_is_asked_once(client: Either, peer: Peer) -> None:
    """A probe reports what is now."""
    peer.faults.append(refused(429, "1"))
    with pytest.raises(RateLimited):
        client.do(lambda c: c.health.ready())
    assert len(peer.seen) == 1


def test_the_usual_clock_waits(kind: Kind, peer: Peer) -> None:
    """Without a clock of one's own the client sleeps for real."""
    client = Either(kind, peer.url, None, retry=RetryPolicy(first_delay=0.01))
    assert attempts(client, peer, "GET", refused(503)) == 2
    client.close()


def test_a_policy_names_all_its_faults() -> None:
    """Every value that is out of range is named at once."""
    with pytest.raises(ValueError, match="attempts") as caught:
        RetryPolicy(attempts=0, total_seconds=float("inf"), first_delay=-1, longest_delay=float("nan"))
    reported = [rule.partition(" ")[0] for rule in str(caught.value).split("; ")]
    assert reported == ["attempts", "total_seconds", "first_delay", "longest_delay"]


@given(
    attempt=st.integers(1, 10**6),
    first=st.floats(1e-3, 10),
    factor=st.floats(1, 1e6),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_a_backoff_is_positive_and_bounded(attempt: int, first: float, factor: float, chance: float) -> None:
    """For any attempt: above half of the doubled delay, never above the longest."""
    policy = RetryPolicy(first_delay=first, longest_delay=first * factor)
    delay = policy.backoff(attempt, lambda: chance)
    longest = min(policy.longest_delay, first * 2.0 ** min(attempt - 1, 1000))
    assert longest / 2 <= delay <= longest
