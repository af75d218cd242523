"""Rehearsal: a candidate bundle scores the latest verifications again before it serves. Nothing is written."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Invalid, Unavailable
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.keys.keyring import UnknownMasterKey, Unreadable
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.score import History, place, score
from scoring_model.service.scoring.served import ServedBundle
from scoring_model.service.store import Store, StoreUnavailable

MOST: Final = 1_000
"""Latest verifications that are scored again."""

SECONDS: Final = 1.5
"""Time that a rehearsal takes at most: it runs between the requests, and the switch must not wait for it for long."""

_AT_ONCE: Final = 4
"""Verifications between two pauses: they delay requests by a few milliseconds, less than a batch of requests does."""

_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.02
_PAGE: Final = 100
_AFTER_ALL: Final = b"\xff" * 16


class RehearsalFailed(ValueError):
    """A candidate bundle did not give a finite margin and score for a verification of this database."""


@dataclass(kw_only=True, slots=True)
class Rehearsed:
    """The result of a rehearsal.

    Attributes
    ----------
    scored : int
        Verifications with a finite margin and a score.
    left_out : dict of str to int
        Verifications that could not be scored again, by reason.
    """

    scored: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count verifications that are left out."""
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count

    def __str__(self) -> str:
        others = "".join(f", {count} not: {reason}" for reason, count in sorted(self.left_out.items()))
        return f"{self.scored} of the latest verifications scored again{others}"


async def rehearse(
    store: Store, bundle: ServedBundle, masks: Masks, clock: Clock, *, seconds: float = SECONDS
) -> Rehearsed:
    """Score the latest `MOST` verifications as if they arrived now, with a candidate bundle.

    Parameters
    ----------
    seconds : float
        Time after which the rest is left out.

    Raises
    ------
    RehearsalFailed
        If a margin is not finite, or if scoring raises an error: the message has its type alone, since its text may
        contain personal data.
    StoreUnavailable
    """
    try:
        return await _rehearse(store, bundle, masks, clock, asyncio.get_running_loop().time() + seconds)
    except (RehearsalFailed, StoreUnavailable):
        raise
    except Exception as error:
        raise RehearsalFailed(f"the rehearsal raised {type(error).__name__}") from error


async def _rehearse(
    store: Store, bundle: ServedBundle, masks: Masks, clock: Clock, until: float
) -> Rehearsed:
    loop, done = asyncio.get_running_loop(), Rehearsed()
    async with store.reading() as reader:
        scopes = await reader.history_scopes()
    before, left = _AFTER_ALL, MOST
    while left:
        async with store.reading() as reader:
            rows = await reader.latest_completed(before, min(_PAGE, left))
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            if loop.time() > until:
                done.leave_out("the time was over", len(some))
                continue
            await _score(store, bundle, masks, clock, await _candidates(bundle, some, scopes, done), done)
            await _let_requests_pass()
        if len(rows) < _PAGE:
            break
        before, left = rows[-1].id, left - len(rows)
    return done


async def _let_requests_pass() -> None:
    """Pause shortly; where requests made the pause longer, once more as long, so that most of the time is theirs."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await asyncio.sleep(_PAUSE)
    await asyncio.sleep(min(loop.time() - begun - _PAUSE, _LONGEST_PAUSE))


async def _candidates(
    bundle: ServedBundle, rows: Sequence[VerificationRow], scopes: Mapping[int, str], done: Rehearsed
) -> list[Candidate]:
    found = await asyncio.gather(*(_candidate(bundle, row, scopes[row.client]) for row in rows))
    for one in found:
        if isinstance(one, str):
            done.leave_out(one)
    return [one for one in found if not isinstance(one, str)]


async def _candidate(bundle: ServedBundle, row: VerificationRow, history_scope: str) -> Candidate | str:
    """Build a candidate, or say why it is left out."""
    try:
        found = await bundle.candidates.pending(row, history_scope)
    except Invalid:
        return "the bundle takes other signals"
    except (Unavailable, UnknownMasterKey, Unreadable):
        return "its key is missing"
    return found or "its person was erased"


async def _score(
    store: Store,
    bundle: ServedBundle,
    masks: Masks,
    clock: Clock,
    candidates: Sequence[Candidate],
    done: Rehearsed,
) -> None:
    scorer = bundle.scorer
    async with store.writing([]) as transaction:  # only a transaction reads histories
        history = await History.read(transaction, candidates, matrix=scorer.matrix, masks=masks, clock=clock)
        placed, ahead = place(candidates, history, clock=clock)
        await history.read_older(transaction, placed)
    done.leave_out("its history is ahead of the clock", len(ahead))
    if placed:
        scores = score(placed, history, scorer=scorer)
        rows = [np.frombuffer(one.features, dtype=np.float64) for one in scores.values()]
        if not np.isfinite(scorer.decide(np.stack(rows)).margins).all():
            raise RehearsalFailed("the rehearsal gave a margin that is not finite")
        done.scored += len(scores)
