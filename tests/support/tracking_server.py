"""A tracking server as the tutorial starts it, and a relay in front of it that fails on demand."""

import contextlib
import http.client
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from running_service import free_port, until

PAGE: Final = Path(__file__).parents[2] / "docs" / "first-bundle.md"


@dataclass(frozen=True)
class TrackingServer:
    """A started server, which may not answer yet. `log` is its standard output and error."""

    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    @property
    def uri(self) -> str:
        """Its URI for clients."""
        return f"http://127.0.0.1:{self.port}"

    def await_ready(self) -> "TrackingServer":
        """Wait until it answers."""
        until(self._answers, f"an answer of the tracking server: {self.log}")
        return self

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def command(port: int) -> list[str]:
    """The command of the tutorial, on another port."""
    found = re.search(r"^mlflow server .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    words = shlex.split(found[0])
    words[0] = str(Path(sys.executable).with_name("mlflow"))
    words[words.index("--port") + 1] = str(port)
    return [*words, "--workers", "1"]


@contextmanager
def tracking_server(folder: Path) -> Iterator[TrackingServer]:
    """Start a server with its files in a folder, without waiting; kill it at the end."""
    port = free_port()
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(port),
            cwd=folder,
            env={**os.environ, **quiet},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield TrackingServer(process, port, log)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the started program and its children
        process.wait()


class Relay(ThreadingHTTPServer):
    """Forwards requests to a server up to a limit; all later requests fail.

    Parameters
    ----------
    limit : int
        Number of requests to forward and answer; may be changed.
    lost : bool
        True to forward the first request over the limit and lose only its response.
    silent : bool
        True to keep connections over the limit open without a response.
    """

    daemon_threads = True

    def __init__(self, port: int, *, limit: int, lost: bool = False, silent: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.uri = f"http://127.0.0.1:{self.server_port}"
        self.port, self.limit, self.lost, self.silent = port, limit, lost, silent
        self.over = threading.Event()
        self.closed = threading.Event()
        self.count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> "Relay":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        self.shutdown()
        self.server_close()

    def reset(self, limit: int) -> None:
        """Count from zero again."""
        self.count, self.limit = 0, limit
        self.over.clear()

    def take(self) -> int:
        """Count a request; return the excess over the limit."""
        with self._lock:
            self.count += 1
            excess = self.count - self.limit
        if excess > 0:
            self.over.set()
        return excess


class _Request(BaseHTTPRequestHandler):
    """Forward one request over a new connection."""

    server: Relay

    def forward(self) -> None:
        """Forward the request and answer it, unless the relay is over its limit."""
        excess = self.server.take()
        if excess > 0 and self.server.silent:
            self.server.closed.wait()
        if excess > (1 if self.server.lost else 0):
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        connection.request(self.command, self.path, body, dict(self.headers.items()))
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if excess > 0:
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        """Log nothing."""
