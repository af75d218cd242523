"""What lists and rules of operators make of the decision of score and thresholds.

A pass list comes first, then a fail list, a step-up list, and rules in the order of their file. A verdict stores the
numbers of the rules and of the last change of lists that it saw, so that a replay needs no clock.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.decision.reasons import MAX_REASONS
from scoring_model.rules import OPERATOR_RULE, OPERATOR_RULE_SENTENCE, Verdict
from scoring_model.service.core.rows import OperatorListRow, VerificationRow

OPERATOR_LIST: Final = "OPERATOR_LIST"
"""Reason of those whom a list stopped; stands first."""

OPERATOR_SENTENCES: Final[Mapping[str, str]] = {
    OPERATOR_RULE: OPERATOR_RULE_SENTENCE,
    OPERATOR_LIST: "A list of the operator stopped the applicant.",
}
"""What the reasons of lists and rules say, whatever the bundle."""

_REASONS: Final = {DecidedBy.LIST: OPERATOR_LIST, DecidedBy.RULE: OPERATOR_RULE}


class Override(NamedTuple):
    """What lists and rules make of one decision.

    Attributes
    ----------
    outcome : Outcome
        The final one.
    decided_by : DecidedBy
        LIST, RULE, or POLICY where neither decides.
    code : str or None
        Name of the list, or code of the rule, that decided.
    list_hits, rule_hits : str or None
        Comma-separated names and codes of all that held, the first that decides first; None where none held.
    rules, lists : int or None
        Numbers of the active rules and of the last change of lists; None where such things are not in use.
    """

    outcome: Outcome
    decided_by: DecidedBy
    code: str | None
    list_hits: str | None
    rule_hits: str | None
    rules: int | None
    lists: int | None

    def reasons(self, of_model: str) -> str:
        """Return comma-separated reasons of the final outcome: of the model only where it stopped too."""
        if self.decided_by is DecidedBy.POLICY:
            return of_model
        if self.outcome is Outcome.PASSED:
            return ""
        return ",".join([_REASONS[self.decided_by], *filter(None, of_model.split(","))][:MAX_REASONS])

    def explains(self, row: VerificationRow) -> bool:
        """Return True if what is stored of lists and rules is this."""
        is_outcome = self.decided_by is DecidedBy.POLICY or (row.outcome, row.decided_by) == (
            self.outcome,
            self.decided_by,
        )
        by_policy = row.decided_by not in (DecidedBy.LIST, DecidedBy.RULE)
        return (
            is_outcome
            and by_policy == (self.decided_by is DecidedBy.POLICY)
            and (row.decided_by_code, row.list_hits, row.rule_hits)
            == (self.code, self.list_hits, self.rule_hits)
        )


def stored_override(row: VerificationRow) -> Override:
    """Return what lists and rules made of a completed verification, as it is stored."""
    return Override(
        Outcome(row.outcome or ""),
        DecidedBy(row.decided_by) if row.decided_by in _REASONS else DecidedBy.POLICY,
        row.decided_by_code,
        row.list_hits,
        row.rule_hits,
        row.rules,
        row.lists,
    )


def override_of(
    outcome: Outcome,
    held: Sequence[OperatorListRow],
    verdict: Verdict | None,
    *,
    rules: int | None,
    lists: int | None,
) -> Override:
    """Combine lists and rules.

    Parameters
    ----------
    outcome : Outcome
        That of score and thresholds.
    held : sequence of OperatorListRow
        The lists that hold, the first that decides first.
    verdict : Verdict or None
        What the rules make of it; None without rules.
    rules, lists : int or None
        As in `Override`.
    """
    names = ",".join([one.name for one in held]) or None
    codes = None if verdict is None else ",".join(verdict.hits) or None
    decided_by, code = DecidedBy.POLICY, None
    if held:
        outcome, decided_by, code = Outcome(held[0].outcome), DecidedBy.LIST, held[0].name
    elif verdict is not None and verdict.decided is not None:
        outcome, decided_by, code = verdict.outcome, DecidedBy.RULE, verdict.decided.code
    return Override(outcome, decided_by, code, names, codes, rules, lists)


def overridden(row: VerificationRow, override: Override) -> VerificationRow:
    """Return a completed row, which has the outcome of the policy, with what lists and rules made of it."""
    return row._replace(
        outcome=override.outcome.value,
        policy_outcome=row.outcome,
        decided_by=override.decided_by.value,
        decided_by_code=override.code,
        reasons=override.reasons(row.reasons or ""),
        rules=override.rules,
        rule_hits=override.rule_hits,
        lists=override.lists,
        list_hits=override.list_hits,
    )
