"""The service for half an hour at 80 % of its capacity, with webhooks: nothing may grow, slow down or stay undelivered.

Run as ``python benchmarks/soak.py --minutes 30``. Needs wrk. The service has one core; the load, the receiver of the
webhooks, and PostgreSQL have the other. Without ``--rate`` the capacity is measured first: the highest rate at
which at most two seconds' worth of events and deliveries wait. The search starts at the rate of full load, counted
until its last event is delivered, and goes down in steps of a tenth. Exits with 1 when any verdict is bad.
"""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import numpy as np
import scipy.stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.cores import resident_mebibytes, two_cores
from benchmarks.counting_receiver import counts_of
from benchmarks.deliveries import World, world
from benchmarks.filled_database import Filled, fill, rows_of
from benchmarks.load import Visits, require_wrk
from benchmarks.rehearsal import rehearsed
from benchmarks.served_bundle import served_bundle
from benchmarks.service_process import CREATE, serving
from benchmarks.steady_load import SteadyLoad, Window
from benchmarks.waiting_events import kept, new_webhook, waiting

from running_service import Running
from scoring_model.service.keys.keyring import Keyring

SHARE: Final = 0.8
EVENT_TYPES: Final = ('["*"]', '["verification.stepped_up","verification.failed"]')
"""Events of the client's webhooks: one gets every outcome, one gets outcomes other than `PASSED`."""

_SAMPLE_SECONDS: Final = 5.0
_CAPACITY_SECONDS: Final = 10
_STEP: Final = 0.9
_SUSTAINED_SECONDS: Final = 15.0
_ALLOWED_SECONDS: Final = 2.0  # of waiting work
_DRAIN_SECONDS: Final = 120.0
_LOGGED: Final = 20  # lines of log besides requests; none are expected
_GROWTH: Final = 0.05  # allowed relative growth over the second half
_LATER: Final = 0.25
_NOISE_MS: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Measurements of one short window.

    Parameters
    ----------
    window : Window
    resident, log : float
        Mebibytes of the process and of the write-ahead log.
    waiting : int
        Waiting events and deliveries.
    """

    window: Window
    resident: float
    log: float
    waiting: int


def requests(filled: Filled, url: str) -> Iterator[bytes]:
    """Requests of all customers in a cycle, each under its own idempotency key."""
    parts = urlsplit(url)
    named = {"Host": parts.netloc, "Content-Type": "application/json", **filled.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    start = time.time_ns()
    for number, body in enumerate(itertools.cycle([json.dumps(body).encode() for body in filled.bodies])):
        key = f"Idempotency-Key: {start}-{number}\r\nContent-Length: {len(body)}\r\n\r\n"
        yield f"POST {parts.path} HTTP/1.1\r\n{head}{key}".encode() + body


async def log_mebibytes(url: str) -> float:
    """Size of the write-ahead log."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///") + "-wal")
        return path.stat().st_size / 2**20 if path.exists() else 0.0
    return float((await rows_of(url, "SELECT sum(size) FROM pg_ls_waldir()"))[0][0]) / 2**20


async def drained(url: str) -> bool:
    """Wait until nothing is left to deliver; return True if that happened."""
    end = time.monotonic() + _DRAIN_SECONDS
    while await waiting(url):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.1)
    return True


def burst_rate(running: Running, here: World, filled: Filled) -> float:
    """Verifications per second at full load, counted until their last event is delivered."""
    visits = Visits(filled.bodies, headers=filled.headers, keys=True)
    visits.drive(running.url + CREATE, seconds=3)
    if not asyncio.run(drained(here.url)):
        raise SystemExit("deliveries still wait after a short load")
    began = time.monotonic()
    made = visits.drive(running.url + CREATE, seconds=_CAPACITY_SECONDS)
    if not asyncio.run(drained(here.url)):
        raise SystemExit("deliveries still wait after a short load")
    return made.requests / (time.monotonic() - began)


async def capacity(running: Running, here: World, filled: Filled, rate: float) -> float:
    """Sustainable verifications per second, labels included; at most a rate."""
    load = SteadyLoad(running.url, requests(filled, running.url + CREATE), status=201)
    await load.open()
    try:
        while True:
            window = await load.run(rate, _SUSTAINED_SECONDS)
            left = await waiting(here.url)
            if window.rate >= 0.98 * rate and left <= _ALLOWED_SECONDS * rate:
                return rate
            if not await drained(here.url):
                raise SystemExit("deliveries still wait after a short load")
            rate *= _STEP
    finally:
        await load.close()


async def soak(running: Running, here: World, filled: Filled, rate: float, minutes: float) -> list[Sample]:
    """Send load at a rate, and measure every few seconds."""
    load = SteadyLoad(running.url, requests(filled, running.url + CREATE), status=201)
    await load.open()
    print(f"\n{'minute':>6}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}", end="")
    print(f"{'RSS MiB':>10}{'waiting':>9}{'WAL MiB':>9}")
    samples: list[Sample] = []
    try:
        for number in range(max(4, round(60 * minutes / _SAMPLE_SECONDS))):
            window = await load.run(rate, _SAMPLE_SECONDS)
            samples.append(
                Sample(
                    window=window,
                    resident=resident_mebibytes(running.process.pid),
                    log=await log_mebibytes(here.url),
                    waiting=await waiting(here.url),
                )
            )
            if (number + 1) % round(60 / _SAMPLE_SECONDS) == 0:
                print_minute(samples[-round(60 / _SAMPLE_SECONDS) :], len(samples) * _SAMPLE_SECONDS / 60)
    finally:
        await load.close()
    return samples


def print_minute(samples: list[Sample], minute: float) -> None:
    """One line of the table: the worst p99 of the windows, and the values at the end."""
    rate = np.mean([sample.window.rate for sample in samples])
    p50 = np.median([sample.window.p50 for sample in samples])
    p99 = max(sample.window.p99 for sample in samples)
    last = samples[-1]
    print(f"{minute:6.0f}{rate:12,.0f}{p50:9.1f}{p99:9.1f}", end="")
    print(f"{last.resident:10.1f}{last.waiting:9,}{last.log:9.1f}", flush=True)


def growth(values: list[float]) -> tuple[float, float]:
    """Growth over the second half, by the median of all slopes (Theil and Sen), and its median.

    Least squares would follow the few seconds in which a checkpoint or another process used the disk.
    """
    half = np.asarray(values[len(values) // 2 :])
    slope = scipy.stats.theilslopes(half).slope
    return float(slope * (len(half) - 1)), float(np.median(half))


def verdicts(samples: list[Sample], *, empty: bool, missing: int, rate: float) -> list[tuple[bool, str]]:
    """Judge the measurements."""
    found = []
    grown, level = growth([sample.resident for sample in samples])
    found.append((grown <= _GROWTH * level, f"memory: {grown:+.1f} of {level:.0f} MiB in the second half"))
    for name in ("p50", "p99"):
        grown, level = growth([getattr(sample.window, name) for sample in samples])
        flat = grown <= max(_LATER * level, _NOISE_MS)
        found.append((flat, f"{name}: {grown:+.1f} of {level:.1f} ms in the second half"))
    failures = sum((sample.window.failures for sample in samples), Counter[str]())
    named = "".join(f"; {count} times {name}" for name, count in failures.items())
    found.append((not failures, f"{failures.total()} requests were not answered with 201{named}"))
    held = float(np.mean([sample.window.rate for sample in samples]))
    found.append((held >= 0.98 * rate, f"{held:,.0f} of {rate:,.0f} requests/s were answered"))
    found.append((empty, "nothing waits at the end" if empty else "deliveries still wait at the end"))
    found.append((missing == 0, f"{missing} deliveries are recorded but did not arrive, or the reverse"))
    return found


def measure(options: argparse.Namespace) -> list[tuple[bool, str]]:
    """Prepare a database, find the rate, soak, and judge."""
    serve_on, load_on = two_cores()
    bundle = served_bundle()

    def prepare(url: str, keyring: Keyring) -> Filled:
        return asyncio.run(
            fill(url, bundle, keyring, rows=options.rows, customers=options.customers, identities=False)
        )

    with world(options.store, load_on, prepare) as (here, filled):
        visits = Visits(filled.bodies, headers=filled.headers, keys=True)
        path = rehearsed(bundle, visits, here.folder, serve_on, database=here.url, master_key=here.key)
        client = filled.caller.client
        for kinds in EVENT_TYPES:
            asyncio.run(
                new_webhook(
                    here.url,
                    here.keyring,
                    client=client,
                    destination=here.hook,
                    secret=here.secret,
                    event_types=kinds,
                )
            )
        words = ["--development", "--no-request-log"]
        with serving(
            here.folder, serve_on, *words, bundle=path, database=here.url, master_key=here.key
        ) as running:
            rate = options.rate
            if rate is None:
                burst = burst_rate(running, here, filled)
                most = asyncio.run(capacity(running, here, filled, burst))
                print(f"bursts of {burst:,.0f} requests/s, {most:,.0f} sustained")
                rate = SHARE * most
            print(f"{options.store}: {rate:,.0f} requests/s for {options.minutes:g} minutes", flush=True)
            samples = asyncio.run(soak(running, here, filled, rate, options.minutes))
            empty = asyncio.run(drained(here.url))
            lines = running.log.read_text(encoding="utf-8").splitlines()
            print("\n".join([line for line in lines if '"route":' not in line][:_LOGGED]))
        counts, recorded = counts_of(here.hook), asyncio.run(kept(here.url))
        arrived = sum(count for status, *_, count in recorded if status == "DELIVERED")
        print(
            f"{counts.deliveries:,} deliveries arrived, {counts.again} twice, {counts.forged} forged; {recorded}"
        )
        missing = abs(arrived - counts.deliveries) + counts.forged
    return verdicts(samples, empty=empty, missing=missing, rate=rate)


def main() -> None:
    """Soak, and exit with 1 when any verdict is bad."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument(
        "--rate", type=float, help="requests per second, instead of 80 %% of the measured capacity"
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="link records of the history")
    parser.add_argument("--customers", type=int, default=60_000, help="different bodies")
    options = parser.parse_args()
    if options.rate is None:
        require_wrk()
    found = measure(options)
    for good, text in found:
        print(f"{'good' if good else 'BAD '}  {text}")
    sys.exit(0 if all(good for good, _ in found) else 1)


if __name__ == "__main__":
    main()
