"""Compare the parameter search with plain Optuna, on the same folds of the same records.

The peer is Optuna with its defaults (TPE, median pruning), 40 trials that each train on everything; ours gets a third
of its time. Both have two threads, one binned dataset, one search space and one measure: the mean over the folds of the
smoothed recall after training on everything. The peer's code computes the reported value
of our parameters again before the time counts. The judged ratio is the time at which ours first reached the peer's best
value, over the time of the peer; it also reports the value of both sets of parameters on the validation part, which no
search saw.

Run as ``python benchmarks/search.py [--records N] [--seeds N] [--results FILE]``. With a file of results an interrupted
run resumes after the last finished seed. Exits with 1 when the median over the seeds is more than a third.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import lightgbm as lgb
import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import UNSEEN, invented_file

from scoring_model.arrays import FloatArray
from scoring_model.configuration import TuningSettings, load_configuration
from scoring_model.records.reading import read_records
from scoring_model.training.fitting import fit, fixed_params
from scoring_model.training.folds import Fold, build_folds, cut_folds, smooth_recall
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.space import suggest
from scoring_model.training.tuning import Tuning, tune

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
TRIALS: Final = 40
THREADS: Final = 2
MOST: Final = 1 / 3
LIMITS: Final = TuningSettings()


@dataclass(frozen=True, kw_only=True)
class Seed:
    """Result of one seed.

    Parameters
    ----------
    seed : int
    plain_seconds, plain_value, plain_validation : float
        Of the peer: time of all trials, their best value, and the value of its parameters on the validation part.
    ours_value, ours_validation : float
        Of ours, at the end of its time.
    trials, complete : int
        Of ours.
    reached : float or None
        Seconds until ours had a trial of at least the peer's best value; None if it never had one.
    """

    seed: int
    plain_seconds: float
    plain_value: float
    plain_validation: float
    ours_value: float
    ours_validation: float
    trials: int
    complete: int
    reached: float | None

    @property
    def ratio(self) -> float:
        """Time of ours over the time of the peer."""
        return float("inf") if self.reached is None else self.reached / self.plain_seconds


def value_of(fold: Fold, params: Mapping[str, object]) -> tuple[float, int]:
    """Recall of parameters on one fold, and their trees, by LightGBM's own loop and early stopping."""
    kept: list[FloatArray] = []

    def log_loss(probabilities: FloatArray, _: lgb.Dataset) -> tuple[str, float, bool]:
        kept.append(probabilities.copy())
        chance = np.where(fold.targets == 1, probabilities, 1.0 - probabilities)
        return "log_loss", float(-np.log(np.maximum(chance, 1e-15)).mean()), False

    booster = lgb.train(
        {**params, "metric": "None"},
        fold.train,
        num_boost_round=LIMITS.max_rounds,
        valid_sets=[fold.validation],
        feval=log_loss,
        callbacks=[lgb.early_stopping(LIMITS.patience, verbose=False)],
        keep_training_booster=True,
    )
    best = booster.best_iteration
    return smooth_recall(kept[best - 1], fold.targets, LIMITS.fpr), best


def folds_of(prepared: Prepared, fixed: Mapping[str, object], seed: int) -> list[Fold]:
    """The folds of the training part."""
    rows, targets = prepared.rows[prepared.split.train], prepared.split.train_targets
    times = prepared.table.event_times[prepared.split.train]
    return build_folds(
        rows,
        targets,
        cut_folds(times, targets, LIMITS.folds),
        feature_names=prepared.feature_options["feature_names"],
        categorical=prepared.feature_options["categorical"],
        params=fixed,
        thinning=1.0,
        seed=seed,
    )


def fixed_of(prepared: Prepared, seed: int) -> dict[str, object]:
    """Fixed parameters, the same for both."""
    monotone = list(prepared.feature_options["monotone"])
    return {**fixed_params(seed=seed, threads=THREADS), "monotone_constraints": monotone}


def plain(prepared: Prepared, seed: int) -> tuple[optuna.Study, float, list[Fold]]:
    """Search as an Optuna tutorial does; return the study, its seconds, and its folds."""
    started = time.monotonic()
    fixed = fixed_of(prepared, seed)
    folds = folds_of(prepared, fixed, seed)

    def objective(trial: optuna.Trial) -> float:
        params = {**suggest(trial), **fixed}
        values = []
        for step, fold in enumerate(folds):
            values.append(value_of(fold, params)[0])
            trial.report(statistics.fmean(values), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return statistics.fmean(values)

    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(),
    )
    study.optimize(objective, n_trials=TRIALS)
    return study, time.monotonic() - started, folds


def ours(prepared: Prepared, seed: int, seconds: float, journal: Path) -> tuple[Tuning, float]:
    """Search as a training does; return the result and the start time."""
    train = prepared.split.train
    began = time.time()
    tuning = tune(
        prepared.rows[train],
        prepared.split.train_targets,
        prepared.table.event_times[train],
        settings=TuningSettings(trials=None, budget=round(seconds * 1e6)),
        seed=seed,
        threads=THREADS,
        journal=journal,
        resume=False,
        progress=True,
        **prepared.feature_options,
    )
    return tuning, began


def reached_at(journal: Path, value: float, began: float) -> float | None:
    """Seconds until the first complete trial of at least a value."""
    storage = JournalStorage(JournalFileBackend(str(journal)))
    (study,) = optuna.get_all_study_names(storage)
    trials = optuna.load_study(study_name=study, storage=storage).get_trials(states=(TrialState.COMPLETE,))
    ends = [
        trial.datetime_complete.timestamp() - began
        for trial in trials
        if trial.value is not None and trial.value >= value and trial.datetime_complete is not None
    ]
    return min(ends, default=None)


def on_validation(prepared: Prepared, params: Mapping[str, float | int], rounds: int, seed: int) -> float:
    """Recall on the validation part of a model trained on the whole training part."""
    booster = fit(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        params=params,
        rounds=rounds,
        seed=seed,
        threads=THREADS,
        **prepared.feature_options,
    )
    margins = booster.predict(prepared.rows[prepared.split.validation], raw_score=True)
    return smooth_recall(np.asarray(margins, dtype=np.float64), prepared.split.validation_targets, LIMITS.fpr)


def measure(prepared: Prepared, seed: int) -> Seed:
    """Search in both ways and check the value that ours reports."""
    study, seconds, folds = plain(prepared, seed)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        tuning, began = ours(prepared, seed, seconds * MOST, journal)
        reached = reached_at(journal, study.best_value, began)
    fixed = fixed_of(prepared, seed)
    again = statistics.fmean(value_of(fold, {**tuning.params, **fixed})[0] for fold in folds)
    if abs(again - tuning.value) > 1e-9:
        raise SystemExit(f"the search reports {tuning.value}, its parameters give {again}")
    best = suggest(optuna.trial.FixedTrial(study.best_params))
    rounds = [
        value_of(fold, {**best, **fixed})[1] * np.sqrt(len(prepared.split.train) / fold.size)
        for fold in folds
    ]
    return Seed(
        seed=seed,
        plain_seconds=seconds,
        plain_value=study.best_value,
        plain_validation=on_validation(prepared, best, round(statistics.median(rounds)), seed),
        ours_value=tuning.value,
        ours_validation=on_validation(prepared, tuning.params, tuning.rounds, seed),
        trials=len(tuning.trials),
        complete=sum(trial["state"] == "complete" for trial in tuning.trials),
        reached=reached,
    )


def prepared_of(records: int) -> Prepared:
    """Invented records, prepared as for a training."""
    configuration = load_configuration(CONFIGURATION)
    table = read_records(invented_file(records, seed=UNSEEN), configuration.schema, labelled=True).table
    return prepare(table, configuration)


def main() -> None:
    """Measure the seeds missing from the results, print all, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, help="file of results, one line per seed")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    lines = options.results.read_text().splitlines() if options.results and options.results.exists() else []
    done = [Seed(**json.loads(line)) for line in lines]
    wanted = [seed for seed in range(1, options.seeds + 1) if seed not in {one.seed for one in done}]
    if wanted:
        prepared = prepared_of(options.records)
        shape = prepared.rows[prepared.split.train].shape
        print(
            f"{shape[0]:,} records train, {int(prepared.split.train_targets.sum()):,} of them frauds, "
            f"{shape[1]} features"
        )
        for seed in wanted:
            found = measure(prepared, seed)
            done.append(found)
            if options.results:
                with options.results.open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
            print(found, flush=True)
    print(
        f"{'seed':>4}{'plain s':>9}{'recall':>8}{'later':>8}{'ours':>8}{'later':>8}{'reached s':>11}{'ratio':>7}"
    )
    for one in done:
        reached = "never" if one.reached is None else f"{one.reached:.0f}"
        print(
            f"{one.seed:4}{one.plain_seconds:9.0f}{one.plain_value:8.4f}{one.plain_validation:8.4f}", end=""
        )
        print(f"{one.ours_value:8.4f}{one.ours_validation:8.4f}{reached:>11}{one.ratio:7.2f}")
    ratio = statistics.median(one.ratio for one in done)
    print(f"median ratio {ratio:.2f}, target: at most {MOST:.2f}")
    sys.exit(0 if ratio <= MOST else 1)


if __name__ == "__main__":
    main()
