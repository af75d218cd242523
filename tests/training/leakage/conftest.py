from pathlib import Path

import pytest

from identity_use import configuration_of, relaxed
from scoring_model.configuration import Configuration
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records


@pytest.fixture(scope="module")
def small_use(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The use, its bounds wide enough for a small history."""
    return configuration_of(tmp_path_factory.mktemp("relaxed"), relaxed())


@pytest.fixture(scope="module")
def small_table(small: Path, small_use: Configuration) -> RecordTable:
    """The small history as parsed records."""
    return read_records(small, small_use.schema, labelled=True).table
