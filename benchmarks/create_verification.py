"""Complete creation of a verification over HTTP, on one core with a million link records.

Each request has credentials, a rate limit, its own idempotency key, histories under up to five link keys (one of them
hot) and five windows, 300 trees, exact reasons where the outcome needs them, encryption, link rows, events, and a
durable commit. The service runs on one core; the load and PostgreSQL run on another.

Every answer must be a 201. All verdicts are decided again from what is stored, bit for bit, and a sample of the
answers is compared with them. Prints the start of the service and its memory too. With ``--overrides`` every run has a
twin with 20 rules and three lists of 100,000 values, in turns; the ratio of both rates is printed for each pair.
"""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from shared.bundles import served_bundle, stepping_up
from shared.checks import check_answers
from shared.database import Site, completed, site
from shared.load import CONNECTIONS, Answered, Visitors
from shared.processes import cpu_seconds, resident_mebibytes, serving
from shared.script import Stores, Verdict, at_least, in_turns, run

from running_service import Running
from scoring_model.bundle import Bundle
from scoring_model.contract.outcome import Outcome
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.core.rows import Row
from scoring_model.service.operator_lists.changes import Addition, ListChange, add_entries
from scoring_model.service.store import open_store

WARM_SECONDS: Final = 4
KEPT: Final = 200
"""Approximate number of answers of a load that are checked."""

OF_RATE: Final = 0.97
"""Least share of the rate without rules and lists."""


class Bodies(StrEnum):
    """What requests bring: signals only, or the name of a stored identity."""

    SIGNALS = "signals"
    IDENTITIES = "identities"


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
        before, since = self._cpu(), time.time_ns() // 1000
        found = self._visitors.drive(self._service.url, seconds, connections)
        used = [now - then for now, then in zip(self._cpu(), before, strict=True)]
        print(f"{connections} connections: {found}")
        for name, one in zip(("service", "PostgreSQL"), used, strict=False):
            print(f"  CPU of a request, {name}: {1e6 * one / found.count(201):.0f} us")
        answers = found.answers[:: max(1, len(found.answers) // KEPT)]
        print(f"  {asyncio.run(check_answers(self._here, self._scorer, answers, since=since))}", flush=True)
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

    def overridden(self, seconds: int, pairs: int) -> tuple[list[Answered], float]:
        """Measure in turns with and without rules and lists; the loads without, and the median ratio of rates."""
        off = Overrides(self._here, self._scorer).off

        def measure(has_overrides: bool) -> Answered:
            with nullcontext() if has_overrides else off():
                return self.measure(seconds)

        ratios, loads = [], []
        for used, without in in_turns(pairs, measure):
            loads.append(without)
            ratios.append(used.goodput / without.goodput)
            print(f"pair {len(ratios)}: {ratios[-1]:.3f} of the rate without")
        return loads, statistics.median(ratios)

    def _cpu(self) -> list[float]:
        pids = [self._service.process.pid]
        if self._here.server is not None:
            postmaster = self._here.server.folder / "data" / "postmaster.pid"
            pids.append(int(postmaster.read_text(encoding="utf-8").split()[0]))
        return [cpu_seconds(pid) for pid in pids]


def measure(
    store: str,
    kind: Bodies,
    bundle: Bundle,
    seconds: int,
    rows: int,
    customers: int,
    repeats: int,
    overrides: bool,
) -> Iterator[Verdict]:
    """Measure one kind of request on one kind of store."""
    with site(store, bundle, rows=rows, customers=customers, identities=kind is Bodies.IDENTITIES) as here:
        print_disk(here.folder)
        visitors = Visitors(here.bodies, here.credentials, keys=True)
        path, began = rehearsed(here, bundle, visitors), time.perf_counter()
        with serving(here.folder, bundle=path, **here.served) as service:
            if service.request("GET", "/health/ready")[0] != 200:
                raise SystemExit("the service is not ready")
            ready, pid = time.perf_counter() - began, service.process.pid
            print(f"ready after {ready:.2f} s with {resident_mebibytes(pid):.0f} MiB")
            bench = Bench(service, here, path, visitors)
            bench.load(WARM_SECONDS)
            idle = bench.load(WARM_SECONDS, connections=1)
            if overrides:
                loads, share = bench.overridden(seconds, repeats)
                yield at_least(f"{store}, {kind}: median share of the rate without overrides", share, OF_RATE)
            else:
                loads = [bench.measure(seconds) for _ in range(repeats)]
            print(f"{resident_mebibytes(pid):.0f} MiB after load", flush=True)
    rate = statistics.median(load.goodput for load in loads)
    p50, p99 = (1e3 * statistics.median(load.percentile(one) for load in loads) for one in (50, 99))
    print(
        f"{store}, {kind}: {rate:,.0f} requests/s (wanted: 1,500), p50 {p50:.1f} ms, p99 {p99:.1f} ms (below 50)"
    )
    print(f"  idle p50 {1e3 * idle.percentile(50):.2f} ms (2 on SQLite, 3 on PostgreSQL)", flush=True)


def main(
    *,
    store: Stores,
    bodies: Annotated[list[Bodies], typer.Option(default_factory=lambda: list(Bodies))],
    seconds: int = 12,
    rows: int = 1_000_000,
    customers: int = 60_000,
    repeats: int = 3,
    overrides: bool = False,
) -> Iterator[Verdict]:
    """Measure both kinds of requests on the chosen stores; the medians of repeated runs count."""
    bundle = served_bundle()
    for kind in store:
        for body in bodies:
            yield from measure(kind, body, bundle, seconds, rows, customers, repeats, overrides)


if __name__ == "__main__":
    run(main)
