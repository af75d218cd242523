"""Two services on one database behind a load balancer are restarted in turn without a failed request."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from applying import LoadSettings, applying
from fleet import Deliverer, Fleet, Replica, Site
from kill_run import Scene, playing
from running_service import until

BRISK: Final = LoadSettings(threads=2, pause=0.04)
CHECK_SECONDS: Final = 0.1
"""Between two health checks of the load balancer, a twentieth of the notice that it gets."""


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


@contextmanager
def balanced(replicas: Sequence[Replica]) -> Iterator[Callable[[], list[int]]]:
    """Check the health of every replica as a load balancer does; gives the ports of those that were ready."""
    ready: dict[str, int] = {}
    stop = threading.Event()

    def check(replica: Replica) -> None:
        while not stop.wait(CHECK_SECONDS):
            port = replica.port
            if port is not None and replica.is_ready():
                ready[replica.name] = port
            else:
                ready.pop(replica.name, None)

    threads = [threading.Thread(target=check, args=(replica,)) for replica in replicas]
    for thread in threads:
        thread.start()
    try:
        yield lambda: list(ready.copy().values())
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def restart(replica: Replica) -> None:
    """Stop a replica without telling the balancer, and start it again."""
    assert replica.stop() == 0
    replica.start()


def test_a_rolling_restart_under_load(scene: Scene) -> None:
    """Whatever was sent to a replica that was ready is answered by it, and nothing is lost."""
    with balanced(scene.fleet.replicas) as ports:
        until(lambda: len(ports()) == 2, "both to be ready")
        with applying(ports, scene.credentials, seed=1, settings=BRISK) as ledger:
            for replica in scene.fleet.replicas:
                before = len(ledger.entries)
                until(lambda before=before: len(ledger.entries) > before + 20, "load")  # type: ignore[misc]
                restart(replica)
                until(lambda: len(ports()) == 2, "both to be ready")
    scene.settle(leases=False)
    assert scene.audit(ledger).losses == ()
    assert ledger.retries == []
    for replica in scene.fleet.replicas:
        replica.kill_all()  # without the workers, which otherwise keep to their notice
