"""Scores a batch of candidates from their history.

The event time of a candidate is later than all events in its history: the committed ones under its link keys, and
the candidates before it in the batch.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.units import SECOND
from scoring_model.features import FeatureMatrix
from scoring_model.history import Counts, count_before
from scoring_model.records.record import is_empty
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import SKEW, Clock
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import LinkRow, more_amounts
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.store import Past, Reader, Transaction

LONGEST_RETRY: Final = 60
"""Maximum `Retry-After` in seconds when a history is ahead of the clock: an operator may repair it sooner."""


class History:
    """Earlier events by link hash: the committed ones, and the candidates that come earlier in the batch.

    Latest first; amounts are unmasked.
    """

    def __init__(self, matrix: FeatureMatrix, masks: Masks, scopes: Mapping[bytes, str]) -> None:
        self._matrix = matrix
        self._masks = masks
        self._scopes = scopes  # by hash
        self._events: dict[bytes, list[Past]] = {value: [] for value in scopes}
        self._full: list[bytes] = []  # hashes that may have more events than were read

    @classmethod
    async def read(
        cls,
        transaction: Transaction,
        candidates: Sequence[Candidate],
        *,
        matrix: FeatureMatrix,
        masks: Masks,
        clock: Clock,
    ) -> Self:
        """Read the latest events under all link keys of the candidates in one query.

        Only delayed windows need older events: see `read_older`.
        """
        scopes = {value: c.history_scope for c in candidates for _, value in c.links.hashes}
        history = cls(matrix, masks, scopes)
        if scopes:
            since, cap = min(clock.event(c.reference) for c in candidates) - matrix.reach, history._cap
            found = await transaction.histories(
                list(scopes), since=since, cap=cap, amounts=len(matrix.amounts)
            )
            history._events = history._unmasked(dict(zip(scopes, found, strict=True)))
            history._full = [value for value, past in history._events.items() if len(past) >= cap]
        return history

    @classmethod
    async def of_past(
        cls, reader: Reader, placed: Sequence["Placed"], *, matrix: FeatureMatrix, masks: Masks
    ) -> Self:
        """Read the events that past verifications saw under all their link keys, and others around them."""
        history = cls(
            matrix,
            masks,
            {value: one.candidate.history_scope for one in placed for _, value in one.candidate.links.hashes},
        )
        if history._scopes:
            first, last = _span(placed)
            found = await reader.histories(
                list(history._scopes),
                since=first - matrix.reach,
                cap=history._cap,
                amounts=len(matrix.amounts),
                between=(first, last),
            )
            history._events = history._unmasked(dict(zip(history._scopes, found, strict=True)))
            history._full = [value for value, past in history._events.items() if len(past) >= history._cap]
            await history.read_older(reader, placed)
        return history

    async def read_older(self, reader: Reader, placed: Sequence["Placed"]) -> None:
        """Read the older events that delayed windows need, for hashes with more events than `read` returns."""
        delay = self._matrix.settings.links.delay
        delayed = {name for name, spec in self._matrix.specs.items() if spec.delayed}
        wanted = {value for one in placed for name, value in one.candidate.links.hashes if name in delayed}
        full = [value for value in self._full if value in wanted]
        if not full or delay is None:
            return
        first, last = _span(placed)
        found = await reader.histories(
            full,
            since=first - self._matrix.reach,
            cap=self._cap,
            amounts=len(self._matrix.amounts),
            between=(first - delay, last - delay),
        )
        for value, older in self._unmasked(dict(zip(full, found, strict=True))).items():
            oldest = self._events[value][-1][0]
            self._events[value] += [event for event in older if event[0] < oldest]

    def event_time(self, candidate: Candidate, present: int) -> int:
        """Return an event time for a candidate, later than every event under its link keys.

        Raises
        ------
        Unavailable
            If its history is too far ahead of the present.
        """
        seen = [self._events[value] for _, value in candidate.links.hashes]
        newest = max((events[0][0] for events in seen if events), default=present - 1)
        if newest - present > SKEW:
            raise Unavailable(min(math.ceil((newest - present) / SECOND), LONGEST_RETRY))
        return max(present, newest + 1)

    def counts(self, candidate: Candidate, instant: int) -> dict[str, Counts]:
        """Count the events before an instant under each link key of a candidate."""
        return {
            name: count_before(self._events[value], at=instant, spec=self._matrix.specs[name])
            for name, value in candidate.links.hashes
        }

    def add(self, candidate: Candidate, instant: int) -> list[LinkRow]:
        """Add a candidate to the history of later ones and return its link records.

        A candidate that has only references is scored but gets no link records, just as such a row of a file is
        no record.
        """
        if is_empty(candidate.values):
            return []
        hashes = [value for _, value in candidate.links.hashes]
        person = candidate.links.person or os.urandom(16)
        amounts = candidate.started.amounts
        for value in hashes:
            self._events[value].insert(0, (instant, person, None, *amounts))
        if not amounts:
            return [LinkRow(value, instant, person, None) for value in hashes]
        first, *others = [
            self._masks.mask(candidate.history_scope, hashes, instant, units, place)
            for place, units in enumerate(amounts)
        ]
        more = more_amounts(others, len(hashes))
        return [
            LinkRow(value, instant, person, None, masked, rest)
            for value, masked, rest in zip(hashes, first, more, strict=True)
        ]

    @property
    def _cap(self) -> int:
        return self._matrix.settings.links.cap

    def _unmasked(self, events: dict[bytes, list[Past]]) -> dict[bytes, list[Past]]:
        amounts = len(self._matrix.amounts)
        if not amounts:
            return events
        clear: dict[bytes, list[Past]] = {}
        for scope in {self._scopes[value] for value in events}:
            own = {value: past for value, past in events.items() if self._scopes[value] == scope}
            clear |= self._masks.unmask(scope, own, amounts)
        return clear


@dataclass(slots=True, kw_only=True)  # not frozen: one is created per request, in a third of the time
class Score:
    """The decision about a candidate.

    Parameters
    ----------
    instant : int
        Event time, microseconds.
    features : bytes
        The feature row, float64.
    outcome : Outcome
        That of the policy, by score and thresholds.
    probability : float
        Calibrated chance of fraud, in [0, 1].
    reasons : str
        Comma-separated codes, strongest first.
    """

    instant: int
    features: bytes
    outcome: Outcome
    score: int
    probability: float
    reasons: str
    links: list[LinkRow]


def _span(placed: Sequence["Placed"]) -> tuple[int, int]:
    """Return the first and the last instant."""
    return min(one.instant for one in placed), max(one.instant for one in placed)


@dataclass(slots=True, kw_only=True)  # not frozen: one is created per request, in a third of the time
class Placed:
    """A candidate with its event time and its link records."""

    candidate: Candidate
    instant: int
    links: list[LinkRow]


def place(
    candidates: Sequence[Candidate], history: History, *, clock: Clock
) -> tuple[list[Placed], dict[bytes, Unavailable]]:
    """Assign event times to candidates in order, and add each to the history of those after it.

    Returns
    -------
    placed : list of Placed
    refused : dict of bytes to Unavailable
        The candidates whose history is too far ahead of the clock, by id.
    """
    placed, refused = [], {}
    for candidate in candidates:
        try:
            instant = history.event_time(candidate, clock.event(candidate.reference))
        except Unavailable as error:
            refused[candidate.id] = error
            continue
        links = history.add(candidate, instant)
        placed.append(Placed(candidate=candidate, instant=instant, links=links))
    return placed, refused


def score(placed: Sequence[Placed], history: History, *, scorer: Scorer) -> dict[bytes, Score]:
    """Score placed candidates; returns scores by candidate id."""
    if not placed:
        return {}
    rows: list[FloatArray] = [
        scorer.matrix.finish(one.candidate.started, one.instant, history.counts(one.candidate, one.instant))
        for one in placed
    ]
    decisions = scorer.decide(np.stack(rows))
    columns = (decisions.outcomes.tolist(), decisions.scores.tolist(), decisions.probabilities.tolist())
    found = {}
    for one, row, code, points, probability in zip(placed, rows, *columns, strict=True):
        outcome = OUTCOMES[code]
        reasons = () if outcome is Outcome.PASSED else scorer.reasons(row)
        found[one.candidate.id] = Score(
            instant=one.instant,
            features=row.tobytes(),
            outcome=outcome,
            score=points,
            probability=probability,
            reasons=",".join(reason.code for reason in reasons),
            links=one.links,
        )
    return found
