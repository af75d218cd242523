"""A tracking server as the README starts it, and a relay that takes it away in the middle."""

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from running_service import until

README: Final = Path(__file__).parents[2] / "README.md"
REQUEST: Final = re.compile(rb"(?:GET|POST|PUT|PATCH|DELETE) \S+ HTTP/1\.1\r\n")


@dataclass(frozen=True)
class TrackingServer:
    """A server that was started; it may not answer yet.

    Parameters
    ----------
    process : subprocess.Popen
    port : int
    log : Path
        What it says.
    """

    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    @property
    def uri(self) -> str:
        """Where it is."""
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


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def command(port: int) -> list[str]:
    """What the README says, on another port."""
    found = re.search(r"^mlflow server .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    words = shlex.split(found[0])
    words[0] = str(Path(sys.executable).with_name("mlflow"))
    words[words.index("--port") + 1] = str(port)
    return [*words, "--workers", "1"]


@contextmanager
def tracking_server(folder: Path) -> Iterator[TrackingServer]:
    """Start a server whose files are in a folder, and go on while it starts; killed at the end."""
    port = free_port()
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    log = folder / "server.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command(port),
            cwd=folder,
            env={**os.environ, **quiet},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield TrackingServer(process, port, log)
    finally:
        kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program that was started and the server that is its child, in a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Relay:
    """Passes requests on to a server, as many as it is told, and then cuts every line or goes silent.

    Parameters
    ----------
    port : int
        Of the server.
    requests : int
        So many are passed on, with their answers.
    then : {'cut', 'silent'}
    listen : int
        Port to listen on; 0 takes a free one.
    """

    def __init__(
        self, port: int, *, requests: int, then: Literal["cut", "silent"] = "cut", listen: int = 0
    ) -> None:
        self.passed = 0
        self.over = threading.Event()
        self._port, self._requests, self._then = port, requests, then
        self._listener = socket.create_server(("127.0.0.1", listen))
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    @property
    def uri(self) -> str:
        """How it is called."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Relay":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._listener.close()
        self._cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.over.is_set() and self._then == "cut":
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._port))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._sockets += [client, server]
                threading.Thread(target=self._requests_of, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers_of, args=(server, client), daemon=True).start()

    def _requests_of(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                with self._lock:
                    self.passed += len(REQUEST.findall(data))
                    if self.passed > self._requests:
                        self.over.set()
                if self.over.is_set():
                    if self._then == "cut":
                        self._cut()
                        return
                    continue
                server.sendall(data)
        self._close(server)

    def _answers_of(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        self._close(client)

    def _cut(self) -> None:
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for one in sockets:
            self._close(one)

    @staticmethod
    def _close(one: socket.socket) -> None:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
