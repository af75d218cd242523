"""One process of a service with a test clock: a program, and its launcher.

The program takes its settings as JSON and the descriptor of its socket, prints `ready`, and answers until SIGTERM.
"""

import json
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Final

import uvloop

from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.server import run
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.service import open_service
from scoring_model.service.store import open_store

MASTERS = Keyring(KeyEncryptionKey(bytes(range(32))))
PATIENCE = 60.0  # real seconds
_INSTANT: Final = struct.Struct("<q")


def reference(at: int, name: str) -> str:
    """The idempotency key of a request whose event gets an instant of a file."""
    return f"{at} {name}"


@dataclass(frozen=True)
class SharedClock:
    """A clock that several processes read and that a test moves, or that takes an instant from a request.

    Its speed does not depend on the load of the machine, and many verdicts of one instant must be ordered.

    Parameters
    ----------
    path : str
        A file of 8 bytes, which `put` creates.
    behind : int
        Microseconds by which this process is late.
    """

    path: str
    behind: int = 0

    @cached_property
    def _memory(self) -> mmap:
        with Path(self.path).open("r+b") as file:
            return mmap(file.fileno(), _INSTANT.size)

    def now(self) -> int:
        """Its current instant."""
        return int(_INSTANT.unpack(self._memory[: _INSTANT.size])[0]) - self.behind

    def event(self, reference: str | None) -> int:
        """The instant named by the request, else the present."""
        return self.now() if reference is None else int(reference.partition(" ")[0])

    def put(self, at: int) -> None:
        """Set it to microseconds since 1970-01-01 UTC."""
        path = Path(self.path)
        if not path.exists():
            path.write_bytes(bytes(_INSTANT.size))
        # One copy. `pack_into` first writes zeros, and another process would see 1970 for a moment.
        self._memory[: _INSTANT.size] = _INSTANT.pack(at + self.behind)

    def advance(self, by: int) -> None:
        """Advance it by some microseconds."""
        self.put(self.now() + by)


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of a process: a database with all tables, a bundle, and a clock."""

    database: str
    bundle: str
    clock: SharedClock


async def _serve(settings: ServerSettings, listener: socket.socket) -> None:
    store = await open_store(settings.database, seconds=PATIENCE)
    service = await open_service(
        store,
        bundle=Path(settings.bundle),
        keyring=lambda: MASTERS,
        clock=settings.clock,
        limits=QueueLimits(scoring_seconds=PATIENCE, commit_seconds=PATIENCE),
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
    """Run a process and yield its URL. It must exit with 0 and an empty log."""
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
    """Run several processes and yield their URLs."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(served(one, folder / f"server-{number}.log"))
            for number, one in enumerate(settings)
        ]


if __name__ == "__main__":
    uvloop.run(_serve(_settings(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
