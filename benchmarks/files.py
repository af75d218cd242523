"""Files of any size: Parquet to scored Parquet, with and without links, in two processes.

The model has 300 trees of up to 31 leaves on the features of the default configuration, with the project's own
parameters; the variant without links is the same without link features. Synthetic records are written once for each
size. Before anything is timed, the first 50,000 records are scored in memory and as a dataset: the rows must be the
same, bit for bit.

It prints records per second of the whole command, from its start to its end; the time of processors for each record,
which other programs disturb less; the peak of the resident memory of all its processes together, sampled; and the cost
per record beside that of a tenth of the records. On the same rows, as a ready matrix: LightGBM's own `predict`, and
`mlflow.pyfunc` with the LightGBM flavour, both with two threads. Ends with 1 if a bound is missed. A folder keeps
models and records for the next time.

With ``--dask`` the linked model scores the records on two Dask workers of one thread and in two processes, in turn,
three times each. Both outputs must have the same bytes, and the median of Dask may be at most 1.6 times the other.

With ``--history`` it scores 67,000 payments with 1,100,000 earlier ones, by a bundle of ``configs/transactions.yaml``
with 230 trees, whose training takes a minute. The margins must be, bit for bit, those of the rows of the whole table,
history included. Times are of the whole process, user and system, and the smallest of several rounds is judged.
"""

import shutil
import statistics
import tempfile
import timeit
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import lightgbm as lgb
import mlflow
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from payments import many_payments
from shared.bundles import AS_THE_PROJECT_TRAINS, CONFIGURATIONS, IDENTITY, invented, invented_file, train
from shared.processes import Measured, run_program
from shared.script import Verdict, at_least, at_most, run

from dask_use import cluster
from scoring_model import Scorer
from scoring_model.arrays import FloatArray
from scoring_model.batch import score_file
from scoring_model.batch.dataset import dataset_parts
from scoring_model.cli.shared import read_bytes
from scoring_model.configuration import load_configuration
from scoring_model.records.reading import read_records

TRAINED: Final = 60_000
CHECKED: Final = 50_000
LEAST: Final = {"linked": 25_000, "unlinked": 45_000}
"""Records a second."""
MOST_GIGABYTES: Final = 4.0
MOST_GROWTH: Final = 1.3
MOST_OF_DASK: Final = 1.6
ROUNDS: Final = 3
EARLIER, LATER, TRAINED_ON = 1_100_000, 67_000, 600_000
HISTORY_ROUNDS: Final = 5
MOST_CPU, MOST_OF_HISTORY = 4.0, 1.5


def bundle_of(folder: Path, kind: str) -> Path:
    """Train on invented records, with or without links, once."""
    bundle = folder / kind
    if not bundle.exists():
        text = IDENTITY.read_text(encoding="utf-8")
        if kind == "unlinked":
            start = text.index("\nlinks:") + 1
            text = text[:start] + "links:\n  keys: {}\n" + text[text.index("\n\n", start) :]
        path = folder / f"{kind}.yaml"
        path.write_text(text, encoding="utf-8")
        train(load_configuration(path), invented(TRAINED, seed=1, network=False)).save(bundle)
    return bundle


def score(bundle: Path, source: Path, out: Path, *options: object) -> Measured:
    """Run the command."""
    shutil.rmtree(out, ignore_errors=True)
    return run_program("score", bundle, source, "--out", f"{out}/", *options)


def check(bundle: Path, source: Path, folder: Path, memory: str) -> None:
    """Compare a dataset with the same records scored in memory."""
    first = folder / "first.parquet"
    table = pa.Table.from_batches([next(pq.ParquetFile(source).iter_batches(CHECKED))])
    pq.write_table(table, first, row_group_size=20_000)
    score_file(Scorer.load(bundle), first, folder / "first-scored.parquet")
    score(bundle, first, folder / "first-out", "--memory", memory)
    found = pa.concat_tables([pq.read_table(part) for part in dataset_parts(folder / "first-out")])
    if not found.equals(pq.read_table(folder / "first-scored.parquet")):
        raise SystemExit("the dataset differs from the records scored in memory")


def peers(rows: FloatArray, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield names and rates of others on a ready matrix."""
    targets = (np.nan_to_num(rows[:, 0]) > np.nanmedian(rows[:, 0])).astype(np.int8)
    booster = lgb.train(
        {**AS_THE_PROJECT_TRAINS, "objective": "binary", "verbose": -1, "num_threads": 2},
        lgb.Dataset(rows[:100_000], targets[:100_000]),
        300,
    )
    path = folder / "pyfunc"
    shutil.rmtree(path, ignore_errors=True)
    mlflow.lightgbm.save_model(booster, path, pip_requirements=[])
    loaded = mlflow.pyfunc.load_model(str(path))
    frame = pd.DataFrame(rows, columns=[f"f{place}" for place in range(rows.shape[1])])
    others: dict[str, Callable[[], object]] = {
        "LightGBM predict, ready matrix": lambda: booster.predict(rows, num_threads=2),
        "mlflow.pyfunc, ready frame": lambda: loaded.predict(frame),
    }
    for name, predict in others.items():
        yield name, len(rows) / timeit.timeit(predict, number=1)


def measure(folder: Path, records: int, memory: str) -> Iterator[Verdict]:
    """Measure both models, then others on the matrix of the linked one."""
    tenth, whole = (invented_file(count, folder=folder) for count in (records // 10, records))
    for kind, least in LEAST.items():
        bundle = bundle_of(folder, kind)
        check(bundle, tenth, folder, memory)
        small, large = (
            score(bundle, source, folder / "out", "--memory", memory) for source in (tenth, whole)
        )
        print(f"{kind}: {large.cpu / records * 1e6:.1f} us of processors a record", flush=True)
        yield at_least(f"{kind}: records a second", records / large.seconds, least)
        yield at_most(f"{kind}: peak gigabytes", large.gigabytes, MOST_GIGABYTES)
        growth = large.seconds / small.seconds / 10
        yield at_most(f"{kind}: cost of a record beside that of {records // 10:,}", growth, MOST_GROWTH)
    scorer = Scorer.load(folder / "linked")
    some = pa.Table.from_batches([next(pq.ParquetFile(tenth).iter_batches(100_000))])
    columns = scorer.features(some).select(scorer.matrix.names).columns
    matrix = np.column_stack([column.to_numpy() for column in columns])
    for name, rate in peers(matrix, folder):
        print(f"{name}: {rate:,.0f} rows/s on {len(matrix):,} rows of {matrix.shape[1]} features")


def measure_dask(folder: Path, records: int, memory: str) -> Iterator[Verdict]:
    """Compare two Dask workers with two processes."""
    bundle, source, out = bundle_of(folder, "linked"), invented_file(records, folder=folder), folder / "out"
    with cluster(folder, workers=2) as (address, _):
        ways = {"two processes": ("--threads", 2), "two Dask workers": ("--dask", address)}
        found, taken = [], {name: list[float]() for name in ways}
        for round_ in range(ROUNDS + 1):  # the first one is checked, not timed
            for name, options in ways.items():
                measured = score(bundle, source, out, "--memory", memory, *options)
                if round_:
                    taken[name].append(measured.seconds)
                else:
                    found.append({one.name: one.read_bytes() for one in out.iterdir()})
            if found[0] != found[1]:
                raise SystemExit("Dask wrote other bytes")
    processes, dask = (statistics.median(times) for times in taken.values())
    print(f"two processes {processes:.1f} s, two Dask workers {dask:.1f} s")
    yield at_most("time of Dask beside that of processes", dask / processes, MOST_OF_DASK)


def measure_history(folder: Path) -> Iterator[Verdict]:
    """Score payments with a long history."""
    configuration = load_configuration(CONFIGURATIONS / "transactions.yaml")
    source, bundle = folder / "payments.parquet", folder / "transactions"
    if not source.exists():
        pq.write_table(many_payments(EARLIER + LATER), source)
    payments = pq.read_table(source)
    if not bundle.exists():
        train(configuration, payments.slice(0, TRAINED_ON), rounds=230, leaves=20).save(bundle)
    later, earlier, out = (folder / f"{part}.parquet" for part in ("later", "earlier", "scored"))
    pq.write_table(payments.slice(EARLIER), later)
    pq.write_table(payments.slice(0, EARLIER), earlier)
    command = ("score", bundle, later, "--history", earlier, "--out", out)
    measured = [run_program(*command) for _ in range(HISTORY_ROUNDS)]
    scorer = Scorer.load(bundle, threads=2)
    whole = scorer.decide(
        scorer.matrix.rows(read_records(payments, configuration.schema, labelled=False).table)
    )
    if pq.read_table(out)["margin"].to_numpy().tobytes() != whole.margins[EARLIER:].tobytes():
        raise SystemExit("scored alone, records have other margins than in the whole table")
    print(f"CPU seconds: {' '.join(f'{one.cpu:.2f}' for one in measured)}")
    name = f"{LATER:,} records, {EARLIER:,} of history, CPU seconds"
    yield at_most(name, min(one.cpu for one in measured), MOST_CPU)
    yield at_most("peak gigabytes", min(one.gigabytes for one in measured), MOST_OF_HISTORY)


def main(
    *,
    records: int = 10_000_000,
    memory: str = "4GB",
    folder: Path | None = None,
    dask: bool = False,
    history: bool = False,
) -> Iterator[Verdict]:
    """Run the benchmark."""
    read_bytes(memory)
    if folder is not None:
        folder.mkdir(exist_ok=True)
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        if history:
            yield from measure_history(place)
        else:
            yield from (measure_dask if dask else measure)(place, records, memory)


if __name__ == "__main__":
    run(main)
