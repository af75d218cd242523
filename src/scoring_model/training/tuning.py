"""Search for parameters: the same trials for the same data and seed, interrupted or not."""

import hashlib
import json
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import TuningSettings
from scoring_model.training.fitting import fixed_params
from scoring_model.training.folds import Fold, build_folds, cut_folds, judge
from scoring_model.training.journal import open_study
from scoring_model.training.progress import show_progress
from scoring_model.training.space import STARTING_POINTS, VERSION, suggest

_RANDOM_TRIALS = 6  # the starting points among them; the sampler models the trials from then on
_ROUNDS = "rounds"  # of each fold, kept with the trial
_SPARED_TRIALS = 4  # that run to their end before the first one can be pruned


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """What a search found.

    Attributes
    ----------
    params : dict
        Parameters of the best trial, for `fitting.fit`.
    rounds : int
        Number of trees for all rows.
    value : float
        Mean over the folds of the smoothed recall, in [0, 1].
    trials : list of dict
        One row for each trial: 'trial' (from 0), 'state' ('complete' or 'pruned'), 'value', 'rounds' (None if
        pruned) and the parameters.
    """

    params: dict[str, float | int]
    rounds: int
    value: float
    trials: list[dict[str, float | int | str | None]]


def tune(
    rows: FloatArray,
    targets: NDArray[np.int8],
    event_times: IntArray,
    *,
    feature_names: Sequence[str],
    categorical: Sequence[int],
    monotone: Sequence[int],
    settings: TuningSettings,
    seed: int,
    threads: int,
    journal: Path,
    resume: bool,
    progress: bool,
) -> Tuning:
    """Search parameters with TPE over rolling-origin folds.

    Trial k draws with a sampler of its own, seeded by (seed, k), from the k trials before it: an interrupted
    run that is resumed makes the trials that it would have made. After each fold a trial whose mean recall is
    below the median of the earlier ones is pruned.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64, microseconds
    feature_names, categorical, monotone, seed, threads
        As for `fitting.fit`.
    settings : TuningSettings
    journal : Path
        File that keeps every trial.
    resume : bool
        Whether to go on with the journal if it exists; with fewer trials than it holds, its first ones count.
    progress : bool
        Whether to show a bar on standard error, if that is a terminal.

    Returns
    -------
    Tuning

    Raises
    ------
    JournalError
        If the journal can't be used (see `journal.open_study`).
    FoldError
        If a fold lacks a class.
    """
    fixed = fixed_params(seed=seed, threads=threads)
    if any(monotone):
        fixed["monotone_constraints"] = list(monotone)
    cuts = cut_folds(event_times, targets, settings.folds)
    fingerprint = _fingerprint(
        {"rows": rows, "targets": targets, "event times": event_times},
        [list(feature_names), list(categorical), list(monotone)],
        settings,
        seed,
    )
    pruner = optuna.pruners.MedianPruner(n_startup_trials=_SPARED_TRIALS)
    with _quiet(), open_study(journal, fingerprint=fingerprint, resume=resume, pruner=pruner) as study:
        folds = build_folds(
            rows, targets, cuts, feature_names=feature_names, categorical=categorical, params=fixed
        )
        done = _finished(study)
        with show_progress(settings.trials, settings.budget_seconds, shown=progress) as show:
            started = time.monotonic()
            elapsed = 0.0
            show(len(done), elapsed, _best_value(done))
            while not _spent(settings, len(done), elapsed):
                _run_trial(study, len(done), folds, fixed=fixed, settings=settings, seed=seed)
                done = _finished(study)
                elapsed = time.monotonic() - started
                show(len(done), elapsed, _best_value(done))
    return _result(done[: settings.trials], folds, len(rows))


def _spent(settings: TuningSettings, done: int, elapsed: float) -> bool:
    if settings.trials is not None:
        return done >= settings.trials
    return elapsed >= (settings.budget_seconds or 0.0)


def _run_trial(
    study: optuna.Study,
    number: int,
    folds: Sequence[Fold],
    *,
    fixed: Mapping[str, object],
    settings: TuningSettings,
    seed: int,
) -> None:
    """Make the trial of that number among the finished ones, which Optuna may count otherwise."""
    trial = _ask(study, number, seed)
    params = {**suggest(trial), **fixed}
    results = []
    for step, fold in enumerate(folds):
        results.append(
            judge(
                fold,
                params=params,
                max_rounds=settings.max_rounds,
                patience=settings.patience,
                fpr=settings.fpr,
            )
        )
        value = statistics.fmean(result.recall for result in results)
        trial.report(value, step)
        if step + 1 < len(folds) and trial.should_prune():
            study.tell(trial, state=TrialState.PRUNED)
            return
    trial.set_user_attr(_ROUNDS, [result.rounds for result in results])
    study.tell(trial, value)


def _ask(study: optuna.Study, number: int, seed: int) -> optuna.Trial:
    own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    study.sampler = optuna.samplers.TPESampler(
        seed=own_seed, n_startup_trials=_RANDOM_TRIALS, constant_liar=False
    )
    # A starting point is queued only when its turn comes; one that a killed run queued is still waiting.
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


def _result(done: Sequence[FrozenTrial], folds: Sequence[Fold], size: int) -> Tuning:
    best = max(_complete(done), key=lambda trial: float(trial.values[0]))  # the earliest of equals
    return Tuning(
        params=suggest(optuna.trial.FixedTrial(best.params)),
        rounds=_scaled_rounds(best, folds, size),
        value=best.values[0],
        trials=[_row(number, trial, folds, size) for number, trial in enumerate(done)],
    )


def _row(
    number: int, trial: FrozenTrial, folds: Sequence[Fold], size: int
) -> dict[str, float | int | str | None]:
    complete = trial.state == TrialState.COMPLETE
    return {
        "trial": number,
        "state": trial.state.name.lower(),
        "value": trial.value,
        "rounds": _scaled_rounds(trial, folds, size) if complete else None,
        **suggest(optuna.trial.FixedTrial(trial.params)),
    }


def _scaled_rounds(trial: FrozenTrial, folds: Sequence[Fold], size: int) -> int:
    """Scale each fold's rounds to all rows and take the median.

    More rows bear more trees, though fewer than in proportion: rounds grow with the square root of the rows
    (12 simulations of 8,000 to 32,000 rows: a power of 0.42 on average, single ones far from it).
    """
    found: list[int] = trial.user_attrs[_ROUNDS]
    scaled = [rounds * math.sqrt(size / fold.size) for rounds, fold in zip(found, folds, strict=True)]
    return max(1, round(statistics.median(scaled)))


def _fingerprint(
    columns: Mapping[str, NDArray[np.generic]], features: list[object], settings: TuningSettings, seed: int
) -> dict[str, str]:
    """Digest, by name, all that decides a trial; how many there are to be does not."""
    search = [settings.fpr, settings.folds, settings.max_rounds, settings.patience]
    return {
        **{name: _digest(column.tobytes()) for name, column in columns.items()},
        "features": _digest(json.dumps(features).encode()),
        "settings": _digest(json.dumps(search).encode()),
        "seed": str(seed),
        "search space": str(VERSION),
        "libraries": " ".join(f"{name} {version(name)}" for name in ("lightgbm", "numpy", "optuna")),
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
