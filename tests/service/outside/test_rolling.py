"""Two services on one database behind a load balancer are restarted one after the other, and nobody notices."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from applying import RateController, applying
from balancer import Balancer
from fleet import Deliverer, Fleet, Replica, Site
from kill_run import Scene, playing
from outside_client import VERIFICATIONS, WEBHOOKS, OutsideClient, new_credentials
from running_service import until

BRISK: Final = RateController(threads=4, pause=0.005)
CREDIT: Final = 50


def two_replicas(site: Site) -> Fleet:
    """One of a single process, and one of two workers; a deliverer beside them."""
    words = ("--development", "--no-deliver", "--shutdown-notice", "2s")
    replicas = [Replica("serve-1", site, *words), Replica("serve-2", site, "--workers", 2, *words)]
    return Fleet(replicas, Deliverer(site))


@pytest.fixture
def scene(sealed: Path, tmp_path: Path, postgres_url: str) -> Iterator[Scene]:
    """Both, on one database."""
    with playing(tmp_path, sealed, postgres_url, two_replicas) as found:
        yield found


def restart(balancer: Balancer, replica: Replica) -> None:
    """Ask a replica to stop, of which nobody tells the balancer, and start it again."""
    assert replica.stop() == 0
    replica.start()
    until(lambda: len(balancer.ports()) == 2, "both to be ready")


def test_a_rolling_restart_under_load(scene: Scene) -> None:
    """Whatever was sent to a replica that was ready is answered by it, and nothing is lost."""
    with Balancer(scene.fleet.replicas).asking() as balancer:
        until(lambda: len(balancer.ports()) == 2, "both to be ready")
        with applying(balancer.ports, scene.credentials, seed=1, pace=BRISK) as ledger:
            for replica in scene.fleet.replicas:
                before = len(ledger.entries)
                until(lambda before=before: len(ledger.entries) > before + 50, "load")  # type: ignore[misc]
                restart(balancer, replica)
    scene.settle(leases=False)
    assert scene.audit(ledger).losses == ()
    assert ledger.repeated == 0


def test_quota_and_keys_hold_across_a_restart(scene: Scene) -> None:
    """A client can't get more by asking the other replica, or one that was restarted; its keys are known to all."""
    folder, url = scene.site.folder, scene.site.database
    credentials = new_credentials(folder, url, quota=f"{CREDIT}/86400")
    body = {"subjectId": "s", "signals": {"vpn": True}}
    key = {"Idempotency-Key": "one"}
    first = None
    spent = 0
    with Balancer(scene.fleet.replicas).asking() as balancer:
        for replica in scene.fleet.replicas:
            until(lambda: len(balancer.ports()) == 2, "both to be ready")
            for port in balancer.ports():
                answer = OutsideClient(port, credentials).ask("POST", VERIFICATIONS, body, key)
                spent += 1
                first = first or answer
                assert (answer.status, answer.body) == (201, first.body)
                assert ("idempotency-replayed" in answer.headers) == (spent > 1)
            restart(balancer, replica)
        began = time.monotonic()
        clients = [OutsideClient(port, credentials) for port in balancer.ports()]
        statuses = [clients[place % 2].ask("GET", WEBHOOKS).status for place in range(CREDIT + 20)]
    assert time.monotonic() - began < 86400 / CREDIT  # until the next token
    assert (statuses.count(200), statuses.count(429)) == (CREDIT - spent, 20 + spent)
