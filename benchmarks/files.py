"""Files of any size: Parquet to scored Parquet, with and without links, in two processes.

Run as ``python benchmarks/files.py [--records 10000000] [--memory 4GB] [--folder FOLDER]``. The model has 300 trees
of up to 31 leaves on the features of the default configuration, trained as in `standard_model`; the variant without
links is the same without link features. Synthetic records are written once for each size. Before anything is timed,
the first 50,000 records are scored in memory and as a dataset: the rows must be the same, bit for bit.

It prints records per second of the whole command, from its start to its end; the time of processors for each record,
which other programs disturb less; the peak of the resident memory of all its processes together, sampled; and the cost
per record beside that of a tenth of the records. On the same rows, as a ready matrix: LightGBM's own `predict`, and
`mlflow.pyfunc` with the LightGBM flavour, both with two threads. Exits with 1 if a bound is missed.
"""

import argparse
import contextlib
import dataclasses
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import lightgbm as lgb
import mlflow
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.standard_model import AS_THE_PROJECT_TRAINS

from scoring_model import Scorer, synthetic
from scoring_model.arrays import FloatArray
from scoring_model.batch import score_file
from scoring_model.batch.dataset import dataset_parts
from scoring_model.cli.shared import read_bytes
from scoring_model.configuration import PolicySettings, Tuned, load_configuration
from scoring_model.records.reading import read_records
from scoring_model.training.run import run_training

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
PROGRAM: Final = Path(sys.executable).with_name("scoring-model")
TRAINED: Final = 60_000
CHECKED: Final = 50_000
LEAST_LINKED, LEAST_UNLINKED = 25_000, 45_000
MOST_GIGABYTES: Final = 4.0
MOST_GROWTH: Final = 1.3
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def train(folder: Path, *, links: bool) -> Path:
    """Train 300 trees on invented records, once."""
    bundle = folder / ("linked" if links else "unlinked")
    if bundle.exists():
        return bundle
    text = CONFIGURATION.read_text(encoding="utf-8")
    plain = load_configuration(CONFIGURATION)
    if not links:
        start = text.index("\nlinks:") + 1
        end = text.index("\n\n", start)
        path = folder / "unlinked.yaml"
        path.write_text(text[:start] + "links:\n  keys: {}\n" + text[end:], encoding="utf-8")
        plain = load_configuration(path)
    configuration = dataclasses.replace(
        plain,
        training=dataclasses.replace(
            plain.training, tuned=Tuned(params={**AS_THE_PROJECT_TRAINS, "num_leaves": 31}, rounds=300)
        ),
        policy=PolicySettings(max_false_reject=0.1, max_step_up=0.5),
    )
    invented = pa.Table.from_batches(synthetic.generate(records=TRAINED, seed=1))
    table = read_records(invented, configuration.schema, labelled=True).table
    run_training(table, configuration, progress=False).bundle.save(bundle)
    return bundle


def records_file(folder: Path, records: int) -> Path:
    """Invent records, once."""
    path = folder / f"{records}.parquet"
    if not path.exists():
        synthetic.write(path, records=records, seed=11)
    return path


def resident(pid: int) -> int:
    """Return the bytes that a process and its descendants hold in memory."""
    total = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * PAGE
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return total


class Measured(NamedTuple):
    """What a command took: seconds, those of processors, and the peak of the memory of its processes."""

    seconds: float
    processor_seconds: float
    gigabytes: float


def processor_seconds() -> float:
    """Return the seconds of processors that ended children took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def score(bundle: Path, source: Path, out: Path, memory: str) -> Measured:
    """Run the command."""
    shutil.rmtree(out, ignore_errors=True)
    command: list[str | Path] = [PROGRAM, "score", bundle, source, "--out", f"{out}/", "--memory", memory]
    start, before, peak = time.perf_counter(), processor_seconds(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"score ended with {process.returncode}")
    return Measured(time.perf_counter() - start, processor_seconds() - before, peak / 1e9)


def check(bundle: Path, source: Path, folder: Path, memory: str) -> None:
    """Compare a dataset with the same records scored in memory."""
    first = folder / "first.parquet"
    table = pa.Table.from_batches([next(pq.ParquetFile(source).iter_batches(CHECKED))])
    pq.write_table(table, first, row_group_size=20_000)
    score_file(Scorer.load(bundle), first, folder / "first-scored.parquet")
    score(bundle, first, folder / "first-out", memory)
    found = pa.concat_tables([pq.read_table(part) for part in dataset_parts(folder / "first-out")])
    if not found.equals(pq.read_table(folder / "first-scored.parquet")):
        raise SystemExit("the dataset differs from the records scored in memory")


def peers(rows: FloatArray, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield names and rates of others on a ready matrix."""
    targets = (np.nan_to_num(rows[:, 0]) > np.nanmedian(rows[:, 0])).astype(np.int8)
    booster = lgb.train(
        {**AS_THE_PROJECT_TRAINS, "num_leaves": 31, "objective": "binary", "verbose": -1, "num_threads": 2},
        lgb.Dataset(rows[:100_000], targets[:100_000]),
        300,
    )
    names = [f"f{place}" for place in range(rows.shape[1])]
    path = folder / "pyfunc"
    shutil.rmtree(path, ignore_errors=True)
    mlflow.lightgbm.save_model(booster, path, pip_requirements=[])
    loaded = mlflow.pyfunc.load_model(str(path))
    frame = pd.DataFrame(rows, columns=names)
    others: dict[str, Callable[[], object]] = {
        "LightGBM predict, ready matrix": lambda: booster.predict(rows, num_threads=2),
        "mlflow.pyfunc, ready frame": lambda: loaded.predict(frame),
    }
    for name, predict in others.items():
        start = time.perf_counter()
        predict()
        yield name, len(rows) / (time.perf_counter() - start)


def measure(folder: Path, records: int, memory: str) -> bool:
    """Print all figures; return whether the bounds hold."""
    tenth, whole = records_file(folder, records // 10), records_file(folder, records)
    good = True
    for links, least in ((True, LEAST_LINKED), (False, LEAST_UNLINKED)):
        bundle, kind = train(folder, links=links), "with links" if links else "without links"
        check(bundle, tenth, folder, memory)
        small = score(bundle, tenth, folder / "out", memory)
        large = score(bundle, whole, folder / "out", memory)
        rate, growth = records / large.seconds, large.seconds / small.seconds / 10
        print(
            f"{kind}: {rate:,.0f} records/s (at least {least:,}), {large.processor_seconds / records * 1e6:.1f} us "
            f"of processors a record, peak {large.gigabytes:.2f} GB (at most {MOST_GIGABYTES}), {growth:.2f} times "
            f"the cost per record of {records // 10:,} (at most {MOST_GROWTH})"
        )
        good = good and rate >= least and large.gigabytes <= MOST_GIGABYTES and growth <= MOST_GROWTH
    shutil.rmtree(folder / "out")
    some = pa.Table.from_batches([next(pq.ParquetFile(tenth).iter_batches(100_000))])
    rows = Scorer.load(folder / "linked").features(some).select(Scorer.load(folder / "linked").matrix.names)
    matrix = np.column_stack([column.to_numpy() for column in rows.columns])
    for name, rate in peers(matrix, folder):
        print(f"{name}: {rate:,.0f} rows/s on {len(matrix):,} rows of {matrix.shape[1]} features")
    return good


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--folder", type=Path, help="keeps models and records for the next time")
    options = parser.parse_args()
    read_bytes(options.memory)
    if options.folder is not None:
        options.folder.mkdir(exist_ok=True)
        return 0 if measure(options.folder, options.records, options.memory) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Path(folder), options.records, options.memory) else 1


if __name__ == "__main__":
    sys.exit(main())
