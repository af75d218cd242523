"""The search space over LightGBM's parameters, and six points from which it starts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import optuna

from scoring_model.training.fitting import Params

VERSION = 6
"""Increase with every change below or of the evaluation of trials, so that journals of other searches are refused."""

_FLOATS = {  # lowest, highest, whether the scale is logarithmic
    "learning_rate": (0.02, 0.2, True),
    "feature_fraction": (0.3, 1.0, False),
    "bagging_fraction": (0.5, 1.0, False),
    "lambda_l1": (1e-3, 10.0, True),
    "lambda_l2": (1e-3, 30.0, True),
    "min_gain_to_split": (0.0, 0.5, False),
    "cat_smooth": (1.0, 100.0, True),
    "cat_l2": (1.0, 100.0, True),
}
_INTEGERS = {
    "num_leaves": (4, 127, True),
    "max_depth": (3, 12, False),
    "min_data_in_leaf": (10, 300, True),
    "max_cat_to_onehot": (4, 64, True),
}
_FIXED = {"bagging_freq": 1}

# No weights for the rare class: they only move the prior, which calibration undoes, not the order.
_STARTS: Mapping[str, tuple[float | int, ...]] = {
    "learning_rate": (0.03, 0.05, 0.08, 0.035, 0.025, 0.03),
    "num_leaves": (20, 31, 12, 95, 8, 20),
    "max_depth": (8, 8, 5, 11, 4, 8),
    "min_data_in_leaf": (20, 40, 100, 20, 40, 20),
    "feature_fraction": (0.4, 0.7, 0.5, 0.35, 0.4, 0.4),
    "bagging_fraction": (0.7, 0.8, 0.8, 0.7, 0.7, 0.7),
    "lambda_l1": (0.01, 0.01, 0.1, 0.01, 0.01, 0.01),
    "lambda_l2": (2.0, 1.0, 10.0, 5.0, 2.0, 2.0),
    "min_gain_to_split": (0.1, 0.0, 0.02, 0.1, 0.1, 0.1),
    "cat_smooth": (20.0, 10.0, 30.0, 20.0, 20.0, 20.0),
    "cat_l2": (50.0, 10.0, 30.0, 50.0, 50.0, 50.0),
    "max_cat_to_onehot": (4, 4, 4, 4, 64, 64),
}
STARTING_POINTS: tuple[Params, ...] = tuple(
    MappingProxyType(dict(zip(_STARTS, values, strict=True)))
    for values in zip(*_STARTS.values(), strict=True)
)
"""A slow booster with few features per tree, a customary one, a smaller one for few frauds, a wide and a long one.

The last is the first, but splits off values of a category one at a time, and so does the long one: few frauds mislead
splits by sets of values.

The first is close to the result of long searches on invented records; on sign-ups it was the best of the first three
too.
"""


def starting_params(place: int) -> dict[str, float | int]:
    """Return all parameters of a starting point."""
    return suggest(optuna.trial.FixedTrial(dict(STARTING_POINTS[place])))


def suggest(trial: optuna.trial.BaseTrial) -> dict[str, float | int]:
    """Draw one point."""
    params: dict[str, float | int] = dict(_FIXED)
    for name, (low, high, log) in _FLOATS.items():
        params[name] = trial.suggest_float(name, low, high, log=log)
    for name, (first, last, log) in _INTEGERS.items():
        params[name] = trial.suggest_int(name, first, last, log=log)
    return params


_NATURAL_ENDS: Final = {
    ("feature_fraction", "highest"),
    ("bagging_fraction", "highest"),
    ("min_gain_to_split", "lowest"),
    ("max_cat_to_onehot", "lowest"),
    ("max_cat_to_onehot", "highest"),
}
"""Ends of a range beyond which there is no value, or nothing to gain."""
_NEAR: Final = 0.01
"""Share of a range, on its scale, that counts as its end; whole numbers count where they are equal to it."""


def open_ends(params: Mapping[str, float | int]) -> dict[str, str | None]:
    """Compare parameters with the ranges of the search.

    Returns
    -------
    dict of str to (str or None)
        By parameter that the search varies: the end at or beyond which it lies, in words, or None.
    """
    found: dict[str, str | None] = {}
    for name, (low, high, log) in (_FLOATS | _INTEGERS).items():
        if name in params:
            near = _NEAR if name in _FLOATS else 0.0
            step = (high / low) ** near if log else near * (high - low)
            is_lowest = params[name] <= (low * step if log else low + step)
            is_highest = params[name] >= (high / step if log else high - step)
            ends = {"lowest": is_lowest, "highest": is_highest}
            sides = [
                side for side, is_there in ends.items() if is_there and (name, side) not in _NATURAL_ENDS
            ]
            found[name] = f"{sides[0]} of {low:g} to {high:g}" if sides else None
    return found
