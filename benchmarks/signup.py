"""Gain from links on a public file of sign-ups, split by time, compared with LightGBM's defaults on raw columns.

Run as ``python benchmarks/signup.py FILE``: the fraud e-commerce table (data/README.md says where it comes from),
whole or in part. The first 80 % of the purchases train, the last 20 % test. A label counts from the time
that configs/signup.yaml defines, so the last days before the test have no labels; the burn-in does not train either.
With and without links the parameters are searched as in a training, with the configured number of trials, over the
training rows only. It prints a table of medians over the seeds, and then how well each column alone ranks the test.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import lightgbm as lgb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.evaluation import known_targets
from scoring_model.evaluation.metrics import Ranking
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.records import RecordTable, format_duration
from scoring_model.records.reading import read_records
from scoring_model.training.fitting import fit
from scoring_model.training.tuning import tune

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "signup.yaml"
TRAIN: Final = 0.8
SEEDS: Final = (1, 2, 3, 4, 5)
THREADS: Final = 2
RAW_CATEGORIES: Final = ("source", "browser", "sex", "device_id")
RAW_NUMBERS: Final = ("purchase_value", "age", "ip_address")
MEASURES: Final[Mapping[str, Callable[[Ranking], float | None]]] = {
    "average precision": Ranking.average_precision,
    "AUC": Ranking.roc_auc,
    "recall at 1 % FPR": lambda ranking: ranking.recall_at_fpr(0.01),
    "recall at 5 % FPR": lambda ranking: ranking.recall_at_fpr(0.05),
}


@dataclass(frozen=True, slots=True)
class Sides:
    """Training and test parts.

    Parameters
    ----------
    burn_in, train, test : ndarray of int64
        Rows of the table, ascending in time.
    targets : ndarray of shape (n,), int8
        Labels known when the test begins; for test records, the labels that became known at any time.
    """

    burn_in: IntArray
    train: IntArray
    test: IntArray
    targets: NDArray[np.int8]


def sides_of(table: RecordTable, configuration: Configuration) -> Sides:
    """Split the table; training uses only labels known when the test begins."""
    times = table.event_times
    order = np.argsort(times, kind="stable")
    begin = int(times[order[int(TRAIN * len(order))]])
    first = int(times.min()) + configuration.split.burn_in_length
    known = known_targets(
        times, table.labels, table.label_times, begin, configuration.training.split.label_maturity
    )
    test = times >= begin
    train = (times >= first) & ~test & (known >= 0)
    return Sides(
        burn_in=order[(times < first)[order]],
        train=order[train[order]],
        test=order[test[order]],
        targets=np.where(test, table.labels, known).astype(np.int8),
    )


def of_the_project(
    table: RecordTable, configuration: Configuration, sides: Sides, *, links: bool
) -> Callable[[int], FloatArray]:
    """Function from a seed to margins of the test, by features, search and fit of the project."""
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(sides.burn_in), settings))
    kept = [i for i, name in enumerate(matrix.names) if links or not name.startswith("link_")]
    features = [matrix.features[i] for i in kept]
    rows = matrix.rows(table)[:, kept]
    names = tuple(feature.name for feature in features)
    categorical = tuple(i for i, feature in enumerate(features) if feature.categorical)
    monotone = tuple(feature.direction for feature in features)

    def margins(seed: int) -> FloatArray:
        train, targets = rows[sides.train], sides.targets[sides.train]
        with tempfile.TemporaryDirectory() as folder:
            found = tune(
                train,
                targets,
                table.event_times[sides.train],
                settings=configuration.training.tuning,
                seed=seed,
                threads=THREADS,
                journal=Path(folder) / "journal",
                resume=False,
                progress=False,
                feature_names=names,
                categorical=categorical,
                monotone=monotone,
            )
        booster = fit(
            train,
            targets,
            params=found.params,
            rounds=found.rounds,
            seed=seed,
            threads=THREADS,
            feature_names=names,
            categorical=categorical,
            monotone=monotone,
        )
        return np.asarray(booster.predict(rows[sides.test], raw_score=True), dtype=np.float64)

    return margins


def of_raw_columns(file: pa.Table, sides: Sides) -> Callable[[int], FloatArray]:
    """Function from a seed to margins of the test, by LightGBM's default parameters on the raw columns."""
    codes = [pc.dictionary_encode(file.column(name)).combine_chunks().indices for name in RAW_CATEGORIES]
    columns = [*codes, *(file.column(name) for name in RAW_NUMBERS)]
    rows = np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)

    def margins(seed: int) -> FloatArray:
        data = lgb.Dataset(
            rows[sides.train], sides.targets[sides.train], categorical_feature=list(range(len(codes)))
        )
        params = {"objective": "binary", "seed": seed, "num_threads": THREADS, "verbosity": -1}
        booster = lgb.train(params, data)
        return np.asarray(booster.predict(rows[sides.test], raw_score=True), dtype=np.float64)

    return margins


def check_no_future(table: RecordTable, configuration: Configuration, sides: Sides) -> None:
    """Check that training rows have the same bits without the test."""
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(sides.burn_in), settings))
    before: BoolArray = np.ones(len(table), dtype=np.bool_)
    before[sides.test] = False
    alone = matrix.rows(table.take(np.flatnonzero(before)))
    if alone.tobytes() != matrix.rows(table)[before].tobytes():
        sys.exit("training rows change when the test is removed")


def tell_columns(table: RecordTable, configuration: Configuration, sides: Sides) -> None:
    """Print the AUC of single features in training and test, best of the test first."""
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(sides.burn_in), settings))
    rows = np.nan_to_num(matrix.rows(table), nan=-1.0)
    found = []
    for column, name in enumerate(matrix.names):
        aucs = [
            Ranking.of(rows[part, column], sides.targets[part]).roc_auc() or 0.5
            for part in (sides.train, sides.test)
        ]
        found.append((abs(aucs[1] - 0.5), name, *aucs))
    print("\n| feature alone | AUC in training | AUC in test |\n| --- | --- | --- |")
    for _, feature, in_training, in_test in sorted(found, reverse=True)[:8]:
        print(f"| `{feature}` | {in_training:.3f} | {in_test:.3f} |")
    fraud = sides.targets[sides.test] == 1
    print(f"\ntest: {len(fraud):,} records, {fraud.sum():,} frauds; with a device seen before, in")
    for window in configuration.links.windows:
        span = format_duration(window)
        linked = rows[sides.test, matrix.names.index(f"link_device_{span}_records")] > 0
        shares = f"{100 * linked[fraud].mean():.1f} % of the frauds, {100 * linked[~fraud].mean():.1f} % of the others"
        print(f"- {span}: {shares}")


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="table as Parquet")
    parser.add_argument("--trials", type=int, help="trials of each search; by default as configured")
    options = parser.parse_args()
    configuration = load_configuration(CONFIGURATION)
    if options.trials is not None:
        tuning = replace(configuration.training.tuning, trials=options.trials)
        configuration = replace(configuration, training=replace(configuration.training, tuning=tuning))
    table = read_records(options.file, configuration.schema, labelled=True).table
    file = pq.read_table(options.file)
    if len(file) != len(table):
        sys.exit(f"{len(file) - len(table)} rows break the contract; raw columns would have other rows")
    sides = sides_of(table, configuration)
    check_no_future(table, configuration, sides)
    print(
        f"{len(sides.train):,} rows train ({100 * sides.targets[sides.train].mean():.1f} % fraud)",
        file=sys.stderr,
    )
    labels = sides.targets[sides.test]
    variants = {
        "configs/signup.yaml": of_the_project(table, configuration, sides, links=True),
        "the same without links": of_the_project(table, configuration, sides, links=False),
        "LightGBM's defaults on raw columns": of_raw_columns(file, sides),
    }
    print(f"| | {' | '.join(MEASURES)} |\n|{' --- |' * (len(MEASURES) + 1)}")
    for name, margins in variants.items():
        cells = []
        given = [margins(seed) for seed in SEEDS]
        for measure in MEASURES.values():
            values = sorted(measure(Ranking.of(one, labels)) or 0.0 for one in given)
            cells.append(f"{statistics.median(values):.3f} ({values[0]:.3f} to {values[-1]:.3f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    tell_columns(table, configuration, sides)


if __name__ == "__main__":
    main()
