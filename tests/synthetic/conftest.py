"""One invented history for all tests that only look at it."""

import pyarrow as pa
import pytest

from scoring_model.synthetic import generate

RECORDS = 120_000


@pytest.fixture(scope="session")
def history() -> pa.Table:
    """Make a history of 120,000 records with what is true of them."""
    return pa.Table.from_batches(list(generate(records=RECORDS, seed=11, truth=True)))
