"""One search by one system on one matrix: the same file in the environment of each.

Run as ``python searches.py SYSTEM TASK OUT --seconds 300 --seed 1`` in an empty directory, where systems may
leave files. It needs only numpy and the system. The clock runs from the matrix in memory to a model that predicts;
imports, files and the prediction are not counted. Each system has the settings that its documentation advises for
records of a period, a rare class and this much time; each peer has the best of the settings that were tried.
"""

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.float64]
Predict: TypeAlias = Callable[[Rows], Rows]
"""Function from rows to probabilities of fraud."""

THREADS: Final = 2
AVERAGED: Final = 8
"""Number of averaged boosters in our model (`training.seeds`), as many as AutoGluon has in a bag."""
SEARCH_SHARE: Final = 0.85
"""Share of our time for the search; the rest is for its last trial and the fit."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """Data and settings for a system.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        Rows for search and fit, ascending in time; NaN is missing.
    targets : ndarray of shape (n,), int8, 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64, microseconds
    test : ndarray of shape (m, d), float64
        Rows to score.
    names : tuple of d str
    categorical : tuple of int
        Columns that hold codes.
    monotone : tuple of d int
        1 where more means more fraud, -1 where it means less, 0 otherwise. Peers do not use it.
    configuration : str
        Name of our configuration in configs/, with the settings of search and fit.
    """

    rows: Rows
    targets: NDArray[np.int8]
    event_times: NDArray[np.int64]
    test: Rows
    names: tuple[str, ...]
    categorical: tuple[int, ...]
    monotone: tuple[int, ...]
    configuration: str

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a task that `write` wrote."""
        described = json.loads((folder / "columns.json").read_text(encoding="utf-8"))
        return cls(
            **{name: np.load(folder / f"{name}.npy") for name in _ARRAYS},
            names=tuple(described["names"]),
            categorical=tuple(described["categorical"]),
            monotone=tuple(described["monotone"]),
            configuration=described["configuration"],
        )

    def write(self, folder: Path) -> None:
        """Write the task into an existing folder."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        described = {name: getattr(self, name) for name in _DESCRIBED}
        (folder / "columns.json").write_text(json.dumps(described), encoding="utf-8")


_ARRAYS: Final = ("rows", "targets", "event_times", "test")
_DESCRIBED: Final = ("names", "categorical", "monotone", "configuration")

Search: TypeAlias = Callable[[Task], Predict]


def prepare_ours(seconds: float, seed: int) -> Search:
    """Search and fit of the project, as in a training with ``--budget``."""
    from dataclasses import replace

    from scoring_model.configuration import Tuned, load_configuration
    from scoring_model.scorer.session import MarginSession
    from scoring_model.training.averaging import fit_forest
    from scoring_model.training.export import to_onnx
    from scoring_model.training.preparation import FeatureOptions
    from scoring_model.training.tuning import tune

    configs = Path(__file__).resolve().parents[1] / "configs"

    def search(task: Task) -> Predict:
        training = load_configuration(configs / task.configuration).training
        features = FeatureOptions(
            feature_names=task.names, categorical=task.categorical, monotone=task.monotone
        )
        found = tune(
            task.rows,
            task.targets,
            task.event_times,
            settings=replace(training.tuning, trials=None, budget=int(SEARCH_SHARE * seconds * 1e6)),
            seed=seed,
            threads=THREADS,
            journal=Path("journal"),
            resume=False,
            progress=False,
            **features,
        )
        forest = fit_forest(
            task.rows,
            task.targets,
            tuned=Tuned(params=found.params, rounds=found.rounds),
            seed=seed,
            seeds=AVERAGED,
            threads=THREADS,
            **features,
        )
        session = MarginSession(to_onnx(forest, cuts=None, feature_names=task.names), threads=THREADS)
        return lambda rows: 1.0 / (1.0 + np.exp(-session.margins(rows)))

    return search


def prepare_flaml(seconds: float, seed: int) -> Search:
    """FLAML with LightGBM alone.

    With the area under the ROC curve as its metric it found worse models on both periods; with shuffled validation
    records worse ones on sign-ups and no better ones on invented records.
    """
    from flaml import AutoML  # type: ignore[import-not-found]

    def search(task: Task) -> Predict:
        found = AutoML()
        found.fit(
            _frame(task, task.rows),
            task.targets.astype(np.int64),
            task="classification",
            estimator_list=["lgbm"],
            metric="ap",
            eval_method="holdout",
            split_type="time",
            retrain_full="budget",  # otherwise it fits once more after its time
            time_budget=seconds,
            n_jobs=THREADS,
            seed=seed,
            verbose=0,
        )
        return lambda rows: np.asarray(found.predict_proba(_frame(task, rows))[:, 1], dtype=np.float64)

    return search


def prepare_autogluon(seconds: float, seed: int) -> Search:
    """AutoGluon with LightGBM only: bags of its portfolio, as in its best-quality preset.

    Stacking is off because trying it takes a fourth of the time. The same portfolio on one holdout by time was as
    good within the noise; its own random search was worse on invented records.
    """
    from autogluon.tabular import TabularPredictor  # type: ignore[import-not-found]

    def search(task: Task) -> Predict:
        order = np.random.default_rng(seed).permutation(len(task.rows))  # only its models take a seed
        records = _frame(task, task.rows[order]).assign(**{_TARGET: task.targets[order]})
        found = TabularPredictor(
            _TARGET, problem_type="binary", eval_metric="average_precision", path="models", verbosity=0
        )
        found.fit(
            records,
            time_limit=seconds,
            presets="best_quality",
            included_model_types=["GBM"],
            dynamic_stacking=False,
            num_stack_levels=0,
            ag_args_ensemble={"model_random_seed": seed, "vary_seed_across_folds": True},
            num_cpus=THREADS,
            num_gpus=0,
        )

        return lambda rows: np.asarray(found.predict_proba(_frame(task, rows))[1], dtype=np.float64)

    return search


_TARGET: Final = "is_fraud"

SYSTEMS: Final[Mapping[str, Callable[[float, int], Search]]] = {
    "ours": prepare_ours,
    "flaml": prepare_flaml,
    "autogluon": prepare_autogluon,
}


def _frame(task: Task, rows: Rows) -> Any:
    """The rows as a data frame with codes as categories; a category without training rows is missing."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(task.names))
    for column in task.categorical:
        known = np.unique(task.rows[:, column])
        codes = known[~np.isnan(known)]
        categories = pd.Categorical(rows[:, column], categories=codes)
        frame[task.names[column]] = categories.rename_categories(codes.astype(np.int64).tolist())
    return frame


def main() -> None:
    """Search, predict the test, and write scores and times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("task", type=Path)
    parser.add_argument("out", type=Path, help="gets the scores of the test and the times, as .npz")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    task = Task.read(options.task)
    search = SYSTEMS[options.system](options.seconds, options.seed)
    warnings.simplefilter("ignore")  # peers warn of each category at each fit
    begun, used = time.monotonic(), _processor_seconds()
    predict = search(task)
    seconds, processors = time.monotonic() - begun, _processor_seconds() - used
    np.savez(options.out, scores=predict(task.test), seconds=seconds, processors=processors)


def _processor_seconds() -> float:
    """CPU time of this process and its ended children."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


if __name__ == "__main__":
    main()
