"""Checks of a training beside the leakage checks: useless features, and parameters at an end of the search space."""

from dataclasses import replace

import numpy as np
import pytest

from scoring_model.configuration import Tuned
from scoring_model.features import FeatureMatrix
from scoring_model.findings import State
from scoring_model.training.checks import (
    OneCode,
    check_categories,
    check_features,
    check_parameters,
    check_ranges,
    refuse_one_code,
)
from scoring_model.training.preparation import Prepared
from scoring_model.training.space import STARTING_POINTS


def test_useless_features_are_counted_and_named() -> None:
    """The sentence names each feature with its reason, up to twenty; without any the check is clear."""
    useless = {f"f{i}": "constant" for i in range(22)} | {"copy": "a copy of f0"}
    found = check_features(useless, records=500, dropped=True)
    assert (found.state, found.count, found.records, found.names) == (State.FOUND, 23, 500, tuple(useless))
    assert found.sentence.startswith("23 features can teach nothing and were left out: f0 (constant), ")
    assert found.sentence.endswith("f19 (constant) and 3 more")
    assert check_features({}, records=500, dropped=True).state is State.CLEAR
    off = check_features({}, records=500, dropped=False)
    assert (off.state, "features.drop_useless" in off.sentence) == (State.NOT_APPLICABLE, True)


def test_a_category_with_one_code_stops(prepared: Prepared) -> None:
    """A category without any code of its own is named; one that is no feature, or always the same, is not."""
    refuse_one_code([sound := check_categories(prepared)])
    state = replace(prepared.matrix.state, vocabularies={})
    bare = replace(prepared, matrix=FeatureMatrix(prepared.matrix.settings, state))
    found = check_categories(bare)
    assert (sound.state, found.state, found.count) == (State.CLEAR, State.FOUND, len(found.names))
    assert {"signal_channel", "address_country"} <= set(found.names)
    with pytest.raises(
        OneCode, match=r"^SM018: of \d+ categories, .* none has five persons: .*signal_channel"
    ):
        refuse_one_code([sound, found])
    table, channel = prepared.table, prepared.table.column("signals.channel")
    same = replace(channel, codes=channel.codes * 0)
    alike = replace(table, columns={**table.columns, "signals.channel": same})
    excluded = replace(prepared.matrix.settings, exclude=("address_country",))
    less = replace(bare, table=alike, matrix=FeatureMatrix(excluded, state))
    assert not {"signal_channel", "address_country"} & set(check_categories(less).names)


def test_numbers_outside_their_training_range_are_found(prepared: Prepared) -> None:
    """A running number is found, and a number of which most are still inside, or missing, or that few have, is not."""
    assert check_ranges(prepared).state is State.CLEAR
    place = prepared.matrix.names.index("signal_form_seconds")
    running = prepared.rows.copy()
    running[:, place] = prepared.table.event_times
    found = check_ranges(replace(prepared, rows=running))
    assert (found.state, found.names) == (State.FOUND, ("signal_form_seconds",))
    assert found.sentence.endswith(": signal_form_seconds 100%")
    train, validation = prepared.split.train, prepared.split.validation
    inside = running.copy()
    inside[validation[::2], place] = inside[train, place].max()
    assert check_ranges(replace(prepared, rows=inside)).state is State.CLEAR
    inside[:, place] = np.nan
    assert check_ranges(replace(prepared, rows=inside)).state is State.CLEAR
    for rare in (train, validation):
        few = running.copy()
        few[rare[19:], place] = np.nan
        assert check_ranges(replace(prepared, rows=few)).state is State.CLEAR
        few[rare[19], place] = running[rare[19], place]
        assert check_ranges(replace(prepared, rows=few)).state is State.FOUND


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"learning_rate": 0.02}, ("learning_rate",)),
        ({"learning_rate": 0.0203}, ("learning_rate",)),
        ({"learning_rate": 0.021}, ()),
        ({"lambda_l1": 0.0, "lambda_l2": 50.0}, ("lambda_l1", "lambda_l2")),
        ({"num_leaves": 127, "max_depth": 11}, ("num_leaves",)),
        ({"feature_fraction": 1.0, "bagging_fraction": 1.0, "min_gain_to_split": 0.0}, ()),
        ({"feature_fraction": 0.3}, ("feature_fraction",)),
    ],
)
def test_parameters_at_an_open_end_are_found(params: dict[str, float], names: tuple[str, ...]) -> None:
    """Values at or beyond an end are named, but not where no value lies beyond it."""
    found = check_parameters(Tuned(params=params, rounds=10))
    assert (found.names, found.count) == (names, len(names))
    assert found.state is (State.FOUND if names else State.CLEAR)
    assert f"of {len(params)} parameters that a search varies, {len(names)} lie" in found.sentence


def test_a_search_that_ended_at_its_most_trees_is_found() -> None:
    """Rounds are named beside parameters, with the limit to raise; alone too."""
    for rate, names in ((0.05, ("rounds",)), (0.02, ("learning_rate", "rounds"))):
        found = check_parameters(Tuned(params={"learning_rate": rate}, rounds=400), cut_short_at=400)
        assert (found.state, found.names, found.count) == (State.FOUND, names, len(names))
        assert "near 400 trees (training.tuning.max_rounds)" in found.sentence


def test_starting_points_lie_inside() -> None:
    """The points known to be good are no reason to look further, and other parameters are not checked."""
    found = [check_parameters(Tuned(params=dict(point), rounds=10)) for point in STARTING_POINTS]
    assert {one.state for one in found} == {State.CLEAR}
    fixed = check_parameters(Tuned(params={"scale_pos_weight": 3.0}, rounds=10))
    assert fixed.state is State.NOT_APPLICABLE
