import math
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, log_loss

from scoring_model.configuration import TuningSettings
from scoring_model.training import folds as folds_module
from scoring_model.training.fitting import fixed_params
from scoring_model.training.folds import SearchFold, build_folds, cut_folds
from scoring_model.training.rungs import FIRST_RUNG_BUDGET, Rung, run_trial

SLOW = {"learning_rate": 0.1, "num_leaves": 8, "max_depth": 4}


def sample() -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int64]]:
    """Draw rows whose first feature separates frauds, and their event times."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4000, 6))
    rows[:, 2] = rng.integers(0, 9, 4000)
    targets = (rows[:, 0] + rng.normal(size=4000) > 2).astype(np.int8)
    return rows, targets, rng.integers(0, 10**6, 4000)


def folds_of(*, folds: int = 2, thinning: float = 1.0, threads: int = 1) -> list[SearchFold]:
    """Folds of the sample."""
    rows, targets, times = sample()
    return build_folds(
        rows,
        targets,
        cut_folds(times, targets, folds),
        features={"feature_names": tuple("abcdef"), "categorical": (2,), "monotone": ()},
        params=fixed_params(seed=1, threads=threads),
        thinning=thinning,
        seed=1,
    )


def reached(
    folds: list[SearchFold], *, threads: int = 1, max_rounds: int = 40, patience: int = 5, **changed: float
) -> list[Rung]:
    """Return the values of all rungs."""
    settings = TuningSettings(folds=len(folds), max_rounds=max_rounds, patience=patience)
    return list(run_trial(folds, {**fixed_params(seed=1, threads=threads), **SLOW, **changed}, settings))


def trees_of_the_first_rung(
    folds: list[SearchFold], settings: TuningSettings, monkeypatch: pytest.MonkeyPatch, **changed: float
) -> int:
    """Count the trees that are trained until a trial is closed on its first rung."""
    trees: list[int] = []
    update = lgb.Booster.update

    def counted(self: lgb.Booster) -> bool:
        trees.append(1)
        return bool(update(self))

    with monkeypatch.context() as patch:
        patch.setattr(lgb.Booster, "update", counted)
        rungs = run_trial(folds, {**fixed_params(seed=1, threads=1), **SLOW, **changed}, settings)
        next(rungs)
        rungs.close()
    return len(trees)


@pytest.fixture
def thinned(monkeypatch: pytest.MonkeyPatch) -> list[SearchFold]:
    """Return folds that may be thinned although they are small."""
    monkeypatch.setattr(folds_module, "FEWEST_GENUINE", 100)
    return folds_of(thinning=0.25)


def test_thinning_keeps_every_fraud_and_a_share_of_the_others(thinned: list[SearchFold]) -> None:
    """The thinned first fold has all frauds and a quarter of the genuine; validation rows are complete."""
    _, targets, times = sample()
    cuts = cut_folds(times, targets, 2)
    for fold, (train, validation) in zip(thinned, cuts, strict=True):
        assert np.array_equal(fold.targets, targets[validation])
        assert fold.train.num_data() == fold.size == len(train)
    first, second = thinned
    labels = np.asarray(first.thinned.get_label())
    genuine = int((targets[cuts[0][0]] == 0).sum())
    assert labels.sum() == targets[cuts[0][0]].sum()
    assert len(labels) - labels.sum() == round(genuine / 4)
    assert first.share == round(genuine / 4) / genuine
    assert first.is_thinned
    assert not second.is_thinned
    assert second.thinned.num_data() == second.size


def test_few_records_are_not_thinned() -> None:
    """If only the required number of genuine records is there, all stay, and there is one rung less."""
    folds = folds_of(thinning=0.01)
    assert not any(fold.is_thinned for fold in folds)
    rungs = reached(folds)
    assert [len(rung.rounds) for rung in rungs] == [1, 1, 2]
    assert [rung.last for rung in rungs] == [False, False, True]


def test_only_the_last_rung_trains_on_everything(thinned: list[SearchFold]) -> None:
    """Rungs on whole folds equal those of a trial without thinning; the rung below them does not."""
    rungs = reached(thinned)
    assert [rung.last for rung in rungs] == [False, False, False, True]
    assert [len(rung.rounds) for rung in rungs] == [1, 1, 1, 2]
    assert rungs[2:] == reached(folds_of())[1:]
    assert rungs[1].value != rungs[2].value


def test_a_rung_is_the_mean_of_its_folds() -> None:
    """The value of a rung is the mean over its folds, the first folds first."""
    folds = folds_of(folds=3)
    alone = [reached([fold])[-1] for fold in folds]
    for number, rung in enumerate(reached(folds)[1:], start=1):
        assert rung.value == pytest.approx(sum(one.value for one in alone[:number]) / number, abs=1e-15)
        assert rung.rounds == tuple(one.rounds[0] for one in alone[:number])


def test_trees_of_the_first_rung_depend_on_learning_rate_and_leaves(
    thinned: list[SearchFold], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 31 leaves, trees times learning rate is constant; a quarter of the leaves doubles the trees."""
    settings = TuningSettings(max_rounds=150, patience=1000)
    for rate, leaves, depth, most in (
        (0.05, 31, 5, FIRST_RUNG_BUDGET / 0.05),
        (0.1, 31, 5, FIRST_RUNG_BUDGET / 0.1),
        (0.4, 31, 5, FIRST_RUNG_BUDGET / 0.4),
        (0.1, 124, 12, FIRST_RUNG_BUDGET / 0.1 / 2),
        (0.1, 124, 3, FIRST_RUNG_BUDGET / 0.1 * math.sqrt(31 / 8)),  # no deeper than eight leaves
        (0.01, 31, 5, 150),
    ):
        trees = trees_of_the_first_rung(
            thinned, settings, monkeypatch, learning_rate=rate, num_leaves=leaves, max_depth=depth
        )
        assert trees == math.ceil(most)


def test_a_value_is_that_of_the_rounds_that_are_given() -> None:
    """A booster from LightGBM's own loop with exactly these rounds has the average precision of the last rung."""
    (fold,) = folds_of(folds=1)
    rows, targets, times = sample()
    rung = reached([fold], max_rounds=60, patience=10)[-1]
    params = fixed_params(seed=1, threads=1) | SLOW
    booster = lgb.train(params, fold.train, num_boost_round=rung.rounds[0])
    validation = cut_folds(times, targets, 1)[0][1]
    margins = np.asarray(booster.predict(rows[validation], raw_score=True), dtype=np.float64)
    assert rung.value == pytest.approx(average_precision_score(targets[validation], margins), abs=1e-12)
    assert rung.rounds[0] > 5


def test_the_loss_is_of_probabilities_with_the_prior_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best number of trees minimises the log loss of probabilities for all records, not for the thinned ones.

    LightGBM starts from the share of frauds that it is shown, which is ten times too high here.
    """
    monkeypatch.setattr(folds_module, "FEWEST_GENUINE", 100)
    fold, _ = folds_of(thinning=0.1)
    (rounds,) = reached([fold], max_rounds=60, patience=60)[1].rounds
    rows, targets, times = sample()
    judged = cut_folds(times, targets, 2)[0][1]
    booster = lgb.train(fixed_params(seed=1, threads=1) | SLOW, fold.thinned, num_boost_round=60)
    best = {}
    for share in (fold.share, 1.0):
        losses = []
        for trees in range(1, 61):
            odds = share * np.exp(booster.predict(rows[judged], num_iteration=trees, raw_score=True))
            losses.append(log_loss(targets[judged], odds / (1 + odds)))
        best[share] = int(np.argmin(losses)) + 1
    assert rounds == best[fold.share] != best[1.0]


def test_weights_of_genuine_records_equal_repeated_ones() -> None:
    """A search with genuine records of weight 2 stops where one with each of them twice does."""
    rng = np.random.default_rng(9)
    rows = rng.integers(0, 9, (3_000, 6)).astype(np.float64)
    targets = (rng.random(3_000) < 0.02 + 0.05 * (rows[:, 0] > 5)).astype(np.int8)
    times = rng.permutation(3_000)
    twice = np.repeat(np.arange(3_000), np.where(targets == 1, 1, 2))
    options: dict[str, Any] = {
        "features": {"feature_names": tuple("abcdef"), "categorical": (), "monotone": ()},
        "params": fixed_params(seed=1, threads=1) | {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0},
        "thinning": 1.0,
        "seed": 1,
    }
    origin = 2_000  # the same instants on both sides
    cuts, repeated = (
        [(np.flatnonzero(times[of] < origin), np.flatnonzero(times[of] >= origin))]
        for of in (np.arange(3_000), twice)
    )
    weighted = build_folds(rows, targets, cuts, genuine_weight=2.0, **options)
    expected = build_folds(rows[twice], targets[twice], repeated, **options)
    settled: dict[str, Any] = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0, "num_leaves": 8}
    found, oracle = (reached(folds, **settled)[-1].rounds for folds in (weighted, expected))
    unweighted = build_folds(rows, targets, cuts, **options)
    assert found == oracle
    assert found != reached(unweighted, **settled)[-1].rounds
    values = [reached(folds, **settled)[-1].value for folds in (weighted, expected)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_a_trial_stops_when_its_log_loss_no_longer_falls() -> None:
    """With large steps on noise the best number of trees is far below the maximum, which is never exceeded."""
    folds = folds_of(folds=1)
    for most, expected in ((300, 30), (3, 4)):
        rungs = reached(
            folds, max_rounds=most, patience=10, learning_rate=0.5, num_leaves=31, min_data_in_leaf=5
        )
        assert rungs[-1].rounds[0] < expected


def test_a_trial_is_the_same_with_any_threads(thinned: list[SearchFold]) -> None:
    """No rung depends on the number of threads."""
    assert reached(thinned, threads=1) == reached(thinned, threads=3) == reached(thinned, threads=5)
