"""The ladder of bounds that are set after the records were seen."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from scoring_model.configuration import PolicySettings
from scoring_model.training.certification import certify
from scoring_model.training.ladder import (
    LADDER,
    VALUES,
    AboveLadder,
    certify_on_ladder,
    possible_now,
    round_up,
)


def test_each_bound_has_forty_values_in_order() -> None:
    """The ladder covers the bounds of the settings, with forty distinct shares each."""
    assert LADDER.keys() == {"max_false_reject", "max_step_up", "max_missed_fraud"}
    for values in LADDER.values():
        assert len(set(values)) == VALUES == 40
        assert list(values) == sorted(values)
        assert all(PolicySettings(max_step_up=value) for value in values)
    assert LADDER["max_step_up"][:3] == (0.0001, 0.000125, 0.00016)
    assert LADDER["max_missed_fraud"][:2] == (0.025, 0.05)


def test_bounds_are_rounded_up_to_the_next_value() -> None:
    """A value of the ladder stays, any other one becomes the next higher one; beyond the last there is none."""
    assert round_up({"max_false_reject": 0.002, "max_step_up": 0.0501, "max_missed_fraud": 0.31}) == {
        "max_false_reject": 0.002,
        "max_step_up": 0.063,
        "max_missed_fraud": 0.325,
    }
    assert round_up({"max_step_up": 1e-9}) == {"max_step_up": 0.0001}
    with pytest.raises(AboveLadder, match=r"max_step_up: 0\.81 .*\n.*max_missed_fraud: 0\.991 "):
        round_up({"max_step_up": 0.81, "max_missed_fraud": 0.991})


@pytest.mark.parametrize("bound", LADDER)
def test_a_threshold_is_certified_where_its_exact_test_passes_at_a_hundred_and_twentieth(bound: str) -> None:
    """The tests are those of one bound alone at delta / 120, whichever bounds are set."""
    rng = np.random.default_rng(5)
    genuine = np.minimum(rng.exponential(120, 3000), 1000).astype(np.int64)
    frauds = np.maximum(1000 - rng.exponential(200, 300), 0).astype(np.int64)
    found = certify_on_ladder(genuine, frauds, limits={bound: 0.3}, confidence=0.95)
    limit, thresholds = round_up({bound: 0.3})[bound], np.arange(1, 1002)
    if bound == "max_missed_fraud":
        errors, records = np.array([np.count_nonzero(frauds < at) for at in thresholds]), len(frauds)
    else:
        errors, records = np.array([np.count_nonzero(genuine >= at) for at in thresholds]), len(genuine)
    passing = thresholds[binom.cdf(errors, records, limit) <= 0.05 / 120].tolist()
    assert list(found.tests[bound].certified()) == passing
    assert passing
    alone: dict[str, Any] = {**dict.fromkeys(LADDER), bound: limit}
    at_once = certify(genuine, frauds, settings=PolicySettings(**alone)).tests[bound].certified()
    assert set(passing) < set(at_once)


def test_what_is_missing_is_counted_for_the_next_training() -> None:
    """Values that are possible now pass the test of the ladder; reasons are about the bounds, as they are tested."""
    genuine, frauds = np.linspace(0, 1000, 3000).astype(np.int64), np.linspace(895, 1000, 20).astype(np.int64)
    chosen = PolicySettings(max_false_reject=0.002, max_step_up=0.05, max_missed_fraud=0.7)
    found = certify(genuine, frauds, settings=chosen).shortfalls()
    assert [row.bound for row in found] == ["max_missed_fraud", "max_step_up"]
    now = possible_now(found, genuine, frauds, limits=chosen.limits(), confidence=0.95)
    assert [(row.bound, row.possible) for row in now] == [
        ("max_false_reject", 0.00315),
        ("max_missed_fraud", 0.95),
        ("max_step_up", 0.1),
    ]
    assert now[0].reason.startswith("kept if no bound changes; the test of bounds that are set now")
    assert [row.times for row in now] == [1.0, *(row.times for row in found)]
    assert [row.reason for row in now[1:]] == [row.reason for row in found]
    needed = int(now[1].reason.rpartition("; ")[2].split()[0])
    assert certify(genuine, np.tile(frauds, -(-needed // 20)), settings=chosen).shortfalls() == ()
