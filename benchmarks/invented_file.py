"""Invented records for benchmarks, cached in the directory of temporary files."""

import tempfile
from pathlib import Path
from typing import Final

import pyarrow.parquet

from scoring_model import synthetic

UNSEEN: Final = 8
"""Seed of the records that judge searches: our starting points were chosen on other records."""


def invented_file(records: int, *, seed: int = 7) -> Path:
    """File of the given number of records, created if missing."""
    path = _folder() / f"invented-{records}-{seed}.parquet"
    if not path.exists():
        synthetic.write(path, records=records, seed=seed)
    return path


def payments_file(records: int) -> Path:
    """File of the given number of payments, created if missing."""
    # Imported here: it loads the libraries of training.
    from benchmarks.payments import many_payments

    path = _folder() / f"payments-{records}.parquet"
    if not path.exists():
        pyarrow.parquet.write_table(many_payments(records), path)
    return path


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "scoring-model-benchmark"
    folder.mkdir(exist_ok=True)
    return folder
