"""Complete creation of a verification over HTTP, on one core with a million link records.

Each request has credentials, a rate limit, its own idempotency key, histories under up to five link keys (one of them
hot) and five windows, 300 trees, exact reasons where the outcome needs them, encryption, link rows, events, and a
durable commit. The service runs on one core; the load and PostgreSQL run on another.

Run as ``python benchmarks/create_verification.py --store sqlite``. Every answer must be a 201, and a sample is compared
with the scorer's decision on the same request and history. Prints the start of the service and its memory too.

With ``--in-use`` every run has a twin during which labels are reported and pages are read, in turns; the ratio of both
rates is printed for each pair. With ``--overrides`` the twin has 20 rules and three lists of 100,000 values instead.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from shared.bundles import served_bundle, stepping_up
from shared.checks import check_answers
from shared.database import Site, completed, site
from shared.judging import STORES, add_load, arguments
from shared.load import CONNECTIONS, CREATE, Answered, Visitors
from shared.processes import cpu_seconds, resident_mebibytes, serving

from outside_client import Answer, OutsideClient, port_of
from running_service import Running
from scoring_model.bundle import Bundle
from scoring_model.contract.outcome import Outcome
from scoring_model.records import rfc3339
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.core.rows import Row
from scoring_model.service.operator_lists.changes import Addition, ListChange, add_entries
from scoring_model.service.store import open_store

Within = Callable[[], AbstractContextManager[None]]

WARM_SECONDS: Final = 4
KEPT: Final = 200
"""Approximate number of answers of a load that are checked."""

LISTS: Final = [f"{CREATE}?limit=100{more}" for more in ("", "&outcome=FAILED", "&outcome=STEPPED_UP")]
LABELLED: Final = 10
"""Labels in a report, of two a second: one for each hundred of 2,000 verifications."""


def print_disk(folder: Path) -> None:
    """Measure how long the disk takes to confirm a written page."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(300):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(1e3 * (time.perf_counter() - began))
    median, late = statistics.median(times), sorted(times)[-4]
    print(f"disk: fdatasync median {median:.2f} ms, p99 {late:.2f} ms", flush=True)


def rehearsed(here: Site, bundle: Bundle, visitors: Visitors) -> Path:
    """Serve a bundle briefly; save it under a policy that steps up a realistic share of the scores."""
    trained = bundle.save(here.folder / "bundles" / "trained")
    with serving(here.folder, bundle=trained, **here.served) as service:
        warm = visitors.drive(service.url, WARM_SECONDS)
    scores = [int(json.loads(answer)["scoringScore"]) for answer in warm.answers]
    return stepping_up(bundle, scores).save(here.folder / "bundles" / "served")


@contextmanager
def in_use(service: Running, here: Site, verifications: Sequence[str]) -> Iterator[None]:
    """Report labels and read pages of lists, twice a second each; exit if an answer was not a 200."""
    client = OutsideClient(port_of(service), here.credentials)
    ids, stop = itertools.cycle(verifications), threading.Event()
    answers: list[Answer] = []

    def run() -> None:
        while not stop.wait(0.5):
            known = rfc3339(time.time_ns() // 1000 - 1_000_000)
            label = {"label": ("fraud", "genuine")[len(answers) % 4 // 2], "knownAt": known}
            rows = [{"verificationId": next(ids), **label} for _ in range(LABELLED)]
            answers.append(client.ask("POST", "/scoring/v1/labels", {"labels": rows}))
            answers.append(client.ask("GET", LISTS[len(answers) // 2 % len(LISTS)]))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    bad = [one for one in answers if one.status != 200] + [one for one in answers[::2] if one.json["refused"]]
    if bad or not answers:
        raise SystemExit(f"labels and lists: {bad or 'none was asked for'}")
    print(f"  with {len(answers) // 2} reports of labels and as many pages of lists")


class Overrides:
    """20 rules and three lists of 100,000 values, none of which holds for any request; they can be switched."""

    def __init__(self, here: Site, scorer: Scorer) -> None:
        self._here = here
        self._rows = asyncio.run(self._make(scorer))

    async def _make(self, scorer: Scorer) -> list[Row]:
        when = {"score": {"at_least": 100}, "signals.vpn": {"is": True}, "citizenship": {"is": "ZW"}}
        rules = [{"code": f"R{at}", "title": "a rule", "when": when, "then": "FAILED"} for at in range(20)]
        store = await open_store(self._here.url)
        try:
            made: list[Row] = [await activate_rules(store, {"rules": rules}, [scorer], by="benchmark", now=1)]
            for key in scorer.matrix.link_keys[:3]:
                change = ListChange(history_scope=self._here.caller.history_scope, name=key.name, by="")
                addition = Addition(key=key.name, outcome=Outcome.FAILED, until=None)
                hashes = [os.urandom(16) for _ in range(100_000)]
                await add_entries(store, change, addition, hashes, now=1)
            async with store.reading() as reader:
                for row in await reader.lists_after(0):
                    made += await reader.list_changes(row.number, 1_000)
            return made
        finally:
            await store.close()

    @contextmanager
    def off(self) -> Iterator[None]:
        """Take away the rows by which a service knows that there are some."""
        asyncio.run(self._change("DELETE FROM rule_sets", "DELETE FROM list_changes"))
        yield
        asyncio.run(self._change())

    async def _change(self, *statements: str) -> None:
        store = await open_store(self._here.url)
        try:
            async with store.writing([]) as transaction:
                for statement in statements:
                    await transaction._rows(statement)
                if not statements:
                    await transaction.insert(self._rows[:1])  # rows of one kind at a time
                    await transaction.insert(self._rows[1:])
        finally:
            await store.close()


class Bench:
    """One service under load: its site, the scorer of its bundle, and its requests."""

    def __init__(self, service: Running, here: Site, bundle: Path, visitors: Visitors) -> None:
        self._service = service
        self._here = here
        self._scorer = Scorer.load(bundle)
        self._visitors = visitors

    def load(self, seconds: int, connections: int = CONNECTIONS) -> Answered:
        """Send load for some seconds; print what was found, and compare answers with the scorer's."""
        before = self._cpu()
        found = self._visitors.drive(self._service.url, seconds, connections)
        used = [now - then for now, then in zip(self._cpu(), before, strict=True)]
        print(f"{connections} connections: {found}")
        for name, one in zip(("service", "PostgreSQL"), used, strict=False):
            print(f"  CPU of a request, {name}: {1e6 * one / found.count(201):.0f} us")
        answers = found.answers[:: max(1, len(found.answers) // KEPT)]
        print(f"  {asyncio.run(check_answers(self._here, self._scorer, answers))}", flush=True)
        return found

    def measure(self, seconds: int) -> Answered:
        """Send load, and count what was stored."""
        stored = completed(self._here.url)
        found = self.load(seconds)
        stored = completed(self._here.url) - stored
        # Requests were in flight when the clock stopped.
        if not found.count(201) <= stored <= found.count(201) + CONNECTIONS:
            raise SystemExit(f"{found.count(201)} were answered and {stored} were stored")
        return found

    def measure_in_use(self, seconds: int, *, repeats: int, known: Answered) -> list[Answered]:
        """Measure in turns without and with labels and lists in use; returns the loads without."""
        ids = [json.loads(answer)["id"] for answer in known.answers]
        return self._in_turns(seconds, repeats, nullcontext, lambda: in_use(self._service, self._here, ids))

    def measure_overrides(self, seconds: int, *, repeats: int) -> list[Answered]:
        """Measure in turns without and with rules and lists; returns the loads without."""
        return self._in_turns(seconds, repeats, Overrides(self._here, self._scorer).off, nullcontext)

    def _in_turns(self, seconds: int, repeats: int, without: Within, used: Within) -> list[Answered]:
        """Each pair begins with the other kind, so that a machine that slows down favours neither."""
        pairs = []
        for turn in range(repeats):
            loads: dict[bool, Answered] = {}
            for kind in (turn % 2 == 1, turn % 2 == 0):
                with used() if kind else without():
                    loads[kind] = self.measure(seconds)
            pairs.append(loads)
            print(f"pair {turn + 1}: {loads[True].goodput / loads[False].goodput:.3f} of the rate without")
        ratios = [loads[True].goodput / loads[False].goodput for loads in pairs]
        print(f"median {statistics.median(ratios):.3f} of the rate without")
        return [loads[False] for loads in pairs]

    def _cpu(self) -> list[float]:
        pids = [self._service.process.pid]
        if self._here.server is not None:
            postmaster = self._here.server.folder / "data" / "postmaster.pid"
            pids.append(int(postmaster.read_text(encoding="utf-8").split()[0]))
        return [cpu_seconds(pid) for pid in pids]


def measure(store: str, kind: str, bundle: Bundle, options: argparse.Namespace) -> dict[str, float]:
    """Measure one kind of request on one kind of store."""
    with site(store, bundle, options, identities=kind == "identities") as here:
        print_disk(here.folder)
        visitors = Visitors(here.bodies, here.credentials, keys=True)
        path, began = rehearsed(here, bundle, visitors), time.perf_counter()
        with serving(here.folder, bundle=path, **here.served) as service:
            if service.request("GET", "/health/ready")[0] != 200:
                raise SystemExit("the service is not ready")
            ready, pid = time.perf_counter() - began, service.process.pid
            print(f"ready after {ready:.2f} s with {resident_mebibytes(pid):.0f} MiB")
            bench = Bench(service, here, path, visitors)
            first, idle = bench.load(WARM_SECONDS), bench.load(WARM_SECONDS, connections=1)
            if options.overrides:
                found = bench.measure_overrides(options.seconds, repeats=options.repeats)
            elif options.in_use:
                found = bench.measure_in_use(options.seconds, repeats=options.repeats, known=first)
            else:
                found = [bench.measure(options.seconds) for _ in range(options.repeats)]
            print(f"{resident_mebibytes(pid):.0f} MiB after load", flush=True)
    return {
        "requests_per_second": statistics.median(load.goodput for load in found),
        "p50_ms": 1e3 * statistics.median(load.percentile(50) for load in found),
        "p99_ms": 1e3 * statistics.median(load.percentile(99) for load in found),
        "idle_p50_ms": 1e3 * idle.percentile(50),
    }


def main() -> None:
    """Measure both kinds of requests on the chosen stores."""
    parser = arguments(__doc__)
    add_load(parser, seconds=12, rows=1_000_000, customers=60_000)
    kinds = ("signals", "identities")
    parser.add_argument("--bodies", choices=kinds, action="append", help="by default both")
    parser.add_argument("--repeats", type=int, default=3, help="runs; the median counts")
    parser.add_argument(
        "--in-use", action="store_true", help="in turns without and with labels and lists in use"
    )
    parser.add_argument("--overrides", action="store_true", help="in turns without and with rules and lists")
    options = parser.parse_args()
    bundle = served_bundle()
    results = {
        f"{store}, {kind}": measure(store, kind, bundle, options)
        for store in options.store or STORES
        for kind in options.bodies or kinds
    }
    print(f"\n{'':<24}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'idle p50 ms':>13}")
    for name, found in results.items():
        print(f"{name:<24}", end="")
        print("{requests_per_second:12,.0f}{p50_ms:9.1f}{p99_ms:9.1f}{idle_p50_ms:13.2f}".format(**found))
    print("target: 1,500 requests/s or more, p99 below 50 ms; idle 2 ms on SQLite, 3 ms on PostgreSQL")


if __name__ == "__main__":
    main()
