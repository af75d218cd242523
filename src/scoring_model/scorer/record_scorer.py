"""Decides about single parsed records, and holds what tables of records need of a bundle."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, Manifest
from scoring_model.contract.fields import LABEL_FIELDS, NESTED
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.reasons import MAX_REASONS
from scoring_model.history import past_counts
from scoring_model.records import Record, RecordTable
from scoring_model.rules import (
    OPERATOR_RULE,
    OPERATOR_RULE_SENTENCE,
    RuleEvaluator,
    RuleNames,
    Rules,
    Verdict,
    names_of,
    parse_rules,
    verdict_of,
)
from scoring_model.scorer.decider import Decider, Decision, Reason

_STOPPED_BY_RULE = Reason(OPERATOR_RULE, OPERATOR_RULE_SENTENCE)


class RecordScorer(Decider):
    """A decider that computes the feature rows of records.

    Parameters
    ----------
    threads : int
        Python threads that share the rows of a table; results do not depend on them.
    """

    def __init__(self, manifest: Manifest, contents: Contents, *, threads: int = 1) -> None:
        super().__init__(manifest, contents, threads=threads)
        self.contents = contents
        self.matrix = contents.features
        schema = contents.schema
        # Columns of files that no record of the contract has.
        own = {*schema.columns.values(), *schema.clocks.values(), *schema.signals} - {
            *schema.event_fields,
            *schema.fields,
        }
        self._columns = {*own, *LABEL_FIELDS} | {name.partition(".")[0] for name in own} - {*NESTED}

    def is_row(self, data: Mapping[str, object]) -> bool:
        """Return True for a row of a file or frame, False for a record of the contract.

        A row has columns of files, or cells that no JSON has: NaN for a missing value, an array for a list.
        """
        return not self._columns.isdisjoint(data) or any(
            isinstance(value, np.ndarray) or (isinstance(value, float) and math.isnan(value))
            for value in data.values()
        )

    def score_record(
        self, record: Record, *, history: RecordTable | None = None, rules: RuleEvaluator | None = None
    ) -> Decision:
        """Score one parsed record against earlier ones, and decide by rules if they are given."""
        row = self.row_of(record, history)
        decision = self.decide_row(row)
        if rules is None:
            return decision
        hits = rules.hits(decision.score, record.values, row, record.event_time)
        verdict = verdict_of(rules.rules, hits, decision.outcome)
        return replace(
            decision,
            outcome=verdict.outcome,
            reasons=reasons_after(verdict, decision.reasons),
            policy_outcome=decision.outcome,
            decided_by_code=None if verdict.decided is None else verdict.decided.code,
            rule_hits=verdict.hits,
        )

    @cached_property
    def rule_names(self) -> RuleNames:
        """Return what rules may read of this bundle."""
        return names_of(self.contents.schema.signals, self.matrix.features)

    def rule_evaluator(self, rules: Rules | Mapping[str, Any]) -> RuleEvaluator:
        """Prepare rules for this bundle.

        Parameters
        ----------
        rules : Rules or mapping
            A mapping is the content of a file.

        Raises
        ------
        InvalidRules
            If they break their form, or read what the bundle does not have.
        TypeError
            For a path.
        """
        if isinstance(rules, str | PathLike):
            raise TypeError(
                "rules are the content of a file, got its path: rules=scoring_model.configuration.read_yaml(path)"
            )
        document = rules.to_json() if isinstance(rules, Rules) else rules
        return RuleEvaluator(parse_rules(document, self.rule_names), self.matrix.names)

    def row_of(self, record: Record, history: RecordTable | None) -> FloatArray:
        """Compute the input of the model for one record, of shape (d,)."""
        if history is None:
            return self.matrix.row(record, {})
        table = history.append(RecordTable.of(record))
        past = past_counts(table, len(table) - 1, self.matrix.link_keys, self.matrix.specs)
        return self.matrix.row(record, past)


def reasons_after(verdict: Verdict, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Return the reasons of the final outcome: a rule that stopped stands first; who passed has none.

    Parameters
    ----------
    reasons : sequence of Reason
        Those of the model, none if score and thresholds let pass.
    """
    if verdict.outcome is Outcome.PASSED:
        return ()
    own = () if verdict.decided is None else (_STOPPED_BY_RULE,)
    return (*own, *reasons)[:MAX_REASONS]
