"""What rules make of a decision of score and thresholds."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from scoring_model.contract.outcome import Outcome
from scoring_model.rules.rule import OperatorRule, Rules

OPERATOR_RULE: Final = "OPERATOR_RULE"
"""Reason of those whom a rule stopped; stands first."""

OPERATOR_RULE_SENTENCE: Final = "A rule of the operator stopped the applicant."


class Verdict(NamedTuple):
    """What rules make of one decision.

    Attributes
    ----------
    outcome : Outcome
        The final one.
    decided : OperatorRule or None
        The first rule that held and does not only observe.
    hits : tuple of str
        Codes of all rules that held, in the order of the file.
    """

    outcome: Outcome
    decided: OperatorRule | None
    hits: tuple[str, ...]


def verdict_of(rules: Rules, hits: Sequence[int], outcome: Outcome) -> Verdict:
    """Decide by the rules that hold.

    Parameters
    ----------
    hits : sequence of int
        Places of the rules that hold, ascending.
    outcome : Outcome
        That of score and thresholds.
    """
    held = [rules.rules[at] for at in hits]
    codes = tuple(rule.code for rule in held)
    for rule in held:
        if (decided := rule.then.outcome) is not None:
            return Verdict(decided, rule, codes)
    return Verdict(outcome, None, codes)
