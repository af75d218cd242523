"""Lists the files of a dataset: paths, patterns, folders and URIs."""

import glob
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from pyarrow.fs import FileSelector, FileType

from scoring_model.records.files import is_of_a_folder
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.stored import StoredFile, file_system

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


def list_files(sources: Sequence[str]) -> tuple[StoredFile, ...]:
    """List the files of sources that are read as one.

    Parameters
    ----------
    sources : sequence of str
        Paths or URIs of files and folders, or patterns, where ``**`` stands for any folders. A folder contributes the
        records files in it and below, except under names that begin with a dot or an underscore. Folders named
        ``column=value`` are columns (hive partitions). Files of a folder or pattern are sorted by path.

    Raises
    ------
    UnreadableSource
        If a source has no file, or a file is given twice.
    """
    files = tuple(file for source in sources for file in _files_of(source))
    if not files:
        raise UnreadableSource("no file is given")
    if len({file.location for file in files}) < len(files):
        raise UnreadableSource("a file is given twice")
    return files


def _files_of(source: str) -> Iterator[StoredFile]:
    address, mark, options = source.partition("?") if "://" in source else (source, "", "")
    folder, pattern = _split_pattern(address)
    system, root = file_system(folder + mark + options)
    found = system.get_file_info(root)
    if found.type == FileType.File and not pattern:
        yield StoredFile(source)
        return
    if found.type != FileType.Directory:
        raise UnreadableSource(f"{source}: there is no such file or folder")
    paths = [
        PurePosixPath(info.path).relative_to(PurePosixPath(root.rstrip("/") or "/"))
        for info in system.get_file_info(FileSelector(root, recursive=True))
        if info.type == FileType.File
    ]
    chosen = [path for path in paths if (_matches(path.parts, pattern) if pattern else _is_records(path))]
    if not chosen:
        raise UnreadableSource(f"{source}: no file of records is there")
    for path in sorted(chosen):
        yield StoredFile(f"{folder.rstrip('/')}/{path}{mark}{options}", tuple(_partitions(path)))


def _split_pattern(address: str) -> tuple[str, tuple[str, ...]]:
    """Split an address into the folder before the first part with a wildcard, and the parts from it on."""
    if not glob.has_magic(address):
        return address, ()
    parts = address.split("/")
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    folder = "/".join(parts[:first]) + "/" if first else "."
    return folder, tuple(parts[first:])


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[place:], pattern[1:]) for place in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _is_records(path: PurePosixPath) -> bool:
    return is_of_a_folder(StoredFile(path.name)) and not any(
        part.startswith((".", "_")) for part in path.parts
    )


def _partitions(path: PurePosixPath) -> Iterator[tuple[str, str | None]]:
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            yield unquote(name), None if value == _NO_VALUE else unquote(value)


def absolute_location(location: str) -> str:
    """Return a location that other processes understand."""
    return location if "://" in location else str(Path(location).absolute())


def describe_files(files: Iterable[StoredFile]) -> tuple[tuple[str, int, str], ...]:
    """Return location, size and time of change of files."""
    found = []
    for file in files:
        system, path = file_system(file.location)
        info = system.get_file_info(path)
        if info.type != FileType.File:
            raise FileNotFoundError(f"{file.location}: there is no such file")
        found.append((file.location, int(info.size), str(info.mtime_ns)))
    return tuple(found)
