"""Rungs: a trial is evaluated in stages, cheapest first, so that most trials never take their full time.

The search may stop a trial at each rung. The first rungs train on all frauds of one fold and a few of its genuine
records; the last rung has trained on everything, and only its value decides which parameters win.

References
----------
Jamieson, Talwalkar 2016, "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 51, for
successive halving. King, Zeng 2001, doi:10.1093/oxfordjournals.pan.a004868, section 4.1, for the correction of the
prior where one class was thinned.
"""

import math
import statistics
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.configuration import TuningSettings
from scoring_model.evaluation.metrics import Ranking
from scoring_model.training.folds import SearchFold

if TYPE_CHECKING:
    import lightgbm as lgb

FIRST_RUNG_BUDGET: Final = 2.0
"""Trees of the first rung times the learning rate, for trees of 31 leaves.

With the same number of trees for all, low learning rates and small trees would look bad: the progress of a booster
grows about with the square root of its leaves (eight parameters on invented records: at the minimum log loss, learning
rate times trees was 11 for 7 leaves, 8.5 for 16, 5.5 for 31 and 5 for 98).
"""

_LEAVES: Final = 31
_LEAST: Final = 1e-15  # lower bound of the predicted probability of the true class, as in LightGBM


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """The state of a trial at a rung.

    Parameters
    ----------
    values : tuple of float
        Average precision of each fold so far, in [0, 1].
    rounds : tuple of int
        Number of trees with the lowest validation log loss, for each fold so far.
    """

    values: tuple[float, ...]
    rounds: tuple[int, ...]
    last: bool

    @property
    def value(self) -> float:
        """Return the mean over the folds."""
        return statistics.fmean(self.values)


def run_trial(
    folds: Sequence[SearchFold], params: Mapping[str, object], settings: TuningSettings
) -> Generator[Rung, None, None]:
    """Train from rung to rung, lazily.

    First a few trees on the thinned first fold, then as many as lower the log loss, then as many on the full fold,
    then one more fold at each rung. If the first fold is too small to be thinned, the few trees are the first ones on
    the full fold, and there is one rung less.

    Parameters
    ----------
    folds : sequence of SearchFold
        At least one, the cheapest first.
    params : Mapping
        LightGBM parameters, complete, with those of `space.suggest`.
    """
    first, *others = folds
    course = _Course(first, first.thinned, first.share, params)
    course.run(min(settings.max_rounds, _few_trees(params)), settings.patience)
    yield _rung([course], last=False)
    if first.is_thinned:
        course.run(settings.max_rounds, settings.patience)
        yield _rung([course], last=False)
        course = _Course(first, first.train, 1.0, params)
    courses = [course]
    course.run(settings.max_rounds, settings.patience)
    for fold in others:
        yield _rung(courses, last=False)
        courses.append(_Course(fold, fold.train, 1.0, params))
        courses[-1].run(settings.max_rounds, settings.patience)
    yield _rung(courses, last=True)


def _few_trees(params: Mapping[str, object]) -> int:
    rate, leaves, depth = params["learning_rate"], params["num_leaves"], params["max_depth"]
    assert isinstance(rate, float)
    assert isinstance(leaves, int)
    assert isinstance(depth, int)
    return math.ceil(FIRST_RUNG_BUDGET / rate * math.sqrt(_LEAVES / min(leaves, 2**depth)))


def _rung(courses: "Sequence[_Course]", *, last: bool) -> Rung:
    return Rung(
        values=tuple(course.average_precision() for course in courses),
        rounds=tuple(course.best_rounds for course in courses),
        last=last,
    )


class _Course:
    """A booster on one fold that can be continued, with early stopping by log loss.

    Log loss is smooth, while the ranking, which the search improves, changes in steps. numpy sums it, because
    LightGBM's own sum depends on its threads.
    """

    def __init__(
        self, fold: SearchFold, train: "lgb.Dataset", share: float, params: Mapping[str, object]
    ) -> None:
        import lightgbm as lgb

        self._fold = fold
        self._share = share
        self._booster = lgb.Booster({**params, "metric": "None"}, train)
        self._booster.add_valid(fold.validation, "validation")
        self._rounds = 0
        self._loss = math.inf
        self._best: FloatArray = np.empty(0)
        self._ended = False
        self.best_rounds = 0

    def run(self, rounds: int, patience: int) -> None:
        """Grow up to a number of trees; stop early after `patience` trees without improvement."""
        while self._rounds < rounds and not self._ended:
            self._booster.update()
            self._rounds += 1
            self._booster.eval_valid(self._look)
            self._ended = self._rounds - self.best_rounds >= patience

    def average_precision(self) -> float:
        """Average precision at the best number of trees."""
        fold = self._fold
        weights = None if (fold.weights == 1).all() else fold.weights
        found = Ranking.of(self._best, fold.targets, weights).average_precision()
        assert found is not None  # every fold has frauds
        return found

    def _look(self, probabilities: FloatArray, _: "lgb.Dataset") -> tuple[str, float, bool]:
        corrected = probabilities
        if self._share < 1.0:  # with thinned genuine records all odds are too high by the same factor
            odds = probabilities * self._share
            corrected = odds / (odds + (1.0 - probabilities))
        chance = np.where(self._fold.targets == 1, corrected, 1.0 - corrected)
        loss = float(np.average(-np.log(np.maximum(chance, _LEAST)), weights=self._fold.weights))
        if loss < self._loss:
            self._loss, self.best_rounds = loss, self._rounds
            self._best = probabilities.copy()  # LightGBM reuses the buffer
        return "log_loss", loss, False
