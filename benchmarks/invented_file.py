"""Invented records for benchmarks, cached in the directory of temporary files."""

import tempfile
from pathlib import Path
from typing import Final

from scoring_model import synthetic

UNSEEN: Final = 8
"""Seed of the records that judge searches: our starting points were chosen on other records."""


def invented_file(records: int, *, seed: int = 7) -> Path:
    """File of the given number of records, created if missing."""
    folder = Path(tempfile.gettempdir()) / "scoring-model-benchmark"
    folder.mkdir(exist_ok=True)
    path = folder / f"invented-{records}-{seed}.parquet"
    if not path.exists():
        synthetic.write(path, records=records, seed=seed)
    return path
