"""The active rules of operators, as one bundle reads them; and what they make of stored verifications.

A verdict stores the number of the rules that it saw, so that a replay needs no clock. The number is read in the
transaction that scores: rules count from their activation on, in every process. A bundle without a feature that a rule
reads leaves that rule out, so that no rule blocks a rollback.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.rules import RuleEvaluator, Rules, Verdict, parse_rules, verdict_of
from scoring_model.service.core.rows import RuleSetRow, VerificationRow
from scoring_model.service.scoring.score import Placed, Score
from scoring_model.service.store import Reader


class ActiveRules(NamedTuple):
    """Rules with the number under which they were activated."""

    number: int
    evaluator: RuleEvaluator

    def decide(self, placed: Iterable[Placed], scores: Mapping[bytes, Score]) -> dict[bytes, Verdict]:
        """Return what the rules make of scored candidates, by id."""
        found = {}
        for one in placed:
            scored, candidate = scores[one.candidate.id], one.candidate
            values = self.evaluator.read_stored(candidate.values, candidate.request.signals or {})
            row = np.frombuffer(scored.features)
            hits = self.evaluator.hits(scored.score, values, row, scored.instant)
            found[candidate.id] = verdict_of(self.evaluator.rules, hits, scored.outcome)
        return found

    def decide_stored(
        self,
        row: VerificationRow,
        outcome: Outcome,
        values: Mapping[str, object],
        signals: Mapping[str, object],
        features: bytes,
    ) -> Verdict:
        """Return what the rules make of a completed verification.

        Parameters
        ----------
        outcome : Outcome
            That of the policy.
        """
        given = self.evaluator.read_stored(values, signals)
        hits = self.evaluator.hits(row.score or 0, given, np.frombuffer(features), row.completed_at or 0)
        return verdict_of(self.evaluator.rules, hits, outcome)


class Rulebook:
    """Reads rules for one bundle.

    Parameters
    ----------
    columns : sequence of str
        Features of its rows.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._active: ActiveRules | None = None

    async def active(self, reader: Reader, number: int) -> ActiveRules | None:
        """Return the active rules, which have this number; None for 0: none ever were."""
        if self._active is None or self._active.number != number:
            self._active = await self.numbered(reader, number)
        return self._active

    async def numbered(self, reader: Reader, number: int | None) -> ActiveRules | None:
        """Return rules by their number."""
        row = await reader.rule_set(number) if number else None
        return None if row is None else active_rules(row, self._columns)


def active_rules(row: RuleSetRow, columns: Sequence[str]) -> ActiveRules:
    """Prepare stored rules for the rows of a bundle; those that read other features are left out."""
    rules, known = parse_rules(json.loads(row.document)), {*columns}
    usable = tuple(one for one in rules.rules if known.issuperset(Rules((one,)).features))
    return ActiveRules(row.number, RuleEvaluator(Rules(usable), columns))
