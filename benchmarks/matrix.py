"""The full feature matrix of a million records: from parsed records, from a file, twice as many, with a hot key.

Run as ``python benchmarks/matrix.py``. Each table is built in its own process, so that its memory is known, and
checked before its time counts: a sample of its rows must equal, bit for bit, rows computed for one record at a time.
Reports wall-clock and CPU times; the smallest wall-clock time of several rounds is judged. The invented records are
cached in the directory of temporary files. With ``--payments`` the records are invented payments and the configuration
is ``configs/transactions.yaml``; then only the first table is measured.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import invented_file, payments_file

from scoring_model.arrays import FloatArray
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.features import FeatureMatrix, FeatureSettings, LinkSettings, fit_state, record_at
from scoring_model.history import (
    Counts,
    count_before,
    key_codes,
    pack_label,
    person_codes,
    table_amounts,
)
from scoring_model.records import NEVER, Column, RecordTable

CONFIGURATIONS: Final = Path(__file__).parents[1] / "configs"
FIFTH_KEY: Final = {"postal": ("address.postalCode", "address.country")}
HOT_SHARE: Final = 0.2
SAMPLE: Final = 300
LATEST_OF_CAP: Final = 4  # more than a window sees, including ties of the last record
BURN_IN: Final = 0.1
GIGABYTE: Final = 1e9
MOST_SECONDS, MOST_SECONDS_OF_FILE, MOST_GIGABYTES = 20.0, 45.0, 6.0
MOST_FOR_TWICE, MOST_FOR_HOT = 2.2, 1.5


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Time and memory of one process.

    Parameters
    ----------
    records, features : int
        Shape of the matrix.
    reading, matrix : float
        Wall-clock seconds, from the file to parsed records and from these to the matrix.
    cpu : float
        CPU seconds for the matrix.
    peak : float
        Largest resident memory of the process, gigabytes.
    """

    records: int
    features: int
    reading: float
    matrix: float
    cpu: float
    peak: float

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the last line that a process printed."""
        return cls(**json.loads(text.splitlines()[-1]))


def settings_of(configuration: Configuration) -> FeatureSettings:
    """The features of a configuration; those of identities with a fifth link key."""
    settings = configuration.feature_settings
    if configuration.name != "identity":
        return settings
    links = LinkSettings(keys={**settings.links.keys, **FIFTH_KEY}, windows=settings.links.windows)
    return replace(settings, links=links)


def with_hot_device(table: RecordTable) -> RecordTable:
    """The same records, a fifth of them from one device."""
    column = table.columns["signals.deviceId"]
    hot = np.random.default_rng(3).random(len(table)) < HOT_SHARE
    codes = np.where(hot, len(column.values), column.codes).astype(np.int32)
    changed = Column.compact((*column.values, "syn-hot"), codes)
    return replace(table, columns={**table.columns, "signals.deviceId": changed})


class Pasts:
    """Past events of records in a table; the keys of all records are computed once.

    Parameters
    ----------
    matrix : FeatureMatrix
    table : RecordTable
    """

    def __init__(self, matrix: FeatureMatrix, table: RecordTable) -> None:
        self._specs, self._table = matrix.specs, table
        self._persons = person_codes(table, alone=True)
        self._codes = {key.name: key_codes(table, key) for key in matrix.link_keys}
        self._amounts = [table_amounts(table, amount) for amount in matrix.amounts]

    def counts(self, place: int) -> dict[str, Counts]:
        """Count the past of one record by the definition for a single record."""
        times, at = self._table.event_times, int(self._table.event_times[place])
        counts = {}
        for name, codes in self._codes.items():
            linked = np.flatnonzero((codes == codes[place]) & (codes >= 0) & (times < at))
            spec = self._specs[name]
            latest = linked[np.argsort(-times[linked], kind="stable")][: LATEST_OF_CAP * spec.cap]
            counts[name] = count_before(list(map(self._record, latest.tolist())), at=at, spec=spec)
        return counts

    def _record(self, place: int) -> tuple[Any, ...]:
        known, said = int(self._table.label_times[place]), bool(self._table.labels[place] == 1)
        labels = None if known == NEVER else pack_label(known, fraud=said)
        units = [int(one.units[place]) if one.present[place] else None for one in self._amounts]
        return int(self._table.event_times[place]), int(self._persons[place]), labels, *units


def check(matrix: FeatureMatrix, table: RecordTable, rows: FloatArray) -> None:
    """Compute the rows of a sample one by one; exit if a bit differs."""
    pasts = Pasts(matrix, table)
    places = np.random.default_rng(1).choice(len(table), SAMPLE, replace=False)
    for place in places.tolist():
        if matrix.row(record_at(table, place), pasts.counts(place)).tobytes() != rows[place].tobytes():
            raise SystemExit("the row of a record alone differs from its row of the table: nothing is timed")


def measure(path: Path, configuration: Configuration, *, hot: bool, checked: bool) -> Measured:
    """Read, build, check, in this process."""
    from scoring_model.records.reading import read_records

    start = time.perf_counter()
    table = read_records(path, configuration.schema, labelled=True).table
    read = time.perf_counter() - start
    if hot:
        table = with_hot_device(table)
    settings = settings_of(configuration)
    burn_in = np.argsort(table.event_times, kind="stable")[: int(len(table) * BURN_IN)]
    matrix = FeatureMatrix(settings, fit_state(table.take(burn_in), settings))
    matrix.rows(table.take(burn_in[:1000]))  # compiles the sweep, or loads it from the cache
    start, cpu = time.perf_counter(), time.process_time()
    rows = matrix.rows(table)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE
    if checked:
        check(matrix, table, rows)
    shape = {"records": len(rows), "features": rows.shape[1]}
    return Measured(**shape, reading=read, matrix=seconds, cpu=cpu, peak=peak)


def measured_apart(path: Path, *, rounds: int, flags: Sequence[str] = ()) -> Measured:
    """Measure in separate processes; return the round with the smallest wall-clock time; check the first."""
    found = []
    for number in range(rounds):
        command = [
            sys.executable,
            __file__,
            "--file",
            str(path),
            *flags,
            *(["--check"] if number == 0 else []),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
        found.append(Measured.read(done.stdout))
    return min(found, key=lambda one: one.matrix)


def report(name: str, one: Measured) -> None:
    """Print one measurement."""
    print(
        f"{name:<28} {one.records:>9,} x {one.features}: read {one.reading:5.1f} s, matrix {one.matrix:5.1f} s "
        f"(CPU {one.cpu:5.1f} s), peak {one.peak:.1f} GB",
        flush=True,
    )


def judged(name: str, value: float, most: float) -> bool:
    """Print a figure with its bound."""
    print(f"{name:<28} {value:6.2f} (at most {most})")
    return value <= most


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the four tables, or one of them in the process of a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="invented records")
    parser.add_argument("--payments", action="store_true", help="invented payments instead")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each table")
    parser.add_argument("--file", type=Path, help="measure this file in this process")
    parser.add_argument("--hot", action="store_true", help="with a device on a fifth of the records")
    parser.add_argument("--check", action="store_true", help="check a sample of the rows")
    options = parser.parse_args(arguments)
    if options.file is not None:
        name = "transactions" if options.payments else "identity"
        configuration = load_configuration(CONFIGURATIONS / f"{name}.yaml")
        found = measure(options.file, configuration, hot=options.hot, checked=options.check)
        print(json.dumps(found.__dict__))
        return
    if options.payments:
        of_payments = measured_apart(
            payments_file(options.records), rounds=options.rounds, flags=["--payments"]
        )
        report("invented payments", of_payments)
        sys.exit(not judged("matrix, seconds", of_payments.matrix, MOST_SECONDS))
    once, twice = invented_file(options.records), invented_file(2 * options.records)
    plain = measured_apart(once, rounds=options.rounds)
    report("invented records", plain)
    hot = measured_apart(once, rounds=options.rounds, flags=["--hot"])
    report("a device on a fifth of them", hot)
    double = measured_apart(twice, rounds=options.rounds)
    report("twice as many", double)
    print(f"{SAMPLE} rows of each were computed one by one: the same bits")
    kept = [
        judged("matrix, seconds", plain.matrix, MOST_SECONDS),
        judged("file and matrix, seconds", plain.reading + plain.matrix, MOST_SECONDS_OF_FILE),
        judged("peak, gigabytes", plain.peak, MOST_GIGABYTES),
        judged("twice as many, ratio", double.matrix / plain.matrix, MOST_FOR_TWICE),
        judged("hot key, ratio", hot.matrix / plain.matrix, MOST_FOR_HOT),
    ]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
