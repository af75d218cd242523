"""Invented records for benchmarks, kept under the directory of temporary files for the next time."""

import tempfile
from pathlib import Path
from typing import Final

from scoring_model import synthetic

UNSEEN: Final = 8
"""Seed of records on which searches are judged: the points that ours starts from were chosen on others."""


def invented_file(records: int, *, seed: int = 7) -> Path:
    """The file of so many records, made where it is not yet."""
    folder = Path(tempfile.gettempdir()) / "scoring-model-benchmark"
    folder.mkdir(exist_ok=True)
    path = folder / f"invented-{records}-{seed}.parquet"
    if not path.exists():
        synthetic.write(path, records=records, seed=seed)
    return path
