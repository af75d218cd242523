"""Start time of `scoring-model serve`, and its memory when ready and after load.

Run as ``python benchmarks/start.py``. Needs wrk. It serves the standard bundle from a SQLite file with a history. A
start lasts until ``/health/ready`` reports ready; answers under load are compared with the scorer's decisions.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.checks import check_answers
from benchmarks.cores import on_core, resident_mebibytes, two_cores
from benchmarks.filled_database import fill
from benchmarks.load import drive, require_wrk
from benchmarks.served_bundle import served_bundle
from benchmarks.service_process import CREATE, serving

from scoring_model.scorer import Scorer
from scoring_model.service.keys.keyring import add_master_key, load_master_keys

RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks"
READY: Final = "/health/ready"
CUSTOMERS: Final = 10_000


def await_ready(url: str) -> None:
    """Poll until the service reports that it is ready."""
    end = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url + READY, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.HTTPError, urllib.error.URLError):
            if time.monotonic() > end:
                raise SystemExit("the service never became ready") from None
        time.sleep(0.005)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Start several times; send load to the service of the last start."""
    serve_on, load_from = two_cores()
    add_master_key(folder / "master.key")
    source = f"file:{folder / 'master.key'}"
    keyring = load_master_keys(source)
    url = f"sqlite:///{folder / 'scoring.db'}"
    bundle = served_bundle()
    filled = asyncio.run(fill(url, bundle, keyring, rows=options.rows, customers=CUSTOMERS, identities=False))
    path = bundle.save(folder / "bundles" / "served")
    seconds, idle = [], []
    with on_core(load_from):
        # The first start copies the bundle and reads its files from the disk: it is printed but not counted.
        for number in range(options.starts + 1):
            began = time.perf_counter()
            with serving(folder, serve_on, bundle=path, database=url, master_key=source) as service:
                await_ready(service.url)
                seconds.append(time.perf_counter() - began)
                idle.append(resident_mebibytes(service.process.pid))
                if number < options.starts:
                    continue
                load = drive(
                    service.url + CREATE,
                    filled.bodies,
                    headers=filled.headers,
                    status=201,
                    seconds=options.seconds,
                    keys=True,
                )
                loaded = resident_mebibytes(service.process.pid)
    compared, _ = asyncio.run(check_answers(filled, Scorer.load(path), keyring, load.answers))
    print(f"{compared} answers equal the scorer's, of {load.requests:,}")
    print(f"first start {seconds[0]:.2f} s; the others {', '.join(f'{s:.2f}' for s in seconds[1:])} s")
    return {
        "start_seconds": statistics.median(seconds[1:]),
        "idle_mebibytes": statistics.median(idle[1:]),
        "loaded_mebibytes": loaded,
    }


def main() -> None:
    """Measure starts and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=7, help="starts; the median counts")
    parser.add_argument("--rows", type=int, default=1_000_000, help="link records of the history")
    parser.add_argument("--seconds", type=int, default=20, help="of load")
    options = parser.parse_args()
    require_wrk()
    with tempfile.TemporaryDirectory(prefix="start-") as name:
        found = measure(Path(name), options)
    print(
        "ready after {start_seconds:.2f} s; resident {idle_mebibytes:.0f} MiB, "
        "{loaded_mebibytes:.0f} MiB after load".format(**found)
    )
    print("target: ready within 2 s, at most 200 MB resident")
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "start.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
