"""A bundle with many link keys and windows, served by one process on SQLite and by two on PostgreSQL."""

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from databases import Databases
from identity_use import shared, train_bundle
from linked_use import linked
from replay_server import ServerSettings, SharedClock, all_served
from scoring_model.scorer import Scorer

FIRST_DAY = 1_767_225_600_000_000
"""2026-01-01, microseconds since 1970-01-01 UTC."""


@dataclass(frozen=True)
class Served:
    """The processes that serve one database, and the clock of the first; that of a second one is three seconds late."""

    database: str
    urls: list[str]
    clock: SharedClock


@pytest.fixture(scope="session")
def linked_bundle(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a few trees whose records are linked by six keys over windows of an hour to 90 days."""
    return shared(tmp_path_factory, "linked", lambda out: train_bundle(small, linked(summing=False), out))


@pytest.fixture(scope="session", name="linked")
def linked_scorer(linked_bundle: Path) -> Scorer:
    """A scorer of that bundle."""
    return Scorer.load(linked_bundle)


@pytest.fixture(scope="session")
def challenger(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another bundle with the same link keys and amounts, over other windows."""
    text = linked(summing=True).replace("windows: [1h, 24h, 7d, 30d, 90d]", "windows: [2h, 3d, 90d]")
    text = text.replace("rounds: 12", "rounds: 4")
    return shared(tmp_path_factory, "challenger", lambda out: train_bundle(small, text, out))


@contextmanager
def fresh_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a new database with all tables, on the store that a fixture is parametrised with."""
    if request.param == "postgresql":
        databases: Databases = request.getfixturevalue("postgres")
        with databases.fresh() as url:
            yield url
    else:
        folder = request.getfixturevalue("tmp_path_factory").mktemp("replayed")
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('migrated'), folder)}"


@contextmanager
def processes(database: str, bundle: Path, folder: Path) -> Iterator[Served]:
    """One process on SQLite, two on PostgreSQL, which share a clock but for 3 s that the second one is late."""
    clock = SharedClock(str(folder / "clock"))
    clock.put(FIRST_DAY)
    settings = [ServerSettings(database=database, bundle=str(bundle), clock=clock)]
    if database.startswith("postgresql"):
        settings.append(replace(settings[0], clock=replace(clock, behind=3_000_000)))
    with all_served(settings, folder) as urls:
        yield Served(database, urls, clock)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database on either store, for all tests of this folder that sum nothing."""
    with fresh_database(request) as url:
        yield url


@pytest.fixture(scope="session")
def served(database: str, linked_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that sums nothing."""
    with processes(database, linked_bundle, tmp_path_factory.mktemp("servers")) as served:
        yield served


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def summed(
    request: pytest.FixtureRequest, summing: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A service that sums an amount, on either store."""
    with (
        fresh_database(request) as url,
        processes(url, summing, tmp_path_factory.mktemp("summing-servers")) as served,
    ):
        yield served


@pytest.fixture
def master_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The master key of the tests, for commands."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    monkeypatch.setenv("SCORING_MODEL_MASTER_KEY", "env:MASTERS")
