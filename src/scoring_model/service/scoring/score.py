"""Scores a batch of candidates from the history that they see.

The event time of a candidate is later than everything that it sees: the committed events under its link keys, and
the candidates before it in the batch.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, cast

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.history import Counts, WindowSpec, count_before
from scoring_model.records.record import is_empty
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import LinkRow
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.store import Past, Transaction

SKEW: Final = 5_000_000
"""Microseconds by which the newest event of a history may be ahead of the clock."""

LONGEST_RETRY: Final = 60
"""The most seconds of `Retry-After` when a history is ahead of the clock: an operator may repair it sooner."""


@dataclass(slots=True)
class History:
    """Earlier events by link hash: the committed ones, and the candidates that come earlier in the batch.

    Parameters
    ----------
    events : dict of bytes to list of Past
        The latest first; amounts are unmasked.
    """

    events: dict[bytes, list[Past]]
    spec: WindowSpec
    masks: Masks

    @classmethod
    async def read(
        cls,
        transaction: Transaction,
        candidates: Sequence[Candidate],
        *,
        spec: WindowSpec,
        masks: Masks,
        clock: Clock,
    ) -> Self:
        """Read the events under every link key of the candidates, once for all of them."""
        scopes = {value: c.history_scope for c in candidates for _, value in c.links.hashes}
        if not scopes:
            return cls({}, spec, masks)
        since = min(clock.event(c.reference) for c in candidates) - spec.windows[-1]
        summed = spec.amount is not None
        found = await transaction.histories(list(scopes), since=since, cap=spec.cap, amounts=summed)
        events = dict(zip(scopes, found, strict=True))
        return cls(_unmasked(events, scopes, masks) if summed else events, spec, masks)

    def observe(self, candidate: Candidate, present: int) -> tuple[int, dict[str, Counts]]:
        """Give a candidate its event time, and count what it sees then under each of its link keys.

        Raises
        ------
        Unavailable
            When its history is too far ahead of the present.
        """
        seen = {name: self.events[value] for name, value in candidate.links.hashes}
        newest = max((events[0][0] for events in seen.values() if events), default=present - 1)
        if newest - present > SKEW:
            raise Unavailable(min(math.ceil((newest - present) / 1_000_000), LONGEST_RETRY))
        instant = max(present, newest + 1)
        return instant, {
            name: count_before(events, at=instant, spec=self.spec) for name, events in seen.items()
        }

    def add(self, candidate: Candidate, instant: int) -> list[LinkRow]:
        """Make a candidate visible to those after it; returns its link records.

        A candidate without a value but references is scored, but it is no record of a file, and so none of a history.
        """
        if candidate.request.identity_id is None and is_empty(candidate.values):
            return []
        hashes, person = (
            [value for _, value in candidate.links.hashes],
            candidate.links.person or os.urandom(16),
        )
        event: Past = (instant, person, None)
        masked: Sequence[int | None] = [None] * len(hashes)
        amount = self.spec.amount
        if amount is not None:
            # The signal is a number: its canonical value is a float.
            units = amount.units(cast("float | None", candidate.values.get(amount.field)))
            event = (instant, person, None, units)
            masked = self.masks.mask(candidate.history_scope, hashes, instant, units)
        for value in hashes:
            self.events[value].insert(0, event)
        return [
            LinkRow(value, instant, person, None, hidden)
            for value, hidden in zip(hashes, masked, strict=True)
        ]


def _unmasked(
    events: Mapping[bytes, list[Past]], scopes: Mapping[bytes, str], masks: Masks
) -> dict[bytes, list[Past]]:
    clear: dict[bytes, list[Past]] = {}
    for scope in set(scopes.values()):
        own = {value: past for value, past in events.items() if scopes[value] == scope}
        clear |= masks.unmask(scope, own)
    return clear


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The decision about a candidate.

    Parameters
    ----------
    instant : int
        Event time, microseconds.
    features : bytes
        The feature row, float64.
    reasons : str
        Codes with commas between them, the strongest first.
    """

    instant: int
    features: bytes
    outcome: Outcome
    score: int
    reasons: str
    links: list[LinkRow]


def score(
    candidates: Sequence[Candidate], history: History, *, scorer: Scorer, clock: Clock
) -> dict[bytes, Score | Unavailable]:
    """Score candidates in their order.

    Returns
    -------
    dict of bytes to Score or Unavailable
        By the id of the candidate; `Unavailable` where its history is too far ahead of the clock.
    """
    found: dict[bytes, Score | Unavailable] = {}
    placed: list[tuple[Candidate, int, list[LinkRow]]] = []
    rows: list[FloatArray] = []
    for candidate in candidates:
        try:
            instant, counts = history.observe(candidate, clock.event(candidate.reference))
        except Unavailable as error:
            found[candidate.id] = error
            continue
        rows.append(scorer.matrix.finish(candidate.started, instant, counts))
        placed.append((candidate, instant, history.add(candidate, instant)))
    if not placed:
        return found
    decisions = scorer.decide(np.stack(rows))
    outcomes, scores = decisions.outcomes.tolist(), decisions.scores.tolist()
    for (candidate, instant, links), row, code, points in zip(placed, rows, outcomes, scores, strict=True):
        outcome = OUTCOMES[code]
        reasons = () if outcome is Outcome.PASSED else scorer.reasons(row)
        found[candidate.id] = Score(
            instant=instant,
            features=row.tobytes(),
            outcome=outcome,
            score=points,
            reasons=",".join(reason.code for reason in reasons),
            links=links,
        )
    return found
