"""Trains the model of one fold and decides about all later records with it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import Configuration, Tuned
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.forest import Forest
from scoring_model.decision.rules import DecisionRules
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.draws import REPEATS, Draws
from scoring_model.evaluation.figures import Figures, drawn_rankings, measure_figures
from scoring_model.evaluation.importance import measure_importance
from scoring_model.evaluation.metrics import RankCounts, Ranking
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.scorer.session import MarginSession
from scoring_model.training.assembly import find_shortfalls, fit_rules
from scoring_model.training.averaging import LeafSumError, fit_forest
from scoring_model.training.calibration import CalibrationError, choose_calibration
from scoring_model.training.certification import InfeasiblePolicy
from scoring_model.training.export import to_onnx
from scoring_model.training.folds import FoldError, LearntColumns
from scoring_model.training.label_gain import find_gainless
from scoring_model.training.preparation import (
    feature_options,
    statistic_names,
    useless_features,
    without_features,
)
from scoring_model.training.scale import ScaleError
from scoring_model.training.tuning import SearchOptions, tune

MODEL_FIGURES: Final = ("recall_at_fpr_0.01", "roc_auc", "missed_fraud", "step_up", "false_reject")
"""Figures of each model in each period."""

RANKED: Final = MODEL_FIGURES[:2]
"""Figures of the ranking, which need no thresholds."""

JOURNAL: Final = "search-{}.journal"
"""Name of the journal of a fold's search, by which a resumed run continues it."""

TRAIN_SHARES: Final = (0.125, 0.25, 0.5)
"""Latest shares of the train part that models of the learning curve are fitted on."""

_FALSE_POSITIVE_RATE: Final = np.array([0.01])
_REFUSALS: Final = (ScaleError, CalibrationError, InfeasiblePolicy, FoldError, LeafSumError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What the folds of a run share.

    Parameters
    ----------
    folder : Path
        Holds the files of feature rows and the journals of searches.
    threads : int
        Threads of each fold; results do not depend on them.
    """

    folder: Path
    configuration: Configuration
    threads: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Labelled:
    """Some rows of the feature matrix.

    Parameters
    ----------
    rows, times : ndarray of shape (n,), int64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    """

    rows: IntArray
    targets: Int8Array
    times: IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FoldTask:
    """One fold to train.

    Parameters
    ----------
    number : int
        Place among the folds, from 0.
    state : FittedState
        Fitted on the fold's burn-in and train part.
    matrix : str
        File of the feature rows of all folds.
    own : str or None
        File of the columns, at `own_places`, that are others with this state.
    learnt : LearntColumns or None
        Columns of the train part that differ between the folds of a search.
    stopped : ndarray of int64
        Rows of the validation period that were not observed.
    persons, rings : ndarray of int64
        Places of the tested records, in the validation part followed by `stopped`.
    judged : Labelled
        Records of all periods from the fold's instant on, in order of time.
    bounds : ndarray of shape (p + 1,), int64
        Places in `judged` at which the periods begin.
    later_stopped : ndarray of int64
        Rows of all periods from the fold's instant on that were not observed, in order of time.
    explained : ndarray of int64
        Places in `judged` of the records whose contributions are measured.
    learning : bool
        Whether models of shorter histories are fitted too.
    """

    number: int
    state: FittedState
    matrix: str
    own: str | None
    own_places: IntArray
    learnt: LearntColumns | None
    train: Labelled
    train_from: int
    train_to: int
    validation: Labelled
    validation_to: int
    stopped: IntArray
    persons: IntArray
    rings: IntArray
    judged: Labelled
    bounds: IntArray
    later_stopped: IntArray
    explained: IntArray
    learning: bool


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FoldOutcome:
    """The result of a fold.

    Parameters
    ----------
    document : mapping of str to plain values
        Thresholds, promises, parameters, families; or only `failure`, the reason why there is no model.
    arrays : mapping of str to ndarray
        `scores`, `outcomes` and `probabilities` of the judged records; `stopped`, the outcomes of `later_stopped`;
        `values`, of shape (p, f), and `draws`, of shape (p, 1000, f), of `MODEL_FIGURES` in each period; `learning` and
        `learning_draws`, of shape (s, 2) and (s, 1000, 2), of `RANKED` for each fitted share of the train part and,
        last, the whole.
    """

    document: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def train_fold(task: FoldTask, shared: Shared) -> FoldOutcome:
    """Fit, calibrate and choose thresholds as `train` does, then decide about the judged records.

    Records that do not suffice make an outcome with the reason.
    """
    try:
        return _Fold(task, shared).outcome()
    except _REFUSALS as error:
        return FoldOutcome(document={"failure": reason_text(error)})


def reason_text(error: ValueError) -> str:
    """Write in one line why there is no model."""
    if not isinstance(error, InfeasiblePolicy):
        return str(error)
    return f"no thresholds keep the bounds; possible: {' '.join(found.setting for found in error.shortfalls)}"


class _Fold:
    """A fold under way."""

    def __init__(self, task: FoldTask, shared: Shared) -> None:
        self._task, self._shared, self._configuration = task, shared, shared.configuration
        self._rows = np.load(shared.folder / task.matrix, mmap_mode="r")
        self._own = None if task.own is None else np.load(shared.folder / task.own, mmap_mode="r")
        whole = FeatureMatrix(self._configuration.feature_settings, task.state)
        train = np.arange(len(task.train.rows))
        useless = useless_features(whole, self._all(task.train.rows), train, self._configuration)
        self._leave_out(whole, useless)
        self._leave_out(whole, {**self._useless, **self._find_gainless()})

    def _leave_out(self, whole: FeatureMatrix, useless: Mapping[str, str]) -> None:
        self._useless = useless
        self._kept = [place for place, name in enumerate(whole.names) if name not in useless]
        self._matrix = without_features(whole, useless) if useless else whole

    def _find_gainless(self) -> Mapping[str, str]:
        task = self._task
        if not statistic_names(self._matrix):
            return {}
        return find_gainless(
            self._matrix,
            self._take(task.train.rows),
            task.train.targets,
            task.train.times,
            learnt=task.learnt,
            configuration=self._configuration,
            threads=self._shared.threads,
            report=lambda _: None,
        )

    def _take(self, rows: IntArray) -> FloatArray:
        """Return some rows of the features in use, in memory."""
        found = self._all(rows)
        return found[:, self._kept] if self._useless else found

    def _all(self, rows: IntArray) -> FloatArray:
        found: FloatArray = self._rows[rows]
        if self._own is not None:
            found[:, self._task.own_places] = self._own[rows]
        return found

    def outcome(self) -> FoldOutcome:
        """Train and decide."""
        task = self._task
        features = self._take(task.train.rows)
        tuned = self._configuration.training.tuned or self._search(features)
        forest = self._fit(features, task.train.targets, tuned)
        session = self._session(forest)
        rules = self._rules(session)
        margins = self._margins(session)
        decisions = rules.decide(margins)
        values, draws = self._by_period(rules, margins)
        learned: dict[str, NDArray[Any]] = {}
        sizes: list[dict[str, object]] = []
        if task.learning:
            learned, sizes = self._learn(features, tuned, margins)
        importance = self._importance(forest)
        policy = rules.policy
        return FoldOutcome(
            document={
                "failure": None,
                "step_up_from": policy.step_up_from,
                "fail_from": policy.fail_from,
                "promises": [asdict(promise) for promise in policy.promises],
                "tuned": asdict(tuned),
                "features": len(self._kept),
                "useless": dict(self._useless),
                "families": importance,
                "explained": len(task.explained),
                "learning": sizes,
            },
            arrays={
                "scores": decisions.scores,
                "outcomes": decisions.outcomes,
                "probabilities": decisions.probabilities,
                "stopped": rules.decide(session.margins(self._take(task.later_stopped))).outcomes,
                "values": values,
                "draws": draws,
                **learned,
            },
        )

    def _fit(self, features: FloatArray, targets: Int8Array, tuned: Tuned) -> Forest:
        training = self._configuration.training
        return fit_forest(
            features,
            targets,
            tuned=tuned,
            seed=training.seed,
            seeds=training.seeds,
            threads=self._shared.threads,
            **feature_options(self._matrix),
        )

    def _search(self, features: FloatArray) -> Tuned:
        task, training = self._task, self._configuration.training
        found = tune(
            features,
            task.train.targets,
            task.train.times,
            SearchOptions(
                journal=self._shared.folder / JOURNAL.format(f"{task.number:04d}"),
                resume=True,
                threads=self._shared.threads,
                progress=False,
            ),
            settings=training.tuning,
            seed=training.seed,
            learnt=self._task.learnt,
            **feature_options(self._matrix),
        )
        return Tuned(params=found.params, rounds=found.rounds)

    def _session(self, forest: Forest) -> MarginSession:
        graph = to_onnx(forest, cuts=None, feature_names=self._matrix.names)
        return MarginSession(graph, threads=self._shared.threads)

    def _rules(self, session: MarginSession) -> DecisionRules:
        task, settings = self._task, self._configuration.policy
        validation = task.validation
        margins = session.margins(self._take(validation.rows))
        chosen = choose_calibration(margins, validation.targets, validation.times)
        rules, alternatives, counts = fit_rules(
            margins,
            validation.targets,
            stopped=session.margins(self._take(task.stopped)),
            persons=task.persons,
            rings=task.rings,
            until=task.validation_to,
            settings=settings,
            calibration=chosen.calibration,
        )
        if shortfalls := find_shortfalls(counts, settings):
            raise InfeasiblePolicy(shortfalls, alternatives=alternatives)
        return rules

    def _margins(self, session: MarginSession) -> FloatArray:
        """Return the margins of the judged records; a period at a time, to save memory."""
        bounds = self._task.bounds
        parts = [
            session.margins(self._take(self._task.judged.rows[start:end])) for start, end in pairwise(bounds)
        ]
        return np.concatenate([np.empty(0), *parts])

    def _by_period(self, rules: DecisionRules, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Measure `MODEL_FIGURES` of every period."""
        judged, bounds = self._task.judged, self._task.bounds
        values = np.full((len(bounds) - 1, len(MODEL_FIGURES)), np.nan)
        draws = np.full((len(bounds) - 1, REPEATS, len(MODEL_FIGURES)), np.nan)
        for place, (start, end) in enumerate(pairwise(bounds)):
            records = EvaluatedRecords(
                decisions=rules.decide(margins[start:end]),
                labels=judged.targets[start:end],
                event_times=judged.times[start:end],
            )
            found = measure_figures(records, Draws.of(records.event_times), costs=None)
            _write(found, values[place], draws[place])
        return values, draws

    def _learn(
        self, features: FloatArray, tuned: Tuned, margins: FloatArray
    ) -> tuple[dict[str, NDArray[Any]], list[dict[str, object]]]:
        """Fit on the latest parts of the train part, and measure `RANKED` on all judged records."""
        task, found = self._task, []
        sizes: list[dict[str, object]] = []
        for share in TRAIN_SHARES:
            since = task.train_to - int(share * (task.train_to - task.train_from))
            used = task.train.times >= since
            frauds = int(np.count_nonzero(task.train.targets[used] == 1))
            if frauds < self._configuration.training.split.min_frauds or frauds == np.count_nonzero(used):
                continue
            session = self._session(self._fit(features[used], task.train.targets[used], tuned))
            found.append(self._ranked(self._margins(session)))
            sizes.append({"share": share, "since": since, "records": int(used.sum()), "frauds": frauds})
        found.append(self._ranked(margins))
        whole = {"records": len(task.train.rows), "frauds": int((task.train.targets == 1).sum())}
        sizes.append({"share": 1.0, "since": task.train_from, **whole})
        values, draws = (np.stack(parts) for parts in zip(*found, strict=True))
        return {"learning": values, "learning_draws": draws}, sizes

    def _ranked(self, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        judged = self._task.judged
        ranking, draws = Ranking.of(margins, judged.targets), Draws.of(judged.times)
        drawn = np.full((REPEATS, len(RANKED)), np.nan)
        parts = [_ranked_values(counts) for counts in drawn_rankings(ranking, draws)]
        if parts:
            drawn[:] = np.concatenate(parts)
        return _ranked_values(ranking.counts), drawn

    def _importance(self, forest: Forest) -> list[dict[str, object]]:
        """Measure what each family adds to the margins of some records of the first period."""
        task = self._task
        if not len(task.explained):
            return []
        found = measure_importance(
            self._take(task.judged.rows[task.explained]),
            explain=Contributions(forest).explain,
            matrix=self._matrix,
            event_times=task.judged.times[task.explained],
            records=int(task.bounds[1]),
        )
        return [{"family": family.name, **family.weight.to_json()} for family in found.families]


def _write(found: Figures, values: FloatArray, draws: FloatArray) -> None:
    """Write figures into arrays of shape (f,) and (1000, f)."""
    for place, name in enumerate(MODEL_FIGURES):
        value, drawn = found.estimates[name].value, found.draws[name]
        values[place] = np.nan if value is None else value
        if len(drawn):
            draws[:, place] = drawn


def _ranked_values(counts: RankCounts) -> FloatArray:
    """Measure `RANKED`, of shape (..., 2)."""
    recalls, _ = counts.at_fpr(_FALSE_POSITIVE_RATE)
    return np.stack([recalls[..., 0], counts.roc_auc()], axis=-1)
