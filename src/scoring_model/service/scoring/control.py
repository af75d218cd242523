"""The control group of a served policy: who is drawn, and who of them passes.

A person is drawn by a keyed hash of the person and the version of the policy, so that a retry changes nothing. Who is
drawn passes once; later verifications are repeats, with the policy's outcome. The caps of a UTC day count in the
database, for all processes that serve a history scope. What was drawn and what was done are stored with the
verification.

Decision record: docs/adr/0033-control-group.md.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.units import DAY
from scoring_model.decision.control import Control
from scoring_model.decision.rules import Policy
from scoring_model.service.core.rows import ControlPassRow, VerificationRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.retention.kept import kept_since
from scoring_model.service.scoring.score import Placed, Score
from scoring_model.service.store import Store, Transaction


class Draw(NamedTuple):
    """What the control group makes of one verification.

    `share`, `drawn` and `digest` are None for those who pass anyway and for those whose person is not known, who are
    never drawn.
    """

    outcome: Outcome
    policy_outcome: Outcome
    share: float | None = None
    drawn: bool | None = None
    digest: bytes | None = None  # of person and version of the policy
    is_repeat: bool = False  # whether this person had passed in the control group before


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
        """Draw a person or not, before repeats and caps.

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
        return Draw(outcome, outcome, arm.share, arm.draws(digest), digest)

    async def decide(
        self, transaction: Transaction, placed: Iterable[Placed], scores: Mapping[bytes, Score]
    ) -> dict[bytes, Draw]:
        """Draw among scored candidates, and let each drawn person pass once until a cap is reached; returns by id.

        The transaction holds the locks of the history scopes, to which persons and caps belong.
        """
        found, drawn = {}, []
        for one in placed:
            decided = scores[one.candidate.id]
            draw = found[one.candidate.id] = self.draw(decided.outcome, one.candidate.links.person)
            if draw.drawn and draw.digest is not None:
                drawn.append((one, decided, draw.digest))
        if not drawn:
            return found
        passed = dict(await transaction.control_passes(list({digest: None for _, _, digest in drawn})))
        new = []
        for one, decided, digest in drawn:
            is_repeat, id_ = digest in passed, one.candidate.id
            if await self._admits(transaction, one, decided, is_repeat=is_repeat):
                passed[digest] = ControlPassRow(digest, one.instant, id_)
                new.append(passed[digest])
                found[id_] = found[id_]._replace(outcome=Outcome.PASSED)
            found[id_] = found[id_]._replace(is_repeat=is_repeat)
        await transaction.insert(new)
        return found

    async def _admits(
        self, transaction: Transaction, one: Placed, decided: Score, *, is_repeat: bool
    ) -> bool:
        """Count a draw, and return True if it passes."""
        key = (one.candidate.history_scope, one.instant // DAY, decided.outcome.value)
        cost = decided.probability * self._control.fraud_loss
        counts = await transaction.count_drawn(key, cost, is_repeat=is_repeat)
        arm = self._control.arm(decided.outcome)
        if is_repeat or arm is None or not arm.admits(*counts):
            return False
        await transaction.count_controlled(*key)
        return True


async def explains(
    store: Store, row: VerificationRow, group: ControlGroup | None, person: bytes | None
) -> bool:
    """Return True if the stored draw of a completed verification is that of its policy and person.

    Whether a cap kept a drawn person from passing is stored and not decided again; nor is a repeat whose first
    verification has left the history.
    """
    stored = (row.control_share, None if row.control_drawn is None else bool(row.control_drawn))
    if group is None or row.policy_outcome is None:
        is_policys = row.decided_by in (None, DecidedBy.POLICY) and row.outcome == row.outcome_of_policy
        return group is None and is_policys and stored == (None, None)
    draw = group.draw(Outcome(row.policy_outcome), person)
    is_passed = bool(draw.drawn) and row.outcome == Outcome.PASSED and not row.control_repeat
    is_policys = row.decided_by == DecidedBy.POLICY and row.outcome == row.policy_outcome
    return (
        stored == (draw.share, draw.drawn)
        and (is_policys or (is_passed and row.decided_by == DecidedBy.CONTROL))
        and await _explains_repeat(store, row, draw.digest)
    )


async def _explains_repeat(store: Store, row: VerificationRow, digest: bytes | None) -> bool:
    """Return True if a drawn verification is a repeat exactly if its person passed before."""
    if digest is None or not row.control_drawn or row.control_repeat is None:
        return row.control_repeat is None and not row.control_drawn
    async with store.reading() as reader:
        passed = (await reader.control_passes([digest])).get(digest)
    is_other = passed is not None and passed.verification != row.id
    if row.control_repeat:
        return is_other or await kept_since(store) > 0
    return not (is_other and passed is not None and passed.time < (row.completed_at or 0))
