"""Rolling-origin folds: what parameters would have been worth at three moments of the past."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.training.fitting import binned

FIRST_ORIGIN = 0.4
"""Share of the rows, in order of time, that the first fold trains on."""

_AROUND = (0.5, math.sqrt(0.5), 1.0, math.sqrt(2.0), 2.0)


class FoldError(ValueError):
    """The rows can't be cut into folds; the text names every fold that lacks a class."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fold:
    """One origin: the bins of what came before it, and what came next.

    Attributes
    ----------
    train, validation : lightgbm.Dataset
        Subsets of one binned dataset.
    size : int
        Rows that train.
    rows : ndarray of shape (m, d), float64
    targets : ndarray of shape (m,), 1 fraud, 0 genuine
        What `validation` was binned from.
    """

    train: lgb.Dataset
    validation: lgb.Dataset
    size: int
    rows: FloatArray
    targets: NDArray[np.int8]


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldResult:
    """What one fold says of some parameters.

    Attributes
    ----------
    recall : float
        `smooth_recall` of the fold's validation rows, in [0, 1].
    rounds : int
        Number of trees at which their log loss was least.
    """

    recall: float
    rounds: int


def cut_folds(
    event_times: IntArray, targets: NDArray[np.int8], folds: int
) -> list[tuple[IntArray, IntArray]]:
    """Cut rows by time: each fold trains on all rows before an instant and is judged on those that follow.

    No gap lies between the two: folds compare parameters with each other, all at the same advantage, and the
    level that they reach is never reported as what a model is worth.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, in any order
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    folds : int
        At least 1.

    Returns
    -------
    list of (ndarray, ndarray)
        Rows, ascending, that train and that judge. Rows of one instant are on one side.

    Raises
    ------
    FoldError
        If a side of a fold lacks a class.
    """
    if len(event_times) == 0:
        raise FoldError("there are no rows")
    by_time = np.sort(event_times)
    shares = np.linspace(FIRST_ORIGIN, 1.0, folds + 1)[:-1]
    origins = [int(by_time[int(share * len(by_time))]) for share in shares]
    cuts = []
    problems = []
    for number, (origin, end) in enumerate(zip(origins, [*origins[1:], None], strict=True), start=1):
        after = event_times >= origin
        train, validation = ~after, after if end is None else after & (event_times < end)
        for side, chosen in (("train on", train), ("be judged on", validation)):
            frauds = int(targets[chosen].sum())
            if frauds == 0 or frauds == chosen.sum():
                problems.append(f"fold {number} has {chosen.sum()} rows to {side}, {frauds} of them frauds")
        cuts.append((np.flatnonzero(train), np.flatnonzero(validation)))
    if problems:
        raise FoldError("; ".join(problems))
    return cuts


def build_folds(
    rows: FloatArray,
    targets: NDArray[np.int8],
    cuts: Sequence[tuple[IntArray, IntArray]],
    *,
    feature_names: Sequence[str],
    categorical: Sequence[int],
    params: Mapping[str, object],
) -> list[Fold]:
    """Bin all rows once and give each fold its share of the bins.

    Bins are quantiles of the features alone; that later rows have a say in them is no news of any target.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    cuts : sequence of (ndarray, ndarray)
        From `cut_folds`.
    feature_names, categorical
        As for `fitting.fit`.
    params : Mapping
        As from `fitting.fixed_params`.

    Returns
    -------
    list of Fold
    """
    everything = binned(rows, targets, feature_names=feature_names, categorical=categorical, params=params)
    everything.construct()
    return [
        Fold(
            train=everything.subset(train.tolist()).construct(),
            validation=everything.subset(validation.tolist()).construct(),
            size=len(train),
            rows=np.ascontiguousarray(rows[validation], dtype=np.float64),
            targets=targets[validation],
        )
        for train, validation in cuts
    ]


def judge(
    fold: Fold, *, params: Mapping[str, object], max_rounds: int, patience: int, fpr: float
) -> FoldResult:
    """Train on one fold until its log loss no longer falls, and give its recall there.

    The log loss decides when to stop since it is smooth where recall is a staircase, and what decides when to
    stop is then not what is maximised. It is summed by numpy: LightGBM's own sum depends on its threads.

    Parameters
    ----------
    fold : Fold
    params : Mapping
        LightGBM parameters, complete.
    max_rounds, patience : int
        Most trees, and trees without an improvement after which to stop.
    fpr : float
        As for `smooth_recall`.

    Returns
    -------
    FoldResult
    """

    def log_loss(probabilities: FloatArray, _: lgb.Dataset) -> tuple[str, float, bool]:
        chance = np.where(fold.targets == 1, probabilities, 1.0 - probabilities)
        return "log_loss", float(-np.log(np.maximum(chance, 1e-15)).mean()), False

    booster = lgb.train(
        {**params, "metric": "None"},
        fold.train,
        num_boost_round=max_rounds,
        valid_sets=[fold.validation],
        feval=log_loss,
        callbacks=[lgb.early_stopping(patience, verbose=False)],
        keep_training_booster=True,
    )
    margins = booster.predict(fold.rows, raw_score=True, num_iteration=booster.best_iteration)
    recall = smooth_recall(np.asarray(margins, dtype=np.float64), fold.targets, fpr)
    return FoldResult(recall=recall, rounds=booster.best_iteration)


def smooth_recall(margins: FloatArray, targets: NDArray[np.int8], fpr: float) -> float:
    """Average the recall over five false positive rates around the allowed one.

    At a single rate recall is a multiple of one over the number of frauds, and trials tie. The rates lie at
    factors of sqrt(2) from half to twice the allowed one.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine, both present
    fpr : float
        Allowed false positive rate, in (0, 0.5).

    Returns
    -------
    float
        In [0, 1]. At each rate the highest recall of a threshold that no more than this share of genuine
        records reaches.
    """
    genuine = np.sort(margins[targets == 0])[::-1]
    frauds = np.sort(margins[targets == 1])
    allowed = (np.array(_AROUND) * fpr * len(genuine)).astype(np.int64)
    # The first genuine record too many bars its margin, and with it all that tie with it.
    caught = len(frauds) - np.searchsorted(frauds, genuine[allowed], side="right")
    return float(caught.mean() / len(frauds))
