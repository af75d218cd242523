"""`scoring-model serve` as operators start it, on its own core."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.cores import on_core

from running_service import Running, running

CREATE = "/scoring/v1/verifications"


@contextmanager
def serving(
    folder: Path, core: int, *words: object, bundle: Path, database: str, master_key: str
) -> Iterator[Running]:
    """Serve until the end of the context, with default settings except those given.

    Parameters
    ----------
    folder : Path
        Folder of its log, which has a line for every request.
    core : int
    *words
        Further arguments of the command.
    bundle : Path
    database, master_key : str
    """
    with on_core(core):
        started = running(
            folder, "--bundle", bundle, "--database", database, "--master-key", master_key, *words
        )
        service = started.__enter__()
    try:
        yield service
        service.stop()
    finally:
        started.__exit__(None, None, None)
