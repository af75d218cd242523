"""Deliveries of webhooks a second, beside httpx, which posts the same bodies and stores nothing.

``scoring-model deliver`` on one core delivers waiting events, and a receiver on the other checks every signature. Each
delivery must arrive and be recorded as delivered after one attempt. httpx has the same concurrency. Ends with 1 below
`WANTED_RATE`.
"""

import asyncio
import json
import multiprocessing
import subprocess
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final

import httpx
import uvloop
from aiohttp import web
from shared.database import Site, count, insert, secrets_of, site
from shared.processes import cpu_seconds, on_core, two_cores
from shared.script import Stores, Verdict, at_least, run
from standardwebhooks import Webhook

from running_service import PROGRAM
from scoring_model.service.core.rows import EventRow, WebhookRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.signing import payload, signed_headers
from scoring_model.service.events.events import message_id
from scoring_model.service.events.webhooks import associated_data, new_secret
from service_use import select
from stored_rows import event_row, new_id, webhook_row

WANTED_RATE: Final = 1_000
SLOWEST: Final = 100
"""Minimum plausible deliveries per second."""

DATA: Final = json.dumps(
    {
        "id": "01890a5d-ac96-774b-bcce-b302099a8057",
        "identityId": None,
        "status": "COMPLETED",
        "scoringOutcome": "PASSED",
        "scoringScore": 112,
        "modelVersion": "0123456789ab",
    }
)

Post = tuple[dict[str, str], str]


def receive(secret: str, port: "Connection[int, int]") -> None:
    """Count signed and repeated deliveries by path, and refuse forged ones; GET returns the counts of a path.

    `seconds` are those from the first new delivery to the last one.
    """
    arrived: dict[str, dict[str, float]] = defaultdict(dict)
    again: Counter[str] = Counter()

    async def take(request: web.Request) -> web.Response:
        Webhook(secret).verify(await request.read(), dict(request.headers))
        message, known = request.headers["webhook-id"], arrived[request.path]
        again[request.path] += message in known
        known.setdefault(message, time.monotonic())
        return web.Response(status=204)

    async def show(request: web.Request) -> web.Response:
        times = sorted(arrived[request.path].values()) or [0.0]
        seconds, path = times[-1] - times[0], request.path
        return web.json_response({"deliveries": len(arrived[path]), "seconds": seconds, "again": again[path]})

    async def serve() -> None:
        app = web.Application()
        app.add_routes([web.post("/{path}", take), web.get("/{path}", show)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        port.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    uvloop.run(serve())


@contextmanager
def receiving(secret: str) -> Iterator[str]:
    """Run a receiver in a process of its own; yields its base URL."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=receive, args=(secret, there))
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.kill()
        process.join()


def counts_of(url: str, expected: int) -> dict[str, Any]:
    """Fetch from a receiver the counts of a URL; exit unless all were signed and received."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        counts: dict[str, Any] = json.load(answer)
    if counts["deliveries"] != expected:
        raise SystemExit(f"{expected} were sent: {counts}")
    return counts


def write_events(here: Site, destination: str, secret: str, events: int) -> None:
    """Register a webhook for all events, and write waiting ones."""
    hook, client, now = new_id(), here.caller.client, time.time_ns() // 1000
    secrets = asyncio.run(secrets_of(here.url, here.keyring))
    sealed = secrets.seal(associated_data("secret", hook), secret.encode())
    row = webhook_row(
        id=hook, client=client, destination_url=destination, secret=sealed, created_at=1, succeeded_at=now
    )
    asyncio.run(insert(here.url, WebhookRow, [row]))
    waiting = {"client": client, "type": "verification.passed", "created_at": now, "data": DATA}
    asyncio.run(insert(here.url, EventRow, (event_row(**waiting) for _ in range(events))))


def deliver(here: Site, events: int) -> float:
    """Run `scoring-model deliver` on its own core until nothing waits; microseconds of CPU of a delivery."""
    words = ["deliver", "--database", here.url, "--master-key", here.master_key, "--development"]
    with on_core(two_cores()[0]):
        process = subprocess.Popen([PROGRAM, *words], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30 + events / SLOWEST
        while count(here.url, "events", "waiting = 1") + count(here.url, "deliveries", "status = 'WAITING'"):
            if time.monotonic() > end:
                raise SystemExit("deliveries still wait")
            time.sleep(0.2)
        return 1e6 * cpu_seconds(process.pid) / events
    finally:
        process.terminate()
        process.wait()


def measure(store: str, events: int, posts: int) -> Verdict:
    """Deliver from a store, and post the same bodies from memory."""
    secret = new_secret()
    with site(store, None) as here, receiving(secret) as receiver:
        write_events(here, f"{receiver}/hook", secret, events)
        cpu = deliver(here, events)
        counts = counts_of(f"{receiver}/hook", events)
        recorded = count(here.url, "deliveries", "status = 'DELIVERED' AND attempts = 1")
        if recorded != events:
            raise SystemExit(f"{recorded} of {events} were recorded as delivered at once")
        peer_rate, peer_cpu = post_by_httpx(here, f"{receiver}/posts", secret, min(events, posts))
    rate = (events - 1) / counts["seconds"]
    print(f"\n{store}: {rate:8,.0f} deliveries/s, {cpu:.0f} us of CPU each, {counts['again']} came twice")
    print(f"  httpx: {peer_rate:8,.0f} posts/s, {peer_cpu:.0f} us each, nothing kept", end="")
    print(f"; ratio {rate / peer_rate:.2f}", flush=True)
    return at_least(f"deliveries per second, {store}", rate, WANTED_RATE)


def post_by_httpx(here: Site, url: str, secret: str, number: int) -> tuple[float, float]:
    """Post the same bodies, signed beforehand, with httpx from the core that delivered."""
    statement = f"SELECT {', '.join(EventRow._fields)} FROM events ORDER BY id LIMIT {number}"
    bodies = [payload(EventRow(*row)) for row in asyncio.run(select(here.url, statement))]
    now = time.time_ns() // 1000
    posts = [
        (signed_headers(message_id(place.to_bytes(16, "big")), body, [secret], now=now), body.decode())
        for place, body in enumerate(bodies)
    ]
    context = multiprocessing.get_context("spawn")
    with on_core(two_cores()[0]), ProcessPoolExecutor(1, mp_context=context) as pool:
        measured = pool.submit(post_all, url, posts, DeliveryLimits().per_destination // 2).result()
    counts_of(url, number)
    return measured


def post_all(url: str, posts: list[Post], concurrency: int) -> tuple[float, float]:
    """Post with httpx in this process; posts a second, and microseconds of CPU of each."""

    async def work(client: httpx.AsyncClient, waiting: Iterator[Post]) -> None:
        for headers, body in waiting:
            (await client.post(url, headers=headers, content=body)).raise_for_status()

    async def post() -> None:
        limits, waiting = httpx.Limits(max_connections=concurrency), iter(posts)
        async with httpx.AsyncClient(limits=limits, timeout=15, trust_env=False) as client:
            await asyncio.gather(*(work(client, waiting) for _ in range(concurrency)))

    began, used = time.perf_counter(), time.process_time()
    uvloop.run(post())
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return len(posts) / seconds, 1e6 * cpu / len(posts)


def main(*, store: Stores, events: int = 100_000, posts: int = 10_000) -> Iterator[Verdict]:
    """Measure the chosen stores; `posts` are those of httpx."""
    for kind in store:
        yield measure(kind, events, posts)


if __name__ == "__main__":
    run(main)
