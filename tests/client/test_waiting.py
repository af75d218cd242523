"""Waiting for a verification that is PENDING."""

import pytest

from either_client import Either
from scoring_model.client import RetryPolicy, StillPending, Verification
from scoring_peer import Peer, Time, problem


def pending(client: Either, peer: Peer, polls: int) -> Verification:
    """A verification that stays PENDING for a number of polls."""
    peer.polls = polls
    found = client.do(lambda c: c.verifications.create(signals={}))
    assert isinstance(found, Verification)
    assert (found.status, found.scoring_outcome) == ("PENDING", None)
    return found


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("polls", [1, 2, 5])
def test_it_is_read_until_it_is_finished(
    by_id: bool, polls: int, client: Either, peer: Peer, time: Time
) -> None:
    """The outcome is given once there is one, and every poll asks the service."""
    found = pending(client, peer, polls)
    done = client.do(lambda c: c.verifications.wait(found.id if by_id else found))
    assert (done.id, done.status, done.scoring_score) == (found.id, "COMPLETED", 531)
    assert len(peer.of("GET")) == polls + 1
    assert len(time.slept) == (polls if by_id else polls + 1)


def test_what_is_finished_is_not_asked_for(client: Either, peer: Peer) -> None:
    """A completed verification is returned immediately."""
    found = client.do(lambda c: c.verifications.create(signals={}))
    assert client.do(lambda c: c.verifications.wait(found)) is found
    assert peer.of("GET") == []


def test_a_technical_fault_ends_the_waiting(client: Either, peer: Peer) -> None:
    """ERROR is final, and no outcome."""
    found = pending(client, peer, 3)
    peer.changes.append({"status": "ERROR"})
    done = client.do(lambda c: c.verifications.wait(found))
    assert (done.status, done.scoring_outcome) == ("ERROR", None)


def test_polls_come_as_late_as_the_service_says(client: Either, peer: Peer, time: Time) -> None:
    """A Retry-After of a poll is waited for; one of zero does not make it spin."""
    found = pending(client, peer, 2)
    peer.poll_headers = {"Retry-After": "3"}
    client.do(lambda c: c.verifications.wait(found.id))
    assert time.slept == [3, 3]
    peer.poll_headers = {"Retry-After": "0"}
    other = pending(client, peer, 2)
    client.do(lambda c: c.verifications.wait(other.id))
    assert time.slept == [3, 3, 0.1, 0.1]


@pytest.mark.parametrize("after", [{}, {"Retry-After": "2"}])
def test_waiting_ends_when_the_time_is_up(
    after: dict[str, str], client: Either, peer: Peer, time: Time
) -> None:
    """The error holds the verification as it was last seen, and nothing of the person."""
    found = pending(client, peer, 1000)
    peer.poll_headers = after
    start = time.now
    with pytest.raises(StillPending, match=found.id) as caught:
        client.do(lambda c: c.verifications.wait(found, timeout=9.0))
    assert 7.0 < time.now - start <= 9.0
    assert caught.value.verification.status == "PENDING"


def test_no_time_is_one_look(client: Either, peer: Peer, time: Time) -> None:
    """With a timeout of zero an identifier is looked up once."""
    found = pending(client, peer, 1000)
    with pytest.raises(StillPending):
        client.do(lambda c: c.verifications.wait(found.id, timeout=0))
    assert (len(peer.of("GET")), time.slept) == (1, [])


def test_a_refused_poll_is_repeated_within_the_time(client: Either, peer: Peer, time: Time) -> None:
    """429 between polls is waited for like everywhere."""
    found = pending(client, peer, 1)
    peer.faults.append(problem(429, "rate_limited", headers={"Retry-After": "5"}))
    assert client.do(lambda c: c.verifications.wait(found.id)).status == "COMPLETED"
    assert 5 in time.slept


def test_the_pauses_follow_the_policy(opened: object, peer: Peer, time: Time) -> None:
    """Without advice the pauses double up to the longest."""
    assert callable(opened)
    client = opened(retry=RetryPolicy(first_delay=1, longest_delay=4))
    found = pending(client, peer, 5)
    client.do(lambda c: c.verifications.wait(found.id))
    for slept, longest in zip(time.slept, (1, 2, 4, 4, 4), strict=True):
        assert longest / 2 <= slept <= longest
