"""Token buckets: their arithmetic in memory, the same in a table of PostgreSQL, where it is exact across processes."""

import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.store import Bucket, Store, open_store
from scoring_model.service.store.buckets import MOST_BUCKETS, SLACK, MemoryBuckets
from store_story import run_story

SECOND = 1_000_000
TAKER = """
import asyncio, sys
from scoring_model.service.store import open_store

async def main(url, count):
    store = await open_store(url, seconds=60)
    print("ready", flush=True)
    sys.stdin.readline()
    passed = 0
    for _ in range(count // 10):
        takes = [store.take(b"client", capacity=500, per_second=1.0, now=10**15) for _ in range(10)]
        passed += sum(bucket.allowed for bucket in await asyncio.gather(*takes))
    await store.close()
    print(passed)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
quotas = st.tuples(st.integers(1, 50), st.integers(1, 3600))
steps = st.lists(
    st.tuples(
        st.integers(0, 1),  # which bucket
        st.integers(-SECOND, 5 * SECOND),  # how much later
        st.integers(1, 4),  # how many at once
        st.integers(1, 3),  # how many tokens each
    ),
    max_size=20,
)


def run(times: list[int], capacity: int, per_second: float) -> list[int]:
    """Ask for a token at each of some instants; returns those at which there was one."""

    async def take() -> list[int]:
        buckets = MemoryBuckets()
        taken = [
            (now, await buckets.take(b"b", capacity=capacity, per_second=per_second, now=now))
            for now in times
        ]
        return [now for now, bucket in taken if bucket.allowed]

    return asyncio.run(take())


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


def test_a_clock_that_steps_back_gains_nothing() -> None:
    """Tokens never come from the past; a state from far in the future does not lock a client out."""
    assert run([100 * SECOND, *[99 * SECOND] * 2, 110 * SECOND], 2, 0.1) == [
        100 * SECOND,
        99 * SECOND,
        110 * SECOND,
    ]
    assert run([10**15, 10**15, SECOND, SECOND, SECOND], 2, 0.1) == [10**15, 10**15, SECOND, SECOND]


def test_a_bucket_is_described_in_tokens_and_seconds() -> None:
    """Rate limit: whole tokens left, seconds until it is full and until there is a token."""
    full = Bucket.of(6000.0, allowed=True, capacity=6000, per_second=100.0)
    assert (full.left, full.full_in, full.next_in) == (6000, 0.0, 0.0)
    some = Bucket.of(1.5, allowed=True, capacity=6000, per_second=100.0)
    assert (some.left, some.full_in, some.next_in) == (1, 59.985, 0.0)
    none = Bucket.of(0.25, allowed=False, capacity=6000, per_second=0.5)
    assert (none.allowed, none.left, none.full_in, none.next_in) == (False, 0, 11999.5, 1.5)
    owed = Bucket.of(-SLACK, allowed=True, capacity=1, per_second=1.0)
    assert (owed.left, owed.full_in > 1, owed.next_in > 1) == (0, True, True)


def test_memory_holds_the_buckets_that_are_in_use() -> None:
    """Any number of names come over time; a bucket that is drawn from meanwhile is not forgotten, an idle one is."""
    buckets = MemoryBuckets()

    async def left(name: bytes) -> int:
        return (await buckets.take(name, capacity=10, per_second=1e-6, now=0)).left

    async def story() -> None:
        assert (await left(b"busy"), await left(b"idle")) == (9, 9)
        for number in range(MOST_BUCKETS):
            await left(b"%d" % number)
            if number == MOST_BUCKETS // 2:
                assert await left(b"busy") == 8
        assert (await left(b"busy"), await left(b"idle")) == (7, 9)

    asyncio.run(story())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, capacity=st.integers(1, 6), seconds=st.integers(1, 30))
def test_a_server_counts_as_memory_does(
    postgres_url: str, steps: list[tuple[int, int, int, int]], capacity: int, seconds: int
) -> None:
    """Whatever is asked together, in whatever order: what memory answers to one request after the other."""
    rate = capacity / seconds
    names = [os.urandom(16), os.urandom(5)]

    async def run() -> None:
        store, memory = await open_store(postgres_url), MemoryBuckets()
        now = 10**15
        for which, later, times, size in steps:
            now += later
            found, expected = [
                await asyncio.gather(
                    *(
                        one.take(names[which], capacity=capacity, per_second=rate, now=now, size=size)
                        for _ in range(times)
                    )
                )
                for one in (store, memory)
            ]
            for bucket, other in zip(found, expected, strict=True):
                assert (bucket.allowed, bucket.left) == (other.allowed, other.left)
                assert bucket.full_in == pytest.approx(other.full_in, abs=1e-6)
                assert bucket.next_in == pytest.approx(other.next_in, abs=1e-6)
        await store.close()

    asyncio.run(run())


def test_tokens_are_taken_all_or_none(store_url: str) -> None:
    """Who wants more than there are loses none, and is told when there will be as many; others go on meanwhile."""

    async def run() -> list[Bucket]:
        store = await open_store(store_url)
        taken = await asyncio.gather(
            *(store.take(b"c", capacity=10, per_second=1.0, now=10**15, size=size) for size in (7, 7, 1, 11))
        )
        await store.close()
        return taken

    found = asyncio.run(run())
    assert [bucket.allowed for bucket in found] == [True, False, True, False]
    assert found[1].next_in == pytest.approx(4.0, abs=1.1)
    assert found[2].left == 2
    assert found[3].next_in == pytest.approx(9.0)


def test_two_processes_share_a_bucket_exactly(postgres_url: str) -> None:
    """Rate limit: two processes that ask for 400 tokens each from a bucket of 500 get 500 between them."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, postgres_url, "400"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    passed = [int(process.communicate("go\n")[0]) for process in processes]
    assert sum(passed) == 500
    assert all(passed)


def test_a_quota_that_changes_holds_at_once(store_url: str) -> None:
    """A bucket that held more than a new, smaller quota holds that; both laws may be asked for at the same time."""

    async def run() -> list[Bucket]:
        store = await open_store(store_url)
        quotas = [100, 100, 3, 3, 3, 3]
        found = await asyncio.gather(
            *(store.take(b"client", capacity=quota, per_second=0.001, now=10**15) for quota in quotas)
        )
        await store.close()
        return found

    assert [bucket.allowed for bucket in asyncio.run(run())] == [True, True, True, True, True, False]


def test_a_cancelled_request_does_not_hold_up_others(postgres_url: str) -> None:
    """Requests for tokens that are called off leave those that came with them unharmed."""

    async def story(store: Store) -> None:
        tasks = [
            asyncio.create_task(store.take(b"client", capacity=50, per_second=1.0, now=0)) for _ in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks[1::2])
        assert all(bucket.allowed for bucket in found)

    run_story(postgres_url, story)
