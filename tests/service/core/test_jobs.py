"""Clients take turns; the jobs of each keep their order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.requests.jobs import CHANGE, FairQueue, Job, JobKind

LATE: JobKind[Any, Any] = JobKind(doing="", run=CHANGE.run, late=CHANGE.run)


def job(
    client: int, number: int, scope: str = "s", queued_at: float = 0.0, kind: JobKind[Any, Any] = CHANGE
) -> Job:
    """A waiting job without a reader of its answer."""
    answer: Any = None
    return Job(
        client=client,
        history_scope=scope,
        record=None,
        kind=kind,
        item=number,
        queued_at=queued_at,
        answer=answer,
    )


def queue_of(*jobs: Job) -> FairQueue:
    """A queue of some jobs."""
    queue = FairQueue()
    for one in jobs:
        queue.push(one)
    return queue


def drained(queue: FairQueue, *scopes: str) -> list[Job]:
    """All jobs of some scopes in the order of taking."""
    found = []
    while (one := queue.take(scopes or ("s",))) is not None:
        found.append(one)
    return found


@given(st.lists(st.integers(0, 3), max_size=30))
def test_clients_take_turns_and_keep_their_order(clients: list[int]) -> None:
    """The nth job of any client comes before the (n+1)th of any other, and none is lost."""
    jobs = [job(client, clients[:place].count(client)) for place, client in enumerate(clients)]
    queue = queue_of(*jobs)
    assert len(queue) == len(jobs)
    taken = [(one.item, one.client) for one in drained(queue)]
    assert [number for number, _ in taken] == sorted(one.item for one in jobs)
    assert sorted(taken) == sorted((one.item, one.client) for one in jobs)
    assert len(queue) == 0


def test_a_client_that_comes_late_waits_one_turn() -> None:
    """A served client moves behind the unserved ones."""
    first, second, third, late = job(1, 0), job(1, 1), job(1, 2), job(2, 0)
    queue = queue_of(first, second, third)
    assert queue.take("s") is first
    queue.push(late)
    assert drained(queue) == [second, late, third]


def test_other_scopes_are_left_alone() -> None:
    """Jobs are taken only from the given scopes; the others keep their turn."""
    queue = queue_of(job(1, 0, "a"), other := job(2, 0, "b"), job(3, 0, "a"), job(4, 0, "c"))
    assert queue.scopes(10) == ["a", "b", "c"]
    assert queue.scopes(2) == ["a", "b"]
    assert queue.scopes(10, without={"a"}) == ["b", "c"]
    assert [one.client for one in drained(queue, "a", "c")] == [1, 3, 4]
    assert queue.waits_in("b")
    assert not queue.waits_in("a")
    assert drained(queue, "b") == [other]


def test_clients_of_locked_scopes_pass_their_turn() -> None:
    """They come behind the others, in their order."""
    queue = queue_of(*(job(client, 0, scope) for client, scope in enumerate("abca")))
    queue.pass_turn({"a", "b"})
    assert queue.scopes(10) == ["c", "a", "b"]
    assert [one.client for one in drained(queue, "a", "b", "c")] == [2, 0, 1, 3]


def test_late_jobs_are_removed_together() -> None:
    """Takes jobs of some scopes in turn by client; late jobs that run alike keep their place."""
    old = [job(1, number, queued_at=number, kind=CHANGE if number == 1 else LATE) for number in range(4)]
    queue = queue_of(
        *old, other := job(2, 0, "other", kind=LATE), third := job(3, 0, queued_at=1.0, kind=LATE)
    )
    assert queue.take_late("s", 3.0) == [old[0], old[2], third]
    assert len(queue) == 3
    assert drained(queue, "s", "other") == [old[1], other, old[3]]


def test_how_long_the_oldest_of_a_client_and_of_all_has_waited() -> None:
    """An empty queue gives nothing."""
    queue = queue_of(job(1, 0, queued_at=5.0), job(1, 1, queued_at=6.0), job(2, 0, queued_at=4.0))
    assert [queue.waited(client, 7.0) for client in (1, 2, 9)] == [2.0, 3.0, 0.0]
    assert [one.longest_waited(7.0) for one in (queue, queue_of())] == [3.0, 0.0]
