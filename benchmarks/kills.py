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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from applying import Ledger
from databases import Databases, Server, running_server
from fleet import Fleet, Site
from identity_use import YAML, train_bundle
from kill_run import kill_run, one_machine_and_deliverer, playing, several_machines
from losses import Audit
from scoring_model import synthetic
from scoring_model.service.store import migrate

STORES: Final = ("sqlite", "postgresql")
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


def _bundle(folder: Path) -> Path:
    """A small bundle; its quality does not matter here."""
    invented = folder / "invented.parquet"
    synthetic.write(invented, records=24_000, seed=7)
    bundle = folder / "bundle"
    train_bundle(invented, YAML, bundle)
    return bundle


def _kill(name: str, bundle: Path, folder: Path, options: argparse.Namespace) -> tuple[Counter[str], Audit]:
    began = time.monotonic()

    def progress(number: int, killed: str, ledger: Ledger) -> None:
        passed = time.monotonic() - began
        acknowledged = len(ledger.entries)
        print(
            f"{name} {number}/{options.kills} {passed:.0f} s: killed {killed}; {acknowledged:,} acknowledged, "
            f"{len(ledger.retries):,} retries, {len(ledger.faults)} faults",
            file=sys.stderr,
            flush=True,
        )

    with _store(name, folder) as (url, server, fleet), playing(folder, bundle, url, fleet) as scene:
        return kill_run(scene, kills=options.kills, seed=options.seed, server=server, progress=progress)


def _tell(name: str, kills: Counter[str], audit: Audit, seconds: float) -> None:
    print(f"{name}: {kills.total()} kills in {seconds:.0f} s", end=" (")
    print(*(f"{count} {kind}" for kind, count in kills.most_common()), sep=", ", end=")\n")
    print(f"{name}: {audit}", flush=True)
    for loss in audit.losses[:SHOWN]:
        print(f"{name}: LOST {loss}", flush=True)


def main() -> int:
    """Kill processes and report losses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="for each store")
    parser.add_argument("--store", choices=(*STORES, "both"), default="both")
    parser.add_argument("--seed", type=int, default=1, help="seed of instants, victims and load")
    options = parser.parse_args()
    losses = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as text:
        bundle = _bundle(Path(text))
        for name in STORES if options.store == "both" else (options.store,):
            folder = Path(text) / name
            folder.mkdir()
            began = time.monotonic()
            kills, audit = _kill(name, bundle, folder, options)
            _tell(name, kills, audit, time.monotonic() - began)
            losses += len(audit.losses)
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
