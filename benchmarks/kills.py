"""Check that nothing is lost when processes of the service are killed at random instants under load.

Run as ``python benchmarks/kills.py --kills 100 --store both``: that many kills (SIGKILL) for each store. On SQLite the
load goes to a service of one process; on PostgreSQL to one of two workers and one of a single process; both have a
separate deliverer. It kills workers, parent processes, whole services, starting services, deliverers, processes of
PostgreSQL, and PostgreSQL.
Clients repeat each request under its idempotency key until it is answered. At the end every acknowledged identity and
verification must exist once and be completed; every event must exist with its change, without gaps, and have reached
its webhook; every key must return its first answer; every verdict must be reproduced bit for bit.

Exit codes: 0 nothing was lost; 1 something was lost, which is listed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shared.bundles import invented_file
from shared.judging import STORES, arguments

from applying import Ledger
from databases import Databases, Server, running_server
from fleet import Fleet, Site
from identity_use import YAML, train_bundle
from kill_run import kill_run, one_machine_and_deliverer, playing, several_machines
from losses import Audit
from scoring_model.service.store import migrate

SHOWN: Final = 50
"""Number of losses that are listed."""


@contextmanager
def _store(name: str, folder: Path) -> Iterator[tuple[str, Server | None, Callable[[Site], Fleet]]]:
    """A database with all tables, its server if any, and the processes that serve it."""
    if name == "sqlite":
        url = f"sqlite:///{folder / 'scoring.db'}"
        asyncio.run(migrate(url))
        yield url, None, one_machine_and_deliverer
        return
    with running_server() as server, Databases(server).fresh() as url:
        yield url, server, several_machines


def _kill(name: str, bundle: Path, folder: Path, options: argparse.Namespace) -> Audit:
    """Kill on one store, and print what was killed and lost."""
    began = time.monotonic()

    def progress(number: int, killed: str, ledger: Ledger) -> None:
        counts = f"{len(ledger.entries):,} acknowledged, {len(ledger.retries):,} retries"
        print(
            f"{name} {number}/{options.kills}: {killed}; {counts}, {len(ledger.faults)} faults",
            file=sys.stderr,
        )

    folder.mkdir()
    with _store(name, folder) as (url, server, fleet), playing(folder, bundle, url, fleet) as scene:
        kills, audit = kill_run(
            scene, kills=options.kills, seed=options.seed, server=server, progress=progress
        )
    print(f"{name}: {kills.total()} kills in {time.monotonic() - began:.0f} s, {dict(kills)}\n{audit}")
    for loss in audit.losses[:SHOWN]:
        print(f"{name}: LOST {loss}", flush=True)
    return audit


def main() -> int:
    """Kill processes and report losses."""
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=100, help="for each store")
    parser.add_argument("--store", choices=(*STORES, "both"), default="both")
    parser.add_argument("--seed", type=int, default=1, help="seed of instants, victims and load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as text:
        folder = Path(text)
        train_bundle(invented_file(24_000), YAML, folder / "bundle")
        stores = STORES if options.store == "both" else (options.store,)
        audits = [_kill(name, folder / "bundle", folder / name, options) for name in stores]
    return int(any(audit.losses for audit in audits))


if __name__ == "__main__":
    sys.exit(main())
