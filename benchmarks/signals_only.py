"""Compare scoring of signals over HTTP with other servers of the same model, on one core with one worker.

Ours is measured twice, both times with credentials and a rate limit. In memory: it parses records, computes features of
signals and of links to earlier records, decides, explains where the outcome needs it, and answers. The full service
also stores everything, encrypted, with its events, in a SQLite file; where possible that file is in memory, because no
peer waits for a disk. The peers take a feature row and return the margin. All serve the same trees, each on one core;
the load comes from another.

Run as ``python benchmarks/signals_only.py``. Needs wrk, uv and a package index. Before timing it checks that a peer's
margins equal LightGBM's and the service's answers equal the scorer's.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import lightgbm as lgb
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.checks import check_answers, scores_of
from benchmarks.cores import on_core, two_cores
from benchmarks.filled_database import Filled, fill
from benchmarks.load import Load, Visits, drive, require_wrk
from benchmarks.peers import PEERS, Peer, ask, install, serving_peer
from benchmarks.rehearsal import rehearsed
from benchmarks.served_bundle import NETWORK, booster_of, invented, served_bundle, stepping_up
from benchmarks.served_bundle import bodies as _bodies
from benchmarks.service_process import CREATE, serving

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Bundle
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys

RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks"
SHARED_MEMORY: Final = Path("/dev/shm")
MEMORY_SERVICE: Final = Path(__file__).with_name("memory_service.py")
ROWS: Final = 2_000
CUSTOMERS: Final = 100_000
CHECKED: Final = 200
WARM_SECONDS: Final = 3
TOLERANCE: Final = 1e-9
"""Tolerance for margins that were converted to probabilities and back."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Requests for the peers and their expected answers.

    Parameters
    ----------
    values : ndarray of shape (n, d), float64
    margins : ndarray of shape (n,), float64
        LightGBM's margins.
    """

    values: FloatArray
    margins: FloatArray


def rows_of(bundle: Bundle, booster: lgb.Booster) -> Rows:
    """Rows of invented records; 0 replaces missing values, which JSON cannot express."""
    records = read_records(invented(ROWS, seed=5), bundle.contents.schema, labelled=True).table
    values = np.nan_to_num(bundle.contents.features.rows(records))
    return Rows(values=values, margins=np.asarray(booster.predict(values, raw_score=True)))


def measure(run: Callable[[int], Load], options: argparse.Namespace, title: str) -> Load:
    """Warm up, send load several times, and return the run with the median rate."""
    run(WARM_SECONDS)
    found = sorted((run(options.seconds) for _ in range(options.repeats)), key=lambda load: load.rate)
    middle = found[len(found) // 2]
    print(f"{title:<24} {middle}", flush=True)
    return middle


def measure_service(bundle: Bundle, options: argparse.Namespace) -> Load:
    """Measure the service, and check its answers."""
    serve_on, load_from = two_cores()
    parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() and not options.disk else None
    with tempfile.TemporaryDirectory(prefix="signals-", dir=parent) as name, on_core(load_from):
        folder = Path(name)
        add_master_key(folder / "master.key")
        source = f"file:{folder / 'master.key'}"
        keyring = load_master_keys(source)
        url = f"sqlite:///{folder / 'scoring.db'}"
        filled = asyncio.run(fill(url, bundle, keyring, rows=0, customers=CUSTOMERS, identities=False))
        bodies = [_signals_alone(body["signals"]) for body in filled.bodies]
        visits = Visits(bodies, headers=filled.headers, keys=False)
        path = rehearsed(bundle, visits, folder, serve_on, database=url, master_key=source)
        scorer = Scorer.load(path)
        with serving(folder, serve_on, bundle=path, database=url, master_key=source) as service:
            address = service.url + CREATE
            _check(visits.drive(address, seconds=WARM_SECONDS), filled, scorer, keyring)
            found = measure(
                lambda seconds: visits.drive(address, seconds=seconds), options, "ours, all of it"
            )
            _check(found, filled, scorer, keyring)
            return found


def measure_in_memory(bundle: Bundle, options: argparse.Namespace) -> Load:
    """Measure the service in memory, and check answers against the same records scored as a file."""
    serve_on, load_from = two_cores()
    bodies = [
        _signals_alone(body["signals"]) for body in _bodies(invented(CUSTOMERS, seed=11)) if "signals" in body
    ]
    with tempfile.TemporaryDirectory(prefix="memory-") as name, on_core(load_from):
        path = bundle.save(Path(name) / "trained")
        with _in_memory(path, serve_on) as (url, headers):
            warm = Visits(bodies, headers=headers, keys=False).drive(url, seconds=WARM_SECONDS, kept=100_000)
        path = stepping_up(bundle, scores_of(warm)).save(Path(name) / "served")
        with _in_memory(path, serve_on) as (url, headers):
            print(
                f"  {_check_as_file(url, headers, bodies, Scorer.load(path))} answers equal those of a file"
            )
            visits = Visits(bodies, headers=headers, keys=False)
            return measure(lambda seconds: visits.drive(url, seconds=seconds), options, "ours, in memory")


@contextmanager
def _in_memory(bundle: Path, core: int) -> Iterator[tuple[str, dict[str, str]]]:
    with on_core(core):
        process = subprocess.Popen(
            [sys.executable, MEMORY_SERVICE, bundle], stdout=subprocess.PIPE, text=True
        )
    try:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        yield started["url"] + CREATE, started["headers"]
    finally:
        process.terminate()
        process.communicate()


def _check_as_file(url: str, headers: dict[str, str], bodies: list[dict[str, object]], scorer: Scorer) -> int:
    """Send bodies one by one, score them as a file with the same event times, and compare."""
    answers, records = [], []
    for body in bodies[:CHECKED]:
        asked = urllib.request.Request(
            url, json.dumps(body).encode(), {**headers, "Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked) as answer:
            answers.append(json.load(answer))
        records.append({"recordId": answers[-1]["id"], "eventTime": answers[-1]["completedAt"], **body})
    table = read_records(pa.Table.from_pylist(records), scorer.contents.schema, labelled=False).table
    for answer, row in zip(answers, score_table(scorer, table).to_arrow().to_pylist(), strict=True):
        reasons = [reason["code"] for reason in answer["reasonCodes"]]
        if (answer["scoringScore"], answer["scoringOutcome"], reasons) != (
            row["scoringScore"],
            row["scoringOutcome"],
            row["reasonCodes"],
        ):
            raise SystemExit(f"{answer} differs from the same record in a file: {row}")
    return len(answers)


def _signals_alone(signals: dict[str, object]) -> dict[str, object]:
    return {"signals": {name: value for name, value in signals.items() if name != NETWORK}}


def _check(load: Load, filled: Filled, scorer: Scorer, keyring: Keyring) -> None:
    compared, explained = asyncio.run(check_answers(filled, scorer, keyring, load.answers))
    print(f"  {compared} answers are the scorer's own, {explained / compared:.1%} of them with reasons")


def measure_peer(peer: Peer, model: str, rows: Rows, options: argparse.Namespace) -> Load:
    """Measure a peer, and check its answers."""
    serve_on, load_from = two_cores()
    programs = install(peer, RESULTS / "peers")
    bodies = [peer.body(row) for row in rows.values.tolist()]
    with tempfile.TemporaryDirectory(prefix="peer-") as name, on_core(load_from):
        row = rows.values[0].tolist()
        with serving_peer(peer, programs, Path(name), core=serve_on, model=model, row=row) as url:
            check_alone(peer, url, rows)
            found = measure(lambda seconds: drive_peer(url, bodies, seconds), options, peer.title)
            check_loaded(peer, found, rows)
    return found


def drive_peer(url: str, bodies: list[dict[str, object]], seconds: int) -> Load:
    """Load a peer; every answer is a 200."""
    return drive(url, bodies, headers={}, status=200, seconds=seconds)


def check_alone(peer: Peer, url: str, rows: Rows) -> None:
    """Request rows one by one; exit if a margin differs from LightGBM's."""
    differing = sum(
        abs(ask(peer, url, row) - margin) > TOLERANCE
        for row, margin in zip(rows.values[:CHECKED].tolist(), rows.margins, strict=False)
    )
    print(f"{peer.title}: margins that differ from LightGBM's: {differing} of {CHECKED}")
    if differing:
        raise SystemExit("another model: nothing is timed")


def check_loaded(peer: Peer, load: Load, rows: Rows) -> None:
    """Exit if an answer under load belongs to no row."""
    for answer in load.answers:
        if np.abs(rows.margins - peer.margin(json.loads(answer))).min() > TOLERANCE:
            raise SystemExit(f"{peer.title} answered under load with a margin of no row")


def main() -> None:
    """Measure the service and its peers in one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs; the median counts")
    parser.add_argument("--disk", action="store_true", help="keep the service's database on the disk")
    parser.add_argument(
        "--peer", choices=[peer.name for peer in PEERS], action="append", help="by default all"
    )
    options = parser.parse_args()
    require_wrk()
    bundle = served_bundle()
    booster = booster_of(bundle)
    model, rows = booster.model_to_string(), rows_of(bundle, booster)
    chosen = [peer for peer in PEERS if options.peer is None or peer.name in options.peer]
    own = measure_in_memory(bundle, options)
    ours = {"ours, in memory": own, "ours, all of it": measure_service(bundle, options)}
    peers = {peer.title: measure_peer(peer, model, rows, options) for peer in chosen}
    print(f"\n{'':<24}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'in memory to it':>17}")
    for title, load in {**ours, **peers}.items():
        ratio = own.rate / load.rate
        print(f"{title:<24}{load.rate:12,.0f}{load.p50:9.1f}{load.p99:9.1f}{ratio:17.2f}")
    median = statistics.median(own.rate / load.rate for load in peers.values())
    print(f"median ratio to peers {median:.2f}; target in memory: 5,000 requests/s or more")
    results = {title: load.rate for title, load in {**ours, **peers}.items()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "signals_only.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
