"""Files that are there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a file under another name, and give it its own when all of it is on the disk.

    Parameters
    ----------
    path : Path
        Where the file shall be. What is there is replaced; its folder must exist.

    Yields
    ------
    Path
        A name in the same folder, with the same ending, where nothing is yet. The body writes the file there.

    Raises
    ------
    FileNotFoundError
        If the body wrote nothing. Whatever the body raises passes through; what it wrote is removed, and what
        was at `path` stays.
    """
    partial = path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        yield partial
        _sync(partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
