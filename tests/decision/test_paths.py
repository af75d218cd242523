import dataclasses

import numpy as np
import pytest

from scoring_model.decision.forest import ZERO, Forest, Missing
from scoring_model.decision.paths import SplitDecisions


def numeric(threshold: float, missing: Missing, default_left: bool) -> Forest:
    """Build a tree of one numeric split."""
    return Forest(
        feature_count=1,
        tree_splits=np.array([0, 1]),
        tree_leaves=np.array([0, 2]),
        feature=np.array([0]),
        category_set=np.array([-1]),
        threshold=np.array([threshold]),
        missing=np.array([missing], np.int8),
        default_left=np.array([default_left]),
        left=np.array([~0]),
        right=np.array([~1]),
        split_count=np.array([2]),
        set_starts=np.array([0]),
        set_codes=np.array([], np.int64),
        leaf_value=np.array([1.0, 2.0]),
        leaf_count=np.array([1, 1]),
    )


def goes_left(forest: Forest, value: float) -> bool:
    """Find the side that a value takes at the only split."""
    return bool(SplitDecisions(forest).left(np.array([value]))[0])


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.5])
@pytest.mark.parametrize("default_left", [False, True])
def test_missing_values_go_where_their_type_says(threshold: float, default_left: bool) -> None:
    """NaN is 0 where nothing is missing, else it takes the default way; so does 0 where zero is missing."""
    zero_left = threshold >= 0
    for missing, nan_left, zero in (
        (Missing.NONE, zero_left, zero_left),
        (Missing.NAN, default_left, zero_left),
        (Missing.ZERO, default_left, default_left),
    ):
        forest = numeric(threshold, missing, default_left)
        assert goes_left(forest, np.nan) is nan_left
        for value in (0.0, -0.0, ZERO, -ZERO, 5e-324):
            assert goes_left(forest, value) is zero


@pytest.mark.parametrize("threshold", [-1e-36, 0.0, 1e-36, ZERO])
def test_values_as_small_as_zero_are_zero(threshold: float) -> None:
    """Values of at most 1e-35 as a float32 are one value, their neighbours outside are not."""
    forest = numeric(threshold, Missing.NAN, False)
    inside = {goes_left(forest, value) for value in (-ZERO, -1e-40, 0.0, 1e-40, ZERO)}
    assert inside == {threshold >= 0}
    assert goes_left(forest, np.nextafter(-ZERO, -1)) is True
    assert goes_left(forest, np.nextafter(ZERO, 1)) is False


@pytest.mark.parametrize(
    ("value", "left"), [(3.0, True), (3.9, True), (2.0, False), (0.0, True), (-0.9, True)]
)
@pytest.mark.parametrize("outside", [np.nan, -1.0, -3.0, 4.0, 2.0**31, 1e300, np.inf, -np.inf])
def test_codes_in_the_set_go_left_and_all_else_right(value: float, left: bool, outside: float) -> None:
    """A code goes left when the set has it; no value, negative ones and unseen ones go right."""
    forest = dataclasses.replace(
        numeric(0.0, Missing.NONE, False),
        category_set=np.array([0]),
        set_starts=np.array([0, 2]),
        set_codes=np.array([0, 3]),
    )
    assert goes_left(forest, value) is left
    assert goes_left(forest, outside) is False
