"""Signals that the served model does not know: counted for operators, and refused for strict clients.

Names may be personal data: only those near a signal of the model are kept, the others are one number for each client.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scoring_model.contract.rules import RuleError
from scoring_model.records.near_misses import did_you_mean, near_misses
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_warning
from scoring_model.service.core.rows import OTHER_SIGNALS, UnknownSignalRow
from scoring_model.service.store import WHOLE_DATABASE, Store, attempt

MOST_NAMES: Final = 100
"""Names of one client that are kept, and that a process compares with those of the model, about 50 us each."""

MOST_HINTS: Final = 10
"""Unknown signals of one refused request that get the nearest name."""

INTERVAL: Final = 60.0
"""Seconds between two writes to the database."""

_AT_ONCE: Final = 100
"""Clients per transaction."""


@dataclass(slots=True)
class _OfClient:
    """What one client has sent: the nearest signal of each compared name, if any, and requests since the last write."""

    nearest: dict[str, str] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)


class UnknownSignals:
    """Counts unknown signals in memory, and adds the counts to those in the database once a minute.

    Parameters
    ----------
    known : collection of str
        Names of the signals of the served model.
    """

    def __init__(self, store: Store, clock: Clock, known: Collection[str]) -> None:
        self._store = store
        self._clock = clock
        self.known = known
        self._clients: dict[int, _OfClient] = {}
        self._reported: set[int] = set()

    def count(self, caller: Caller, names: Iterable[str]) -> None:
        """Count the unknown signals of one request."""
        found = self._clients.setdefault(caller.client, _OfClient())
        for name in names:
            if name not in found.nearest and len(found.nearest) < MOST_NAMES:
                found.nearest[name] = next(iter(near_misses(name, self.known)), "")
            near = found.nearest.get(name)
            found.requests[name if near else OTHER_SIGNALS] += 1
            if near and caller.client not in self._reported:
                self._reported.add(caller.client)
                log_warning(
                    f"Client {caller.client_id} sends a signal that the model does not know, with a name near to one "
                    "that it knows. `scoring-model clients unknown-signals` lists it."
                )

    def refusal(self) -> Callable[[str], None]:
        """Return a function for one request that raises `RuleError` for each unknown signal."""
        left = MOST_HINTS

        def refuse(name: str) -> None:
            nonlocal left
            left -= 1
            hint = did_you_mean(name, self.known) if left >= 0 else ""
            raise RuleError("unknown_signal", "must be a signal that the model knows{hint}", {"hint": hint})

        return refuse

    async def run(self) -> None:
        """Write periodically until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            await attempt("counting unknown signals", self.write)  # the next write has these counts too

    async def write(self) -> None:
        """Add the counts since the last write to the database.

        Raises
        ------
        StoreUnavailable
            What was not written stays counted.
        """
        self._clients = {client: found for client, found in self._clients.items() if found.requests}
        clients = list(self._clients)
        for first in range(0, len(clients), _AT_ONCE):
            await self._write(clients[first : first + _AT_ONCE])

    async def _write(self, clients: Sequence[int]) -> None:
        taken = {client: self._clients[client].requests for client in clients}
        for client in clients:
            self._clients[client].requests = Counter()
        try:
            async with self._store.writing([WHOLE_DATABASE]) as transaction:
                kept = await transaction.unknown_signals(sorted(clients))
                await transaction.count_unknown_signals(self._rows(taken, kept))
        except BaseException:
            for client, requests in taken.items():
                self._clients[client].requests += requests
            raise

    def _rows(
        self, taken: Mapping[int, Counter[str]], kept: Iterable[UnknownSignalRow]
    ) -> list[UnknownSignalRow]:
        """Return what to add to the database, which keeps no more than `MOST_NAMES` names of a client."""
        names: dict[int, set[str]] = {client: {OTHER_SIGNALS} for client in taken}
        for row in kept:
            names[row.client].add(row.name)
        added: Counter[tuple[int, str]] = Counter()
        for client, requests in taken.items():
            for name, number in requests.items():
                if len(names[client]) <= MOST_NAMES:
                    names[client].add(name)
                added[client, name if name in names[client] else OTHER_SIGNALS] += number
        now = self._clock.now()
        return [
            UnknownSignalRow(client, name, self._clients[client].nearest.get(name, ""), number, now)
            for (client, name), number in added.items()
        ]


async def list_unknown_signals(store: Store, *, delete: bool = False) -> list[tuple[str, UnknownSignalRow]]:
    """List the counts of all clients with their ids, and delete them if asked."""
    async with store.writing([WHOLE_DATABASE]) as transaction:
        clients = {row.client: row.client_id for row in await transaction.clients()}
        found = await transaction.unknown_signals(list(clients))
        if delete:
            await transaction.delete_unknown_signals(list(clients))
    return [(clients[row.client], row) for row in found]
