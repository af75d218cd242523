"""Locks of the kernel on files and folders. One ends with the process that holds it, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, create: bool = False, busy: Exception | None = None) -> Iterator[None]:
    """Hold a lock until the end of the block.

    Parameters
    ----------
    path : Path
        A folder or a file.
    create : bool
        Whether to create the file, with mode 0600, if there is none.
    busy : Exception, optional
        Raised if another process holds the lock. None: wait for it.

    Raises
    ------
    OSError
        If the path can't be opened.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT if create else os.O_RDONLY, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise busy or error from None
        yield
    finally:
        os.close(handle)
