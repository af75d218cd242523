"""Processes of one service that are killed and restarted, as by an operator's process manager."""

import os
import random
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Final

from outside_client import OutsideClient
from running_service import PROGRAM, SECONDS, children, is_alive, start, until


@dataclass(frozen=True, kw_only=True)
class Site:
    """Place of a service: `folder` has the logs, the shelf of bundles and a SQLite database."""

    folder: Path
    bundle: Path
    database: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def shelf(self) -> Path:
        """Folder of every bundle that ever served."""
        return self.folder / "shelf"


class Replica:
    """One `scoring-model serve` with all its workers and the options `words`; `name` is the name of its log."""

    def __init__(self, name: str, site: Site, *words: object) -> None:
        self.name = name
        self.port: int | None = None
        self._site = site
        self._words = words
        self._process: subprocess.Popen[str] | None = None
        self._seen: set[int] = set()

    def begin(self) -> None:
        """Start it without waiting."""
        site = self._site
        words = ("--bundle", site.bundle, "--bundles", site.shelf, "--database", site.database)
        with (site.folder / f"{self.name}.log").open("a", encoding="utf-8") as errors:
            self._process = start(
                site.folder, *words, *self._words, environment=site.environment, errors=errors
            )
        self._seen.add(self._process.pid)

    def await_answers(self) -> None:
        """Wait until it answers."""
        process = self._running()
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), (self._site.folder / f"{self.name}.log").read_text()
        self.port = int(url.rpartition(":")[2])
        self.workers()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.begin()
        self.await_answers()

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._running().pid

    def workers(self) -> list[int]:
        """Children of its first process."""
        found = children(self.pid)
        self._seen.update(found)
        return found

    def kill(self) -> None:
        """Kill its first process; workers end by themselves."""
        self.workers()
        self._reap(signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill all of its processes."""
        workers = self.workers()
        self._reap(signal.SIGKILL)
        for pid in workers:
            kill(pid)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.workers()
        return self._reap(signal.SIGTERM)

    def is_ready(self) -> bool:
        """Return True if it reports that it is ready."""
        port = self.port
        if port is None:
            return False
        try:
            return OutsideClient(port).ask("GET", "/health/ready").status == 200
        except (OSError, HTTPException):
            return False

    def close(self) -> None:
        """End its remaining processes, and check that none is left."""
        if self._process is not None:
            self.kill()
        try:
            until(lambda: not any(map(is_alive, self._seen)), f"the end of all processes of {self.name}")
        finally:
            for pid in filter(is_alive, self._seen):
                kill(pid)

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            raise RuntimeError(f"{self.name} does not run")
        return self._process

    def _reap(self, number: signal.Signals) -> int:
        process, self._process = self._running(), None
        process.send_signal(number)
        code = process.wait(SECONDS)
        self.port = None
        if process.stdout is not None:
            process.stdout.close()
        return code


class Deliverer:
    """One `scoring-model deliver`."""

    name: Final = "deliverer"

    def __init__(self, site: Site) -> None:
        self._site = site
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        site = self._site
        with (site.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "deliver", "--database", site.database, "--development"],
                cwd=site.folder,
                env={**os.environ, **site.environment},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()

    close = kill

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()


class Fleet:
    """All processes of one service; a deliverer runs beside those replicas that deliver themselves."""

    def __init__(self, replicas: Sequence[Replica], deliverer: Deliverer | None = None) -> None:
        self.replicas = replicas
        self.deliverer = deliverer

    def __enter__(self) -> "Fleet":
        for replica in self.replicas:
            replica.begin()
        if self.deliverer is not None:
            self.deliverer.start()
        for replica in self.replicas:
            replica.await_answers()
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas:
            replica.close()
        if self.deliverer is not None:
            self.deliverer.close()

    def ports(self) -> list[int]:
        """Ports that are believed to answer."""
        return [replica.port for replica in self.replicas if replica.port is not None]

    def await_ready(self) -> None:
        """Wait until every replica is ready."""
        for replica in self.replicas:
            until(replica.is_ready, f"{replica.name} to be ready")


def kill(pid: int) -> None:
    """Kill a process that may have ended already."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def any_of(pids: Sequence[int], rng: random.Random) -> int | None:
    """One of several processes, or None."""
    return rng.choice(pids) if pids else None
