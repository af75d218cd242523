"""One booster from rows and targets: the same bytes with any number of threads."""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array
from scoring_model.batch.process_settings import hidden
from scoring_model.configuration.training import unknown_params

if TYPE_CHECKING:
    import lightgbm as lgb

Params = Mapping[str, float | int | bool]
"""Parameters of LightGBM by their main name; those of `ALLOWED_PARAMS` in `configuration.training`."""

# LightGBM's OpenMP (libgomp) reads it when it is loaded: threads that wait for one another spin briefly, then sleep.
# On two cores 150 trees of 30,000 rows take 0.5 s alone and 1.4 s beside two busy processes; by default 0.5 and 11 s,
# since threads spin on, as they do in a container with fewer cores than its machine; without spinning 0.9 and 1.2 s.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_THREADS = re.compile(r"^\[num_threads: \d+\]$", flags=re.MULTILINE)


class FeatureOptions(TypedDict):
    """Options of the columns for search and fit.

    Parameters
    ----------
    categorical : tuple of int
        Indices of the categorical features.
    monotone : tuple of d int
        1 if a larger value can only raise the risk, -1 if it can only lower it, else 0.
    """

    feature_names: tuple[str, ...]
    categorical: tuple[int, ...]
    monotone: tuple[int, ...]


def import_lightgbm_alone() -> None:
    """Import LightGBM without the libraries that it looks for, which take seconds and are not used here.

    Only for a process that does nothing but train: its interface for scikit-learn is missing then.
    """
    with hidden("sklearn"), hidden("pandas"):
        import lightgbm  # noqa: F401


def fit(
    rows: FloatArray,
    targets: Int8Array,
    *,
    params: Params,
    rounds: int,
    seed: int,
    threads: int,
    weights: FloatArray | None = None,
    **features: Unpack[FeatureOptions],
) -> "lgb.Booster":
    """Train a binary booster.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        NaN is missing; a categorical feature holds codes, integers from 0 on.
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    params : Mapping
        LightGBM parameters, see `Params`; absent ones keep LightGBM's default.
    rounds : int
        Number of trees, at least 1.
    seed : int
        From 0 to 2**31 - 1.
    threads : int
        At least 1. The model does not depend on it.
    weights : ndarray of shape (n,), float64, optional
        How much each record counts.
    features
        Of `FeatureOptions`.

    Returns
    -------
    lightgbm.Booster
        Read back from its own text, in which doubles round-trip and which has no number of threads.

    Raises
    ------
    ValueError
        If parameters are not allowed or shapes do not agree; the message lists all problems.
    """
    _check(rows, targets, params, rounds, features)
    monotone = list(features["monotone"])
    settings = {
        **params,
        **fixed_params(seed=seed, threads=threads),
        "monotone_constraints": monotone if any(monotone) else None,
    }
    dataset = binned(rows, targets, features=features, params=settings, weights=weights)
    import lightgbm as lgb

    booster = lgb.train(settings, dataset, num_boost_round=rounds)
    return lgb.Booster(model_str=_THREADS.sub("[num_threads: 0]", booster.model_to_string()))


def fixed_params(*, seed: int, threads: int) -> dict[str, object]:
    """Return the fixed parameters: the objective, and those that make runs reproducible.

    `force_col_wise` stops LightGBM from choosing the histogram method by timing; `deterministic` prevents sums whose
    order depends on threads. `feature_pre_filter` is off since folds share their bins.
    """
    return {
        "objective": "binary",
        "deterministic": True,
        "force_col_wise": True,
        "feature_pre_filter": False,
        "seed": seed,
        "num_threads": threads,
        "verbosity": -1,
    }


def binned(
    rows: FloatArray,
    targets: Int8Array,
    *,
    features: FeatureOptions,
    params: Mapping[str, object],
    weights: FloatArray | None = None,
) -> "lgb.Dataset":
    """Bin rows, of shape (n, d), for training."""
    import lightgbm as lgb

    return lgb.Dataset(
        np.ascontiguousarray(rows, dtype=np.float64),
        label=targets.astype(np.float64),
        weight=weights,
        feature_name=list(features["feature_names"]),
        categorical_feature=list(features["categorical"]),
        params=dict(params),
    )


def genuine_weights(targets: Int8Array, genuine_weight: float) -> FloatArray:
    """Return the weight of each record."""
    return np.where(targets == 1, 1.0, genuine_weight)


def check_params(params: Params) -> list[str]:
    """List the problems of parameters."""
    return [str(violation.within("params")) for violation in unknown_params(params)]


def _check(
    rows: FloatArray,
    targets: Int8Array,
    params: Params,
    rounds: int,
    features: FeatureOptions,
) -> None:
    problems = check_params(params)
    if rounds < 1:
        problems.append(f"rounds must be at least 1, got {rounds}")
    if rows.ndim != 2 or targets.shape != rows.shape[:1]:
        problems.append(
            f"rows and targets must have shapes (n, d) and (n,), got {rows.shape} and {targets.shape}"
        )
    for name, count in (
        ("feature_names", len(features["feature_names"])),
        ("monotone", len(features["monotone"])),
    ):
        if rows.ndim == 2 and count != rows.shape[1]:
            problems.append(f"{name} must have one entry for each of {rows.shape[1]} features, got {count}")
    if problems:
        raise ValueError("; ".join(problems))
