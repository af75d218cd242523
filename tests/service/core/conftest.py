"""The bundle of the service's core: one that also decides differently about signals alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from scoring_model.training.run import Training
from service_use import World, deciding_about_signals, opened, save_under


@pytest.fixture(scope="session")
def sealed(sealed: Path, training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bundle under which signals alone come to every outcome. Never to be changed: copy it."""
    policy = deciding_about_signals(sealed)
    return save_under(training.bundle, tmp_path_factory.mktemp("core") / "bundle", policy)


@pytest.fixture
async def world(store_url: str, sealed: Path) -> AsyncIterator[World]:
    """An open service, on either database."""
    async with opened(store_url, sealed) as world:
        yield world
