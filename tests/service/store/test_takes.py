"""Token buckets where they are kept: the same law on both stores, and exact across processes."""

import asyncio
import os
import signal
import subprocess
import sys
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.core.store import Bucket, StoreUnavailable
from scoring_model.service.store import open_store
from scoring_model.service.store.buckets import Level, describe, draw
from scoring_model.service.store.sqlite.bucket_file import BucketFile

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
def test_a_store_keeps_to_the_law(
    store_url: str, steps: list[tuple[int, int, int]], capacity: int, seconds: int
) -> None:
    """Whatever is asked in whatever order, a store answers what the law says, one after the other."""
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


def test_two_processes_share_a_bucket_exactly(store_url: str) -> None:
    """Rate limit: two processes that ask for 400 tokens each from a bucket of 500 get 500 between them."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, store_url, "400"],
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


def test_full_buckets_are_forgotten(tmp_path: Path) -> None:
    """A file of buckets takes any number of names over time, as long as few of them are in use at once."""

    async def run() -> None:
        buckets = BucketFile(tmp_path / "buckets", seconds=1)
        kept = await buckets.take(b"kept", capacity=1000, per_second=0.1, now=0)
        for number in range(100_000):
            await buckets.take(b"%d" % number, capacity=1, per_second=1.0, now=number * SECOND // 100)
        again = await buckets.take(b"kept", capacity=1000, per_second=0.1, now=SECOND)
        assert (kept.left, again.left) == (999, 998)
        buckets.close()

    asyncio.run(run())


def test_names_that_would_lie_in_the_same_places_do_not_mix(tmp_path: Path) -> None:
    """More buckets than fit into one neighbourhood stay apart; the one that is full soonest gives way."""

    def place(name: bytes) -> bytes:
        return blake2b(name, digest_size=16).digest()[:2]

    first = place(b"0")
    names = (b"%d" % number for number in count())
    crowd = list(islice((name for name in names if place(name) == first), 33))

    async def run() -> None:
        buckets = BucketFile(tmp_path / "buckets", seconds=1)
        for taken, name in enumerate(crowd, 1):
            for _ in range(taken):
                bucket = await buckets.take(name, capacity=100, per_second=1.0, now=0)
            assert bucket.left == 100 - taken
        # The first one had taken least.
        for taken, name in list(enumerate(crowd, 1))[1:]:
            bucket = await buckets.take(name, capacity=100, per_second=1.0, now=0)
            assert bucket.left == 99 - taken
        buckets.close()

    asyncio.run(run())


def test_a_process_that_dies_with_the_lock_blocks_nobody(tmp_path: Path) -> None:
    """A holder that stands still is waited for, for as long as was said; when it dies, others go on."""
    path = tmp_path / "buckets"
    buckets = BucketFile(path, seconds=0.2)
    program = (
        "import fcntl, os, sys, time\n"
        "handle = os.open(sys.argv[1], os.O_RDWR)\n"
        "fcntl.flock(handle, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreUnavailable):
            asyncio.run(buckets.take(b"a", capacity=1, per_second=1.0, now=0))
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert asyncio.run(buckets.take(b"a", capacity=1, per_second=1.0, now=0)).allowed
    buckets.close()


def test_another_file_is_not_taken_for_buckets(tmp_path: Path) -> None:
    """A file with something else in it is refused by name and left as it was."""
    path = tmp_path / "buckets"
    path.write_bytes(b"something else")
    with pytest.raises(StoreUnavailable, match="delete it"):
        BucketFile(path, seconds=1)
    assert path.read_bytes() == b"something else"


@pytest.mark.parametrize("size", [0, 5, 4096, 1_306_624])
def test_a_file_that_was_left_half_made_is_made_whole(tmp_path: Path, size: int) -> None:
    """Where the disk was full when the file was made, as much of it as there was room for is no other file."""
    path = tmp_path / "buckets"
    path.write_bytes(bytes(size))
    buckets = BucketFile(path, seconds=1)
    assert asyncio.run(buckets.take(b"a", capacity=1, per_second=1.0, now=0)).allowed
    buckets.close()
    again = BucketFile(path, seconds=1)
    assert not asyncio.run(again.take(b"a", capacity=1, per_second=1.0, now=0)).allowed
    again.close()


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
