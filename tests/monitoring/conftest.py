"""A bundle of the shared training, and windows of the history that it was made on."""

from pathlib import Path

import pyarrow as pa
import pytest

from scoring_model.monitoring import Monitoring, monitor

LATER = 21_000
"""Place of the first record of the window."""


@pytest.fixture(scope="session")
def ordered(frame: pa.Table) -> pa.Table:
    """The history in the order of time."""
    return frame.sort_by("eventTime")


@pytest.fixture(scope="session")
def window(ordered: pa.Table) -> pa.Table:
    """The latest records of the history."""
    return ordered.slice(LATER)


@pytest.fixture(scope="session")
def watched(sealed: Path, window: pa.Table, ordered: pa.Table) -> Monitoring:
    """The window as the monitor sees it."""
    return monitor(sealed, window, history=ordered.slice(0, LATER), prevalence_cap=0.03)
