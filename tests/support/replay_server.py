"""One process of a service with a clock of the tests: a program, and what starts it.

The program takes its settings as JSON and the descriptor of its socket, says `ready`, and answers until SIGTERM.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop

from replay_clock import SharedClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.server import run
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.scoring.commit_queue import QueueLimits
from scoring_model.service.service import open_service
from scoring_model.service.store import open_store

MASTERS = Keyring(KeyEncryptionKey(bytes(range(32))))
PATIENCE = 60.0  # real seconds


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a process is told.

    Parameters
    ----------
    database : str
        URL of a database with all tables.
    bundle : str
        Path.
    clock : SharedClock
    scoring_seconds : float
        After which a verification that waits is PENDING.
    """

    database: str
    bundle: str
    clock: SharedClock
    scoring_seconds: float = PATIENCE


async def _serve(settings: ServerSettings, listener: socket.socket) -> None:
    store = await open_store(settings.database, seconds=PATIENCE)
    service = await open_service(
        store,
        bundle=Path(settings.bundle),
        keyring=lambda: MASTERS,
        clock=settings.clock,
        limits=QueueLimits(scoring_seconds=settings.scoring_seconds, commit_seconds=PATIENCE),
    )

    async def close() -> None:
        await service.close()
        await store.close()

    http = HttpSettings(access_log=False)
    app = create_app(service, http, clock=settings.clock)
    print("ready", flush=True)
    await run(app, http, sockets=[listener], close=close, grace_seconds=PATIENCE)


def _settings(text: str) -> ServerSettings:
    plain = json.loads(text)
    return ServerSettings(**{**plain, "clock": SharedClock(**plain["clock"])})


@contextmanager
def served(settings: ServerSettings, log: Path) -> Iterator[str]:
    """Run a process; gives its URL. It must end well and have had nothing to complain about."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener, log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(asdict(settings)), str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        port = listener.getsockname()[1]
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n", log.read_text()
        try:
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
    assert log.read_text() == ""


@contextmanager
def all_served(settings: Sequence[ServerSettings], folder: Path) -> Iterator[list[str]]:
    """Run several processes; gives their URLs."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(served(one, folder / f"server-{number}.log"))
            for number, one in enumerate(settings)
        ]


if __name__ == "__main__":
    uvloop.run(_serve(_settings(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
