"""Search for parameters: the same trials for the same data and seed, interrupted or not.

Decision record: docs/adr/0015-search.md.
"""

import hashlib
import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import TuningSettings
from scoring_model.parallel import HERE, Workers
from scoring_model.parallel.progress import Report
from scoring_model.training.fitting import FeatureOptions
from scoring_model.training.folds import FoldError, Lead, LearntColumns, cut_folds
from scoring_model.training.journal import open_study
from scoring_model.training.progress import Status, TrialTime, seconds_left, show_progress
from scoring_model.training.rungs import Rung
from scoring_model.training.space import STARTING_POINTS, VERSION, suggest
from scoring_model.training.trial_workers import RunTrial, SearchContext, trial_workers

REDUCTION_FACTOR: Final = 2
"""One in this many trials continues from a rung."""

_RANDOM_TRIALS = 7  # including the starting points; afterwards the sampler models the trials
_ROUNDS = "rounds"  # of each fold, kept with the trial
_VALUES = "values"  # of each fold, kept with the trial
_SECONDS = "seconds"  # of each rung, kept with the trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """The result of a search.

    Attributes
    ----------
    rounds : int
        Number of trees for all rows.
    value, best : float
        Mean over the folds of the average precision of these parameters, and of the best trial, in [0, 1].
    trials : list of dict
        One row for each trial: 'trial' (from 0), 'state' ('complete' or 'pruned'), 'value', 'rounds' (None if
        pruned) and the parameters.
    """

    params: dict[str, float | int]
    rounds: int
    value: float
    best: float
    trials: list[dict[str, float | int | str | None]]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to run a search.

    Parameters
    ----------
    journal : Path, optional
        File for the trials; without one they are kept in memory.
    resume : bool
        Whether to continue the journal; if the limit is below its number of trials, the first ones count.
    threads : int
        Threads of all processes together; each has at least one.
    workers : Workers
        Run the trials, one each at once (`scoring_model.parallel.open_workers`); those of a cluster read the rows from
        files beside the journal.
    progress : bool
        Whether to show a bar on a terminal.
    report : callable
        Gets a line of text every half minute: progress and estimated time left.
    """

    journal: Path | None = None
    resume: bool = False
    threads: int = 2
    workers: Workers = HERE
    progress: bool = True
    report: Report = lambda text: None


def tune(
    rows: FloatArray,
    targets: Int8Array,
    event_times: IntArray,
    options: SearchOptions,
    *,
    settings: TuningSettings,
    seed: int,
    genuine_weight: float = 1.0,
    learnt: LearntColumns | None = None,
    **features: Unpack[FeatureOptions],
) -> Tuning:
    """Search parameters with TPE and successive halving over rolling-origin folds.

    Trial k draws with a sampler of its own, seeded by (seed, k), from the k trials before it: an interrupted run that
    is resumed makes the same trials. At each rung (`rungs.run_trial`) a trial continues if it is in the better half of
    those that have reached it. With several processes the trials depend on timing; keep the parameters found.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64, microseconds
    seed, features
        As for `fitting.fit`.
    settings : TuningSettings
        The limit is exceeded until one trial is complete.
    genuine_weight : float
        Weight of each genuine record, at least 1; a fraud weighs 1.
    learnt : LearntColumns, optional
        Columns that differ between folds.

    References
    ----------
    Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning" (ASHA), arXiv:1810.05934.
    """
    workers = options.workers
    context = SearchContext(
        features=features,
        settings=settings,
        seed=seed,
        threads=max(1, options.threads // workers.objects),
        genuine_weight=genuine_weight,
        learnt=learnt,
    )
    sizes = [len(train) for train, _ in cut_folds(event_times, targets, settings.folds)]
    data = (rows, targets, event_times)
    fingerprint = _fingerprint(*data, context)
    with (
        _journal(options) as journal,
        _quiet(),
        open_study(journal, fingerprint=fingerprint, resume=options.resume, pruner=Halving()) as study,
    ):
        search = _Search(study, settings, seed=seed, processes=workers.objects)
        with show_progress(search.status, shown=options.progress, report=options.report):
            if search.wants_more:  # a finished search needs no bins
                with trial_workers(context, *data, workers=workers, shared=journal.parent) as all_workers:
                    search.run(all_workers)
        done = _finished(study)
    return _result(_counted(done, settings.trials), sizes, len(rows))


@contextmanager
def _journal(options: SearchOptions) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield options.journal or Path(folder) / "trials.journal"


def is_cut_short(rounds: int, targets: Int8Array, event_times: IntArray, settings: TuningSettings) -> bool:
    """Whether a number of trees is what a search of these rows gives whose trials end at `max_rounds`.

    Then more trees might be better: fewer than `patience` trees were grown after the best one. More trees than the
    search can give are from elsewhere, and its limit says nothing about them.

    Parameters
    ----------
    rounds : int
        Number of trees for all rows.
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64, microseconds
    """
    try:
        sizes = [len(train) for train, _ in cut_folds(event_times, targets, settings.folds)]
    except FoldError:  # no search found this number
        return False
    most = settings.max_rounds
    least_cut = max(most - settings.patience + 1, 1)
    low, high = (_scaled([limit] * len(sizes), sizes, len(targets)) for limit in (least_cut, most))
    return low <= rounds <= high


class Halving(optuna.pruners.BasePruner):
    """Asynchronous successive halving: of the trials that have reached a rung, the better half continues.

    Optuna's own pruner also counts killed trials, so an interrupted search would stop other trials than an
    uninterrupted one.
    """

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        """Return True if a trial is to be pruned at its rung.

        Returns
        -------
        bool
            False for the best 1 / `REDUCTION_FACTOR` of the trials that reached the rung, at least for the best one.
        """
        step = trial.last_step
        assert step is not None
        values = sorted(
            (
                other.intermediate_values[step]
                for other in study.get_trials(deepcopy=False)
                if other.state != TrialState.FAIL and step in other.intermediate_values
            ),
            reverse=True,
        )
        return trial.intermediate_values[step] < values[max(len(values) // REDUCTION_FACTOR, 1) - 1]


class _Search:
    """The trials of one study, run by any number of workers, whose threads share the study under a lock."""

    def __init__(self, study: optuna.Study, settings: TuningSettings, *, seed: int, processes: int) -> None:
        done = _finished(study)
        self._study = study
        self._settings = settings
        self._seed = seed
        self._processes = processes
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._begun = len(done)
        self._broken = False
        self._ended = [_time_of(trial) for trial in done]
        self._running: dict[int, _Stopwatch] = {}

    def status(self) -> Status:
        """Return the progress of the search; thread-safe."""
        with self._lock:
            done, limit, budget = _finished(self._study), self._settings.trials, self._settings.budget_seconds
            share = len(done) / limit if limit is not None else self._elapsed / (budget or 1.0)
            return Status(
                trials=len(done),
                limit=limit,
                best=_best_value(done),
                share=min(share, 1.0),
                seconds_left=self._seconds_left(done),
            )

    @property
    def wants_more(self) -> bool:
        """Return True if another trial is to begin: below the limit, or until one is complete.

        The best running trial completes unless its process is killed; then all others may have been pruned.
        """
        if self._settings.trials is not None:
            below = self._begun < self._settings.trials
        else:
            below = self._elapsed < (self._settings.budget_seconds or 0.0)
        return below or self._is_fruitless

    def run(self, all_workers: Sequence[RunTrial]) -> None:
        """Run trials up to the limit; the first error ends all workers at their next rung."""
        if len(all_workers) == 1:
            self._work(all_workers[0])
            return
        with ThreadPoolExecutor(len(all_workers)) as pool:
            for work in [pool.submit(self._work, run_trial) for run_trial in all_workers]:
                work.result()

    @property
    def _is_fruitless(self) -> bool:
        """Return True if no trial is running and none is complete."""
        done = _finished(self._study)
        return len(done) == self._begun and not _complete(done)

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _work(self, run_trial: RunTrial) -> None:
        try:
            while (trial := self._next()) is not None:
                with closing(run_trial(suggest(trial))) as rungs:
                    for step, rung in enumerate(rungs):
                        if self._broken or not self._goes_on(trial, step, rung):
                            break
        except BaseException:
            self._broken = True
            raise

    def _next(self) -> optuna.Trial | None:
        with self._lock:
            if self._broken or not self.wants_more:
                return None
            trial = _ask(self._study, self._begun, self._seed, parallel=self._processes > 1)
            self._begun += 1
            self._running[trial.number] = _Stopwatch()
            suggest(trial)  # drawn here, under the lock
            return trial

    def _goes_on(self, trial: optuna.Trial, step: int, rung: Rung) -> bool:
        with self._lock:
            self._running[trial.number].lap()
            trial.report(rung.value, step)
            if not rung.last and not trial.should_prune():
                return True
            time_taken = self._running.pop(trial.number).time(ended=True)
            self._ended.append(time_taken)
            trial.set_user_attr(_SECONDS, time_taken.seconds)
            if rung.last:
                trial.set_user_attr(_ROUNDS, rung.rounds)
                trial.set_user_attr(_VALUES, rung.values)
                self._study.tell(trial, rung.value)
            else:
                self._study.tell(trial, state=TrialState.PRUNED)
            return False

    def _seconds_left(self, done: Sequence[FrozenTrial]) -> float | None:
        """Estimate the time left; with a budget, until it is spent and the running trials have ended."""
        limit, budget = self._settings.trials, self._settings.budget_seconds
        estimate = seconds_left(
            [*self._ended, *(watch.time(ended=False) for watch in self._running.values())],
            rungs=max((len(_time_of(trial).seconds) for trial in _complete(done)), default=0) or None,
            to_begin=0 if limit is None else max(limit - self._begun, 0),
            processes=self._processes,
            reduction_factor=REDUCTION_FACTOR,
        )
        unspent = 0.0 if budget is None else max(budget - self._elapsed, 0.0)
        if estimate is None:
            return unspent or None
        return max(estimate, unspent)


class _Stopwatch:
    """The seconds of each rung of one trial."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._seconds: list[float] = []

    def lap(self) -> None:
        """Record that a rung was reached."""
        now = time.monotonic()
        self._seconds.append(now - self._since)
        self._since = now

    def time(self, *, ended: bool) -> TrialTime:
        """Return the time so far."""
        running = 0.0 if ended else time.monotonic() - self._since
        return TrialTime(seconds=tuple(self._seconds), ended=ended, running=running)


def _time_of(trial: FrozenTrial) -> TrialTime:
    """Return the time of an ended trial."""
    return TrialTime(seconds=tuple(trial.user_attrs[_SECONDS]), ended=True)


def _ask(study: optuna.Study, number: int, seed: int, *, parallel: bool) -> optuna.Trial:
    own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    study.sampler = optuna.samplers.TPESampler(
        seed=own_seed, n_startup_trials=_RANDOM_TRIALS, constant_liar=parallel
    )
    # A starting point is queued only when it is due; one queued by a killed run is still waiting.
    queued = study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
    if number < len(STARTING_POINTS) and not queued:
        study.enqueue_trial(dict(STARTING_POINTS[number]))
    return study.ask()


def _finished(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def _complete(done: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    return [trial for trial in done if trial.state == TrialState.COMPLETE]


def _best_value(done: Sequence[FrozenTrial]) -> float | None:
    return max((trial.values[0] for trial in _complete(done)), default=None)


def _counted(done: Sequence[FrozenTrial], limit: int | None) -> Sequence[FrozenTrial]:
    """Return the first trials up to the limit, extended to the first complete one."""
    if limit is None:
        return done
    first = next(place for place, trial in enumerate(done) if trial.state == TrialState.COMPLETE)
    return done[: max(limit, first + 1)]


def _result(done: Sequence[FrozenTrial], sizes: Sequence[int], size: int) -> Tuning:
    best = _best_of(complete := _complete(done))
    winner = _winner(best, [trial for trial in complete if _is_starting_point(trial)])
    return Tuning(
        params=suggest(optuna.trial.FixedTrial(winner.params)),
        rounds=_scaled_rounds(winner, sizes, size),
        value=winner.values[0],
        best=best.values[0],
        trials=[_row(number, trial, sizes, size) for number, trial in enumerate(done)],
    )


def _best_of(trials: Sequence[FrozenTrial]) -> FrozenTrial:
    return max(trials, key=lambda trial: float(trial.values[0]))  # the earliest of equals


def _winner(best: FrozenTrial, starting_points: Sequence[FrozenTrial]) -> FrozenTrial:
    """Return the best trial, or the best starting point if the former is not better by more than its standard error.

    The best of many trials is chosen for its luck too.
    """
    if not starting_points:
        return best
    start = _best_of(starting_points)
    return best if Lead.of(best.user_attrs[_VALUES], start.user_attrs[_VALUES]).is_clear else start


def _is_starting_point(trial: FrozenTrial) -> bool:
    return any(point.items() <= trial.params.items() for point in STARTING_POINTS)


def _row(
    number: int, trial: FrozenTrial, sizes: Sequence[int], size: int
) -> dict[str, float | int | str | None]:
    complete = trial.state == TrialState.COMPLETE
    return {
        "trial": number,
        "state": trial.state.name.lower(),
        "value": trial.value,
        "rounds": _scaled_rounds(trial, sizes, size) if complete else None,
        **suggest(optuna.trial.FixedTrial(trial.params)),
    }


def _scaled_rounds(trial: FrozenTrial, sizes: Sequence[int], size: int) -> int:
    """Scale each fold's rounds to all rows and take the median.

    More rows support more trees, but less than proportionally: rounds grow with the square root of the rows
    (12 simulations of 8,000 to 32,000 rows: a power of 0.42 on average, with large variation).
    """
    return _scaled(trial.user_attrs[_ROUNDS], sizes, size)


def _scaled(found: Sequence[int], sizes: Sequence[int], size: int) -> int:
    scaled = [rounds * math.sqrt(size / of_fold) for rounds, of_fold in zip(found, sizes, strict=True)]
    return max(1, round(statistics.median(scaled)))


def _fingerprint(
    rows: FloatArray, targets: Int8Array, event_times: IntArray, context: SearchContext
) -> dict[str, str]:
    """Return digests, by name, of all inputs that determine a trial, without the number of trials."""
    columns: dict[str, NDArray[Any]] = {"rows": rows, "targets": targets, "event times": event_times}
    settings, features, weight = context.settings, context.features, context.genuine_weight
    described = [list(features["feature_names"]), list(features["categorical"]), list(features["monotone"])]
    search = [settings.folds, settings.max_rounds, settings.patience, settings.thinning]
    return {
        **{name: _digest(np.ascontiguousarray(column).data) for name, column in columns.items()},
        "features": _digest(json.dumps(described).encode()),
        "settings": _digest(json.dumps(search).encode()),
        "seed": str(context.seed),
        **({} if weight == 1 else {"weight of genuine records": str(weight)}),
        **({} if context.learnt is None else {"label statistics": _digest(_joined(context.learnt.values))}),
        "search space": str(VERSION),
        "libraries": " ".join(f"{name} {version(name)}" for name in ("lightgbm", "numpy", "optuna")),
    }


def _joined(arrays: Sequence[FloatArray]) -> bytes:
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def _digest(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
