"""Labelled histories split by time: data for training and the test period that judges it."""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import UNSEEN, invented_file
from benchmarks.searches import Task
from benchmarks.signup import check_no_future, sides_of

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import load_configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.history import person_codes
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.training.preparation import prepare

CONFIGS: Final = Path(__file__).parents[1] / "configs"


@dataclass(frozen=True, kw_only=True, eq=False)
class Period:
    """A test period and its training task.

    Parameters
    ----------
    name : str
    task : Task
    targets : ndarray of shape (m,), int8, 1 fraud, 0 genuine
        Targets of the test period.
    persons : ndarray of shape (m,), int64
        Person of each test record.
    """

    name: str
    task: Task
    targets: NDArray[np.int8]
    persons: IntArray

    @property
    def digest(self) -> str:
        """Digest of all data that a system gets."""
        task = self.task
        content = hashlib.sha256(repr((task.names, task.categorical, task.monotone)).encode())
        for array in (task.rows, task.targets, task.event_times, task.test):
            content.update(array.tobytes())
        return content.hexdigest()

    def __str__(self) -> str:
        rows, test = len(self.task.rows), len(self.targets)
        return (
            f"{self.name}: {rows:,} x {len(self.task.names)} train, {self.task.targets.sum():,} of them frauds; "
            f"{test:,} test, {self.targets.sum():,} of them frauds"
        )


def signup_period(path: Path) -> Period:
    """The sign-up file, split as in `benchmarks.signup`."""
    configuration = load_configuration(CONFIGS / "signup.yaml")
    table = read_records(path, configuration.schema, labelled=True).table
    sides = sides_of(table, configuration)
    check_no_future(table, configuration, sides)
    settings = configuration.feature_settings
    matrix = FeatureMatrix(settings, fit_state(table.take(sides.burn_in), settings))
    return _period(
        "sign-ups",
        "signup.yaml",
        table=table,
        matrix=matrix,
        rows=matrix.rows(table),
        train=sides.train,
        test=sides.test,
        targets=(sides.targets[sides.train], sides.targets[sides.test]),
        persons=person_codes(table, alone=True),
    )


def synthetic_period(records: int) -> Period:
    """Invented records, split as a training splits them; the validation part stays unused."""
    configuration = load_configuration(CONFIGS / "identity.yaml")
    table = read_records(invented_file(records, seed=UNSEEN), configuration.schema, labelled=True).table
    prepared = prepare(table, configuration)
    parts = prepared.split
    return _period(
        "synthetic",
        "identity.yaml",
        table=table,
        matrix=prepared.matrix,
        rows=prepared.rows,
        train=parts.train,
        test=parts.test,
        targets=(parts.train_targets, parts.test_targets),
        persons=prepared.persons,
    )


def _period(
    name: str,
    configuration: str,
    *,
    table: RecordTable,
    matrix: FeatureMatrix,
    rows: FloatArray,
    train: IntArray,
    test: IntArray,
    targets: tuple[NDArray[np.int8], NDArray[np.int8]],
    persons: IntArray,
) -> Period:
    features = matrix.features
    task = Task(
        rows=rows[train],
        targets=targets[0],
        event_times=table.event_times[train],
        test=rows[test],
        names=matrix.names,
        categorical=tuple(i for i, feature in enumerate(features) if feature.categorical),
        monotone=tuple(int(feature.direction) for feature in features),
        configuration=configuration,
    )
    return Period(name=name, task=task, targets=targets[1], persons=persons[test])
