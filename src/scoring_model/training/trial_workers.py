"""Trial workers: run trials in this process, or in several that share one study.

One process owns the study and writes the journal; the others train and return results. If any process is killed, only
the trials under way are lost.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import TuningSettings
from scoring_model.parallel import WorkerObject, Workers
from scoring_model.training.fitting import FeatureOptions, fixed_params
from scoring_model.training.folds import LearntColumns, SearchFold, build_folds, cut_folds
from scoring_model.training.rungs import Rung, run_trial

RunTrial = Callable[[Mapping[str, float | int]], Generator[Rung, None, None]]
"""Runs a trial with some parameters; closing the generator ends it."""

_ROWS: Final = "rows.npy"
_TARGETS: Final = "targets.npy"
_TIMES: Final = "times.npy"


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """The data shared by all trials of a search."""

    features: FeatureOptions
    settings: TuningSettings
    seed: int
    threads: int = 1
    genuine_weight: float = 1.0
    learnt: LearntColumns | None = None

    @property
    def fixed(self) -> Mapping[str, object]:
        """Return the parameters that are the same for all trials."""
        monotone = list(self.features["monotone"])
        constraints = {"monotone_constraints": monotone} if any(monotone) else {}
        return fixed_params(seed=self.seed, threads=self.threads) | constraints

    def folds(self, rows: FloatArray, targets: Int8Array, event_times: IntArray) -> list[SearchFold]:
        """Cut and bin the rows."""
        return build_folds(
            rows,
            targets,
            cut_folds(event_times, targets, self.settings.folds),
            features=self.features,
            params=self.fixed,
            thinning=self.settings.thinning,
            seed=self.seed,
            genuine_weight=self.genuine_weight,
            learnt=self.learnt,
        )

    def run_trial(
        self, folds: Sequence[SearchFold], params: Mapping[str, float | int]
    ) -> Generator[Rung, None, None]:
        """Run a trial with some parameters."""
        return run_trial(folds, {**params, **self.fixed}, self.settings)


@contextmanager
def trial_workers(
    search: SearchContext,
    rows: FloatArray,
    targets: Int8Array,
    event_times: IntArray,
    *,
    workers: Workers,
    shared: Path | None = None,
) -> Iterator[list[RunTrial]]:
    """Start the workers of a search.

    Parameters
    ----------
    shared : Path, optional
        Folder for the rows that other processes read. None: a temporary one of this machine.

    Yields
    ------
    list of RunTrial
        One for each of `workers.objects`. Each runs one trial at a time and may be called from a thread of its own; it
        raises `LostWorker` when its process ends.
    """
    if workers.is_here:
        with workers.create(TrialRunner, search, rows, targets, event_times) as runners:
            yield list(map(_on_worker, runners))
        return
    # In files, so that all processes of a machine share their pages.
    with TemporaryDirectory(dir=shared) as name:
        folder = Path(name).absolute()
        np.save(folder / _ROWS, rows)
        np.save(folder / _TARGETS, targets)
        np.save(folder / _TIMES, event_times)
        with workers.create(_runner_of_files, folder, search) as runners:
            yield list(map(_on_worker, runners))


class TrialRunner:
    """Runs one trial after the other, rung by rung."""

    def __init__(
        self, search: SearchContext, rows: FloatArray, targets: Int8Array, event_times: IntArray
    ) -> None:
        self._search, self._folds = search, search.folds(rows, targets, event_times)
        self._rungs: Iterator[Rung] = iter(())

    def begin(self, params: Mapping[str, float | int]) -> Rung:
        """Begin a trial, which ends the one before."""
        self._rungs = self._search.run_trial(self._folds, params)
        return next(self._rungs)

    def go_on(self) -> Rung:
        """Continue to the next rung."""
        return next(self._rungs)


def _runner_of_files(folder: Path, search: SearchContext) -> TrialRunner:
    rows, targets, times = (np.load(folder / name, mmap_mode="r") for name in (_ROWS, _TARGETS, _TIMES))
    return TrialRunner(search, rows, targets, times)


def _on_worker(runner: WorkerObject) -> RunTrial:
    def run_trial(params: Mapping[str, float | int]) -> Generator[Rung, None, None]:
        rung: Rung = runner.call("begin", params)
        yield rung
        while not rung.last:
            rung = runner.call("go_on")
            yield rung

    return run_trial
