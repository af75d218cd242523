"""Scoring a file on two Dask workers of one thread, beside the same command with two processes of its own.

Run as ``python benchmarks/dask_files.py [--records 1000000] [--folder FOLDER]``. Bundle and records are those of
`benchmarks/files.py`, with links. A scheduler and two workers are started first, as on a cluster; what is timed is the
whole command, from its start to its end. Before anything is timed, both outputs must have the same bytes. The
commands run in turn, three times each, and the medians are compared. Exits with 1 if Dask takes more than 1.6 times
as long.
"""

import argparse
import hashlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.files import PROGRAM, records_file, train

from dask_use import cluster

MOST: Final = 1.6
ROUNDS: Final = 3


def seconds(bundle: Path, source: Path, out: Path, *options: str) -> float:
    """Run the command; return its time."""
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    command: list[str | Path] = [
        PROGRAM,
        "score",
        bundle,
        source,
        "--out",
        f"{out}/",
        "--memory",
        "4GB",
        *options,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def hashes(out: Path) -> dict[str, str]:
    """Return the bytes of every file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}


def measure(folder: Path, records: int) -> bool:
    """Print both times; return whether the bound holds."""
    bundle, source, out = train(folder, links=True), records_file(folder, records), folder / "out"
    with cluster(folder, workers=2) as (address, _):
        ways = {"two processes": ("--threads", "2"), "two Dask workers": ("--dask", address)}
        found = {}
        for name, options in ways.items():
            seconds(bundle, source, out, *options)
            found[name] = hashes(out)
        if found["two processes"] != found["two Dask workers"]:
            raise SystemExit("Dask wrote other bytes")
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, options in ways.items():
                times[name].append(seconds(bundle, source, out, *options))
    shutil.rmtree(out)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken in medians.items():
        print(f"{name}: {taken:.1f} s, {records / taken:,.0f} records/s")
    ratio = medians["two Dask workers"] / medians["two processes"]
    print(f"Dask takes {ratio:.2f} times as long (at most {MOST})")
    return ratio <= MOST


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keeps the model and records for the next time")
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(exist_ok=True)
        return 0 if measure(options.folder, options.records) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Path(folder), options.records) else 1


if __name__ == "__main__":
    sys.exit(main())
