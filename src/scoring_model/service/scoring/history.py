"""The history that a batch of candidates sees: read once for all of them, under the locks of their history scopes."""

import os
import struct
from collections.abc import Iterable, Mapping, Sequence

from scoring_model.features import FeatureMatrix
from scoring_model.history import Counts, count_before
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import LinkRow
from scoring_model.service.core.store import Past, Transaction
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.scoring.candidate import Candidate


class History:
    """Earlier events by link hash: the committed ones, and the candidates that come earlier in the batch.

    Parameters
    ----------
    matrix : FeatureMatrix
    masks : Masks
    scopes : dict of bytes to str
        History scope of each hash.
    """

    def __init__(self, matrix: FeatureMatrix, masks: Masks, scopes: Mapping[bytes, str]) -> None:
        self._matrix = matrix
        self._masks = masks
        self._scopes = scopes
        self._events: dict[bytes, list[Past]] = {value: [] for value in scopes}
        self._full: list[bytes] = []  # hashes that have more events than were read

    async def read(self, transaction: Transaction, since: int) -> None:
        """Read the latest events from an instant on; without delayed windows, all that any window sees."""
        if self._scopes:
            cap = self._matrix.settings.links.cap
            found = await transaction.histories(
                list(self._scopes), since=since, cap=cap, amounts=len(self._matrix.amounts)
            )
            self._events = self._unmasked(dict(zip(self._scopes, found, strict=True)))
            self._full = [value for value, past in self._events.items() if len(past) >= cap]

    async def read_older(self, transaction: Transaction, placed: Sequence[tuple[Candidate, int]]) -> None:
        """Read what delayed windows see behind the latest events.

        Parameters
        ----------
        placed : sequence of tuple of (Candidate, int)
            Candidates and their event times.
        """
        links, instants = self._matrix.settings.links, [instant for _, instant in placed]
        delayed = {name: spec for name, spec in self._matrix.specs.items() if spec.delayed}
        wanted = {value for c, _ in placed for name, value in c.links.hashes if name in delayed}
        full = [value for value in self._full if value in wanted]
        if not full or links.delay is None:
            return
        first, last = min(instants) - links.delay, max(instants) - links.delay
        found = await transaction.histories(
            full,
            since=min(instants) - self._matrix.reach,
            cap=links.cap,
            amounts=len(self._matrix.amounts),
            between=(first, last),
        )
        for value, older in self._unmasked(dict(zip(full, found, strict=True))).items():
            oldest = self._events[value][-1][0]
            self._events[value] += [event for event in older if event[0] < oldest]

    def newest(self, candidate: Candidate) -> int | None:
        """The latest instant under the link keys of a candidate."""
        found = [events[0][0] for _, value in candidate.links.hashes if (events := self._events[value])]
        return max(found, default=None)

    def counts(self, candidate: Candidate, instant: int) -> dict[str, Counts]:
        """Count what a candidate at an instant sees under each of its link keys."""
        return {
            name: count_before(self._events[value], at=instant, spec=self._matrix.specs[name])
            for name, value in candidate.links.hashes
        }

    def add(self, candidate: Candidate, instant: int) -> list[LinkRow]:
        """Make a candidate visible to those after it; returns its link records."""
        hashes, person = candidate.visible_hashes, candidate.links.person or os.urandom(16)
        amounts = candidate.started.amounts
        for value in hashes:
            self._events[value].insert(0, (instant, person, None, *amounts))
        if not amounts:
            return [LinkRow(value, instant, person, None) for value in hashes]
        first, *others = [
            self._masks.mask(candidate.history_scope, hashes, instant, units, place)
            for place, units in enumerate(amounts)
        ]
        more: Iterable[bytes | None] = [None] * len(hashes)
        if others:
            more = [struct.pack(f"<{len(others)}q", *masked) for masked in zip(*others, strict=True)]
        return [
            LinkRow(value, instant, person, None, masked, rest)
            for value, masked, rest in zip(hashes, first, more, strict=True)
        ]

    def _unmasked(self, events: dict[bytes, list[Past]]) -> dict[bytes, list[Past]]:
        amounts = len(self._matrix.amounts)
        if not amounts:
            return events
        clear: dict[bytes, list[Past]] = {}
        for scope in {self._scopes[value] for value in events}:
            own = {value: past for value, past in events.items() if self._scopes[value] == scope}
            clear |= self._masks.unmask(scope, own, amounts)
        return clear


async def read_history(
    transaction: Transaction,
    candidates: Sequence[Candidate],
    *,
    matrix: FeatureMatrix,
    masks: Masks,
    clock: Clock,
) -> History:
    """Read the latest events under every link key of the candidates."""
    scopes = {value: c.history_scope for c in candidates for _, value in c.links.hashes}
    history = History(matrix, masks, scopes)
    if scopes:
        await history.read(transaction, min(clock.event(c.reference) for c in candidates) - matrix.reach)
    return history
