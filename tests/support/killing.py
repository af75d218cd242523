"""Kills of random processes at random instants, under load, and what is started again afterwards."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from databases import Server
from fleet import Fleet, Replica, any_of, kill
from ledger import Entry, Ledger
from persistent import Persistent
from running_service import SECONDS, until

LOOKED_AT: Final = 20
"""Of what was acknowledged since the kill before, so many are looked for after each."""


@dataclass(frozen=True, kw_only=True)
class Instants:
    """When a kill comes, in seconds.

    Parameters
    ----------
    before : (float, float)
        After all replicas are ready.
    in_start : (float, float)
        After a start that is itself to be killed.
    """

    before: tuple[float, float] = (0.1, 1.5)
    in_start: tuple[float, float] = (0.0, 1.2)


class Killer:
    """Kills one process after the other.

    Parameters
    ----------
    fleet : Fleet
    rng : random.Random
    server : Server, optional
        Whose processes are killed too.
    instants : Instants, optional
    """

    def __init__(
        self,
        fleet: Fleet,
        rng: random.Random,
        *,
        server: Server | None = None,
        instants: Instants | None = None,
    ) -> None:
        self.kills: Counter[str] = Counter()
        self._fleet = fleet
        self._rng = rng
        self._server = server
        self._instants = instants or Instants()
        self._order: list[tuple[str, Callable[[], None]]] = []

    def strike(self) -> str:
        """Wait, kill, start again what does not come back by itself, and wait until all is ready; what was killed.

        Every kind comes once before any comes twice.
        """
        if not self._order:
            self._order = self._kinds()
            self._rng.shuffle(self._order)
        name, how = self._order.pop()
        time.sleep(self._rng.uniform(*self._instants.before))
        how()
        self.kills[name] += 1
        self._fleet.await_ready()
        return name

    def _kinds(self) -> list[tuple[str, Callable[[], None]]]:
        kinds: list[tuple[str, Callable[[], None]]] = [
            ("first process", self._first_process),
            ("all of a replica", self._replica),
            ("start", self._start),
        ]
        if self._workers():
            kinds += [("worker", self._worker), ("worker", self._worker)]
        if self._fleet.deliverer is not None:
            kinds.append(("deliverer", self._deliverer))
        if self._server is not None:
            kinds += [("backend", self._backend), ("postmaster", self._postmaster)]
        return kinds

    def _worker(self) -> None:
        until(lambda: bool(self._workers()), "a worker")
        pid = any_of(self._workers(), self._rng)
        if pid is not None:
            kill(pid)

    def _workers(self) -> list[int]:
        return [pid for replica in self._fleet.replicas for pid in replica.workers()]

    def _first_process(self) -> None:
        replica = self._any_replica()
        replica.kill()
        replica.start()

    def _replica(self) -> None:
        replica = self._any_replica()
        replica.kill_all()
        replica.start()

    def _start(self) -> None:
        """Kill a replica while it starts, whatever of it is there already."""
        replica = self._any_replica()
        replica.kill_all()
        replica.begin()
        time.sleep(self._rng.uniform(*self._instants.in_start))
        replica.kill_all()
        replica.start()

    def _deliverer(self) -> None:
        deliverer = self._fleet.deliverer
        assert deliverer is not None
        deliverer.kill()
        deliverer.start()

    def _backend(self) -> None:
        """Kill a process of the server, whose others then give up all that they hold and recover."""
        assert self._server is not None
        pid = any_of(_backends(self._server), self._rng)
        if pid is not None:
            kill(pid)

    def _postmaster(self) -> None:
        assert self._server is not None
        self._server.stop(signal.SIGKILL)
        time.sleep(self._rng.uniform(0, 0.5))
        start_again(self._server)

    def _any_replica(self) -> Replica:
        return self._rng.choice(self._fleet.replicas)


def start_again(server: Server) -> None:
    """Start a server that was killed: what is left of it holds its memory for a moment."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            server.start()
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


def look_for(entries: Sequence[Entry], client: Callable[[Entry], Persistent], ledger: Ledger) -> None:
    """Read what was acknowledged; blame the service for what is not there."""
    for entry in entries[-LOOKED_AT:]:
        answer = client(entry).ask("GET", f"{entry.path}/{entry.id}")
        if answer.status != 200 or answer.json["id"] != entry.id:
            ledger.blame(f"{entry.path}/{entry.id} was acknowledged and is answered {answer.status}")


def _backends(server: Server) -> list[int]:
    pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
