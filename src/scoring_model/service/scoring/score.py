"""Scores a batch of candidates from their history, without any input or output.

The event time of a candidate is later than everything that it sees: the committed events under its link keys, and
the candidates before it in the batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import LinkRow
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.history import History

SKEW: Final = 5_000_000
"""Microseconds by which the newest event of a history may be ahead of the clock."""

LONGEST_RETRY: Final = 60
"""The most seconds of `Retry-After` when a history is ahead of the clock: an operator may repair it sooner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The decision about a candidate.

    Parameters
    ----------
    instant : int
        Event time, microseconds.
    features : bytes
        The feature row, float64.
    outcome : Outcome
    score : int
    reasons : str
        Codes with commas between them, the strongest first.
    links : list of LinkRow
        Its link records.
    """

    instant: int
    features: bytes
    outcome: Outcome
    score: int
    reasons: str
    links: list[LinkRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A candidate with its event time and its link records."""

    candidate: Candidate
    instant: int
    links: list[LinkRow]


def place(
    candidates: Sequence[Candidate], history: History, *, clock: Clock
) -> tuple[list[Placed], dict[bytes, Unavailable]]:
    """Give candidates their event times in their order, and make each visible to those after it.

    Returns
    -------
    placed : list of Placed
    refused : dict of bytes to Unavailable
        By id, the candidates whose history is too far ahead of the clock.
    """
    placed, refused = [], {}
    for candidate in candidates:
        try:
            instant = _event_time(clock.event(candidate.reference), history.newest(candidate))
        except Unavailable as error:
            refused[candidate.id] = error
            continue
        links = history.add(candidate, instant)
        placed.append(Placed(candidate=candidate, instant=instant, links=links))
    return placed, refused


def score(placed: Sequence[Placed], history: History, *, scorer: Scorer) -> dict[bytes, Score]:
    """Score candidates that have their event times; by id."""
    if not placed:
        return {}
    rows: list[FloatArray] = [
        scorer.matrix.finish(p.candidate.started, p.instant, history.counts(p.candidate, p.instant))
        for p in placed
    ]
    decisions = scorer.decide(np.stack(rows))
    outcomes, scores = decisions.outcomes.tolist(), decisions.scores.tolist()
    found = {}
    for one, row, code, points in zip(placed, rows, outcomes, scores, strict=True):
        outcome = OUTCOMES[code]
        reasons = () if outcome is Outcome.PASSED else scorer.reasons(row)
        found[one.candidate.id] = Score(
            instant=one.instant,
            features=row.tobytes(),
            outcome=outcome,
            score=points,
            reasons=",".join(reason.code for reason in reasons),
            links=one.links,
        )
    return found


def _event_time(present: int, newest: int | None) -> int:
    if newest is None or newest < present:
        return present
    if newest - present > SKEW:
        raise Unavailable(min(math.ceil((newest - present) / 1_000_000), LONGEST_RETRY))
    return newest + 1
