"""Atomic writes of files."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path, *, private: bool = False, synced: bool = True) -> Iterator[Path]:
    """Write a file under a temporary name and rename it once it is on the disk.

    Parameters
    ----------
    path : Path
        The file to write. An existing one is replaced; its folder must exist.
    private : bool
        Whether the file gets mode 0600, since it names values of persons. The body then finds it empty.
    synced : bool
        Whether the file survives a crash of the machine; a file that would be computed again need not.

    Yields
    ------
    Path
        A temporary path in the same folder, with the same extension. The body writes the file there.

    Raises
    ------
    FileNotFoundError
        If the body wrote nothing. After any error the temporary file is removed and `path` is unchanged.
    OSError
        That of the body, such as a full disk; it names `path` where it names no other file.
    """
    partial = path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        if private:
            partial.touch(mode=0o600, exist_ok=False)
        yield partial
        if synced:
            sync(partial)
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
    if synced:
        sync(path.parent)


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all; text as UTF-8."""
    with atomic_file(path, private=private) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, document: object) -> None:
    """Write a JSON document for its owner alone, whole or not at all."""
    write_whole(path, json_text(document), private=True)


def json_text(document: object) -> str:
    """Return a JSON document for files that people read too."""
    return json.dumps(document, indent=2) + "\n"


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk: syncing a file does not sync its name."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
