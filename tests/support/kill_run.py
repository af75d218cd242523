"""A service that is killed again and again under load, and what it has lost at the end."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from applying import RateController, applying
from databases import Server
from fleet import Deliverer, Fleet, Replica, Site
from killing import Instants, Killer, look_for
from ledger import Entry, Ledger
from losses import Audit, add_webhook, audit, is_settled
from outside_client import new_credentials
from persistent import Persistent
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys
from service_use import select
from webhook_receiver import Receiver, receiving

SETTLED_SECONDS: Final = 180.0
"""Leases of the dead are over after 60 s; the rest is patience."""
CLIENTS: Final = 2
CONFIGURATION: Final = "service.yaml"
OPTIONS: Final = ("--development", "--config", CONFIGURATION)
IMPATIENT: Final = "scoring_timeout: 15000\n"
"""Microseconds: some verifications are answered as PENDING and finished later, by whichever process is left."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A service, clients of it with webhooks, and the load on it.

    Parameters
    ----------
    site : Site
    keyring : Keyring
    fleet : Fleet
    receiver : Receiver
    credentials : sequence of mapping
        Headers of each client.
    """

    site: Site
    keyring: Keyring
    fleet: Fleet
    receiver: Receiver
    credentials: Sequence[Mapping[str, str]]

    @contextmanager
    def applying(self, *, seed: int, pace: RateController | None = None) -> Iterator[Ledger]:
        """Load as long as the context."""
        with applying(self.fleet.ports, self.credentials, seed=seed, pace=pace) as ledger:
            yield ledger

    def client(self, headers: Mapping[str, str], ledger: Ledger) -> Persistent:
        """One of the clients."""
        return Persistent(self.fleet.ports, headers, ledger, random.Random(0))

    def settle(self, *, leases: bool = True) -> None:
        """Wait until nothing waits; `leases` are waited for too, else they are ended."""
        end = time.monotonic() + SETTLED_SECONDS
        while not is_settled(self.site.database):
            if not leases:
                asyncio.run(_end_leases(self.site.database))
            assert time.monotonic() < end, "something waits for ever"
            time.sleep(0.5)

    def audit(self, ledger: Ledger) -> Audit:
        """What was lost."""
        return audit(self.site, self.keyring, ledger, self.receiver, self.fleet.ports)


@contextmanager
def playing(folder: Path, bundle: Path, database: str, fleet: Callable[[Site], Fleet]) -> Iterator[Scene]:
    """Set a service up.

    Parameters
    ----------
    folder : Path
    bundle : Path
    database : str
        URL of one with all tables.
    fleet : callable
        Makes it for a site.
    """
    key = folder / "master.key"
    add_master_key(key)
    source = f"file:{key}"
    (folder / CONFIGURATION).write_text(IMPATIENT)
    site = Site(
        folder=folder, bundle=bundle, database=database, environment={"SCORING_MODEL_MASTER_KEY": source}
    )
    with receiving() as receiver, fleet(site) as started:
        credentials = [new_credentials(folder, database) for _ in range(CLIENTS)]
        scene = Scene(
            site=site,
            keyring=load_master_keys(source),
            fleet=started,
            receiver=receiver,
            credentials=credentials,
        )
        for headers in credentials:
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
    return Fleet(
        [
            Replica("serve-1", site, "--workers", 2, *OPTIONS),
            Replica("serve-2", site, "--no-deliver", *OPTIONS),
        ],
        Deliverer(site),
    )


def kill_run(
    scene: Scene,
    *,
    kills: int,
    seed: int,
    server: Server | None = None,
    instants: Instants | None = None,
    leases: bool = True,
    progress: Callable[[int, str, Ledger], None] = lambda *_: None,
) -> tuple[Counter[str], Audit]:
    """Kill under load, again and again; what was killed, and what was lost.

    Parameters
    ----------
    scene : Scene
    kills : int
    seed : int
    server : Server, optional
        Of PostgreSQL, of which processes are killed too.
    instants : Instants, optional
    leases : bool
        See `Scene.settle`.
    progress : callable
        Told after each kill its number, what was killed, and the ledger.
    """
    killer = Killer(scene.fleet, random.Random(seed), server=server, instants=instants)
    with scene.applying(seed=seed) as ledger:
        seen: list[Entry] = []
        for number in range(1, kills + 1):
            name = killer.strike()
            fresh = ledger.entries[len(seen) :]
            look_for(fresh, lambda entry: scene.client(entry.credentials, ledger), ledger)
            seen += fresh
            progress(number, name, ledger)
    scene.settle(leases=leases)
    return killer.kills, scene.audit(ledger)


async def _end_leases(url: str) -> None:
    """Let the time be over that dead processes have to themselves."""
    for name in ("deliveries", "verifications"):
        await select(url, f"UPDATE {name} SET leased_until = 1 WHERE leased_until > 1 RETURNING 1")
