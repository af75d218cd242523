"""Training past memory: seconds, memory and disk of each piece of a training with `training.thinning`.

Run as ``python benchmarks/thinned_training.py [--records 1000000] [--share 0.05] [--memory 4GB] [--folder FOLDER]``.
Synthetic records of 24 months are written once for each number. Validation and test part have 14 days each. The kept
records get 300 trees of up to 31 leaves. Before anything is timed, the features of 8,000 records are
compared with those in memory, bit for bit.

It prints, for each piece, seconds, CPU seconds of all processes, and the hours of 100,000,000 records on eight cores.
The stages are extrapolated by records, the rest by kept records: 3,800,000 of the validation and test part, 1,500,000
of the train part (a million frauds, and one of a hundred genuine records), and 200,000 of the burn-in. LightGBM and the
features of the kept records are taken to use two cores.
"""

import argparse
import contextlib
import dataclasses
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.files import CONFIGURATION, records_file, resident
from benchmarks.standard_model import AS_THE_PROJECT_TRAINS

from scoring_model.cli.shared import read_bytes
from scoring_model.configuration import Configuration, ThinningSettings, Tuned, load_configuration
from scoring_model.records import microseconds
from scoring_model.records.reading import read_records
from scoring_model.training.averaging import fit_forest
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.thinned_files import prepare_files

PLANNED: Final = 100_000_000
PLANNED_KEPT: Final = 5_500_000
PLANNED_TRAIN: Final = 1_500_000
CORES: Final = 8
TICK: Final = os.sysconf("SC_CLK_TCK")
CHECKED: Final = 8_000
END: Final = microseconds("2026-01-01")
"""The records of 24 months end here; labels come later."""

_DAY: Final = 86_400_000_000


def configuration_of(share: float, days: int) -> Configuration:
    """Return the default configuration with thinning and short parts."""
    plain = load_configuration(CONFIGURATION)
    parts = {"train": 300 * _DAY, "validation": days * _DAY, "test": days * _DAY}
    split = dataclasses.replace(plain.training.split, **parts, as_of=END, burn_in=90 * _DAY, min_frauds=1)
    training = dataclasses.replace(
        plain.training, split=split, tuned=None, thinning=ThinningSettings(genuine=share)
    )
    return dataclasses.replace(plain, training=training)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its descendants, ended or not."""
    found, waiting = 0.0, [os.getpid()]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            found += sum(map(int, fields[11:15])) / TICK
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return found


class Sampler(threading.Thread):
    """Samples the resident memory of all processes, and the size of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.memory, self.disk = folder, 0, 0

    def run(self) -> None:
        """Sample until the process ends."""
        while True:
            self.memory = max(self.memory, resident(os.getpid()))
            if self.folder.is_dir():
                sizes = [path.stat().st_size for path in self.folder.glob("*/[!.]*") if path.exists()]
                self.disk = max(self.disk, sum(sizes))
            time.sleep(0.25)


def check(source: Path, configuration: Configuration, folder: Path) -> None:
    """Compare some records with a preparation in memory."""
    first = folder / "first.parquet"
    table = pq.read_table(source)
    pq.write_table(table.take(np.arange(0, len(table), len(table) // CHECKED)), first)
    found = prepare_staged(first, configuration, folder, 3_000_000_000, lambda _: None)
    expected = prepare(read_records(first, configuration.schema, labelled=True).table, configuration)
    if found.table != expected.table or found.rows.tobytes() != expected.rows.tobytes():
        raise SystemExit("the kept records differ from those of a training in memory")


def prepare_staged(source: Path, configuration: Configuration, folder: Path, memory: int, report) -> Prepared:  # type: ignore[no-untyped-def]
    """Prepare the kept records of a file."""
    return prepare_files(
        [str(source)],
        configuration,
        work=folder / "work",
        quarantine=folder / "quarantine.csv",
        memory=memory,
        report=report,
    )


def main() -> None:
    """Measure the pieces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--memory", type=read_bytes, default=4_000_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    configuration = configuration_of(given.share, 14)
    source = records_file(folder, given.records)
    check(source, configuration_of(given.share, 60), folder)  # with frauds in parts of few records
    sampler = Sampler(folder / "work")
    sampler.start()
    ends = {"start": (time.perf_counter(), cpu_seconds())}

    def report(line: str) -> None:
        ends[line.partition(":")[0]] = time.perf_counter(), cpu_seconds()

    prepared = prepare_staged(source, configuration, folder, given.memory, report)
    report("features")
    split = prepared.split
    fit_forest(
        prepared.rows[split.train],
        split.train_targets,
        tuned=Tuned(params={**AS_THE_PROJECT_TRAINS, "num_leaves": 31}, rounds=300),
        seed=7,
        seeds=1,
        threads=2,
        weights=prepared.train_weights,
        **prepared.feature_options,
    )
    report("fit")
    kept, train = len(prepared.table), len(split.train)
    print(f"{given.records:,} records, {kept:,} kept, {train:,} to train, {prepared.rows.shape[1]} features")
    print(
        f"peak {sampler.memory / 1e9:.2f} GB resident, {sampler.disk / given.records:,.0f} bytes spilled per record"
    )
    pieces = (
        ("partition", "read, digests, spill", PLANNED / given.records, CORES),
        ("read", "choose, read the kept records", PLANNED / given.records, CORES),
        ("links", "link features of the kept records", PLANNED / given.records, CORES),
        ("features", "other features of the kept records", PLANNED_KEPT / kept, 2),
        ("fit", "300 trees", PLANNED_TRAIN / train, 2),
    )
    before, total = ends["start"], 0.0
    for name, what, factor, cores in pieces:
        seconds, cpu = (after - then for after, then in zip(ends[name], before, strict=True))
        before = ends[name]
        hours = cpu * factor / cores / 3600
        total += hours
        print(f"{what}: {seconds:.1f} s, {cpu:.1f} CPU s; planned {hours:.2f} hours on {cores} cores")
    print(f"planned in all: {total:.1f} hours")
    shutil.rmtree(folder / "work", ignore_errors=True)


if __name__ == "__main__":
    pa.set_io_thread_count(2)
    main()
