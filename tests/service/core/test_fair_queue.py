"""Clients take turns; the jobs of each keep their order."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from scoring_model.service.scoring.fair_queue import FairQueue


@dataclass(frozen=True)
class Job:
    """What waits."""

    client: int
    number: int
    history_scope: str = "s"
    queued_at: float = 0.0


def queue_of(*jobs: Job) -> FairQueue[Job]:
    """A queue of some jobs."""
    queue: FairQueue[Job] = FairQueue()
    for job in jobs:
        queue.push(job)
    return queue


def drained(queue: FairQueue[Job], *scopes: str) -> list[Job]:
    """All jobs of some scopes in the order in which they are taken."""
    found = []
    while (job := queue.take(scopes or ("s",))) is not None:
        found.append(job)
    return found


@given(st.lists(st.integers(0, 3), max_size=30))
def test_clients_take_turns_and_keep_their_order(clients: list[int]) -> None:
    """The nth job of any client comes before the (n+1)th of any other, and none is lost."""
    jobs = [Job(client, clients[:place].count(client)) for place, client in enumerate(clients)]
    queue = queue_of(*jobs)
    assert len(queue) == len(jobs)
    taken = drained(queue)
    assert [job.number for job in taken] == sorted(job.number for job in jobs)
    assert sorted(taken, key=lambda job: (job.client, job.number)) == sorted(
        jobs, key=lambda job: (job.client, job.number)
    )
    assert len(queue) == 0


def test_a_client_that_comes_late_waits_one_turn() -> None:
    """Who was served goes behind those who were not."""
    queue = queue_of(*(Job(1, number) for number in range(3)))
    assert queue.take("s") == Job(1, 0)
    queue.push(Job(2, 0))
    assert drained(queue) == [Job(1, 1), Job(2, 0), Job(1, 2)]


def test_other_scopes_are_left_alone() -> None:
    """Jobs are taken of the scopes that are named; the turn of the others does not pass."""
    queue = queue_of(Job(1, 0, "a"), Job(2, 0, "b"), Job(3, 0, "a"), Job(4, 0, "c"))
    assert queue.scopes(10) == ["a", "b", "c"]
    assert queue.scopes(2) == ["a", "b"]
    assert queue.scopes(10, without={"a"}) == ["b", "c"]
    assert [job.client for job in drained(queue, "a", "c")] == [1, 3, 4]
    assert queue.waits_in("b")
    assert not queue.waits_in("a")
    assert drained(queue, "b") == [Job(2, 0, "b")]


def test_clients_of_locked_scopes_pass_their_turn() -> None:
    """They come behind the others, in their order."""
    queue = queue_of(*(Job(client, 0, scope) for client, scope in enumerate("abca")))
    queue.pass_turn({"a", "b"})
    assert queue.scopes(10) == ["c", "a", "b"]
    assert [job.client for job in drained(queue, "a", "b", "c")] == [2, 0, 1, 3]


def test_old_jobs_that_are_wanted_are_removed() -> None:
    """Of some scopes, whoever's turn it is; what is not wanted keeps its place."""
    old = [Job(1, number, queued_at=number) for number in range(4)]
    queue = queue_of(*old, Job(2, 0, "other", 0.0), Job(3, 0, queued_at=1.0))
    found = queue.take_older("s", 3.0, lambda job: job.number != 1)
    assert found == [old[0], old[2], Job(3, 0, queued_at=1.0)]
    assert len(queue) == 3
    assert drained(queue, "s", "other") == [old[1], Job(2, 0, "other", 0.0), old[3]]


def test_the_oldest_of_a_client_and_of_all() -> None:
    """What waits longest, if anything does."""
    queue = queue_of(Job(1, 0, queued_at=5.0), Job(1, 1, queued_at=6.0), Job(2, 0, queued_at=4.0))
    assert queue.head(1) == Job(1, 0, queued_at=5.0)
    assert queue.head(9) is None
    assert queue.oldest() == Job(2, 0, queued_at=4.0)
    assert queue_of().oldest() is None
