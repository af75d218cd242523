"""Law 10 from outside: processes of a service under load are killed, and nothing that it acknowledged is lost."""

import time
from pathlib import Path
from typing import Final

import pytest

from applying import LoadSettings
from databases import Databases, running_server
from fleet import Replica, Site
from kill_run import Instants, kill_run, one_machine_and_deliverer, playing, several_machines
from outside_client import DATABASE, IDENTITIES, PERSON, OutsideClient, new_credentials
from running_service import SECONDS

KILLS: Final = 4
SOON: Final = Instants(before=(0.1, 0.8), in_start=(0.0, 0.8))
CALM: Final = LoadSettings(pause=0.06, erasures=0.06)


def test_nothing_is_lost_on_one_machine(sealed: Path, tmp_path: Path, sqlite_url: str) -> None:
    """Law 10, SQLite: server, deliverer and starts are killed; all is there, once, delivered, and decided alike."""
    with playing(tmp_path, sealed, sqlite_url, one_machine_and_deliverer) as scene:
        kills, audit = kill_run(scene, kills=KILLS, seed=1, load=CALM, instants=SOON, leases=False)
    assert audit.losses == ()
    assert kills.total() == KILLS
    assert min(audit.replayed, audit.delivered, audit.erased) > 0


def test_nothing_is_lost_on_several_machines(sealed: Path, tmp_path: Path) -> None:
    """Law 10, PostgreSQL: replicas, deliverers, and the server itself are killed, and still nothing is lost."""
    with (
        running_server() as server,
        Databases(server).fresh() as url,
        playing(tmp_path, sealed, url, several_machines) as scene,
    ):
        kills, audit = kill_run(
            scene, kills=2 * KILLS, seed=1, load=CALM, server=server, instants=SOON, leases=False
        )
    assert audit.losses == ()
    assert kills["postmaster"] == kills["backend"] == kills["deliverer"] == 1
    assert min(audit.replayed, audit.delivered, audit.erased) > 0


@pytest.mark.parametrize("made", ["scoring.db.lock", "scoring.db-wal", "scoring.db.key"])
def test_a_first_start_that_was_killed(sealed: Path, tmp_path: Path, made: str) -> None:
    """Law 10: a first start that is killed when it has just begun with a file leaves nothing that stops the next."""
    replica = Replica("serve", Site(folder=tmp_path, bundle=sealed, database=DATABASE))
    end = time.monotonic() + SECONDS
    try:
        replica.begin()
        while not (tmp_path / made).exists():
            assert time.monotonic() < end, f"{made} never came"
        replica.kill_all()
        replica.start()
        assert replica.port is not None
        identity = OutsideClient(replica.port, new_credentials(tmp_path)).made(IDENTITIES, PERSON)
        assert identity["status"] == "VALIDATED"
    finally:
        replica.close()
