"""Settings of a training out of their range: every field that is wrong is named at once."""

from typing import Any

import pytest

from scoring_model.configuration import (
    CostSettings,
    LeakageSettings,
    PolicySettings,
    SplitSettings,
    ThinningSettings,
    TrainingSettings,
    TuningSettings,
)
from scoring_model.contract.violation import Invalid

DAY = 86_400_000_000  # microseconds
BOUNDS = ("max_false_reject", "max_step_up", "max_missed_fraud", "confidence")
COSTS = ("fraud_loss", "reject_cost", "step_up_cost", "step_up_effectiveness", "prevalence")


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        *((PolicySettings, dict.fromkeys(BOUNDS, share), BOUNDS) for share in (0.0, 1.0, -0.1, float("nan"))),
        *((CostSettings, dict.fromkeys(COSTS, cost), COSTS) for cost in (-1.0, float("nan"), float("inf"))),
        (CostSettings, dict.fromkeys(COSTS[:4], 0), ("fraud_loss",)),
        (TrainingSettings, {"seed": -1, "seeds": 0}, ("seed", "seeds")),
        (
            SplitSettings,
            {"label_maturity": -1, "burn_in": -1, "train": 1.5, "min_frauds": 0},
            ("burn_in", "label_maturity", "train", "min_frauds"),
        ),
        (SplitSettings, {"train": 60, "validation": 7, "test": 7}, ("train", "validation", "test")),
        (SplitSettings, {"validation": 0.0, "test": -0.1}, ("validation", "test")),
        (
            TuningSettings,
            {"trials": 1, "folds": 0, "max_rounds": 0, "patience": 0, "thinning": 0},
            ("thinning", "folds", "max_rounds", "patience"),
        ),
        (TuningSettings, {"trials": None, "budget": 0}, ("budget",)),
        (ThinningSettings, {"genuine": 1.5, "most_records": 10}, ("genuine", "most_records")),
        (
            LeakageSettings,
            {"max_auc": 0.5, "standard_errors": 0, "max_records": 10},
            ("max_auc", "standard_errors", "max_records"),
        ),
    ],
)
def test_every_field_out_of_its_range_is_named(
    kind: Any, given: dict[str, Any], named: tuple[str, ...]
) -> None:
    """The error names these fields and no others."""
    with pytest.raises(ValueError, match=f"{named[0]}: must be") as caught:
        kind(**given)
    assert {found.field for found in caught.value.violations} - {""} == set(named)  # type: ignore[attr-defined]


def test_costs_may_be_nothing_but_fraud_costs_something() -> None:
    """Costs of 0 are allowed, and no effectiveness or a full one."""
    for effect in (0, 1):
        costs = CostSettings(fraud_loss=1, reject_cost=0, step_up_cost=0, step_up_effectiveness=effect)
        assert (costs.reject_cost, costs.step_up_cost, costs.step_up_effectiveness) == (0, 0, effect)


@pytest.mark.parametrize("limits", [{"trials": None}, {"trials": 1, "budget": 1}])
def test_a_search_needs_one_limit_and_only_one(limits: dict[str, int | None]) -> None:
    """Neither a number of trials nor a budget, and both, are refused."""
    with pytest.raises(ValueError, match="exactly one"):
        TuningSettings(**limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            {"validation": 7 * DAY, "test": 7 * DAY},
            "shares for all parts or durations for all; train is a share, validation is a duration, "
            "test is a duration",
        ),
        ({"train": 60 * DAY, "test": 0}, "train is a duration, validation is a share"),
        ({"train": 0.7}, "train, validation and test of sum 1"),
        ({"train": 0.9, "validation": 0.2, "test": 0}, "train, validation and test of sum 1"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(parts: dict[str, Any], problem: str) -> None:
    """A mixture of shares and durations names the kind of each part; shares have to fill the time."""
    with pytest.raises(Invalid) as caught:
        SplitSettings(**parts)
    (violation,) = caught.value.violations
    assert violation.detail.endswith(problem)


@pytest.mark.parametrize(
    "parts",
    [
        {"train": 60 * DAY, "validation": 7 * DAY, "test": 7 * DAY},
        {"train": 60 * DAY, "validation": 7 * DAY, "test": 0},
        {"test": 0},
        {"train": 0.75, "validation": 0.25, "test": 0.0},
    ],
)
def test_parts_may_be_durations_and_the_test_part_absent(parts: dict[str, Any]) -> None:
    """Durations, shares, and either without a test part, which takes its gap with it."""
    settings = SplitSettings(**parts)
    assert settings.gaps == (2 if parts["test"] else 1)
    lengths = settings.part_lengths(1000 * DAY)
    assert sum(lengths.values()) == (
        parts["train"] + 7 * DAY + parts["test"] if parts.get("train", 0) > 1 else 1000 * DAY
    )
