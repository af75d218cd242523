"""The active rules of operators, as one bundle reads them; and what they make of stored verifications.

A verdict stores the number of the rules that it saw, so that a replay needs no clock. The number is read in the
transaction that scores: rules count from their activation on, in every process. A bundle without a feature that a rule
reads leaves that rule out, so that no rule blocks a rollback.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.rules import RuleEvaluator, Rules, Verdict, parse_rules, verdict_of
from scoring_model.service.core.faults import log_warning
from scoring_model.service.core.rows import RuleSetRow
from scoring_model.service.store import Reader


class ActiveRules(NamedTuple):
    """Rules with the number under which they were activated; `left_out` has the codes of those left out."""

    number: int
    evaluator: RuleEvaluator
    left_out: tuple[str, ...] = ()

    def decide(
        self,
        values: Mapping[str, object],
        signals: Mapping[str, object],
        *,
        score: int,
        outcome: Outcome,
        features: bytes,
        event_time: int,
    ) -> Verdict:
        """Return what the rules make of a decision.

        Parameters
        ----------
        values : mapping of str to object
            Canonical values of the identity by field name; signals among them do not count.
        signals : mapping of str to object
            As they were sent, by name.
        outcome : Outcome
            That of score and thresholds.
        features : bytes
            The feature row, float64.
        event_time : int
            Microseconds since 1970-01-01 UTC.
        """
        given = self.evaluator.read_stored(values, signals)
        hits = self.evaluator.hits(score, given, np.frombuffer(features), event_time)
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
            row = await reader.rule_set(number) if number else None
            self._active = None if row is None else active_rules(row, self._columns)
            if self._active is not None and (missed := self._active.left_out):
                log_warning(
                    f"the bundle lacks what active rules read; these are left out: {', '.join(missed)}"
                )
        return self._active


def active_rules(row: RuleSetRow, columns: Sequence[str]) -> ActiveRules:
    """Prepare stored rules for the rows of a bundle; those that read other features are left out."""
    rules, known = parse_rules(json.loads(row.document)), {*columns}
    usable = tuple(one for one in rules.rules if known.issuperset(Rules((one,)).features))
    left_out = tuple(one.code for one in rules.rules if one not in usable)
    return ActiveRules(row.number, RuleEvaluator(Rules(usable), columns), left_out)
