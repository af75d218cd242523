"""A bundle is activated, and rolled back, in the middle of full load: no request fails, and none waits for long.

Run as ``python benchmarks/activation.py --store sqlite``. The service has one core; the load, the command and
PostgreSQL have the other. `CONNECTIONS` send again as soon as they are answered; results are those of single seconds.
The second bundle has the same 300 trees under another policy.

Exits with 1 when a request fails, when the 99th percentile of any second is above `P99_MS`, or when a switch takes
longer than `SWITCH_SECONDS` from the request in the database.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.cores import on_core, two_cores
from benchmarks.create_verification import database
from benchmarks.filled_database import Filled, fill, rows_of
from benchmarks.load import CONNECTIONS
from benchmarks.open_load import Answered
from benchmarks.overload import Verdict, connected, print_verdicts
from benchmarks.served_bundle import served_bundle, with_step_up_from
from benchmarks.service_process import serving

from running_service import PROGRAM
from scoring_model.bundle import Bundle
from scoring_model.service.keys.keyring import add_master_key, load_master_keys

P99_MS: Final = 100.0
SWITCH_SECONDS: Final = 5.0
STEPPED_UP_FROM: Final = 500


async def under_load(service: str, url: str, filled: Filled, bundle: Path, seconds: int) -> list[Verdict]:
    """Send load; a quarter of it before the activation, as much before the rollback."""
    windows: list[Answered] = []
    async with connected(service, filled, filled.headers, CONNECTIONS) as load:
        await load.flooding(CONNECTIONS, 2.0)
        await load.settle()
        loading = asyncio.create_task(load.flooding(CONNECTIONS, seconds + 2.0))
        commands = {seconds // 4: ["activate", str(bundle)], seconds // 2: ["rollback"]}
        running: list[asyncio.subprocess.Process] = []
        for second in range(seconds):
            if words := commands.get(second):
                # At low priority: the command shares its core with the load.
                call = ("nice", "-n", "19", str(PROGRAM), "bundles", *words, "--database", url)
                running.append(await asyncio.create_subprocess_exec(*call, stdout=subprocess.DEVNULL))
                print("  " + " ".join(words[:1]))
            await asyncio.sleep(1.0)
            windows.append(load.so_far(1.0))
            print(f"  {second:3} {windows[-1]}", flush=True)
        await loading
        codes = [await one.wait() for one in running]
        await load.settle()
    took = await switches(url)
    worst = max(1e3 * window.p99(201) for window in windows)
    failed = sum(window.count(status) for window in windows for status in window.latencies if status != 201)
    return [
        (codes == [0, 0], f"exit codes of activation and rollback: {codes}"),
        (failed == 0, f"failed requests: {failed} of {sum(window.count(201) for window in windows):,}"),
        (worst <= P99_MS, f"p99 of the worst of {seconds} seconds: {worst:.0f} ms, at most {P99_MS:g}"),
        (
            len(took) == 2 and max(took) <= SWITCH_SECONDS,
            f"seconds from request to decision: {took}, at most {SWITCH_SECONDS:g}",
        ),
    ]


async def switches(url: str) -> list[float]:
    """Seconds from each request to its decision; a rollback is decided at once."""
    rows = await rows_of(url, "SELECT number, at, request, state FROM bundle_activations ORDER BY number")
    at = {number: instant for number, instant, _, _ in rows}
    decided = [row for row in rows if row[3] == "ACTIVE"][1:]  # the first one served already
    return [round((row[1] - at[row[2] or row[0]]) / 1e6, 2) for row in decided]


def measure(store: str, bundle: Bundle, options: argparse.Namespace) -> list[Verdict]:
    """Measure one kind of store."""
    serve_on, load_from = two_cores()
    with tempfile.TemporaryDirectory(prefix="activation-") as name, on_core(load_from):
        folder = Path(name)
        add_master_key(folder / "master.key")
        source, path = f"file:{folder / 'master.key'}", bundle.save(folder / "shelf" / "bundle")
        other = with_step_up_from(bundle, STEPPED_UP_FROM).save(folder / "other")
        keyring = load_master_keys(source)
        with database(store, folder) as (url, _):
            print(f"\n{store}: {options.rows:,} link records", flush=True)
            filled = asyncio.run(
                fill(url, bundle, keyring, rows=options.rows, customers=options.customers, identities=False)
            )
            with serving(folder, serve_on, bundle=path, database=url, master_key=source) as running:
                return uvloop.run(under_load(running.url, url, filled, other, options.seconds))


def main() -> None:
    """Measure the chosen stores; exit with 1 when a bound is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql"], action="append", help="by default both")
    parser.add_argument("--seconds", type=int, default=24, help="of load")
    parser.add_argument("--rows", type=int, default=100_000, help="link records of the history")
    parser.add_argument("--customers", type=int, default=10_000, help="different bodies")
    options = parser.parse_args()
    bundle = served_bundle()
    found = [
        print_verdicts(measure(store, bundle, options)) for store in options.store or ["sqlite", "postgresql"]
    ]
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
