"""Files on local disks and in object stores, named by a path or URI."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any


def file_system(location: str) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a path or URI, and the path in it.

    Raises
    ------
    pyarrow.ArrowInvalid
        If no file system of pyarrow has this scheme.
    """
    import pyarrow.fs  # imported here, since few files need it

    if "://" in location:
        system, path = pyarrow.fs.FileSystem.from_uri(location)
        return system, path
    return pyarrow.fs.LocalFileSystem(), location


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file.

    Parameters
    ----------
    location : str
        A path or URI.
    partitions : tuple of (str, str or None)
        Columns that the names of its folders hold (``day=2026-01-31``), with their values.
    """

    location: str
    partitions: tuple[tuple[str, str | None], ...] = ()

    @property
    def name(self) -> str:
        """The last part of the path, without options of a URI."""
        return self._path.name

    @property
    def suffix(self) -> str:
        """The last extension."""
        return self._path.suffix

    @property
    def suffixes(self) -> list[str]:
        """All extensions."""
        return self._path.suffixes

    @property
    def _path(self) -> PurePosixPath:
        is_uri = "://" in self.location
        return PurePosixPath(self.location.partition("?")[0] if is_uri else self.location)

    def open(self) -> Any:
        """Open it for reading at any position."""
        system, path = file_system(self.location)
        return system.open_input_file(path)
