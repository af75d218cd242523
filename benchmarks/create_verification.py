"""Complete creation of a verification over HTTP, on one core with a million link records.

Each request has credentials, a rate limit, its own idempotency key, histories under up to five link keys (one of them
hot) and five windows, 300 trees, exact reasons where the outcome needs them, encryption, link rows, events, and a
durable commit. The service runs on one core; the load and PostgreSQL run on another.

Run as ``python benchmarks/create_verification.py --store sqlite``. Needs wrk. Every answer must be a 201, and a sample
is compared with the scorer's decision on the same request and history.

With ``--in-use`` every run has a twin during which labels are reported and lists are read, in turns; the ratio of both
rates is printed for each pair.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.beside import Beside
from benchmarks.checks import check_answers, count_completed
from benchmarks.cores import cpu_seconds, cpu_seconds_of_tree, on_core, two_cores
from benchmarks.filled_database import Filled, fill
from benchmarks.load import CONNECTIONS, KEPT, Load, Visits, require_wrk
from benchmarks.rehearsal import rehearsed
from benchmarks.served_bundle import served_bundle
from benchmarks.service_process import CREATE, serving

from databases import Server, running_server
from scoring_model.bundle import Bundle
from scoring_model.scorer import Scorer
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys

RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks"
WARM_SECONDS: Final = 4


@contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Server | None]]:
    """An empty database and its server, if it has one."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'scoring.db'}", None
        return
    with running_server() as server:
        yield server.create("scoring"), server


def print_disk(folder: Path) -> None:
    """Measure how long the disk takes to confirm a written page."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(300):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(1e3 * (time.perf_counter() - began))
    print(
        f"disk: fdatasync median {statistics.median(times):.2f} ms, p99 {sorted(times)[-4]:.2f} ms",
        flush=True,
    )


class Bench:
    """One service under load.

    Parameters
    ----------
    running : Running
    filled : Filled
    scorer : Scorer
    keyring : Keyring
    server : Server or None
        Server of the database.
    visits : Visits
        The requests.
    """

    def __init__(
        self,
        running: Any,
        filled: Filled,
        scorer: Scorer,
        keyring: Keyring,
        server: Server | None,
        visits: Visits,
    ) -> None:
        self._running = running
        self._filled = filled
        self._scorer = scorer
        self._keyring = keyring
        self._server = server
        self._visits = visits

    def load(self, seconds: int, *, connections: int = CONNECTIONS, kept: int = KEPT) -> Load:
        """Send load for some seconds; every answer must be a 201."""
        url = self._running.url + CREATE
        return self._visits.drive(url, seconds=seconds, connections=connections, kept=kept)

    def check(self, load: Load) -> str:
        """Compare answers with the scorer's decisions."""
        compared, explained = asyncio.run(
            check_answers(self._filled, self._scorer, self._keyring, load.answers)
        )
        return f"{compared} answers are the scorer's own, {explained / compared:.1%} of them with reasons"

    def measure(self, seconds: int) -> Load:
        """Send load and print rate, latency and CPU time."""
        stored = asyncio.run(count_completed(self._filled.url))
        before, beside = self._cpu()
        load = self.load(seconds)
        after, beside_after = self._cpu()
        stored = asyncio.run(count_completed(self._filled.url)) - stored
        # wrk stops with requests in flight.
        if not load.requests <= stored <= load.requests + CONNECTIONS:
            raise SystemExit(f"{load.requests} were answered and {stored} were stored")
        print(f"{CONNECTIONS} connections: {load}")
        print(f"  CPU of a request: service {1e6 * (after - before) / stored:.0f} us", end="")
        print("" if self._server is None else f", PostgreSQL {1e6 * (beside_after - beside) / stored:.0f} us")
        print(f"  {self.check(load)}")
        return load

    def measure_in_use(self, seconds: int, *, repeats: int, known: Load) -> list[Load]:
        """Measure in turns without and with labels and lists in use; returns the loads without.

        Each pair begins with the other kind, so that a machine that slows down favours neither.
        """
        ids = [json.loads(answer)["id"] for answer in known.answers]
        found = []
        for turn in range(repeats):
            loads: dict[bool, Load] = {}
            for used in (turn % 2 == 1, turn % 2 == 0):
                if used:
                    with Beside(self._running.url, self._filled.headers, ids) as beside:
                        loads[used] = self.measure(seconds)
                    print(f"  with {beside.turns} reports of labels and as many pages of lists")
                else:
                    loads[used] = self.measure(seconds)
            print(
                f"pair {turn + 1}: {loads[True].rate / loads[False].rate:.3f} of the rate without", flush=True
            )
            found.append(loads[False])
        return found

    def _cpu(self) -> tuple[float, float]:
        own = cpu_seconds(self._running.process.pid)
        return own, 0.0 if self._server is None else cpu_seconds_of_tree(_pid(self._server))


def _pid(server: Server) -> int:
    """Process id of the postmaster, whose children are the backends."""
    return int((server.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])


def measure(store: str, kind: str, bundle: Bundle, options: argparse.Namespace) -> dict[str, float]:
    """Measure one kind of request on one kind of store."""
    serve_on, load_from = two_cores()
    with tempfile.TemporaryDirectory(prefix="create-") as name, on_core(load_from):
        folder = Path(name)
        add_master_key(folder / "master.key")
        source = f"file:{folder / 'master.key'}"
        keyring = load_master_keys(source)
        with database(store, folder) as (url, server):
            print(f"\n{store}, {kind}: {options.rows:,} link records, {options.customers:,} bodies")
            print_disk(folder)
            filled = asyncio.run(
                fill(
                    url,
                    bundle,
                    keyring,
                    rows=options.rows,
                    customers=options.customers,
                    identities=kind == "identities",
                )
            )
            visits = Visits(filled.bodies, headers=filled.headers, keys=True)
            path = rehearsed(bundle, visits, folder, serve_on, database=url, master_key=source)
            with serving(folder, serve_on, bundle=path, database=url, master_key=source) as running:
                bench = Bench(running, filled, Scorer.load(path), keyring, server, visits)
                first = bench.load(WARM_SECONDS)
                print(f"first {bench.check(first)}", flush=True)
                idle = bench.load(WARM_SECONDS, connections=1)
                print(f"1 connection: {idle}")
                if options.in_use:
                    found = bench.measure_in_use(options.seconds, repeats=options.repeats, known=first)
                else:
                    found = [bench.measure(options.seconds) for _ in range(options.repeats)]
    return {
        "requests_per_second": statistics.median(load.rate for load in found),
        "p50_ms": statistics.median(load.p50 for load in found),
        "p99_ms": statistics.median(load.p99 for load in found),
        "idle_p50_ms": idle.p50,
    }


def main() -> None:
    """Measure both kinds of requests on the chosen stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], action="append", help="by default both")
    parser.add_argument(
        "--bodies", choices=["signals", "identities"], action="append", help="by default both"
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="link records of the history")
    parser.add_argument("--customers", type=int, default=60_000, help="different bodies")
    parser.add_argument("--seconds", type=int, default=12, help="of one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs; the median counts")
    parser.add_argument(
        "--in-use", action="store_true", help="in turns without and with labels and lists in use"
    )
    options = parser.parse_args()
    require_wrk()
    bundle = served_bundle()
    results = {
        f"{store}, {kind}": measure(store, kind, bundle, options)
        for store in options.store or ["sqlite", "postgresql"]
        for kind in options.bodies or ["signals", "identities"]
    }
    print(f"\n{'':<24}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'idle p50 ms':>13}")
    for name, found in results.items():
        print(f"{name:<24}", end="")
        print("{requests_per_second:12,.0f}{p50_ms:9.1f}{p99_ms:9.1f}{idle_p50_ms:13.2f}".format(**found))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "create_verification.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("target: 1,500 requests/s or more, p99 below 50 ms; idle 2 ms on SQLite, 3 ms on PostgreSQL")


if __name__ == "__main__":
    main()
