import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import Forest
from scoring_model.training.columns import CategoryTable, category_tables
from scoring_model.training.model_text import UnsupportedModelError

FEATURES, CODES = 2, 9


def grow(seed: int, splits: int) -> Forest:
    """Grow one tree of random categorical splits, with sets of any size, the empty one included."""
    rng = np.random.default_rng(seed)
    left, right = np.full(splits, -1), np.full(splits, -1)
    free = [(0, 0), (0, 1)]
    for split in range(1, splits):
        parent, side = free.pop(int(rng.integers(len(free))))
        (left, right)[side][parent] = split
        free += [(split, 0), (split, 1)]
    for leaf, (parent, side) in enumerate(free):
        (left, right)[side][parent] = ~leaf
    sets = [np.flatnonzero(rng.random(CODES) < rng.random()) for _ in range(splits)]
    return Forest(
        feature_count=FEATURES,
        tree_splits=np.array([0, splits]),
        tree_leaves=np.array([0, splits + 1]),
        feature=rng.integers(FEATURES, size=splits),
        category_set=np.arange(splits),
        threshold=np.zeros(splits),
        missing=np.zeros(splits, np.int8),
        default_left=np.zeros(splits, np.bool_),
        left=left,
        right=right,
        split_count=np.ones(splits, np.int64),
        set_starts=np.cumsum([0, *map(len, sets)]),
        set_codes=np.concatenate(sets),
        leaf_value=np.zeros(splits + 1),
        leaf_count=np.ones(splits + 1, np.int64),
    )


def by_sets(forest: Forest, codes: tuple[int, int]) -> int:
    """Walk the tree by the category sets of its splits."""
    node = 0
    while node >= 0:
        inside = codes[int(forest.feature[node])] in forest.codes(node)
        node = int(forest.left[node] if inside else forest.right[node])
    return node


def by_ranks(forest: Forest, tables: list[CategoryTable], codes: tuple[int, int]) -> int:
    """Walk the tree by the ranks in the tables."""
    answers: dict[int, bool] = {}
    for table in tables:
        ranks: FloatArray = table.ranks[min(codes[table.feature], len(table.ranks) - 1)].astype(np.float64)
        true = ranks[table.columns] <= table.thresholds
        answers |= dict(zip(table.splits.tolist(), (true ^ table.swapped).tolist(), strict=True))
    node = 0
    while node >= 0:
        node = int(forest.left[node] if answers[node] else forest.right[node])
    return node


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_ranks_lead_to_the_leaves_of_sets(seed: int, splits: int) -> None:
    """For every pair of codes, known or unknown, ranks lead to the same leaf as sets."""
    forest = grow(seed, splits)
    tables = category_tables(forest)
    assert sorted(split for table in tables for split in table.splits.tolist()) == list(range(splits))
    for first in range(CODES + 1):
        for second in range(CODES + 1):
            assert by_ranks(forest, tables, (first, second)) == by_sets(forest, (first, second))


@pytest.mark.parametrize(
    ("left", "right", "starts", "codes", "ranks"),
    [
        ([1, 2, -1], [-4, -3, -2], [0, 6, 9, 10], [0, 1, 2, 3, 4, 5, 1, 3, 5, 3], 7),
        (
            [-1, -2, -3],
            [1, 2, -4],
            [0, 2, 4, 6],
            [0, 1, 0, 2, 0, 3],
            5,
        ),  # codes that went the other way before
    ],
)
def test_nested_sets_share_a_column(
    left: list[int], right: list[int], starts: list[int], codes: list[int], ranks: int
) -> None:
    """Splits with nested sets of one feature's codes need only one ranking."""
    changed = {"left": left, "right": right, "set_starts": starts, "set_codes": codes, "feature": [0, 0, 0]}
    arrays = grow(0, 3).to_arrays() | {name: np.array(values) for name, values in changed.items()}
    (table,) = category_tables(Forest.from_arrays(arrays))
    assert table.ranks.shape == (ranks, 1)


def test_codes_too_high_for_a_table_are_refused() -> None:
    """A code in the hundreds of millions is refused with an error that says what to do."""
    arrays = grow(0, 1).to_arrays() | {"set_starts": np.array([0, 1]), "set_codes": np.array([10**9])}
    with pytest.raises(UnsupportedModelError, match="without gaps"):
        category_tables(Forest.from_arrays(arrays))
