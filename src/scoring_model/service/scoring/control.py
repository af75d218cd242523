"""The control group of a served policy: who is drawn, and who of them passes.

A person is drawn by a keyed hash of the person and the version of the policy, so that a retry changes nothing. The caps
of a UTC day count in the database, for all processes that serve it. What was drawn and what was done are stored with
the verification.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from scoring_model.contract.outcome import Outcome
from scoring_model.decision.control import Control
from scoring_model.decision.rules import Policy
from scoring_model.records.times import DAY
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.scoring.score import Placed, Score
from scoring_model.service.store import Transaction


class Draw(NamedTuple):
    """What the control group makes of one verification.

    `share` and `drawn` are None for those who pass anyway and for those whose person is not known, who are never drawn.
    """

    outcome: Outcome
    policy_outcome: Outcome
    share: float | None = None
    drawn: bool | None = None


class ControlGroup:
    """Draws the control group of one policy."""

    def __init__(self, control: Control, secrets: Secrets, version: str) -> None:
        self._control = control
        self._secrets = secrets
        self._version = version.encode() + b"\0"

    @classmethod
    def of(cls, policy: Policy, secrets: Secrets, version: str) -> Self | None:
        """Return the control group of a policy with this version, None if it has none."""
        return None if policy.control is None else cls(policy.control, secrets, version)

    def draw(self, outcome: Outcome, person: bytes | None) -> Draw:
        """Draw a person or not, before the caps.

        Parameters
        ----------
        outcome : Outcome
            That of the policy.
        person : bytes or None
            Pseudonym of the person in the history scope.
        """
        arm = self._control.arm(outcome)
        if arm is None or person is None:
            return Draw(outcome, outcome)
        digest = self._secrets.digest(Purpose.CONTROL, self._version + person, size=16)
        return Draw(outcome, outcome, arm.share, arm.draws(digest))

    async def decide(
        self, transaction: Transaction, placed: Iterable[Placed], scores: Mapping[bytes, Score]
    ) -> dict[bytes, Draw]:
        """Draw among scored candidates, and let those who are drawn pass until a cap is reached; returns by id."""
        found, drawn = {}, []
        for one in placed:
            candidate, decided = one.candidate, scores[one.candidate.id]
            draw = found[candidate.id] = self.draw(decided.outcome, candidate.links.person)
            if draw.drawn:
                drawn.append((one.instant // DAY, draw.policy_outcome, candidate.id, decided.probability))
        # Sorted, so that transactions of several processes lock the days in one order.
        for day, outcome, resource, probability in sorted(drawn, key=lambda one: one[:2]):
            arm = self._control.arm(outcome)
            cost = probability * self._control.fraud_loss
            counted, expected_cost = await transaction.count_drawn(day, outcome.value, cost)
            if arm is not None and arm.admits(counted, expected_cost):
                await transaction.count_controlled(day, outcome.value)
                found[resource] = found[resource]._replace(outcome=Outcome.PASSED)
        return found


def explains(row: VerificationRow, group: ControlGroup | None, person: bytes | None) -> bool:
    """Return True if the stored draw of a completed verification is that of its policy and person.

    Whether a cap kept a drawn person from passing is stored and not decided again.
    """
    stored = (row.control_share, None if row.control_drawn is None else bool(row.control_drawn))
    if group is None:
        return row.policy_outcome is None and stored == (None, None)
    if row.policy_outcome is None:
        return False
    draw = group.draw(Outcome(row.policy_outcome), person)
    is_passed = bool(draw.drawn) and row.outcome == Outcome.PASSED
    return stored == (draw.share, draw.drawn) and (row.outcome == row.policy_outcome or is_passed)
