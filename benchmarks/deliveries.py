"""Webhook deliveries: their rate, and what they cost the requests that the service answers meanwhile.

Run as ``python benchmarks/deliveries.py --store sqlite``. ``--part`` chooses one of three parts:

alone
    ``scoring-model deliver`` on one core delivers waiting events, and a receiver on the other checks every signature.
    Each delivery must arrive and be recorded as delivered after one attempt. For comparison, httpx posts the same
    bodies with the same concurrency and stores nothing.
drain
    ``scoring-model serve`` on one core creates verifications at full load, with and without waiting events of another
    client. PostgreSQL, the receiver and the load have the other core. After the load the remaining
    deliveries must arrive.
fairness
    ``scoring-model deliver`` while 250,000 deliveries of one client wait, to 50 destinations that are quick, that hang,
    or whose names hang. Another client's events are committed one by one; measures the time until each arrives, with
    and without such a client. Each must arrive once, signed.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx
import numpy as np
import uvloop
from create_verification import rehearsed
from shared.bundles import served_bundle
from shared.database import Site, completed, count, new_client, site, write_events, write_webhook
from shared.judging import STORES, add_load, arguments
from shared.load import CONNECTIONS, Answered, Visitors
from shared.processes import cpu_seconds, on_core, serving, two_cores
from shared.receiver import Counts, counting, counts_of

from running_service import PROGRAM
from scoring_model.bundle import Bundle
from scoring_model.service.core.rows import EventRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.signing import payload, signed_headers
from scoring_model.service.events.events import message_id
from scoring_model.service.events.webhooks import new_secret
from service_use import select
from webhook_receiver import hang, rough

WANTED_RATE: Final = 1_000
MOST_SLOWING: Final = 0.2
SLOWEST: Final = 100
"""Minimum plausible deliveries per second."""
_WARM_SECONDS: Final = 4
_LONGEST_SECONDS: Final = 120


HARMS: Final = ("backlog", "hanging receivers", "hanging names")
"""Of a harmful client: receivers that are quick but many, that never answer, and names that never resolve."""

HARMFUL_WEBHOOKS, HARMFUL_EVENTS = 50, 5_000
_RESOLVER: Final = """
import socket, time
as_always = socket.getaddrinfo
def getaddrinfo(host, *words, **named):
    if str(host).endswith(".hanging.example"):
        time.sleep(30)
    return as_always("127.0.0.1" if str(host).endswith(".example") else host, *words, **named)
socket.getaddrinfo = getaddrinfo
"""
"""Resolves names of ``.example`` to this machine, or lets them hang."""

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

    def add_webhook(self, client: int, destination: str) -> None:
        """Register a webhook."""
        write_webhook(
            self.site.url, self.site.keyring, client=client, destination=destination, secret=self.secret
        )

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
def world(store: str, bundle: Bundle | None, options: argparse.Namespace) -> Iterator[World]:
    """Everything that runs on the core of the load."""
    secret = new_secret()
    with site(store, bundle, options) as here, counting(secret) as receiver:
        caller, _ = asyncio.run(new_client(here.url))
        found = World(site=here, client=caller.client, receiver=receiver, secret=secret)
        found.add_webhook(found.client, found.hook)
        yield found


@contextmanager
def harmful(world: World, harm: str) -> Iterator[None]:
    """Add a client with many webhooks and events; its receivers run until the context ends."""
    with rough(hang) if harm == "hanging receivers" else nullcontext() as silent:
        port = urlsplit(world.receiver).port if silent is None else silent.server_address[1]
        domain = "hanging.example" if harm == "hanging names" else "example"
        client = asyncio.run(new_client(world.site.url))[0].client
        for number in range(HARMFUL_WEBHOOKS):
            world.add_webhook(client, f"http://{number}.{domain}:{port}/harm")
        write_events(world.site.url, client=client, count=HARMFUL_EVENTS)
        yield


@contextmanager
def delivering(world: World) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `scoring-model deliver` on its own core."""
    folder = world.site.folder
    (folder / "sitecustomize.py").write_text(_RESOLVER, encoding="utf-8")
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = ["deliver", "--database", world.site.url, "--master-key", world.site.master_key, "--development"]
    with on_core(two_cores()[0]):
        process = subprocess.Popen(
            [PROGRAM, *words], stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": paths}
        )
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


def measure_alone(store: str, options: argparse.Namespace) -> None:
    """Deliver from a store, and post the same bodies from memory."""
    with world(store, None, options) as here:
        write_events(here.site.url, client=here.client, count=options.events)
        with delivering(here) as process:
            counts = settled(here, options.events)
            cpu = 1e6 * cpu_seconds(process.pid) / options.events
        peer = post_by_httpx(here, min(options.events, options.posts))
    print(f"\n{store}: {counts.rate:8,.0f} deliveries/s, {cpu:.0f} us of CPU each, {counts.again} came twice")
    print(f"  httpx: {peer['rate']:8,.0f} posts/s, {peer['cpu']:.0f} us each, nothing kept", end="")
    print(f"; ratio {counts.rate / peer['rate']:.2f}", flush=True)


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


def measure_fairness(store: str, options: argparse.Namespace) -> None:
    """Time another client's events without a harmful client and with each kind of one."""
    for harm in (None, *HARMS):
        p50, p99 = np.percentile(arrival_times(store, harm, options), [50, 99])
        beside = "alone" if harm is None else f"beside {harm}"
        print(f"{store}: an event arrives after {p50:6.0f} ms, p99 {p99:6.0f} ms, {beside}", flush=True)


def arrival_times(store: str, harm: str | None, options: argparse.Namespace) -> list[float]:
    """Milliseconds from the commit of each event to its arrival; exit unless each arrives once, signed."""
    times, samples = [], options.samples
    with ExitStack() as stack:
        here = stack.enter_context(world(store, None, options))
        if harm is not None:
            stack.enter_context(harmful(here, harm))
        stack.enter_context(delivering(here))
        for number in range(1, samples + 2):  # the first waits for the process to start
            write_events(here.site.url, client=here.client, count=1)
            began = time.monotonic()
            while (counts := counts_of(here.hook)).deliveries < number:
                if time.monotonic() > began + _LONGEST_SECONDS:
                    raise SystemExit(f"an event did not arrive: {here.states()}")
                time.sleep(0.002)
            times.append(1e3 * (time.monotonic() - began))
        if (counts.deliveries, counts.again, counts.forged) != (samples + 1, 0, 0):
            raise SystemExit(f"{samples + 1} events: {counts}")
        if harm is not None and not here.waiting():
            raise SystemExit("the queue became empty: use fewer --samples")
    return times[1:]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A load, microseconds of CPU per created verification (deliveries included), and deliveries per second."""

    load: Answered
    cpu: float
    delivered: float

    def __str__(self) -> str:
        return f"{self.load}, {self.cpu:.0f} us of CPU; {self.delivered:,.0f} deliveries/s"


class Drain:
    """A service that creates verifications, with and without waiting events of another client."""

    def __init__(self, world: World, service: str, pid: int, visitors: Visitors) -> None:
        self._world = world
        self._service = service
        self._pid = pid
        self._visitors = visitors
        self._written = 0

    def load(self, seconds: int) -> Turn:
        """Create verifications for some seconds."""
        stored, arrived = completed(self._world.site.url), counts_of(self._world.hook).deliveries
        used, began = cpu_seconds(self._pid), time.monotonic()
        found = self._visitors.drive(self._service, seconds)
        used, took = cpu_seconds(self._pid) - used, time.monotonic() - began
        arrived = counts_of(self._world.hook).deliveries - arrived
        stored = completed(self._world.site.url) - stored
        # Requests were in flight when the clock stopped.
        if not found.count(201) <= stored <= found.count(201) + CONNECTIONS:
            raise SystemExit(f"{found.count(201)} were answered and {stored} were stored")
        return Turn(load=found, cpu=1e6 * used / stored, delivered=arrived / took)

    def turn(self, seconds: int, events: int) -> tuple[Turn, Turn, Turn]:
        """Load without, with and without waiting events."""
        before, client = self.load(seconds), self._world.client
        write_events(self._world.site.url, client=client, count=events)
        self._written += events
        beside = self.load(seconds)
        if not self._world.waiting():
            raise SystemExit("all events were delivered before the load ended: use more --events")
        began, arrived = time.monotonic(), counts_of(self._world.hook).deliveries
        counts = settled(self._world, self._written)
        rest = (self._written - arrived) / (time.monotonic() - began)
        after = self.load(seconds)
        print(f"without  {before}\n  with a drain  {beside}\n  without again {after}")
        print(f"  {rest:,.0f} deliveries/s after the load; {counts.again} came twice", flush=True)
        return before, beside, after


def measure_drain(store: str, bundle: Bundle, options: argparse.Namespace) -> None:
    """Create verifications without and with waiting events, in turns."""
    with world(store, bundle, options) as here:
        visitors = Visitors(here.site.bodies, here.site.credentials, keys=True)
        path, words = rehearsed(here.site, bundle, visitors), ["--development", "--no-request-log"]
        with serving(here.site.folder, *words, bundle=path, **here.site.served) as service:
            drain = Drain(here, service.url, service.process.pid, visitors)
            drain.load(_WARM_SECONDS)
            turns = [drain.turn(options.seconds, options.events) for _ in range(options.repeats)]
    plain, beside = [one for turn in turns for one in turn[::2]], [turn[1] for turn in turns]
    rates = [statistics.median(turn.load.goodput for turn in some) for some in (plain, beside)]
    cpu = [statistics.median(turn.cpu for turn in some) for some in (plain, beside)]
    print(f"  slower by {1 - rates[1] / rates[0]:.1%}, by CPU {1 - cpu[0] / cpu[1]:.1%}", end="")
    print(f"; target: at most {MOST_SLOWING:.0%}", flush=True)


def main() -> None:
    """Measure the chosen parts on the chosen stores."""
    parser = arguments(__doc__)
    add_load(parser, seconds=12, rows=1_000_000, customers=60_000)
    parts = ["alone", "drain", "fairness"]
    parser.add_argument("--part", choices=parts, action="append", help="by default all")
    parser.add_argument("--events", type=int, default=100_000, help="that wait")
    parser.add_argument("--posts", type=int, default=10_000, help="of httpx")
    parser.add_argument("--repeats", type=int, default=2, help="turns without, with and without a drain")
    parser.add_argument("--samples", type=int, default=100, help="events whose arrival is timed")
    options = parser.parse_args()
    stores, parts = options.store or STORES, options.part or parts
    for store in stores if "alone" in parts else ():
        measure_alone(store, options)
    if "drain" in parts:
        bundle = served_bundle()
        for store in stores:
            measure_drain(store, bundle, options)
    for store in stores if "fairness" in parts else ():
        measure_fairness(store, options)
    print(f"target: {WANTED_RATE:,} deliveries/s or more, slower by at most {MOST_SLOWING:.0%}")


if __name__ == "__main__":
    main()
