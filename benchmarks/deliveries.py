"""Webhook deliveries: their rate, and what they cost the requests that the service answers meanwhile.

Run as ``python benchmarks/deliveries.py --store sqlite``. ``--part`` chooses one of three parts:

alone
    ``scoring-model deliver`` on one core delivers waiting events, and a receiver on the other checks every signature.
    Each delivery must arrive and be recorded as delivered after one attempt. For comparison, httpx posts the same
    bodies with the same concurrency and stores nothing.
drain
    ``scoring-model serve`` on one core creates verifications at full load, with and without waiting events of another
    client. PostgreSQL, the receiver and the load have the other core. Needs wrk. After the load the remaining
    deliveries must arrive.
fairness
    ``scoring-model deliver`` while 250,000 deliveries of one client wait, to 50 destinations that are quick, that hang,
    or whose names hang. Another client's events are committed one by one; measures the time until each arrives, with
    and without such a client. Each must arrive once, signed.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.checks import count_completed
from benchmarks.cores import cpu_seconds, on_core, two_cores
from benchmarks.counting_receiver import Counts, counting, counts_of
from benchmarks.create_verification import database
from benchmarks.filled_database import Filled, fill, new_client, rows_of
from benchmarks.harmful_client import HARMS, harmful, resolving
from benchmarks.load import CONNECTIONS, Load, Visits, require_wrk
from benchmarks.rehearsal import rehearsed
from benchmarks.served_bundle import served_bundle
from benchmarks.service_process import CREATE, serving
from benchmarks.waiting_events import delivered, kept, new_webhook, waiting, write_waiting

from running_service import PROGRAM
from scoring_model.bundle import Bundle
from scoring_model.service.core.rows import EventRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.signing import payload, signed_headers
from scoring_model.service.events import message_id
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys
from scoring_model.service.store import migrate
from scoring_model.service.webhooks import new_secret

RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks"
WANTED_RATE: Final = 1_000
MOST_SLOWING: Final = 0.2
SLOWEST: Final = 100
"""Minimum plausible deliveries per second."""
_WARM_SECONDS: Final = 4
_LONGEST_SECONDS: Final = 120


@dataclass(frozen=True, kw_only=True)
class World:
    """A database with a webhook whose URL is the receiver's.

    Parameters
    ----------
    url, key : str
        URL of the database, and source of its master keys.
    keyring : Keyring
    client : int
        Owner of the webhook.
    folder : Path
    receiver : str
        Its base URL.
    secret : str
    """

    url: str
    key: str
    keyring: Keyring
    client: int
    folder: Path
    receiver: str
    secret: str

    @property
    def hook(self) -> str:
        """URL of the webhook."""
        return f"{self.receiver}/hook"


@contextmanager
def world(
    store: str, load_core: int, prepare: Callable[[str, Keyring], Any] | None = None
) -> Iterator[tuple[World, Any]]:
    """Everything that runs on the core of the load; `prepare` creates and fills the tables."""
    secret = new_secret()
    with tempfile.TemporaryDirectory(prefix="deliveries-") as name, on_core(load_core):
        folder = Path(name)
        add_master_key(folder / "master.key")
        key = f"file:{folder / 'master.key'}"
        keyring = load_master_keys(key)
        with database(store, folder) as (url, _), counting(secret) as receiver:
            prepared = asyncio.run(migrate(url)) if prepare is None else prepare(url, keyring)
            caller, _ = asyncio.run(new_client(url))
            found = World(
                url=url,
                key=key,
                keyring=keyring,
                client=caller.client,
                folder=folder,
                receiver=receiver,
                secret=secret,
            )
            asyncio.run(new_webhook(url, keyring, client=found.client, destination=found.hook, secret=secret))
            yield found, prepared


@contextmanager
def delivering(
    world: World, core: int, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `scoring-model deliver` on its own core."""
    words = ["deliver", "--database", world.url, "--master-key", world.key, "--development"]
    with on_core(core):
        process = subprocess.Popen([PROGRAM, *words], stderr=subprocess.DEVNULL, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def settled(world: World, count: int) -> Counts:
    """Wait until the queue is empty; exit unless `count` deliveries were signed, received and recorded."""
    end = time.monotonic() + 30 + count / SLOWEST
    while asyncio.run(waiting(world.url)):
        if time.monotonic() > end:
            raise SystemExit(f"deliveries still wait: {asyncio.run(kept(world.url))}")
        time.sleep(0.2)
    counts, recorded = counts_of(world.hook), asyncio.run(delivered(world.url))
    if (counts.deliveries, counts.forged, recorded) != (count, 0, count):
        raise SystemExit(f"{count} events: {counts}, {recorded} recorded as delivered")
    return counts


def measure_alone(store: str, options: argparse.Namespace) -> dict[str, float]:
    """Deliver from a store, and post the same bodies from memory."""
    deliver_on, load_on = two_cores()
    with world(store, load_on) as (here, _):
        asyncio.run(write_waiting(here.url, client=here.client, count=options.events))
        with delivering(here, deliver_on) as process:
            counts = settled(here, options.events)
            cpu = 1e6 * cpu_seconds(process.pid) / options.events
        peer = post_by_httpx(here, deliver_on, min(options.events, options.posts))
    print(f"\n{store}: {counts.rate:8,.0f} deliveries/s, {cpu:.0f} us of CPU each, {counts.again} came twice")
    print(f"  httpx: {peer['rate']:8,.0f} posts/s, {peer['cpu']:.0f} us each, nothing kept", end="")
    print(f"; ratio {counts.rate / peer['rate']:.2f}", flush=True)
    return {
        "deliveries_per_second": counts.rate,
        "cpu_us": cpu,
        "came_twice": counts.again,
        "ratio_to_httpx": counts.rate / peer["rate"],
    }


def post_by_httpx(world: World, core: int, count: int) -> dict[str, float]:
    """Post the same bodies, signed beforehand, with httpx from the core that delivered."""
    statement = f"SELECT {', '.join(EventRow._fields)} FROM events ORDER BY id LIMIT {count}"
    bodies = [payload(EventRow(*row)) for row in asyncio.run(rows_of(world.url, statement))]
    posts = [
        (signed_headers(message_id(number.to_bytes(16, "big")), body, [world.secret], now=0), body.decode())
        for number, body in enumerate(bodies)
    ]
    url = f"{world.receiver}/posts"
    with on_core(core):
        done = subprocess.run(
            [
                sys.executable,
                Path(__file__).with_name("httpx_posts.py"),
                url,
                str(DeliveryLimits().per_destination // 2),  # the limit of one client
            ],
            input="".join(json.dumps(post) + "\n" for post in posts),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    counts = counts_of(url)
    if (counts.deliveries, counts.forged) != (count, 0):
        raise SystemExit(f"{count} posts: {counts}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure_fairness(store: str, options: argparse.Namespace) -> dict[str, float]:
    """Time another client's events without a harmful client and with each kind of one."""
    found: dict[str, float] = {}
    for harm in (None, *HARMS):
        times = arrival_times(store, harm, options.samples)
        p50, p99 = np.percentile(times, [50, 99])
        beside = "alone" if harm is None else f"beside {harm}"
        print(f"{store}: an event arrives after {p50:6.0f} ms, p99 {p99:6.0f} ms, {beside}", flush=True)
        found |= {f"p50_ms, {beside}": float(p50), f"p99_ms, {beside}": float(p99)}
    return found


def arrival_times(store: str, harm: str | None, samples: int) -> list[float]:
    """Milliseconds from the commit of each event to its arrival; exit unless each arrives once, signed."""
    deliver_on, load_on = two_cores()
    times = []
    with ExitStack() as stack:
        here, _ = stack.enter_context(world(store, load_on))
        if harm is not None:
            doing = harmful(harm, here.url, here.keyring, receiver=here.receiver, secret=here.secret)
            stack.enter_context(doing)
        stack.enter_context(delivering(here, deliver_on, resolving(here.folder)))
        for number in range(1, samples + 2):  # the first waits for the process to start
            asyncio.run(write_waiting(here.url, client=here.client, count=1))
            began = time.monotonic()
            while (counts := counts_of(here.hook)).deliveries < number:
                if time.monotonic() > began + _LONGEST_SECONDS:
                    raise SystemExit(f"an event did not arrive: {asyncio.run(kept(here.url))}")
                time.sleep(0.002)
            times.append(1e3 * (time.monotonic() - began))
        if (counts.deliveries, counts.again, counts.forged) != (samples + 1, 0, 0):
            raise SystemExit(f"{samples + 1} events: {counts}")
        if harm is not None and not asyncio.run(waiting(here.url)):
            raise SystemExit("the queue became empty: use fewer --samples")
    return times[1:]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Result of a load, with or without deliveries running beside it.

    Parameters
    ----------
    load : Load
    cpu : float
        Microseconds of CPU per created verification, deliveries included.
    delivered : float
        Deliveries per second meanwhile.
    """

    load: Load
    cpu: float
    delivered: float

    def __str__(self) -> str:
        return f"{self.load}, {self.cpu:.0f} us of CPU; {self.delivered:,.0f} deliveries/s"


def measure_drain(store: str, bundle: Bundle, options: argparse.Namespace) -> dict[str, float]:
    """Create verifications without and with waiting events, in turns."""
    serve_on, load_on = two_cores()

    def prepare(url: str, keyring: Keyring) -> Filled:
        return asyncio.run(
            fill(
                url,
                bundle,
                keyring,
                rows=options.rows,
                customers=options.customers,
                identities=False,
            )
        )

    with world(store, load_on, prepare) as (here, filled):
        visits = Visits(filled.bodies, headers=filled.headers, keys=True)
        path = rehearsed(bundle, visits, here.folder, serve_on, database=here.url, master_key=here.key)
        words = ["--development", "--no-request-log"]
        with serving(
            here.folder, serve_on, *words, bundle=path, database=here.url, master_key=here.key
        ) as running:

            def load(seconds: int) -> Turn:
                stored, arrived = asyncio.run(count_completed(here.url)), counts_of(here.hook).deliveries
                used, began = cpu_seconds(running.process.pid), time.monotonic()
                found = visits.drive(running.url + CREATE, seconds=seconds)
                used, took = cpu_seconds(running.process.pid) - used, time.monotonic() - began
                arrived = counts_of(here.hook).deliveries - arrived
                stored = asyncio.run(count_completed(here.url)) - stored
                # wrk stops with requests in flight, here and in the previous load.
                if not found.requests <= stored <= found.requests + 2 * CONNECTIONS:
                    raise SystemExit(f"{found.requests} were answered and {stored} were stored")
                return Turn(load=found, cpu=1e6 * used / stored, delivered=arrived / took)

            load(_WARM_SECONDS)
            written, plain, beside = 0, [], []
            for _ in range(options.repeats):
                plain.append(load(options.seconds))
                asyncio.run(write_waiting(here.url, client=here.client, count=options.events))
                written += options.events
                beside.append(load(options.seconds))
                if not asyncio.run(waiting(here.url)):
                    raise SystemExit("all events were delivered before the load ended: use more --events")
                began, arrived = time.monotonic(), counts_of(here.hook).deliveries
                counts = settled(here, written)
                rest = (written - arrived) / (time.monotonic() - began)
                plain.append(load(options.seconds))
                print_drain(store, plain[-2:], beside[-1], rest, counts)
    return summed(plain, beside, rest)


def print_drain(store: str, plain: list[Turn], beside: Turn, rest: float, counts: Counts) -> None:
    """Report one turn."""
    print(f"\n{store}: without  {plain[0]}")
    print(f"  with a drain  {beside}")
    print(f"  without again {plain[1]}")
    print(f"  {rest:,.0f} deliveries/s after the load; {counts.again} came twice", flush=True)


def summed(plain: list[Turn], beside: list[Turn], rest: float) -> dict[str, float]:
    """Print the medians of all turns."""
    without = statistics.median(turn.load.rate for turn in plain)
    found = statistics.median(turn.load.rate for turn in beside)
    cpu = statistics.median(turn.cpu for turn in plain), statistics.median(turn.cpu for turn in beside)
    print(f"  slower by {1 - found / without:.1%}, by CPU {1 - cpu[0] / cpu[1]:.1%}", end="")
    print(f"; target: at most {MOST_SLOWING:.0%}", flush=True)
    return {
        "verifications_per_second": without,
        "with_a_drain": found,
        "slower_by": 1 - found / without,
        "slower_by_cpu": 1 - cpu[0] / cpu[1],
        "p99_ms": statistics.median(turn.load.p99 for turn in plain),
        "p99_ms_with_a_drain": statistics.median(turn.load.p99 for turn in beside),
        "deliveries_per_second_under_load": statistics.median(turn.delivered for turn in beside),
        "deliveries_per_second_afterwards": rest,
    }


def main() -> None:
    """Measure the chosen parts on the chosen stores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql"], action="append", help="by default both")
    parts = ["alone", "drain", "fairness"]
    parser.add_argument("--part", choices=parts, action="append", help="by default all")
    parser.add_argument("--events", type=int, default=100_000, help="that wait")
    parser.add_argument("--posts", type=int, default=10_000, help="of httpx")
    parser.add_argument("--rows", type=int, default=1_000_000, help="link records of the history")
    parser.add_argument("--customers", type=int, default=60_000, help="distinct bodies of verifications")
    parser.add_argument("--seconds", type=int, default=12, help="of one load")
    parser.add_argument("--repeats", type=int, default=2, help="turns without, with and without a drain")
    parser.add_argument("--samples", type=int, default=100, help="events whose arrival is timed")
    options = parser.parse_args()
    stores, parts = options.store or ["sqlite", "postgresql"], options.part or parts
    results: dict[str, dict[str, float]] = {}
    if "alone" in parts:
        results |= {f"{store}, alone": measure_alone(store, options) for store in stores}
    if "drain" in parts:
        require_wrk()
        bundle = served_bundle()
        results |= {f"{store}, drain": measure_drain(store, bundle, options) for store in stores}
    if "fairness" in parts:
        results |= {f"{store}, fairness": measure_fairness(store, options) for store in stores}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "deliveries.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"target: {WANTED_RATE:,} deliveries/s or more, slower by at most {MOST_SLOWING:.0%}")


if __name__ == "__main__":
    main()
