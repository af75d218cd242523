from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.decision.forest import Forest
from scoring_model.training.model_text import UnsupportedModelError, parse_forest

Trainer = Callable[..., lgb.Booster]


def test_leaves_are_the_doubles_of_the_booster(model: tuple[lgb.Booster, Forest]) -> None:
    """Every leaf is the double that LightGBM holds, in the order of its trees."""
    booster, forest = model
    ends = np.diff(forest.tree_leaves).tolist()
    expected = [
        booster.get_leaf_output(tree, leaf) for tree, count in enumerate(ends) for leaf in range(count)
    ]
    assert forest.leaf_value.tolist() == expected


def test_structure_is_that_of_the_dump(trainer: Trainer) -> None:
    """Splits, thresholds, sets and counts equal those of LightGBM's own JSON dump."""
    booster = trainer(trees=5)
    forest = parse_forest(booster.model_to_string())
    for tree, root in zip(booster.dump_model()["tree_info"], forest.roots().tolist(), strict=True):
        compare(forest, root, tree["tree_structure"])


def compare(forest: Forest, node: int, dumped: dict[str, Any]) -> None:
    """Compare a node and its descendants."""
    if node < 0:
        assert forest.leaf_value[~node] == dumped["leaf_value"]
        assert forest.leaf_count[~node] == dumped["leaf_count"]
        return
    assert forest.feature[node] == dumped["split_feature"]
    assert forest.split_count[node] == dumped["internal_count"]
    if dumped["decision_type"] == "==":
        codes = forest.codes(int(forest.category_set[node]))
        assert codes.tolist() == sorted(map(int, dumped["threshold"].split("||")))
    else:
        assert forest.category_set[node] == -1
        assert forest.threshold[node] == dumped["threshold"]
        assert forest.default_left[node] == dumped["default_left"]
    compare(forest, int(forest.left[node]), dumped["left_child"])
    compare(forest, int(forest.right[node]), dumped["right_child"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"objective": "multiclass", "num_class": 3}, "multiclass"),
        ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, "boosting=rf"),
        ({"objective": "regression"}, "objective is regression"),
        ({"objective": "cross_entropy"}, "objective is cross_entropy"),
        ({"linear_tree": True}, "linear_tree"),
    ],
)
def test_models_without_an_exact_forest_are_refused(
    trainer: Trainer, options: dict[str, Any], reason: str
) -> None:
    """Models that a forest cannot represent are refused with the reason."""
    with pytest.raises(UnsupportedModelError, match=reason):
        parse_forest(trainer(trees=2, **options).model_to_string())


def test_all_reasons_are_given_at_once() -> None:
    """The error of a model with several faults lists all of them."""
    header = (
        "tree\nnum_class=3\nnum_tree_per_iteration=3\nmax_feature_idx=0\nobjective=poisson\naverage_output\n"
    )
    with pytest.raises(UnsupportedModelError) as refused:
        parse_forest(header + "\nend of trees\n")
    assert all(word in str(refused.value) for word in ("multiclass", "rf", "poisson", "no trees"))
