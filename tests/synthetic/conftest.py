"""One synthetic history for all tests that only read it."""

import pyarrow as pa
import pytest

from scoring_model.synthetic import generate

RECORDS = 120_000


@pytest.fixture(scope="session")
def history() -> pa.Table:
    """Generate a history of 120,000 records with their truth columns."""
    return pa.Table.from_batches(list(generate(records=RECORDS, seed=11, truth=True)))
