"""A service under load whose processes are killed at random instants, and its losses at the end."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from applying import Entry, Ledger, LoadSettings, Persistent, applying
from databases import Server
from fleet import Deliverer, Fleet, Replica, Site, any_of, kill
from losses import Audit, add_webhook, audit, is_settled
from outside_client import new_credentials
from running_service import SECONDS, until
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys
from service_use import select
from webhook_receiver import Receiver, receiving

SETTLED_SECONDS: Final = 180.0
"""Leases of killed processes end after 60 s."""
CLIENTS: Final = 2
CONFIGURATION: Final = "service.yaml"
OPTIONS: Final = ("--development", "--config", CONFIGURATION)
SHORT_TIMEOUT: Final = "scoring_timeout: 15000\n"
"""Microseconds: some verifications are answered as PENDING and finished later, by any process that is left."""
CHECKED: Final = 20
"""Of what was acknowledged since the kill before, so many resources are read after each kill."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A service, its clients with their webhooks, and the load on it; `credentials` are headers."""

    site: Site
    keyring: Keyring
    fleet: Fleet
    receiver: Receiver
    credentials: Sequence[Mapping[str, str]]

    @contextmanager
    def applying(self, *, seed: int, settings: LoadSettings | None = None) -> Iterator[Ledger]:
        """Send load until the context ends."""
        with applying(self.fleet.ports, self.credentials, seed=seed, settings=settings) as ledger:
            yield ledger

    def client(self, headers: Mapping[str, str], ledger: Ledger) -> Persistent:
        """One of the clients."""
        return Persistent(self.fleet.ports, headers, ledger, random.Random(0))

    def settle(self, *, leases: bool = True) -> None:
        """Wait until nothing is pending; wait for `leases` too, or end them."""
        end = time.monotonic() + SETTLED_SECONDS
        while not is_settled(self.site.database):
            if not leases:
                asyncio.run(end_leases(self.site.database))
            assert time.monotonic() < end, "something waits for ever"
            time.sleep(0.1)

    def audit(self, ledger: Ledger) -> Audit:
        """The losses."""
        return audit(self.site, self.keyring, ledger, self.receiver, self.fleet.ports)


@contextmanager
def playing(folder: Path, bundle: Path, database: str, fleet: Callable[[Site], Fleet]) -> Iterator[Scene]:
    """Start a service on a database with all tables, with clients and webhooks."""
    key = folder / "master.key"
    add_master_key(key)
    source = f"file:{key}"
    (folder / CONFIGURATION).write_text(SHORT_TIMEOUT)
    environment = {"SCORING_MODEL_MASTER_KEY": source}
    site = Site(folder=folder, bundle=bundle, database=database, environment=environment)
    with receiving() as receiver, fleet(site) as started:
        scene = Scene(
            site=site,
            keyring=load_master_keys(source),
            fleet=started,
            receiver=receiver,
            credentials=[new_credentials(folder, database) for _ in range(CLIENTS)],
        )
        for headers in scene.credentials:
            add_webhook(scene.client(headers, Ledger()), receiver)
        yield scene


def one_machine(site: Site) -> Fleet:
    """A service of one process that delivers."""
    return Fleet([Replica("serve", site, *OPTIONS)])


def one_machine_and_deliverer(site: Site) -> Fleet:
    """A service of one process that delivers, and a deliverer."""
    return Fleet([Replica("serve", site, *OPTIONS)], Deliverer(site))


def several_machines(site: Site) -> Fleet:
    """A service of two workers that deliver, one of a single process that does not, and a deliverer."""
    replicas = [
        Replica("serve-1", site, "--workers", 2, *OPTIONS),
        Replica("serve-2", site, "--no-deliver", *OPTIONS),
    ]
    return Fleet(replicas, Deliverer(site))


@dataclass(frozen=True, kw_only=True)
class Instants:
    """Seconds before a kill: after all replicas are ready, and after a start that is itself killed."""

    before: tuple[float, float] = (0.1, 1.5)
    in_start: tuple[float, float] = (0.0, 1.2)


class Killer:
    """Kills one process after another, including those of a given PostgreSQL server."""

    def __init__(self, fleet: Fleet, rng: random.Random, server: Server | None, instants: Instants) -> None:
        self.kills: Counter[str] = Counter()
        self._fleet = fleet
        self._rng = rng
        self._server = server
        self._instants = instants
        self._order: list[tuple[str, Callable[[], None]]] = []

    def strike(self) -> str:
        """Kill after a while, restart what does not restart by itself, and wait until all is ready.

        Returns the kind of kill; every kind occurs once before any occurs twice.
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
            kinds.append(("deliverer", self._fleet.deliverer.restart))
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
        """Kill a replica while it starts, with the processes that exist already."""
        replica = self._any_replica()
        replica.kill_all()
        replica.begin()
        time.sleep(self._rng.uniform(*self._instants.in_start))
        replica.kill_all()
        replica.start()

    def _backend(self) -> None:
        """Kill a process of the server; the server then ends all other sessions and recovers."""
        assert self._server is not None
        pid = any_of(self._server.backends(), self._rng)
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
    """Restart a killed server: its last processes keep its shared memory for a moment."""
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


def kill_run(
    scene: Scene,
    *,
    kills: int,
    seed: int,
    load: LoadSettings | None = None,
    server: Server | None = None,
    instants: Instants | None = None,
    leases: bool = True,
    progress: Callable[[int, str, Ledger], None] = lambda *_: None,
) -> tuple[Counter[str], Audit]:
    """Kill repeatedly under load; return the kills and the losses.

    Parameters
    ----------
    server : Server, optional
        PostgreSQL server, whose processes are killed too.
    leases : bool
        See `Scene.settle`.
    progress : callable
        Called after each kill with its number, its kind, and the ledger.
    """
    killer = Killer(scene.fleet, random.Random(seed), server, instants or Instants())
    with scene.applying(seed=seed, settings=load) as ledger:
        seen = 0
        for number in range(1, kills + 1):
            name = killer.strike()
            fresh = ledger.entries[seen:]
            seen += len(fresh)
            _check_entries(scene, fresh[-CHECKED:], ledger)
            progress(number, name, ledger)
    scene.settle(leases=leases)
    return killer.kills, scene.audit(ledger)


def _check_entries(scene: Scene, entries: Sequence[Entry], ledger: Ledger) -> None:
    """Read acknowledged resources; a missing one is a fault."""
    for entry in entries:
        answer = scene.client(entry.credentials, ledger).ask("GET", f"{entry.path}/{entry.id}")
        if answer.status != 200 or answer.json["id"] != entry.id:
            ledger.faults.append(f"{entry.path}/{entry.id} was acknowledged and is answered {answer.status}")


async def end_leases(url: str) -> None:
    """End the leases of dead processes."""
    for name in ("deliveries", "verifications"):
        await select(url, f"UPDATE {name} SET leased_until = 1 WHERE leased_until > 1 RETURNING 1")
