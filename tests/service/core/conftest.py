"""The bundle of the core tests, under which signals alone get different outcomes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from identity_use import shared
from scoring_model.decision.control import Control, ControlArm
from scoring_model.scorer import Scorer
from scoring_model.training.run import Training
from service_use import World, deciding_about_signals, opened, save_under


@pytest.fixture(scope="session")
def sealed(sealed: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bundle under which signals alone reach every outcome. Do not change it: copy it."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        save_under(training.bundle, out, deciding_about_signals(sealed))

    return shared(tmp_path_factory, "core", make)


@pytest.fixture
async def world(store_url: str, sealed: Path) -> AsyncIterator[World]:
    """An open service, on either database."""
    async with opened(store_url, sealed) as world:
        yield world


@pytest.fixture(scope="session")
def controlling(
    sealed: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The bundle of the core tests with a control group that nearly all pass in."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        arm = ControlArm(share=0.999, most_per_day=1_000)
        policy = Scorer.load(sealed).rules.policy
        save_under(training.bundle, out, replace(policy, control=Control(failed=arm, stepped_up=arm)))

    return shared(tmp_path_factory, "controlling", make)
