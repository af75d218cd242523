"""The history that a batch of candidates sees: read once for all of them, under the locks of their history scopes."""

import os
from collections.abc import Mapping, Sequence
from typing import cast

from scoring_model.history import Counts, WindowSpec, count_before
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import LinkRow
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.store import Past, Transaction


class History:
    """Earlier events by link hash: the committed ones, and the candidates that come earlier in the batch.

    Parameters
    ----------
    events : dict of bytes to list of Past
        The latest first; amounts are unmasked.
    spec : WindowSpec
    masks : Masks
    """

    def __init__(self, events: dict[bytes, list[Past]], spec: WindowSpec, masks: Masks) -> None:
        self._events = events
        self._spec = spec
        self._masks = masks

    def newest(self, candidate: Candidate) -> int | None:
        """The latest instant under the link keys of a candidate."""
        found = [events[0][0] for _, value in candidate.links.hashes if (events := self._events[value])]
        return max(found, default=None)

    def counts(self, candidate: Candidate, instant: int) -> dict[str, Counts]:
        """Count what a candidate at an instant sees under each of its link keys."""
        return {
            name: count_before(self._events[value], at=instant, spec=self._spec)
            for name, value in candidate.links.hashes
        }

    def add(self, candidate: Candidate, instant: int) -> list[LinkRow]:
        """Make a candidate visible to those after it; returns its link records."""
        hashes, person = candidate.visible_hashes, candidate.links.person or os.urandom(16)
        event: Past = (instant, person, None)
        masked: Sequence[int | None] = [None] * len(hashes)
        amount = self._spec.amount
        if amount is not None:
            # The signal is a number: its canonical value is a float.
            units = amount.units(cast("float | None", candidate.request.values.get(amount.field)))
            event = (instant, person, None, units)
            masked = self._masks.mask(candidate.history_scope, hashes, instant, units)
        for value in hashes:
            self._events[value].insert(0, event)
        return [
            LinkRow(value, instant, person, None, hidden)
            for value, hidden in zip(hashes, masked, strict=True)
        ]


async def read_history(
    transaction: Transaction, candidates: Sequence[Candidate], *, spec: WindowSpec, masks: Masks, clock: Clock
) -> History:
    """Read the events under every link key of the candidates."""
    scopes = {value: c.history_scope for c in candidates for _, value in c.links.hashes}
    if not scopes:
        return History({}, spec, masks)
    since = min(clock.event(c.reference) for c in candidates) - spec.windows[-1]
    summed = spec.amount is not None
    found = await transaction.histories(list(scopes), since=since, cap=spec.cap, amounts=summed)
    events = dict(zip(scopes, found, strict=True))
    return History(_unmasked(events, scopes, masks) if summed else events, spec, masks)


def _unmasked(
    events: Mapping[bytes, list[Past]], scopes: Mapping[bytes, str], masks: Masks
) -> dict[bytes, list[Past]]:
    clear: dict[bytes, list[Past]] = {}
    for scope in set(scopes.values()):
        own = {value: past for value, past in events.items() if scopes[value] == scope}
        clear |= masks.unmask(scope, own)
    return clear
