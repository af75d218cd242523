"""The service under overload: its goodput, which clients it refuses, and the cost of a refusal.

Run as ``python benchmarks/overload.py --store sqlite``. The service has one core; the load, and PostgreSQL, have the
other. Capacity is the rate of a closed loop of `CONNECTIONS` in the same run. Then follow, in this order:

twice, four times
    An open loop of one client at two and four times the capacity, which ignores `Retry-After`. Capacity, both of them
    and `obeying` are measured in rounds, because the speed of a shared machine varies; medians are reported.
obeying
    Ten times the connections, which obey `Retry-After`.
flood
    One client keeps `FLOOD` connections busy within its quota, while another one sends a few requests a second.
held
    The lock of the client's history scope (PostgreSQL) or of the database (SQLite) is held for a little more than two
    seconds at half the capacity, so that the queue is empty before: requests that have waited for two seconds when the
    lock becomes free are answered with 202.
pending
    The lock is held for longer under half as much again as the capacity. The remaining PENDING verifications get a
    tenth of the capacity while that load continues.
refusal
    CPU time of the application for one refused request, beyond parsing, in this process.

Exits with 1 when a bound is missed.
"""

import argparse
import asyncio
import itertools
import json
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import asyncpg
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.cores import on_core, two_cores
from benchmarks.create_verification import database
from benchmarks.filled_database import Filled, fill, new_client, rows_of
from benchmarks.open_load import Answered, OpenLoad
from benchmarks.served_bundle import served_bundle
from benchmarks.service_process import CREATE, serving

from scoring_model.bundle import Bundle
from scoring_model.service.clients import Caller
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.errors import AT_ONCE, PER_SECOND
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.scoring.commit_queue import Admission
from scoring_model.service.store.postgres import lock_number

CONNECTIONS: Final = 200
OPEN_CONNECTIONS: Final = 3_000
FLOOD: Final = 1_000
HONEST_RATE: Final = 20.0
HELD_SECONDS: Final = 2.2
LONG_HELD_SECONDS: Final = 4.0
REFUSED: Final = 10_000

ROUNDS: Final = 3
OVERLOADS: Final = {"twice": (2, 0.8), "four times": (4, 0.6)}
"""Offered load as a multiple of the capacity, and the share of the capacity that must be served."""

OBEYING: Final = 0.8
_OBEYING: Final = "obeying"
REFUSAL_MICROSECONDS: Final = 60.0
HONEST_SECONDS: Final = 0.5
ACCEPTED_SECONDS: Final = 2.5
FINISHED: Final = 0.08
"""Minimum share of PENDING verifications among those scored: a tenth, less those not decided in a window."""

Verdict = tuple[bool, str]
Connect = Callable[[], AbstractAsyncContextManager[OpenLoad]]


def requests(filled: Filled, headers: Mapping[str, str], url: str) -> Iterator[bytes]:
    """Requests of all customers, in a cycle."""
    head = _head("POST", url, {"Content-Type": "application/json", **headers})
    whole = []
    for body in filled.bodies:
        raw = json.dumps(body).encode()
        whole.append(head + b"Content-Length: %d\r\n\r\n" % len(raw) + raw)
    return itertools.cycle(whole)


def _head(method: str, url: str, headers: Mapping[str, str]) -> bytes:
    parts = urlsplit(url)
    lines = [f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}"]
    return "".join(
        f"{line}\r\n" for line in lines + [f"{name}: {headers[name]}" for name in headers]
    ).encode()


@asynccontextmanager
async def connected(
    url: str, filled: Filled, headers: Mapping[str, str], connections: int
) -> AsyncIterator[OpenLoad]:
    """Connections of one client."""
    load = OpenLoad(url, requests(filled, headers, url + CREATE))
    try:
        await load.open(connections, _head("GET", url + "/scoring/v1/webhooks", headers) + b"\r\n")
        yield load
    finally:
        load.close()


@asynccontextmanager
async def held(url: str, pool: str) -> AsyncIterator[None]:
    """Hold the lock that changes of the client need."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        return
    server = await asyncpg.connect(url)
    try:
        await server.execute(f"SELECT pg_advisory_lock({lock_number(pool)})")
        yield
    finally:
        await server.close()


async def pending(url: str) -> int:
    """Number of PENDING verifications."""
    return int((await rows_of(url, "SELECT count(*) FROM verifications WHERE status = 'PENDING'"))[0][0])


async def overload(connect: Connect, seconds: float) -> tuple[float, list[Verdict]]:
    """Measure the capacity, then offer more, in rounds; return the median capacity and the judged medians."""
    capacities = []
    shares: dict[str, list[float]] = {name: [] for name in (*OVERLOADS, _OBEYING)}
    for _ in range(ROUNDS):
        async with connect() as load:  # new connections: the service closes idle ones
            await load.obeying(CONNECTIONS, 2.0)
            capacity = _shown("capacity", await _phase(load, load.obeying(CONNECTIONS, seconds))).goodput
            capacities.append(capacity)
            for name, (times, _) in OVERLOADS.items():
                await load.at_rate(times * capacity, 2.0)  # until the queue has its full length
                found = _shown(name, await _phase(load, load.at_rate(times * capacity, seconds)))
                shares[name].append(found.goodput / capacity)
            found = _shown(_OBEYING, await _phase(load, load.obeying(10 * CONNECTIONS, 2 * seconds)))
            shares[_OBEYING].append(found.goodput / capacity)
    verdicts = [
        _at_least(f"goodput at {name} the capacity", statistics.median(shares[name]), share)
        for name, (_, share) in OVERLOADS.items()
    ]
    verdicts.append(
        _at_least("goodput of ten times the connections", statistics.median(shares[_OBEYING]), OBEYING)
    )
    return statistics.median(capacities), verdicts


async def flood(load: OpenLoad, honest: OpenLoad, seconds: float) -> list[Verdict]:
    """One client keeps many connections busy while another sends a few requests."""
    flooding = asyncio.create_task(load.flooding(FLOOD, seconds + 1.0))
    await asyncio.sleep(1.0)
    found = _shown("honest", await honest.at_rate(HONEST_RATE, seconds, whole=True))
    _shown("flood", await flooding)
    await load.settle()
    refused = sum(found.count(status) for status in found.latencies if status != 201) + found.missing
    return [
        _at_most("p99 of another client beside a flood, seconds", found.p99(201), HONEST_SECONDS),
        _at_most("requests of the other client that were refused", refused, 0),
    ]


async def accepted(load: OpenLoad, url: str, pool: str, capacity: float, seconds: float) -> list[Verdict]:
    """Hold the lock under load, and judge how the PENDING verifications are finished."""
    found = await _during_hold(load, url, pool, 0.5 * capacity, HELD_SECONDS)
    verdict = _at_most(
        f"p99 of {found.count(202)} answers with 202, seconds", found.p99(202), ACCEPTED_SECONDS
    )
    await load.settle()
    await _during_hold(load, url, pool, 1.5 * capacity, LONG_HELD_SECONDS)
    before = await pending(url)
    during = _shown("pending", await load.at_rate(1.5 * capacity, seconds))
    left = await pending(url)
    finished = before + during.count(202) - left
    share = 1.0 if left == 0 else finished / (finished + during.count(201))
    await load.settle()
    name = f"capacity for PENDING verifications ({before}, {left} left)"
    return [verdict, _at_least(name, share, FINISHED)]


async def _during_hold(load: OpenLoad, url: str, pool: str, rate: float, seconds: float) -> Answered:
    """Hold the lock for some seconds of a load that continues for two more."""
    loading = asyncio.create_task(load.at_rate(rate, seconds + 2.0))
    await asyncio.sleep(0.5)
    async with held(url, pool):
        await asyncio.sleep(seconds)
    return _shown("held", await loading)


async def _phase(load: OpenLoad, phase: Any) -> Answered:
    found = await phase
    await load.settle()
    return cast(Answered, found)


class _Refusing:
    """A service that rejects every change of one client."""

    def __init__(self, caller: Caller) -> None:
        self.credentials = self.queue = self
        self._caller = caller
        self._admission = Admission(most=0, wait_seconds=0.0)

    async def authenticate(self, *_: object, **__: object) -> Caller:
        """The client."""
        return self._caller

    def enter(self, client: int) -> None:
        """Reject."""
        self._admission.enter(client, waited=0.0, now=time.monotonic())


async def refusal(filled: Filled) -> Verdict:
    """CPU time of one refusal, including its log line."""
    app = create_app(cast(Any, _Refusing(filled.caller)), HttpSettings(access_log=True), clock=SystemClock())
    given = {"host": "127.0.0.1", "content-type": "application/json", "content-length": "2", **filled.headers}
    headers = [(name.encode(), value.encode()) for name, value in given.items()]
    statuses = set()

    async def send(message: Mapping[str, Any]) -> None:
        statuses.add(message.get("status"))

    async def refuse() -> None:
        scope = {"type": "http", "method": "POST", "path": CREATE, "query_string": b"", "headers": headers}
        await app(scope, cast(Any, None), cast(Any, send))

    taken = []
    for _ in range(REFUSED // AT_ONCE):
        await asyncio.sleep(2 * AT_ONCE / PER_SECOND)  # until the limit allows as many again
        began = time.thread_time()
        for _ in range(AT_ONCE):
            await refuse()
        taken.append((time.thread_time() - began) / AT_ONCE)
    if statuses != {503, None}:
        raise SystemExit(f"refusals were answered with {statuses}")
    return _at_most("CPU of a refusal, us", 1e6 * statistics.median(taken), REFUSAL_MICROSECONDS)


def _shown(name: str, found: Answered) -> Answered:
    print(f"{name:<12}{found}", flush=True)
    return found


def _at_least(name: str, found: float, bound: float) -> Verdict:
    return found >= bound, f"{name}: {found:.2f}, at least {bound:g}"


def _at_most(name: str, found: float, bound: float) -> Verdict:
    return found <= bound, f"{name}: {found:.2f}, at most {bound:g}"


def measure(store: str, bundle: Bundle, options: argparse.Namespace) -> list[Verdict]:
    """Measure one kind of store."""
    serve_on, load_from = two_cores()
    with tempfile.TemporaryDirectory(prefix="overload-") as name, on_core(load_from):
        folder = Path(name)
        add_master_key(folder / "master.key")
        source, path = f"file:{folder / 'master.key'}", bundle.save(folder / "bundle")
        keyring = load_master_keys(source)
        with database(store, folder) as (url, _):
            print(f"\n{store}: {options.rows:,} link records", flush=True)
            filled = asyncio.run(
                fill(url, bundle, keyring, rows=options.rows, customers=options.customers, identities=False)
            )
            _, other = asyncio.run(new_client(url))
            with serving(folder, serve_on, bundle=path, database=url, master_key=source) as running:
                return uvloop.run(_measured(running.url, url, filled, other, options.seconds))


async def _measured(
    service: str, url: str, filled: Filled, other: Mapping[str, str], seconds: float
) -> list[Verdict]:
    def connect() -> AbstractAsyncContextManager[OpenLoad]:
        return connected(service, filled, filled.headers, OPEN_CONNECTIONS)

    capacity, verdicts = await overload(connect, seconds)
    async with connect() as load, connected(service, filled, other, 100) as honest:
        verdicts += await flood(load, honest, seconds)
    async with connect() as load:
        verdicts += await accepted(load, url, filled.caller.history_scope, capacity, seconds)
    return [*verdicts, await refusal(filled)]


def print_verdicts(verdicts: Sequence[Verdict]) -> bool:
    """Print the findings; return True if all are good."""
    for good, text in verdicts:
        print(f"{'good' if good else 'BAD '}  {text}")
    return all(good for good, _ in verdicts)


def main() -> None:
    """Measure the chosen stores; exit with 1 when a bound is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql"], action="append", help="by default both")
    parser.add_argument("--seconds", type=float, default=10, help="of each phase")
    parser.add_argument("--rows", type=int, default=300_000, help="link records of the history")
    parser.add_argument("--customers", type=int, default=20_000, help="different bodies")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    bundle = served_bundle()
    found = [
        print_verdicts(measure(store, bundle, options)) for store in options.store or ["sqlite", "postgresql"]
    ]
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
