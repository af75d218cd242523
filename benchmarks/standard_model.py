"""The models of the benchmarks: the standard one, a harder one, and one of the default catalogue.

The standard model has 300 trees of 31 leaves on 60 features, 5 of them categorical with up to 200 levels. It is
trained as the project trains, with the second starting point of the search: a third of its splits are of
categories, as many as in models of the default catalogue or more. With LightGBM's default parameters four
splits out of five are of categories, even uninformative ones: that is the harder model.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import lightgbm as lgb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.configuration import load_configuration
from scoring_model.decision.forest import ZERO, Forest
from scoring_model.records.reading import read_records
from scoring_model.synthetic import generate
from scoring_model.training.fitting import Params, fit
from scoring_model.training.preparation import prepare
from scoring_model.training.space import STARTING_POINTS

AS_THE_PROJECT_TRAINS: Final = {**STARTING_POINTS[-1], "bagging_freq": 1}
AS_LIGHTGBM_TRAINS: Final = {"learning_rate": 0.05}

FEATURES = 60
LEVELS = (8, 25, 60, 120, 200)
CATEGORICAL = tuple(range(FEATURES - len(LEVELS), FEATURES))


def draw_rows(count: int, *, seed: int) -> FloatArray:
    """Draw realistic rows: heavy tails, counts, flags, missing values, categorical codes.

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


def draw_targets(rows: FloatArray, *, seed: int) -> NDArray[np.int8]:
    """Draw labels that depend on numbers, on categories and on their interaction.

    Parameters
    ----------
    rows : ndarray of shape (n, 60), float64
        Rows of `draw_rows`.
    seed : int
        Seed of the generator.

    Returns
    -------
    ndarray of shape (n,), int8
        1 for about one row in ten, else 0.
    """
    rng = np.random.default_rng(seed)
    numbers = np.nan_to_num(rows)
    weights = rng.normal(scale=0.4, size=FEATURES - len(LEVELS))
    logit = -3.5 + np.tanh(numbers[:, : len(weights)]) @ weights
    logit += 0.8 * numbers[:, 0] * (numbers[:, 36] > 0) + 0.5 * np.sin(2 * numbers[:, 1])
    for column, levels in zip(CATEGORICAL, LEVELS, strict=True):
        added = rng.normal(scale=0.4, size=levels)
        logit += added[numbers[:, column].astype(np.int64)] * (1 + 0.3 * (numbers[:, 2] > 0))
    return (rng.random(len(rows)) < 1 / (1 + np.exp(-logit))).astype(np.int8)


def hostile_rows(forest: Forest, plain: FloatArray, *, categorical: Collection[int], seed: int) -> FloatArray:
    """Draw rows that distinguish two readings of a model.

    Parameters
    ----------
    forest : Forest
        The model: its thresholds and their neighbours are among the values.
    plain : ndarray of shape (n, d), float64
        Realistic rows, in which half of the values are replaced.
    categorical : collection of int
        Columns of codes.
    seed : int
        Seed of the generator.

    Returns
    -------
    ndarray of shape (n, d), float64
        Zeros of all kinds, infinities, denormals, NaN; unseen, negative and huge codes.
    """
    rng = np.random.default_rng(seed)
    count, rows = len(plain), plain.copy()
    zeros = np.array([0.0, ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-40, 5e-324])
    edges = np.concatenate([zeros, -zeros, [np.inf, -np.inf, np.nan, 1e308, -1e308]])
    codes = np.array([np.nan, -1.0, -(2.0**31), 2.0**31 - 1, 2.0**31, 2.0**53, 199.0, 200.0, 201.0, 1e6])
    for column in range(forest.feature_count):
        if column in categorical:
            odd = rng.choice(codes, count)
        else:
            numeric = (forest.feature == column) & (forest.category_set < 0)
            odd = rng.choice(np.concatenate([edges, forest.threshold[numeric]]), count)
            beside = np.nextafter(odd, rng.choice([-np.inf, np.inf], count))
            odd = np.where(rng.random(count) < 0.5, odd, beside)
        rows[:, column] = np.where(rng.random(count) < 0.5, odd, rows[:, column])
    return rows


def train(
    *, trees: int = 300, leaves: int = 31, features: int = FEATURES, params: Params = AS_THE_PROJECT_TRAINS
) -> lgb.Booster:
    """Train a model on 100,000 invented rows.

    Parameters
    ----------
    trees, leaves : int
        Number of trees, and of leaves in each.
    features : int
        Number of features: the model gets the first ones of the 60.
    params : mapping
        Further parameters of LightGBM.

    Returns
    -------
    lightgbm.Booster
        As trained: its leaves are not yet fixed.
    """
    rows = draw_rows(100_000, seed=1)
    return fit(
        np.ascontiguousarray(rows[:, :features]),
        draw_targets(rows, seed=1),
        params={**params, "num_leaves": leaves},
        rounds=trees,
        feature_names=[f"f{place}" for place in range(features)],
        categorical=[column for column in CATEGORICAL if column < features],
        monotone=[0] * features,
        seed=1,
        threads=2,
    )


def default_catalogue(*, records: int = 60_000) -> tuple[lgb.Booster, FloatArray, tuple[int, ...]]:
    """Train on the features of the default configuration.

    Parameters
    ----------
    records : int
        Invented records.

    Returns
    -------
    booster : lightgbm.Booster
        300 trees of up to 31 leaves; its leaves are not yet fixed.
    rows : ndarray of shape (n, d), float64
        Feature rows of the records.
    categorical : tuple of int
        Columns of codes.
    """
    configuration = load_configuration(Path(__file__).parents[1] / "configs" / "identity.yaml")
    invented = pa.Table.from_batches(generate(records=records, seed=1))
    prepared = prepare(read_records(invented, configuration.schema, labelled=True).table, configuration)
    booster = fit(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        params={**AS_THE_PROJECT_TRAINS, "num_leaves": 31},
        rounds=300,
        seed=1,
        threads=2,
        **prepared.feature_options,
    )
    return booster, prepared.rows, prepared.feature_options["categorical"]
