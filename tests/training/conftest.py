from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray

from hostile_rows import hostile_rows as hostile
from identity_use import YAML, relaxed, shared, train_bundle
from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import Forest
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.model_text import parse_forest

LEVELS = {6: 3, 7: 40, 8: 200}
WIDTH = 9
MONOTONE = [1, -1, 0, 0, 0, 0, 0, 0, 0]

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "nothing missing": {"use_missing": False},
    "zero missing": {"zero_as_missing": True},
    "dart": {"boosting": "dart", "drop_rate": 0.4},
    "goss": {"data_sample_strategy": "goss"},
    "extra trees": {"extra_trees": True},
    "monotone": {"monotone_constraints": MONOTONE, "monotone_constraints_method": "advanced"},
    "quantised gradients": {"use_quantized_grad": True},
    "weighted": {"scale_pos_weight": 7.0},
    "one code against the rest": {"max_cat_to_onehot": 300},
    "any set of codes": {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0, "max_cat_threshold": 200},
    "bagged": {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.5},
    "no average": {"boost_from_average": False},
    "stopped early": {"early_stopping_round": 3},
    "constant": {"min_data_in_leaf": 100_000},
}


@pytest.fixture(scope="session")
def weak(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a bad model, which knows dates alone."""
    text = YAML.replace("rounds: 30", "rounds: 1")
    text = relaxed(text.replace("features:\n", "features:\n  families: [dates]\n"))
    return shared(tmp_path_factory, "weak", lambda path: train_bundle(small, text, path))


def draw(count: int, seed: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Draw numbers with zeros, missing and tiny values, categories, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, WIDTH))
    rows[:, 2] = np.floor(rows[:, 2])
    rows[:, 3] *= 1e-35
    rows[:, 4] = np.where(rng.random(count) < 0.5, 0.0, rows[:, 4])
    rows[:, 5] *= 10.0 ** rng.integers(-300, 300, count)
    rows[:, :5][rng.random((count, 5)) < 0.15] = np.nan
    for column, levels in LEVELS.items():
        rows[:, column] = np.floor(levels * rng.random(count) ** 2)
        rows[rng.random(count) < 0.1, column] = np.nan
    numbers = np.nan_to_num(rows)
    logit = numbers[:, 0] * (1 + numbers[:, 2]) + np.sign(rows[:, 3]) + np.sign(numbers[:, 5]) - 2
    logit = np.nan_to_num(logit) + np.sin(numbers[:, 7]) + np.sin(7 * numbers[:, 8] * (numbers[:, 1] > 0))
    return rows, (rng.random(count) < 1 / (1 + np.exp(-logit))).astype(np.int64)


def train(trees: int = 25, **options: Any) -> lgb.Booster:
    """Train a model without rounding its leaves."""
    parameters = {
        "objective": "binary",
        "num_leaves": 15,
        "min_data_in_leaf": 5,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": 3,
        "verbosity": -1,
    }
    rows, targets = draw(2500, seed=1)
    data = lgb.Dataset(rows, targets, categorical_feature=list(LEVELS))
    fresh = data.create_valid(*draw(500, seed=2))
    return lgb.train(parameters | options, data, trees, valid_sets=[fresh])


@pytest.fixture(scope="session")
def trainer() -> Callable[..., lgb.Booster]:
    """Return the function that trains a model with other options."""
    return train


@pytest.fixture(scope="session", params=list(SHAPES))
def model(request: pytest.FixtureRequest) -> tuple[lgb.Booster, Forest]:
    """Return models of every shape with rounded leaves, each with its forest."""
    booster = fix_leaves(train(**SHAPES[request.param]))
    return booster, parse_forest(booster.model_to_string())


@pytest.fixture(scope="session")
def hostile_rows() -> Callable[[Forest, int, int], FloatArray]:
    """Return the function that draws hostile rows for a forest."""
    return lambda forest, count, seed: hostile(forest, draw(count, seed)[0], categorical=LEVELS, seed=seed)
