"""Verifications of sandbox clients: the signal `sandboxOutcome` decides, where it is given.

The model scores them like all others. Neither lists nor rules nor the control group see them.

Decision record: docs/adr/0035-resolutions.md.
"""

from collections.abc import Mapping
from typing import Final

from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.verification import SANDBOX_SIGNAL, SandboxOutcome
from scoring_model.decision.reasons import MAX_REASONS
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.scoring.overrides import OPERATOR_SENTENCES

SANDBOX_OUTCOME: Final = "SANDBOX_OUTCOME"
"""Reason of an outcome that a sandbox client asked for; stands first."""

OWN_SENTENCES: Final[Mapping[str, str]] = {
    **OPERATOR_SENTENCES,
    SANDBOX_OUTCOME: "The client of this sandbox asked for the outcome.",
}
"""What the reasons say that no bundle has."""


def asked_outcome(signals: Mapping[str, object] | None) -> SandboxOutcome | None:
    """Return what a sandbox client asks for."""
    value = (signals or {}).get(SANDBOX_SIGNAL)
    return None if value is None else SandboxOutcome(str(value))


def sandboxed(row: VerificationRow, asked: SandboxOutcome | None) -> VerificationRow:
    """Return a completed row, which has the outcome of the policy, with what the client asked for."""
    kept = row._replace(policy_outcome=row.outcome, decided_by=DecidedBy.POLICY.value)
    if asked is None or asked.value not in tuple(Outcome):
        return kept
    stopped = [SANDBOX_OUTCOME, *filter(None, (row.reasons or "").split(","))]
    return kept._replace(
        outcome=asked.value,
        decided_by=DecidedBy.SANDBOX.value,
        reasons="" if asked == SandboxOutcome.PASSED else ",".join(stopped[:MAX_REASONS]),
    )


def explains_sandbox(row: VerificationRow, signals: Mapping[str, object], reasons: str) -> bool:
    """Return True if the stored decision is what the signals ask for; one that lost its signals is taken as stored.

    Parameters
    ----------
    reasons : str
        Comma-separated reasons of the model.
    """
    asked = asked_outcome(signals)
    if not signals and row.decided_by == DecidedBy.SANDBOX:
        asked = SandboxOutcome(row.outcome or "")
    of_policy = row._replace(outcome=row.outcome_of_policy, reasons=reasons)
    of_others = (row.rules, row.rule_hits, row.lists, row.list_hits, row.decided_by_code)
    drawn = (row.control_share, row.control_drawn)
    return sandboxed(of_policy, asked) == row and {*of_others, *drawn} == {None}
