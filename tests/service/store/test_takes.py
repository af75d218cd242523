"""Token buckets where they are kept: the same arithmetic on both stores, and on PostgreSQL exact across processes."""

import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.store import Bucket, open_store
from scoring_model.service.store.buckets import Level, describe, draw

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
steps = st.lists(
    st.tuples(
        st.integers(0, 1),  # which bucket
        st.integers(-SECOND, 5 * SECOND),  # how much later
        st.integers(1, 4),  # how many at once
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, capacity=st.integers(1, 6), seconds=st.integers(1, 30))
def test_a_store_counts_as_the_arithmetic_says(
    store_url: str, steps: list[tuple[int, int, int]], capacity: int, seconds: int
) -> None:
    """Whatever is asked in whatever order, a store answers what the arithmetic says, one after the other."""
    rate = capacity / seconds
    names = [os.urandom(16), os.urandom(5)]

    async def run() -> None:
        store = await open_store(store_url)
        levels: list[Level | None] = [None, None]
        now = 10**15
        for which, later, times in steps:
            now += later
            takes = [
                store.take(names[which], capacity=capacity, per_second=rate, now=now) for _ in range(times)
            ]
            for bucket in await asyncio.gather(*takes):
                level, taken = draw(levels[which], now=now, capacity=capacity, per_second=rate)
                levels[which] = level
                expected = describe(level.tokens, allowed=taken == 1, capacity=capacity, per_second=rate)
                assert (bucket.allowed, bucket.left) == (expected.allowed, expected.left)
                assert bucket.full_in == pytest.approx(expected.full_in, abs=1e-6)
                assert bucket.next_in == pytest.approx(expected.next_in, abs=1e-6)
        await store.close()

    asyncio.run(run())


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


def test_a_cancelled_request_does_not_hold_up_others(store_url: str) -> None:
    """Requests for tokens that are called off leave those that came with them unharmed."""

    async def run() -> None:
        store = await open_store(store_url)
        tasks = [
            asyncio.create_task(store.take(b"client", capacity=50, per_second=1.0, now=0)) for _ in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks[1::2])
        assert all(bucket.allowed for bucket in found)
        await store.close()

    asyncio.run(run())
