"""Law 10 from outside: processes of a service under load are killed, and nothing that it acknowledged is lost."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

import pytest

from applying import LoadSettings
from databases import Databases, running_server
from fleet import Replica, Site
from kill_run import Instants, kill_run, one_machine_and_deliverer, playing, several_machines
from outside_client import DATABASE, IDENTITIES, PERSON, OutsideClient, new_credentials
from running_service import SECONDS
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.core.rows import RuleSetRow, VerificationRow
from scoring_model.service.store import open_store
from service_use import table

KILLS: Final = 4
SOON: Final = Instants(before=(0.1, 0.8), in_start=(0.0, 0.8))
CALM: Final = LoadSettings(pause=0.06, erasures=0.06)


@contextmanager
def operating(url: str, bundle: Path) -> Iterator[list[RuleSetRow]]:
    """An operator activates one file of rules after the other until the context ends; yields what was activated."""
    ended, done = Event(), list[RuleSetRow]()
    files = [
        {"rules": [{"code": code, "title": code, "when": {"score": when}, "then": then}]}
        for code, when, then in (("LOW", {"below": 300}, "STEPPED_UP"), ("HIGH", {"at_least": 300}, "PASSED"))
    ]

    async def operate() -> None:
        store, scorers = await open_store(url), [Scorer.load(bundle)]
        try:
            while not ended.wait(0.05):
                file = files[len(done) % 2]
                done.append(await activate_rules(store, file, scorers, by="ops", now=time.time_ns() // 1000))
        finally:
            await store.close()

    with ThreadPoolExecutor(1) as pool:
        operator = pool.submit(asyncio.run, operate())
        try:
            yield done
        finally:
            ended.set()
            operator.result()


def test_nothing_is_lost_on_one_machine(sealed: Path, tmp_path: Path, sqlite_url: str) -> None:
    """Law 10, SQLite: server, deliverer and starts are killed; all is there, once, delivered, and decided alike.

    Meanwhile rules are activated: each activation is there, and verdicts are those of the old rules or of the new.
    """
    with (
        playing(tmp_path, sealed, sqlite_url, one_machine_and_deliverer) as scene,
        operating(sqlite_url, sealed) as activated,
    ):
        kills, audit = kill_run(scene, kills=KILLS, seed=1, load=CALM, instants=SOON, leases=False)
    assert audit.losses == ()
    assert kills.total() == KILLS
    assert min(audit.replayed, audit.delivered, audit.erased) > 0
    assert sorted(asyncio.run(table(sqlite_url, RuleSetRow))) == activated
    decided = [
        (row.rules, row.score or 0, row.decided_by_code)
        for row in asyncio.run(table(sqlite_url, VerificationRow))
        if row.rules is not None
    ]
    assert len({number for number, _, _ in decided}) > KILLS
    for number, score, code in decided:
        assert code == (
            ("LOW" if score < 300 else None) if number % 2 else ("HIGH" if score >= 300 else None)
        )


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
            time.sleep(0.001)
        replica.kill_all()
        replica.start()
        assert replica.port is not None
        identity = OutsideClient(replica.port, new_credentials(tmp_path)).made(IDENTITIES, PERSON)
        assert identity["status"] == "VALIDATED"
    finally:
        replica.close()
