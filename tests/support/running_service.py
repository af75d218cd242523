"""The service as separate processes, as operators start it, with helpers for tests."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

PROGRAM: Final = Path(sys.executable).with_name("scoring-model")
SECONDS: Final = 60.0


@dataclass(frozen=True)
class Running:
    """A running service; `log` is its standard error."""

    process: "subprocess.Popen[str]"
    url: str
    log: Path

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send one request; status and JSON of the answer."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data=data, method=method, headers=dict(headers or {}))
        if data is not None:
            asked.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)

    def workers(self) -> list[int]:
        """Its child processes."""
        return children(self.process.pid)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it with SIGTERM; return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=SECONDS)


@contextmanager
def running(
    folder: Path, *arguments: object, environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """Start `scoring-model serve` on a free port and wait until it answers; kill it at the end if it still runs."""
    log = folder / "serve.log"
    with log.open("a", encoding="utf-8") as errors:
        process = start(folder, *arguments, environment=environment, errors=errors)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), log.read_text()
        yield Running(process, url, log)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def start(
    folder: Path,
    *arguments: object,
    environment: Mapping[str, str] | None = None,
    errors: IO[str] | int = subprocess.PIPE,
) -> "subprocess.Popen[str]":
    """Start `scoring-model serve` on a free port, unless the arguments name one."""
    words = [str(word) for word in arguments]
    port = [] if "--port" in words else ["--port", "0"]
    return subprocess.Popen(
        [str(PROGRAM), "serve", *port, *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def children(pid: int) -> list[int]:
    """Child processes of a process, whichever of its threads started them."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended
            found += map(int, file.read_text().split())
    return found


def is_alive(pid: int) -> bool:
    """Return True if a process runs; an unreaped one (a zombie) does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.split()[0] != "Z"


def killed_with_children(pid: int) -> None:
    """Kill a process alone, and wait until all that it started have ended."""
    started = children(pid)
    os.kill(pid, signal.SIGKILL)
    assert started
    until(lambda: not any(is_alive(one) for one in started), "the end of its processes")


def until(condition: Callable[[], bool], what: str, *, pause: float = 0.02) -> None:
    """Wait until a condition holds, with a time limit for slow machines."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(pause)
