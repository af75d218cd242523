"""The service under overload: its goodput, which clients it refuses, and the cost of a refusal.

The service has one core; the load, and PostgreSQL, have the other. Capacity is the rate of a closed loop of
`CONNECTIONS` in the same run. Then follow, in this order:

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
switch
    A bundle with the same trees under another policy is activated, and rolled back, in the middle of a load that sends
    again as soon as it is answered: no request may fail, and none may wait for long in any second.
refusal
    CPU time of the application for one refused request, beyond parsing, in this process.

Exits with 1 when a bound is missed.
"""

import asyncio
import resource
import sqlite3
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop
from shared.bundles import served_bundle
from shared.database import Site, count, new_client, site
from shared.load import CONNECTIONS as SWITCHED
from shared.load import CREATE, Answered, OpenLoad, Visitors
from shared.processes import serving
from shared.script import Stores, Verdict, at_least, at_most, run

from fake_service import GOOD, Client
from identity_use import with_thresholds
from running_service import PROGRAM
from scoring_model.bundle import Bundle
from scoring_model.service.core.errors import Overloaded
from scoring_model.service.http import HttpSettings
from scoring_model.service.http.errors import AT_ONCE, PER_SECOND
from scoring_model.service.store.postgres import lock_number
from service_use import file_of, select

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
SWITCHED_P99_MS: Final = 100.0
SWITCH_SECONDS: Final = 5.0
FINISHED: Final = 0.08
"""Minimum share of PENDING verifications among those scored: a tenth, less those not decided in a window."""

Connect = Callable[[], AbstractAsyncContextManager[OpenLoad]]


@asynccontextmanager
async def held(here: Site) -> AsyncIterator[None]:
    """Hold the lock that changes of the client need."""
    if here.server is None:
        with closing(sqlite3.connect(file_of(here.url), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        return
    server = await asyncpg.connect(here.url)
    try:
        await server.execute(f"SELECT pg_advisory_lock({lock_number(here.caller.history_scope)})")
        yield
    finally:
        await server.close()


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
    medians = {name: statistics.median(found) for name, found in shares.items()}
    bounds = {f"goodput at {name} the capacity": (medians[name], one[1]) for name, one in OVERLOADS.items()}
    bounds["goodput of ten times the connections"] = medians[_OBEYING], OBEYING
    return statistics.median(capacities), [at_least(name, *one) for name, one in bounds.items()]


async def flood(load: OpenLoad, honest: OpenLoad, seconds: float) -> list[Verdict]:
    """One client keeps many connections busy while another sends a few requests."""
    flooding = asyncio.create_task(load.flooding(FLOOD, seconds + 1.0))
    await asyncio.sleep(1.0)
    found = _shown("honest", await honest.at_rate(HONEST_RATE, seconds, whole=True))
    _shown("flood", await flooding)
    await load.settle()
    return [
        at_most("p99 of another client beside a flood, seconds", found.percentile(99), HONEST_SECONDS),
        at_most("requests of the other client that were refused", found.others() + found.missing, 0),
    ]


async def accepted(load: OpenLoad, here: Site, capacity: float, seconds: float) -> list[Verdict]:
    """Hold the lock under load, and judge how the PENDING verifications are finished."""
    found = await _during_hold(load, here, 0.5 * capacity, HELD_SECONDS)
    name = f"p99 of {found.count(202)} answers with 202, seconds"
    verdict = at_most(name, found.percentile(99, 202), ACCEPTED_SECONDS)
    await load.settle()
    await _during_hold(load, here, 1.5 * capacity, LONG_HELD_SECONDS)
    pending = here.url, "verifications", "status = 'PENDING'"
    before = await asyncio.to_thread(count, *pending)
    during = _shown("pending", await load.at_rate(1.5 * capacity, seconds))
    left = await asyncio.to_thread(count, *pending)
    finished = before + during.count(202) - left
    share = 1.0 if left == 0 else finished / (finished + during.count(201))
    await load.settle()
    name = f"capacity for PENDING verifications ({before}, {left} left)"
    return [verdict, at_least(name, share, FINISHED)]


async def _during_hold(load: OpenLoad, here: Site, rate: float, seconds: float) -> Answered:
    """Hold the lock for some seconds of a load that continues for two more."""
    loading = asyncio.create_task(load.at_rate(rate, seconds + 2.0))
    await asyncio.sleep(0.5)
    async with held(here):
        await asyncio.sleep(seconds)
    return _shown("held", await loading)


async def _phase(load: OpenLoad, phase: Coroutine[Any, Any, Answered]) -> Answered:
    found = await phase
    await load.settle()
    return found


async def refusal() -> Verdict:
    """CPU time of one refusal, including its log line."""
    client = Client(settings=HttpSettings(access_log=True))
    client.service.overload = Overloaded()
    headers = [(name.encode(), value.encode()) for name, value in GOOD.items()]
    scope = {"type": "http", "method": "POST", "path": CREATE, "query_string": b"", "headers": headers}
    statuses, taken = set(), []

    async def send(message: Any = None) -> None:
        statuses.add(message.get("status"))

    for _ in range(REFUSED // AT_ONCE):
        await asyncio.sleep(2 * AT_ONCE / PER_SECOND)  # until the limit allows as many again
        began = time.thread_time()
        for _ in range(AT_ONCE):
            await client.app(dict(scope), send, send)  # type: ignore[arg-type]
        taken.append((time.thread_time() - began) / AT_ONCE)
    if statuses != {503, None}:
        raise SystemExit(f"refusals were answered with {statuses}")
    return at_most("CPU of a refusal, us", 1e6 * statistics.median(taken), REFUSAL_MICROSECONDS)


def _shown(name: str, found: Answered) -> Answered:
    print(f"{name:<12}{found}", flush=True)
    return found


async def switch(load: OpenLoad, here: Site, bundle: Path, seconds: int) -> list[Verdict]:
    """Activate a bundle after a quarter of the seconds of a load, and roll it back after as many more."""
    await load.flooding(SWITCHED, 2.0)
    await load.settle()
    loading = asyncio.create_task(load.flooding(SWITCHED, seconds + 2.0))
    commands = {seconds // 4: ["activate", str(bundle)], seconds // 2: ["rollback"]}
    windows: list[Answered] = []
    running: list[asyncio.subprocess.Process] = []
    for second in range(seconds):
        if words := commands.get(second):
            # At low priority: the command shares its core with the load.
            call = ("nice", "-n", "19", str(PROGRAM), "bundles", *words, "--database", here.url)
            running.append(await asyncio.create_subprocess_exec(*call, stdout=subprocess.DEVNULL))
        await asyncio.sleep(1.0)
        windows.append(_shown(words[0] if words else "switch", load.so_far(1.0)))
    await loading
    codes = [await one.wait() for one in running]
    await load.settle()
    if codes != [0, 0]:
        raise SystemExit(f"exit codes of activation and rollback: {codes}")
    rows = await select(here.url, "SELECT number, at, request, state FROM bundle_activations ORDER BY number")
    at = {number: instant for number, instant, _, _ in rows}
    # The first one served already; a rollback is decided at once.
    took = [(row[1] - at[row[2] or row[0]]) / 1e6 for row in rows if row[3] == "ACTIVE"][1:]
    if len(took) != 2:
        raise SystemExit(f"{len(took)} bundles were activated")
    p99 = max(1e3 * window.percentile(99) for window in windows)
    return [
        at_most("failed requests while bundles switch", sum(window.others() for window in windows), 0),
        at_most("p99 of the worst second while bundles switch, ms", p99, SWITCHED_P99_MS),
        at_most("seconds from the request of a switch to its decision", max(took), SWITCH_SECONDS),
    ]


async def measured(
    service: str, here: Site, other: Mapping[str, str], bundle: Path, seconds: float
) -> list[Verdict]:
    """Measure one service; another client has the credentials `other`, and `bundle` is switched to."""
    visitors = Visitors(here.bodies, here.credentials)

    def connect() -> AbstractAsyncContextManager[OpenLoad]:
        return visitors.connected(service, OPEN_CONNECTIONS)

    capacity, verdicts = await overload(connect, seconds)
    async with connect() as load, Visitors(here.bodies, other).connected(service, 100) as honest:
        verdicts += await flood(load, honest, seconds)
    async with connect() as load:
        verdicts += await accepted(load, here, capacity, seconds)
    async with visitors.connected(service, SWITCHED) as load:
        verdicts += await switch(load, here, bundle, round(2.4 * seconds))
    return [*verdicts, await refusal()]


def measure(store: str, bundle: Bundle, seconds: float, rows: int, customers: int) -> list[Verdict]:
    """Measure one kind of store."""
    with site(store, bundle, rows=rows, customers=customers) as here:
        path, (_, other) = bundle.save(here.folder / "shelf" / "bundle"), asyncio.run(new_client(here.url))
        fail_from = max(500, bundle.contents.rules.policy.fail_from)
        switched = with_thresholds(bundle, step_up_from=500, fail_from=fail_from).save(here.folder / "other")
        with serving(here.folder, bundle=path, **here.served) as service:
            return uvloop.run(measured(service.url, here, other, switched, seconds))


def main(
    *, store: Stores, seconds: float = 10, rows: int = 300_000, customers: int = 20_000
) -> Iterator[Verdict]:
    """Measure the chosen stores, with `rows` link records and `customers` different bodies."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    bundle = served_bundle()
    for kind in store:
        yield from measure(kind, bundle, seconds, rows, customers)


if __name__ == "__main__":
    run(main)
