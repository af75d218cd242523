"""What a load balancer knows of several replicas: which of them said a moment ago that they are ready."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Final

from fleet import Replica

EVERY_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 1.0
"""After which a replica that does not answer is not ready."""


class Balancer:
    """Asks every replica again and again; new connections go to those that are ready.

    Parameters
    ----------
    replicas : sequence of Replica
    """

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self._replicas = replicas
        self._ready: dict[str, int] = {}
        self._stop = threading.Event()

    def ports(self) -> list[int]:
        """Where those answer that were ready when they were last asked."""
        return list(self._ready.copy().values())

    @contextmanager
    def asking(self) -> Iterator["Balancer"]:
        """Ask as long as the context."""
        threads = [threading.Thread(target=self._ask, args=(replica,)) for replica in self._replicas]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _ask(self, replica: Replica) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            port = replica.port
            if port is not None and _is_ready(port):
                self._ready[replica.name] = port
            else:
                self._ready.pop(replica.name, None)


def _is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    return False
