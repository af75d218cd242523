"""Atomic writes of files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Write a file under a temporary name and rename it once it is on the disk.

    Parameters
    ----------
    path : Path
        The file to write. An existing one is replaced; its folder must exist.
    private : bool
        Whether the file gets mode 0600, since it names values of persons. The body then finds it empty.

    Yields
    ------
    Path
        A temporary path in the same folder, with the same extension. The body writes the file there.

    Raises
    ------
    FileNotFoundError
        If the body wrote nothing. After any error the temporary file is removed and `path` is unchanged.
    """
    partial = path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        if private:
            partial.touch(mode=0o600, exist_ok=False)
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
