"""CPU time and memory of ``scoring-model score``: 67,000 payments with 1,100,000 earlier ones.

Run as ``python benchmarks/score_with_history.py [--bundle BUNDLE]``. Without a bundle it trains one of
``configs/transactions.yaml`` with `ROUNDS` trees, which takes a minute. The first scored file is checked: its margins
must be, bit for bit, those of the rows of the whole table, history included. Times are of the whole process, user and
system, and the smallest of several rounds is judged. Exits with 1 above a bound.
"""

import argparse
import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import payments_file
from benchmarks.standard_model import AS_THE_PROJECT_TRAINS

from scoring_model import Scorer
from scoring_model.configuration import PolicySettings, Tuned, load_configuration
from scoring_model.records.reading import read_records
from scoring_model.training.run import run_training

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "transactions.yaml"
PROGRAM: Final = Path(sys.executable).with_name("scoring-model")
HISTORY, SCORED, TRAINED = 1_100_000, 67_000, 600_000
ROUNDS: Final = 230
GIGABYTE: Final = 1e9
MOST_SECONDS, MOST_GIGABYTES = 4.0, 1.5

MEASURE: Final = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""A small process between this one and the command: Linux counts the memory of its parent as a program's own."""


def train(payments: pa.Table, path: Path) -> None:
    """Train on the first payments."""
    plain = load_configuration(CONFIGURATION)
    tuned = Tuned(params={**AS_THE_PROJECT_TRAINS, "num_leaves": 20}, rounds=ROUNDS)
    configuration = dataclasses.replace(
        plain,
        training=dataclasses.replace(plain.training, tuned=tuned),
        policy=PolicySettings(max_false_reject=0.05, max_step_up=0.3),
    )
    table = read_records(payments, configuration.schema, labelled=True).table
    run_training(table, configuration, progress=False).bundle.save(path)


def score(bundle: Path, scored: Path, history: Path, out: Path) -> tuple[float, float]:
    """Run the command; return its CPU seconds and its largest resident memory in gigabytes."""
    command = [PROGRAM, "score", bundle, scored, "--history", history, "--out", out]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, command)], stdout=subprocess.PIPE, check=True, text=True
    )
    seconds, kilobytes = map(float, measured.stdout.split())
    return seconds, kilobytes * 1024 / GIGABYTE


def check(bundle: Path, scored: Path, history: Path, out: Path) -> None:
    """Compare the margins of a scored file with those of all records as one table; exit if a bit differs."""
    scorer = Scorer.load(bundle, threads=2)
    tables = [read_records(path, scorer.contents.schema, labelled=False).table for path in (history, scored)]
    whole = scorer.decide(scorer.matrix.rows(tables[0].append(tables[1])))
    margins = pyarrow.parquet.read_table(out)["margin"].to_numpy()
    if margins.tobytes() != whole.margins[len(tables[0]) :].tobytes():
        raise SystemExit("scored alone, records have other margins than in the whole table: nothing is timed")
    print(f"margins of {len(margins):,} records: the same bits as in the whole table", flush=True)


def main() -> None:
    """Train, check, measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, help="bundle of configs/transactions.yaml")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    payments = pyarrow.parquet.read_table(payments_file(HISTORY + SCORED))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = options.bundle or folder / "bundle"
        if options.bundle is None:
            train(payments.slice(0, TRAINED), bundle)
        files = folder / "scored.parquet", folder / "history.parquet", folder / "out.parquet"
        pyarrow.parquet.write_table(payments.slice(HISTORY), files[0])
        pyarrow.parquet.write_table(payments.slice(0, HISTORY), files[1])
        measured = np.array([score(bundle, *files) for _ in range(options.rounds)])
        check(bundle, *files)
    seconds, peak = measured.min(axis=0).tolist()
    print(f"CPU seconds: {' '.join(f'{one:.2f}' for one in measured[:, 0])}")
    print(f"{SCORED:,} records, {HISTORY:,} of history: {seconds:.2f} CPU s (at most {MOST_SECONDS:g})")
    print(f"peak memory: {peak:.2f} GB (at most {MOST_GIGABYTES:g})")
    sys.exit(seconds > MOST_SECONDS or peak > MOST_GIGABYTES)


if __name__ == "__main__":
    main()
