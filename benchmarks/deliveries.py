"""Deliveries of webhooks a second, beside httpx, which posts the same bodies and stores nothing.

Run as ``python benchmarks/deliveries.py --store sqlite``. ``scoring-model deliver`` on one core delivers waiting
events, and a receiver on the other checks every signature. Each delivery must arrive and be recorded as delivered after
one attempt. httpx has the same concurrency. Ends with 1 below `WANTED_RATE`.
"""

import argparse
import asyncio
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx
import uvloop
from shared.database import Site, count, new_client, site, write_events, write_webhook
from shared.judging import STORES, Verdict, arguments, at_least, exit_code
from shared.processes import cpu_seconds, on_core, two_cores
from shared.receiver import Counts, counting, counts_of

from running_service import PROGRAM
from scoring_model.service.core.rows import EventRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.signing import payload, signed_headers
from scoring_model.service.events.events import message_id
from scoring_model.service.events.webhooks import new_secret
from service_use import select

WANTED_RATE: Final = 1_000
SLOWEST: Final = 100
"""Minimum plausible deliveries per second."""

Post = tuple[dict[str, str], str]


@dataclass(frozen=True, kw_only=True)
class World:
    """A site, a client with a webhook, and the receiver that checks signatures with its secret."""

    site: Site
    client: int
    receiver: str
    secret: str

    @property
    def hook(self) -> str:
        """URL of the webhook."""
        return f"{self.receiver}/hook"

    def waiting(self) -> int:
        """Number of waiting events and deliveries."""
        return count(self.site.url, "events", "waiting = 1") + count(
            self.site.url, "deliveries", "status = 'WAITING'"
        )

    def states(self) -> str:
        """All deliveries, counted by status, answer and reason."""
        words = "status, answered, excerpt"
        return str(
            asyncio.run(select(self.site.url, f"SELECT {words}, count(*) FROM deliveries GROUP BY {words}"))
        )


@contextmanager
def world(store: str, options: argparse.Namespace) -> Iterator[World]:
    """Everything that runs on the core of the load."""
    secret = new_secret()
    with site(store, None, options) as here, counting(secret) as receiver:
        caller, _ = asyncio.run(new_client(here.url))
        found = World(site=here, client=caller.client, receiver=receiver, secret=secret)
        write_webhook(here.url, here.keyring, client=found.client, destination=found.hook, secret=secret)
        yield found


@contextmanager
def delivering(world: World) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `scoring-model deliver` on its own core."""
    words = ["deliver", "--database", world.site.url, "--master-key", world.site.master_key, "--development"]
    with on_core(two_cores()[0]):
        process = subprocess.Popen([PROGRAM, *words], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def settled(world: World, events: int) -> Counts:
    """Wait until the queue is empty; exit unless all deliveries were signed, received and recorded at once."""
    end = time.monotonic() + 30 + events / SLOWEST
    while world.waiting():
        if time.monotonic() > end:
            raise SystemExit(f"deliveries still wait: {world.states()}")
        time.sleep(0.2)
    counts = counts_of(world.hook)
    recorded = count(world.site.url, "deliveries", "status = 'DELIVERED' AND attempts = 1")
    if (counts.deliveries, counts.forged, recorded) != (events, 0, events):
        raise SystemExit(f"{events} events: {counts}, {recorded} recorded as delivered")
    return counts


def measure(store: str, options: argparse.Namespace) -> Verdict:
    """Deliver from a store, and post the same bodies from memory."""
    with world(store, options) as here:
        write_events(here.site.url, client=here.client, count=options.events)
        with delivering(here) as process:
            counts = settled(here, options.events)
            cpu = 1e6 * cpu_seconds(process.pid) / options.events
        peer = post_by_httpx(here, min(options.events, options.posts))
    print(f"\n{store}: {counts.rate:8,.0f} deliveries/s, {cpu:.0f} us of CPU each, {counts.again} came twice")
    print(f"  httpx: {peer['rate']:8,.0f} posts/s, {peer['cpu']:.0f} us each, nothing kept", end="")
    print(f"; ratio {counts.rate / peer['rate']:.2f}", flush=True)
    return at_least(f"deliveries per second, {store}", counts.rate, WANTED_RATE)


def post_by_httpx(world: World, number: int) -> dict[str, float]:
    """Post the same bodies, signed beforehand, with httpx from the core that delivered."""
    statement = f"SELECT {', '.join(EventRow._fields)} FROM events ORDER BY id LIMIT {number}"
    bodies = [payload(EventRow(*row)) for row in asyncio.run(select(world.site.url, statement))]
    posts = [
        (signed_headers(message_id(place.to_bytes(16, "big")), body, [world.secret], now=0), body.decode())
        for place, body in enumerate(bodies)
    ]
    url = f"{world.receiver}/posts"
    context = multiprocessing.get_context("spawn")
    with on_core(two_cores()[0]), ProcessPoolExecutor(1, mp_context=context) as pool:
        found = pool.submit(post_all, url, posts, DeliveryLimits().per_destination // 2).result()
    counts = counts_of(url)
    if (counts.deliveries, counts.forged) != (number, 0):
        raise SystemExit(f"{number} posts: {counts}")
    return found


def post_all(url: str, posts: list[Post], concurrency: int) -> dict[str, float]:
    """Post with httpx in this process; posts a second, and microseconds of CPU of each."""

    async def work(client: httpx.AsyncClient, waiting: Iterator[Post]) -> None:
        for headers, body in waiting:
            (await client.post(url, headers=headers, content=body)).raise_for_status()

    async def run() -> None:
        limits, waiting = httpx.Limits(max_connections=concurrency), iter(posts)
        async with httpx.AsyncClient(limits=limits, timeout=15, trust_env=False) as client:
            await asyncio.gather(*(work(client, waiting) for _ in range(concurrency)))

    began, used = time.perf_counter(), time.process_time()
    uvloop.run(run())
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return {"rate": len(posts) / seconds, "cpu": 1e6 * cpu / len(posts)}


def main() -> int:
    """Measure the chosen stores."""
    parser = arguments(__doc__)
    parser.add_argument("--store", choices=STORES, action="append", help="by default both")
    parser.add_argument("--events", type=int, default=100_000, help="that wait")
    parser.add_argument("--posts", type=int, default=10_000, help="of httpx")
    options = parser.parse_args()
    return exit_code([measure(store, options) for store in options.store or STORES])


if __name__ == "__main__":
    sys.exit(main())
