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
from pathlib import Path
from typing import Final

import uvloop
from shared.bundles import served_bundle
from shared.database import Site, site
from shared.judging import STORES, Verdict, add_load, arguments, exit_code
from shared.load import CONNECTIONS, Answered, Visitors
from shared.processes import serving

from identity_use import with_thresholds
from running_service import PROGRAM
from scoring_model.bundle import Bundle
from service_use import select

P99_MS: Final = 100.0
SWITCH_SECONDS: Final = 5.0


async def under_load(service: str, here: Site, bundle: Path, seconds: int) -> list[Verdict]:
    """Send load; a quarter of it before the activation, as much before the rollback."""
    windows: list[Answered] = []
    async with Visitors(here.bodies, here.credentials).connected(service, CONNECTIONS) as load:
        await load.flooding(CONNECTIONS, 2.0)
        await load.settle()
        loading = asyncio.create_task(load.flooding(CONNECTIONS, seconds + 2.0))
        commands = {seconds // 4: ["activate", str(bundle)], seconds // 2: ["rollback"]}
        running: list[asyncio.subprocess.Process] = []
        for second in range(seconds):
            if words := commands.get(second):
                # At low priority: the command shares its core with the load.
                call = ("nice", "-n", "19", str(PROGRAM), "bundles", *words, "--database", here.url)
                running.append(await asyncio.create_subprocess_exec(*call, stdout=subprocess.DEVNULL))
                print("  " + words[0])
            await asyncio.sleep(1.0)
            windows.append(load.so_far(1.0))
            print(f"  {second:3} {windows[-1]}", flush=True)
        await loading
        codes = [await one.wait() for one in running]
        await load.settle()
    took = await switches(here.url)
    worst = max(1e3 * window.percentile(99) for window in windows)
    failed, done = (
        sum(counts) for counts in zip(*((one.others(), one.count(201)) for one in windows), strict=True)
    )
    return [
        (codes == [0, 0], f"exit codes of activation and rollback: {codes}"),
        (failed == 0, f"failed requests: {failed} of {done:,}"),
        (worst <= P99_MS, f"p99 of the worst of {seconds} seconds: {worst:.0f} ms, at most {P99_MS:g}"),
        (
            len(took) == 2 and max(took) <= SWITCH_SECONDS,
            f"seconds from request to decision: {took}, at most {SWITCH_SECONDS:g}",
        ),
    ]


async def switches(url: str) -> list[float]:
    """Seconds from each request to its decision; a rollback is decided at once."""
    rows = await select(url, "SELECT number, at, request, state FROM bundle_activations ORDER BY number")
    at = {number: instant for number, instant, _, _ in rows}
    decided = [row for row in rows if row[3] == "ACTIVE"][1:]  # the first one served already
    return [round((row[1] - at[row[2] or row[0]]) / 1e6, 2) for row in decided]


def measure(store: str, bundle: Bundle, options: argparse.Namespace) -> list[Verdict]:
    """Measure one kind of store."""
    with site(store, bundle, options) as here:
        path = bundle.save(here.folder / "shelf" / "bundle")
        fail_from = max(500, bundle.contents.rules.policy.fail_from)
        other = with_thresholds(bundle, step_up_from=500, fail_from=fail_from).save(here.folder / "other")
        with serving(here.folder, bundle=path, **here.served) as service:
            return uvloop.run(under_load(service.url, here, other, options.seconds))


def main() -> int:
    """Measure the chosen stores; exit with 1 when a bound is missed."""
    parser = arguments(__doc__)
    add_load(parser, seconds=24, rows=100_000, customers=10_000)
    options = parser.parse_args()
    bundle = served_bundle()
    return max(exit_code(measure(store, bundle, options)) for store in options.store or STORES)


if __name__ == "__main__":
    sys.exit(main())
