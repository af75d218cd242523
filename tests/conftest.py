"""One invented history and one small training on it, shared by all tests that need a real bundle."""

import asyncio
import gc
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings

from identity_use import configuration_of, relaxed, shared
from scoring_model import synthetic
from scoring_model.configuration import Configuration
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.process import freeze_gc
from scoring_model.service.store import migrate
from scoring_model.training.mlflow_runs import client_of
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.run import Training, run_training
from undrawn import pages_undrawn

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of a job that a shell put into the background
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # tests send it, to themselves and to their processes
os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # for the processes that tests start; pytest has it itself

# A busy machine fails no test: speed is measured in benchmarks.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare modules and tests, which live to the end, from garbage collection: it took up to a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        freeze_gc()


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of 24,000 records over two years, as Parquet."""
    return shared(
        tmp_path_factory, "invented.parquet", lambda path: synthetic.write(path, records=24_000, seed=7)
    )


@pytest.fixture(scope="session")
def frame(invented: Path) -> pa.Table:
    """The same history as a table."""
    return pq.read_table(invented)


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The configuration of the use."""
    return configuration_of(tmp_path_factory.mktemp("configuration"))


@pytest.fixture(scope="session")
def history(invented: Path, identity: Configuration) -> RecordTable:
    """The same history as parsed records."""
    return read_records(invented, identity.schema, labelled=True).table


@pytest.fixture(scope="session")
def prepared(history: RecordTable, identity: Configuration) -> Prepared:
    """The history as the model sees it."""
    return prepare(history, identity)


@pytest.fixture(scope="session")
def training(history: RecordTable, identity: Configuration) -> Training:
    """A training on the history."""
    return run_training(history, identity, threads=1)


@pytest.fixture(scope="session")
def sealed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of its bundle. Never to be changed: copy it."""
    return shared(
        tmp_path_factory, "identity", lambda path: request.getfixturevalue("training").bundle.save(path)
    )


@pytest.fixture(scope="session")
def scorer(sealed: Path) -> Scorer:
    """A scorer of the bundle."""
    return Scorer.load(sealed)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of 5,000 records over one year, for further trainings (with `small_use`)."""
    return shared(
        tmp_path_factory,
        "small.parquet",
        lambda path: synthetic.write(path, records=5_000, seed=7, months=12),
    )


@pytest.fixture(scope="session")
def small_use(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The use, its bounds wide enough for the small history."""
    return configuration_of(tmp_path_factory.mktemp("relaxed"), relaxed())


@pytest.fixture(scope="session")
def small_table(small: Path, small_use: Configuration) -> RecordTable:
    """The small history as parsed records."""
    return read_records(small, small_use.schema, labelled=True).table


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Pages of evaluations stay empty, in a test that reads none."""
    with pages_undrawn():
        yield


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with all tables: creating them takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "scoring.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def tracking_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Make a folder for runs with an empty database: MLflow takes seconds to create one, and a copy none."""
    empty = shared(
        tmp_path_factory, "mlflow.db", lambda path: client_of(f"sqlite:///{path}").search_experiments()
    )

    def make(path: Path) -> Path:
        path.mkdir()
        shutil.copy(empty, path)
        return path

    return make
