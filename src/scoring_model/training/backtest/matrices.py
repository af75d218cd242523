"""Feature rows in files, of one fold or shared by several, and the tasks that name them."""

from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.evaluation.importance import sample_rows
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.training.backtest.fold import FoldTask, Labelled
from scoring_model.training.backtest.plan import History, Plan
from scoring_model.training.backtest.workspace import MATRIX
from scoring_model.training.preparation import fit_before, learnt_columns, without_features

EXPLAINED: Final = 300
"""Largest number of records whose contributions are measured for each fold."""

LEARNING_FOLDS: Final = 3
"""Folds, evenly spread, at which models of shorter histories are fitted."""


class Matrices:
    """Feature rows in files: one for all folds, and one for each with the columns that differ.

    The links of a record do not depend on the fold, since they use only what was known before it. The features of
    values depend on the tables that were fitted on its burn-in, and on the categories of its train part.
    """

    def __init__(self, history: History, plan: Plan, folder: Path) -> None:
        self._history, self._plan, self._folder = history, plan, folder
        self._settings = history.configuration.feature_settings
        self._last = plan.folds[-1].split.burn_in
        self.state = self._fit(len(plan.folds) - 1)
        self._shared = MATRIX.format("shared")
        matrix = FeatureMatrix(self._settings, self.state)
        self._names = matrix.names
        np.save(folder / self._shared, matrix.rows(history.table))

    @property
    def rows(self) -> FloatArray:
        """Return the rows of the last fold, mapped from the file."""
        return np.asarray(np.load(self._folder / self._shared, mmap_mode="r"))

    def task_of(self, number: int) -> FoldTask:
        """Prepare a fold, with a file of rows of its own if it needs one."""
        state = self._fit(number)
        if state.to_json() == self.state.to_json():
            return self._task(number, state, None, np.arange(0))
        matrix = FeatureMatrix(self._settings, state)
        # With the same burn-in only what the train part teaches differs.
        learnt_alone = np.array_equal(self._plan.folds[number].split.burn_in, self._last)
        others = [one.name for one in matrix.features if learnt_alone and not one.learnt]
        name, matrix = _file_of(number), without_features(matrix, others)
        values = matrix.value_rows(self._history.table)
        np.save(self._folder / name, values)
        places = [place for place, one in enumerate(self._names) if one in matrix.names[: values.shape[1]]]
        return self._task(number, state, name, np.array(places, dtype=np.int64))

    def remove(self, number: int) -> None:
        """Remove the file of rows that a fold has for itself, if it has one."""
        (self._folder / _file_of(number)).unlink(missing_ok=True)

    def _fit(self, number: int) -> FittedState:
        return fit_before(self._plan.folds[number].split, self._history.table, self._history.configuration)

    def _task(self, number: int, state: FittedState, own: str | None, places: IntArray) -> FoldTask:
        plan, times = self._plan, self._history.table.event_times
        fold = plan.folds[number]
        b, (bounds, stopped) = fold.split.boundaries, plan.bounds_of(fold)
        judged, targets = plan.judged.rows[bounds[0] :], plan.judged.targets[bounds[0] :]
        return FoldTask(
            number=number,
            state=state,
            matrix=self._shared,
            own=own,
            own_places=places,
            train=_labelled(fold.split.train, fold.split.train_targets, times),
            learnt=learnt_columns(
                FeatureMatrix(self._settings, state),
                self._history.table,
                fold.split,
                self._history.configuration,
            ),
            train_from=b.train_from,
            train_to=b.train_to,
            validation=_labelled(fold.split.validation, fold.split.validation_targets, times),
            validation_to=b.validation_to,
            stopped=fold.split.stopped,
            persons=fold.persons,
            rings=fold.rings,
            judged=_labelled(judged, targets, times),
            bounds=bounds - bounds[0],
            later_stopped=plan.judged.stopped[stopped[0] :],
            explained=sample_rows(int(bounds[1] - bounds[0]), limit=EXPLAINED),
            learning=number in spread(len(plan.folds), LEARNING_FOLDS),
        )


def _file_of(number: int) -> str:
    return MATRIX.format(f"{number:04d}")


def _labelled(rows: IntArray, targets: Int8Array, times: IntArray) -> Labelled:
    return Labelled(rows=rows, targets=targets, times=times[rows])


def spread(count: int, most: int) -> set[int]:
    """Return at most `most` places out of `count`, evenly spread, with both ends."""
    return {round(place) for place in np.linspace(0, count - 1, min(count, most)).tolist()}
