"""Admission by estimated wait: which requests are refused on arrival, and their `Retry-After`."""

import pytest

from scoring_model.service.core.errors import Overloaded
from scoring_model.service.requests.commit_queue import LONGEST_RETRY, Admission

FLOODING, OTHER = 1, 2


def fill(admission: Admission, client: int, *, now: float = 0.0) -> int:
    """Send requests until one is refused; return the number admitted."""
    count = 0
    while True:
        try:
            admission.enter(client, waited=0.0, now=now)
        except Overloaded:
            return count
        count += 1


def test_requests_are_refused_whose_estimated_wait_is_too_long() -> None:
    """With 10 ms a job, a hundred jobs wait a second."""
    admission = Admission(most=10_000, wait_seconds=1.0)
    for _ in range(100):
        admission.measured(0.32, 32, full=True)
    assert fill(admission, FLOODING) == 101
    admission.leave(FLOODING)
    assert fill(admission, FLOODING) == 1


def test_a_flood_refuses_nobody_else() -> None:
    """In round robin each request of another client waits for at most one request of the flood."""
    admission = Admission(most=10_000, wait_seconds=1.0)
    for _ in range(100):
        admission.measured(0.32, 32, full=True)
    fill(admission, FLOODING)
    assert fill(admission, OTHER) == pytest.approx(50, abs=1)


def test_no_more_may_be_ahead_than_the_limit() -> None:
    """The queue length is limited at any speed, and its places are shared among clients."""
    admission = Admission(most=10, wait_seconds=1e9)
    assert fill(admission, FLOODING) == 10
    assert fill(admission, OTHER) == 4


def test_somebody_is_always_admitted() -> None:
    """A single request is always admitted, because otherwise a too long estimate would never be corrected."""
    admission = Admission(most=10, wait_seconds=1.0)
    admission.measured(1e9, 1, full=True)
    assert fill(admission, FLOODING) == 1


def test_who_waits_too_long_already_sends_no_more() -> None:
    """The oldest request of a client shows that its scope is slower than the estimate; others are not affected."""
    admission = Admission(most=10, wait_seconds=1.0)
    admission.enter(FLOODING, waited=1.0, now=0.0)
    with pytest.raises(Overloaded):
        admission.enter(FLOODING, waited=1.1, now=0.0)
    admission.enter(OTHER, waited=0.0, now=0.0)


def test_batches_that_are_not_full_only_lower_the_estimate() -> None:
    """A commit of one job takes nearly as long as one of many: it shows what many would take at most."""
    admission = Admission(most=10_000, wait_seconds=1.0)
    for _ in range(100):
        admission.measured(0.32, 32, full=True)
    admission.measured(0.02, 1, full=False)
    admission.measured(5.0, 0, full=False)
    assert fill(admission, FLOODING) == 101
    admission.measured(0.02, 4, full=False)
    assert fill(admission, FLOODING) == 100


def test_refused_requests_come_back_at_the_rate_at_which_jobs_end() -> None:
    """With 10 ms a job a hundred may come back every second; the longest wait is bounded, and time passes."""
    admission = Admission(most=0, wait_seconds=1.0)
    for _ in range(100):
        admission.measured(0.32, 32, full=True)
    found = []
    for _ in range(2_000):
        with pytest.raises(Overloaded) as refused:
            admission.enter(FLOODING, waited=0.0, now=50.0)
        found.append(refused.value.retry_after)
    assert found == sorted(found)
    for seconds in range(1, LONGEST_RETRY):
        assert found.count(seconds) == pytest.approx(100, abs=1)
    assert max(found) == LONGEST_RETRY
    with pytest.raises(Overloaded) as refused:
        admission.enter(FLOODING, waited=0.0, now=50.0 + LONGEST_RETRY)
    assert refused.value.retry_after == 1
