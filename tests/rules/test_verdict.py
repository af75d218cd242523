"""What rules make of a decision."""

import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.rules import Kind, parse_rules, verdict_of

ACTIONS = ("OBSERVE", "STEPPED_UP", "PASSED", "FAILED")
RULES = parse_rules(
    {
        "rules": [
            {"code": f"R{place}", "title": "a", "when": {"score": {"at_least": 0}}, "then": then}
            for place, then in enumerate(ACTIONS)
        ]
    },
    {"score": Kind.NUMBER},
)


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize(
    ("hits", "decided"), [((), None), ((0,), None), ((0, 1, 3), 1), ((2, 3), 2), ((3,), 3), ((0, 2), 2)]
)
def test_the_first_rule_that_acts_decides(
    outcome: Outcome, hits: tuple[int, ...], decided: int | None
) -> None:
    """Whatever the policy says, even the same; rules that observe never decide, and all hits are kept."""
    found = verdict_of(RULES, hits, outcome)
    assert found.hits == tuple(f"R{place}" for place in hits)
    if decided is None:
        assert (found.outcome, found.decided) == (outcome, None)
    else:
        assert (found.outcome, found.decided) == (Outcome(ACTIONS[decided]), RULES.rules[decided])
