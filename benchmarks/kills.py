"""Check that nothing is lost when processes of the service are killed at random instants under load.

On SQLite the load goes to a service of one process; on PostgreSQL to one of two workers and one of a single process;
both have a separate deliverer. It kills workers, parent processes, whole services, starting services, deliverers,
processes of PostgreSQL, and PostgreSQL.

Clients repeat each request under its idempotency key until it is answered. At the end every acknowledged identity and
verification must exist once and be completed; every event must exist with its change, without gaps, and have reached
its webhook; every key must return its first answer; every verdict must be reproduced bit for bit. Ends with 1 if
something was lost, which is listed.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.bundles import invented_file
from shared.database import database
from shared.script import Stores, Verdict, at_most, run

from applying import Ledger
from identity_use import YAML, train_bundle
from kill_run import kill_run, one_machine_and_deliverer, playing, several_machines
from scoring_model.service.store import migrate

SHOWN: Final = 50
"""Number of losses that are listed."""


def _kill(name: str, bundle: Path, folder: Path, kills: int, seed: int) -> Verdict:
    """Kill on one store, and print what was killed and lost."""
    began = time.monotonic()

    def progress(number: int, killed: str, ledger: Ledger) -> None:
        counts = f"{len(ledger.entries):,} acknowledged, {len(ledger.retries):,} retries"
        print(f"{name} {number}/{kills}: {killed}; {counts}, {len(ledger.faults)} faults", file=sys.stderr)

    folder.mkdir()
    fleet = several_machines if name == "postgresql" else one_machine_and_deliverer
    with database(name, folder) as (url, server):
        asyncio.run(migrate(url))
        with playing(folder, bundle, url, fleet) as scene:
            killed, audit = kill_run(scene, kills=kills, seed=seed, server=server, progress=progress)
    print(f"{name}: {killed.total()} kills in {time.monotonic() - began:.0f} s, {dict(killed)}\n{audit}")
    for loss in audit.losses[:SHOWN]:
        print(f"{name}: LOST {loss}", flush=True)
    return at_most(f"{name}: losses", len(audit.losses), 0)


def main(*, kills: int = 100, store: Stores, seed: int = 1) -> Iterator[Verdict]:
    """Kill as often (SIGKILL) on each store; the seed is that of instants, victims and load."""
    with tempfile.TemporaryDirectory(prefix="kills-") as text:
        folder = Path(text)
        train_bundle(invented_file(24_000), YAML, folder / "bundle")
        for name in store:
            yield _kill(name, folder / "bundle", folder / name, kills, seed)


if __name__ == "__main__":
    run(main)
