"""One service for all outside tests that do not change its configuration."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from outside_client import OutsideClient, new_credentials, open_service, port_of
from running_service import Running


@pytest.fixture(scope="session")
def folder(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service has its database, key and log."""
    return Path(shutil.copy(migrated, tmp_path_factory.mktemp("outside"))).parent


@pytest.fixture(scope="session")
def service(sealed: Path, folder: Path) -> Iterator[Running]:
    """A service on SQLite at its default settings."""
    with open_service(folder, sealed) as found:
        yield found


@pytest.fixture(scope="module")
def client(service: Running, folder: Path) -> OutsideClient:
    """A client with all scopes and a quota that nobody spends."""
    return OutsideClient(port_of(service), new_credentials(folder))


@pytest.fixture(scope="module")
def neighbour(service: Running, folder: Path) -> OutsideClient:
    """Another such client."""
    return OutsideClient(port_of(service), new_credentials(folder))
