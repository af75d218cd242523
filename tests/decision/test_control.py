"""The control group of a policy: draws by a hash, and caps of a day."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from scoring_model.configuration import ControlSettings, CostSettings, PolicySettings
from scoring_model.contract.violation import Invalid
from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.rules import Policy

ARM = ControlArm(share=0.02, most_per_day=3, most_expected_cost_per_day=200.0)
POLICY = Policy(step_up_from=400, fail_from=700)
CONTROLLED = replace(POLICY, control=Control(failed=ARM, stepped_up=ARM, fraud_loss=100.0))


def test_the_share_of_hashes_is_drawn() -> None:
    """Of 40,000 hashes 2 % are drawn, to four standard errors; the whole range of 64 bits is compared."""
    digests = [hashlib.sha256(str(number).encode()).digest() for number in range(40_000)]
    assert 688 < sum(map(ARM.draws, digests)) < 912
    bound = int(0.02 * 2**64)
    assert ARM.draws((bound - 1).to_bytes(8) + bytes(8))
    assert not ARM.draws(bound.to_bytes(8) + b"\xff" * 8)


def test_caps_stop_at_the_first_that_does_not_fit() -> None:
    """The number and the expected cost of all that were drawn on the day are compared."""
    assert ARM.admits(3, 200.0)
    assert not ARM.admits(4, 4.0)
    assert not ARM.admits(1, 200.1)
    assert replace(ARM, most_expected_cost_per_day=None).admits(3, 1e9)


def test_a_policy_without_a_control_group_is_as_before() -> None:
    """Its document and version do not mention one; a control group gives another version and is read back."""
    assert "control" not in POLICY.to_json()
    assert POLICY.version == "f94bfc5afa8b6233"
    assert CONTROLLED.version != POLICY.version
    assert Policy.from_json(CONTROLLED.to_json()) == CONTROLLED
    assert CONTROLLED.outcome(700) == POLICY.outcome(700)


def _without_failed(control: dict[str, Any]) -> None:
    del control["failed"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda control: control["failed"].update(share=1), r"share: must be a number in \(0, 1\)"),
        (lambda control: control["stepped_up"].update(most_per_day=0), "most_per_day: must be an integer"),
        (lambda control: control.update(fraud_loss=0), "fraud_loss: must be a number above 0"),
        (_without_failed, "failed: missing"),
        (lambda control: control.update(passed={}), "passed: unknown field"),
    ],
)
def test_a_sealed_control_group_is_checked(change: Callable[[dict[str, Any]], object], text: str) -> None:
    """Every field of the document has its rule."""
    document = CONTROLLED.to_json()
    change(document["control"])
    with pytest.raises(Invalid, match=text):
        Policy.from_json(document)


COSTS = CostSettings(fraud_loss=250.0, reject_cost=10.0, step_up_cost=1.0, step_up_effectiveness=0.5)


@pytest.mark.parametrize(
    ("settings", "pointers"),
    [
        (
            {},
            ["/control/failed/most_expected_cost_per_day", "/control/stepped_up/most_expected_cost_per_day"],
        ),
        (
            {"costs": COSTS},
            ["/control/failed/most_expected_cost_per_day", "/control/stepped_up/most_expected_cost_per_day"],
        ),
    ],
)
def test_a_cap_on_cost_needs_costs_and_room_for_one(settings: Mapping[str, Any], pointers: list[str]) -> None:
    """It has no unit without costs; below the cost of one fraud it could keep everyone of a day from passing."""
    with pytest.raises(Invalid) as error:
        PolicySettings(control=ControlSettings(failed=ARM, stepped_up=ARM), **settings)
    assert [found.pointer for found in error.value.violations] == pointers


def test_settings_state_a_control_group_only_where_there_is_one() -> None:
    """The cost of a missed fraud is sealed with it."""
    settings = PolicySettings(
        control=ControlSettings(failed=ARM, stepped_up=ARM), costs=replace(COSTS, fraud_loss=50.0)
    )
    assert settings.control_group == Control(failed=ARM, stepped_up=ARM, fraud_loss=50.0)
    assert settings.to_json()["control"]["failed"]["share"] == 0.02
    assert "control" not in PolicySettings().to_json()
