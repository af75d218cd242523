"""Settings of a training out of their range: every field that is wrong is named at once."""

from typing import Any

import pytest

from scoring_model.configuration import (
    CostSettings,
    LeakageSettings,
    PolicySettings,
    SplitSettings,
    TrainingSettings,
    TuningSettings,
)

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
        (
            TuningSettings,
            {"trials": 1, "fpr": 0.5, "folds": 0, "max_rounds": 0, "patience": 0, "thinning": 0},
            ("fpr", "thinning", "folds", "max_rounds", "patience"),
        ),
        (TuningSettings, {"trials": None, "budget": 0}, ("budget",)),
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
