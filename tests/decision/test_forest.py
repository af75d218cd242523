import io

import numpy as np
import pytest

from scoring_model.decision.forest import Forest, Missing


def small() -> Forest:
    """Build two trees: one of a numeric and a categorical split, one of a single leaf."""
    return Forest(
        feature_count=3,
        tree_splits=np.array([0, 2, 2]),
        tree_leaves=np.array([0, 3, 4]),
        feature=np.array([2, 0]),
        category_set=np.array([-1, 0]),
        threshold=np.array([0.1, 0.0]),
        missing=np.array([Missing.NAN, 0], np.int8),
        default_left=np.array([True, False]),
        left=np.array([1, ~0]),
        right=np.array([~2, ~1]),
        split_count=np.array([10, 6]),
        set_starts=np.array([0, 2]),
        set_codes=np.array([1, 5]),
        leaf_value=np.array([0.5, -0.25, 0.125, -3.0]),
        leaf_count=np.array([4, 2, 4, 10]),
    )


def test_arrays_survive_a_file_without_pickle() -> None:
    """What a file of arrays gives back is the same forest, array by array."""
    file = io.BytesIO()
    np.savez(file, **small().to_arrays())  # type: ignore[arg-type] # its stub takes the names for options
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        forest = Forest.from_arrays(dict(loaded))
    assert forest.feature_count == 3
    for name, array in small().to_arrays().items():
        again = forest.to_arrays()[name]
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)


def test_a_tree_begins_with_its_first_split_or_its_only_leaf() -> None:
    """Roots are splits by index and lone leaves by complement."""
    assert small().roots().tolist() == [0, ~3]
    assert small().tree_count == 2


def test_codes_are_those_of_one_set() -> None:
    """A set has the codes between its start and the next one's."""
    assert small().codes(0).tolist() == [1, 5]


def test_other_arrays_are_refused_by_name() -> None:
    """Missing and unknown arrays are named together."""
    arrays = small().to_arrays()
    del arrays["threshold"]
    with pytest.raises(ValueError, match=r"missing \['threshold'\], unknown \['colour'\]"):
        Forest.from_arrays(arrays | {"colour": np.zeros(1)})
