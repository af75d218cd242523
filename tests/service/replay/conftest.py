"""A bundle with many link keys and windows, and on either store two processes that serve it."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from databases import Databases
from identity_use import configuration_of, relaxed
from replay_clock import SharedClock
from replay_server import ServerSettings, all_served
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.store import migrate
from scoring_model.training.run import run_training

FIRST_DAY = 1_767_225_600_000_000
"""2026-01-01, microseconds since 1970-01-01 UTC."""

_LINKS = """\
    image: [imageUrls]
  windows: [24h, 30d]
"""
_MORE_LINKS = """\
    image: [imageUrls]
    mail: [signals.emailDomain, signals.ipCountry]
    subject: [subjectId]
  windows: [1h, 24h, 7d, 30d, 90d]
  cap: 100
"""


@dataclass(frozen=True)
class Served:
    """Two processes that serve one database.

    Parameters
    ----------
    database : str
        URL.
    urls : list of str
        Of the processes.
    clock : SharedClock
        Of the first process; that of the second is three seconds late.
    """

    database: str
    urls: list[str]
    clock: SharedClock


@pytest.fixture(scope="session")
def linked_bundle(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a few trees whose records are linked by six keys over windows of an hour to 90 days."""
    text = relaxed().replace(_LINKS, _MORE_LINKS).replace("rounds: 30", "rounds: 12")
    configuration = configuration_of(tmp_path_factory.mktemp("linked"), text)
    table = read_records(small, configuration.schema, labelled=True).table
    training = run_training(table, configuration, threads=1)
    return training.bundle.save(tmp_path_factory.mktemp("bundles") / "linked")


@pytest.fixture(scope="session")
def linked(linked_bundle: Path) -> Scorer:
    """A scorer of that bundle."""
    return Scorer.load(linked_bundle)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database with all tables, on either store, for all tests of this folder."""
    with ExitStack() as stack:
        if request.param == "postgresql":
            databases: Databases = request.getfixturevalue("postgres")
            yield stack.enter_context(databases.fresh())
        else:
            url = f"sqlite:///{tmp_path_factory.mktemp('replayed') / 'scoring.db'}"
            asyncio.run(migrate(url))
            yield url


@pytest.fixture(scope="session")
def served(database: str, linked_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two processes that share a clock, but for 3 s that the second one is late."""
    folder = tmp_path_factory.mktemp("servers")
    clock = SharedClock(str(folder / "clock"))
    clock.put(FIRST_DAY)
    first = ServerSettings(database=database, bundle=str(linked_bundle), clock=clock)
    second = replace(first, clock=replace(clock, behind=3_000_000))
    with all_served([first, second], folder) as urls:
        yield Served(database, urls, clock)
