"""The standard model of the benchmarks: 300 trees of 31 leaves on 60 features, 5 of them categorical."""

import lightgbm as lgb
import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.forest import ZERO, Forest

FEATURES = 60
LEVELS = (8, 25, 60, 120, 200)
CATEGORICAL = tuple(range(FEATURES - len(LEVELS), FEATURES))


def draw_rows(count: int, *, seed: int) -> FloatArray:
    """Draw rows as a model meets them: heavy tails, counts, flags, missing values, categorical codes.

    Parameters
    ----------
    count : int
        Number of rows.
    seed : int
        Seed of the generator.

    Returns
    -------
    ndarray of shape (count, 60), float64
        Columns 55 to 59 hold integer codes or NaN.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, FEATURES))
    rows[:, 20:35] = np.floor(np.exp(rows[:, 20:35]))
    rows[:, 35:45] = rows[:, 35:45] > 1
    rows[:, 0:30][rng.random((count, 30)) < 0.1] = np.nan
    for column, levels in zip(CATEGORICAL, LEVELS, strict=True):
        rows[:, column] = np.floor(levels * rng.random(count) ** 2)
        rows[rng.random(count) < 0.02, column] = np.nan
    return rows


def draw_targets(rows: FloatArray, *, seed: int) -> IntArray:
    """Draw labels that depend on numbers, on categories and on their interaction.

    Parameters
    ----------
    rows : ndarray of shape (n, 60), float64
        Rows of `draw_rows`.
    seed : int
        Seed of the generator.

    Returns
    -------
    ndarray of shape (n,), int64
        1 for about one row in ten, else 0.
    """
    rng = np.random.default_rng(seed)
    numbers = np.nan_to_num(rows)
    weights = rng.normal(scale=0.4, size=FEATURES - len(LEVELS))
    logit = -3.5 + np.tanh(numbers[:, : len(weights)]) @ weights
    logit += 0.8 * numbers[:, 0] * (numbers[:, 36] > 0) + 0.5 * np.sin(2 * numbers[:, 1])
    for column, levels in zip(CATEGORICAL, LEVELS, strict=True):
        effect = rng.normal(scale=0.4, size=levels)
        logit += effect[numbers[:, column].astype(np.int64)] * (1 + 0.3 * (numbers[:, 2] > 0))
    return (rng.random(len(rows)) < 1 / (1 + np.exp(-logit))).astype(np.int64)


def hostile_rows(forest: Forest, count: int, *, seed: int) -> FloatArray:
    """Draw rows made to tell two readings of a model apart.

    Parameters
    ----------
    forest : Forest
        The model: its thresholds and their neighbours are among the values.
    count : int
        Number of rows.
    seed : int
        Seed of the generator.

    Returns
    -------
    ndarray of shape (count, d), float64
        Zeros of all kinds, infinities, denormals, NaN; unseen, negative and huge codes.
    """
    rng = np.random.default_rng(seed)
    rows = draw_rows(count, seed=seed)[:, : forest.feature_count].copy()
    zeros = np.array([0.0, ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-40, 5e-324])
    edges = np.concatenate([zeros, -zeros, [np.inf, -np.inf, np.nan, 1e308, -1e308]])
    codes = np.array([np.nan, -1.0, -(2.0**31), 2.0**31 - 1, 2.0**31, 2.0**53, 199.0, 200.0, 201.0, 1e6])
    for column in range(forest.feature_count):
        if column in CATEGORICAL:
            odd = rng.choice(codes, count)
        else:
            numeric = (forest.feature == column) & (forest.category_set < 0)
            odd = rng.choice(np.concatenate([edges, forest.threshold[numeric]]), count)
            beside = np.nextafter(odd, rng.choice([-np.inf, np.inf], count))
            odd = np.where(rng.random(count) < 0.5, odd, beside)
        rows[:, column] = np.where(rng.random(count) < 0.5, odd, rows[:, column])
    return rows


def train(
    *, trees: int = 300, leaves: int = 31, features: int = FEATURES, rows: int = 100_000, seed: int = 1
) -> lgb.Booster:
    """Train a model of the standard shape on invented rows.

    Parameters
    ----------
    trees, leaves : int
        Number of trees, and of leaves in each.
    features : int
        How many of the 60 features the model is given, the first ones.
    rows : int
        Number of training rows.
    seed : int
        Seed of rows, labels and training.

    Returns
    -------
    lightgbm.Booster
        As trained: its leaves are not yet fixed.
    """
    drawn = draw_rows(rows, seed=seed)
    categorical = [column for column in CATEGORICAL if column < features]
    targets = draw_targets(drawn, seed=seed)
    data = lgb.Dataset(drawn[:, :features], targets, categorical_feature=categorical)
    parameters = {
        "objective": "binary",
        "num_leaves": leaves,
        "learning_rate": 0.05,
        "min_data_in_leaf": 20,
        "num_threads": 2,
        "deterministic": True,
        "force_col_wise": True,
        "seed": seed,
        "verbosity": -1,
    }
    return lgb.train(parameters, data, trees)
