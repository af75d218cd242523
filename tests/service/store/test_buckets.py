import math

from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.store.buckets import MOST_BUCKETS, SLACK, Level, MemoryBuckets, describe, draw

SECOND = 1_000_000
quotas = st.tuples(st.integers(1, 50), st.integers(1, 3600))


def run(times: list[int], capacity: int, per_second: float) -> list[int]:
    """Ask for a token at each of some instants; returns those at which there was one."""
    level, passed = None, []
    for now in times:
        level, taken = draw(level, now=now, capacity=capacity, per_second=per_second)
        if taken:
            passed.append(now)
    return passed


@given(quota=quotas, gaps=st.lists(st.integers(0, 3_000 * SECOND), max_size=120))
def test_who_keeps_to_the_quota_in_every_period_is_never_refused(
    quota: tuple[int, int], gaps: list[int]
) -> None:
    """Rate limit: at most `capacity` requests in every period, however they bunch, all pass."""
    capacity, seconds = quota
    times: list[int] = []
    now = 0
    for gap in gaps:
        now += gap
        if len(times) >= capacity:
            # As early as the quota allows: the period is [t, t + seconds).
            now = max(now, times[-capacity] + seconds * SECOND)
        times.append(now)
    assert run(times, capacity, capacity / seconds) == times


def test_rounding_takes_nothing_from_who_keeps_to_the_quota() -> None:
    """Rate limit: the whole quota at once, and again as soon as the period is over, passes for every quota."""
    for capacity in range(1, 61):
        for seconds in range(1, 61):
            times = [0] * capacity + [seconds * SECOND] * capacity
            assert run(times, capacity, capacity / seconds) == times


def test_who_comes_too_early_is_refused() -> None:
    """Rate limit: a hundred thousandth of a token too little is too little."""
    assert run([0, 999_990, 999_999, 1_000_000], 1, 1.0) == [0, 999_999]


@given(quota=quotas, gaps=st.lists(st.integers(0, 20 * SECOND), max_size=120))
def test_no_span_passes_more_than_burst_and_rate(quota: tuple[int, int], gaps: list[int]) -> None:
    """Rate limit: in any span t at most `capacity + rate * t` requests pass."""
    capacity, seconds = quota
    rate = capacity / seconds
    times = [sum(gaps[: place + 1]) for place in range(len(gaps))]
    passed = run(times, capacity, rate)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            allowed = capacity + rate * (passed[last] - passed[first]) / SECOND
            assert last - first + 1 <= allowed + 1e-5


@given(
    quota=quotas,
    tokens=st.floats(0, 50),
    now=st.integers(0, 10**6),
    wanted=st.integers(1, 60),
)
def test_many_at_once_are_as_many_one_after_the_other(
    quota: tuple[int, int], tokens: float, now: int, wanted: int
) -> None:
    """Taking n tokens at an instant is the same as taking one n times."""
    capacity, seconds = quota
    rate = capacity / seconds
    level = Level(min(tokens, capacity), 0)
    together, taken = draw(level, now=now, capacity=capacity, per_second=rate, wanted=wanted)
    alone, count = level, 0
    for _ in range(wanted):
        alone, one = draw(alone, now=now, capacity=capacity, per_second=rate)
        count += one
    assert (taken, together.at) == (count, alone.at)
    assert math.isclose(together.tokens, alone.tokens, abs_tol=1e-9)


def test_a_clock_that_steps_back_gains_nothing() -> None:
    """Tokens never come from the past; a state from far in the future does not lock a client out."""
    level, _ = draw(None, now=100 * SECOND, capacity=2, per_second=0.1)
    back, taken = draw(level, now=99 * SECOND, capacity=2, per_second=0.1)
    assert (back, taken) == (Level(0.0, 100 * SECOND), 1)
    assert draw(back, now=99 * SECOND, capacity=2, per_second=0.1) == (back, 0)
    assert draw(Level(0.0, 10**15), now=SECOND, capacity=2, per_second=0.1) == (Level(1.0, SECOND), 1)


def test_a_bucket_is_described_in_tokens_and_seconds() -> None:
    """Rate limit: whole tokens left, seconds until it is full and until there is a token."""
    full = describe(6000.0, allowed=True, capacity=6000, per_second=100.0)
    assert (full.left, full.full_in, full.next_in) == (6000, 0.0, 0.0)
    some = describe(1.5, allowed=True, capacity=6000, per_second=100.0)
    assert (some.left, some.full_in, some.next_in) == (1, 59.985, 0.0)
    none = describe(0.25, allowed=False, capacity=6000, per_second=0.5)
    assert (none.allowed, none.left, none.full_in, none.next_in) == (False, 0, 11999.5, 1.5)
    owed = describe(-SLACK, allowed=True, capacity=1, per_second=1.0)
    assert (owed.left, owed.full_in > 1, owed.next_in > 1) == (0, True, True)


def test_memory_holds_the_buckets_that_are_in_use() -> None:
    """Any number of names come over time; a bucket that is drawn from meanwhile is not forgotten, an idle one is."""
    buckets = MemoryBuckets()

    def left(name: bytes) -> int:
        return buckets.take(name, capacity=10, per_second=1e-6, now=0).left

    assert (left(b"busy"), left(b"idle")) == (9, 9)
    for number in range(MOST_BUCKETS):
        left(b"%d" % number)
        if number == MOST_BUCKETS // 2:
            assert left(b"busy") == 8
    assert (left(b"busy"), left(b"idle")) == (7, 9)
