"""Atomic, durable creation and replacement of files and directories."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from scoring_model.records.atomic import sync

AT_FDCWD = -100
RENAME_EXCHANGE = 2
NO_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def write_synced(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Create a file that must not exist yet and return once its bytes are on the disk.

    Parameters
    ----------
    mode : int
        Permissions, from which the process's umask is taken.

    Raises
    ------
    FileExistsError
        If `path` exists.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def sibling(path: Path) -> Path:
    """Return a fresh hidden name in the same directory, and so on the same file system, as `path`."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")


def create_whole(path: Path, data: bytes, *, mode: int) -> None:
    """Create a file whose name appears only once all its bytes are on the disk.

    Raises
    ------
    FileExistsError
        If `path` exists; it is not changed.
    """
    partial = sibling(path)
    try:
        write_synced(partial, data, mode=mode)
        os.link(partial, path)  # unlike a rename, a link never replaces
    finally:
        partial.unlink(missing_ok=True)
    sync(path.parent)


def replace_directory(new: Path, standing: Path) -> Path:
    """Replace directory `standing` by `new` and return the new path of the old one.

    On Linux the two swap names atomically (renameat2(2), RENAME_EXCHANGE), so that the path always exists.
    A file system without this call gets two renames: if the second fails the first is undone, and only a
    crash between them leaves the old directory under its sibling name.
    """
    if _exchange(new, standing):
        return new
    aside = sibling(standing)
    os.rename(standing, aside)
    try:
        os.rename(new, standing)
    except BaseException:
        os.rename(aside, standing)
        raise
    return aside


def _exchange(one: Path, other: Path) -> bool:
    """Swap two paths atomically; return False if the system does not support it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # a C library older than the call
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def remove_directory(path: Path, names: Iterable[str]) -> None:
    """Remove the named files, and the directory if it is then empty."""
    with contextlib.suppress(OSError):
        for name in names:
            (path / name).unlink(missing_ok=True)
        path.rmdir()
