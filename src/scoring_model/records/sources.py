"""File sources of records: one path, several, a folder, or a pattern."""

import glob
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path

from scoring_model.records.files import is_of_a_folder
from scoring_model.records.sheet import UnreadableSource


def file_paths(source: object) -> tuple[Path, ...] | None:
    """List the files of a source; patterns and folders expand to their files, sorted by name.

    Returns
    -------
    tuple of Path or None
        None for a table in memory.

    Raises
    ------
    UnreadableSource
        If no file matches a pattern, a folder has none, or a file is repeated.
    """
    if isinstance(source, str | PathLike):
        source = (source,)
    if not isinstance(source, Sequence) or not all(isinstance(part, str | PathLike) for part in source):
        return None
    paths = tuple(path for part in source for path in _matching(part))
    if len(set(paths)) < len(paths):
        raise UnreadableSource("a file is given twice")
    if not paths:
        raise UnreadableSource("no file is given")
    return paths


def _matching(part: str | PathLike[str]) -> Iterable[Path]:
    path = Path(part)
    if path.is_dir():
        return _files_of(path)
    if path.exists() or not glob.has_magic(fspath(part)):
        return (path,)
    found = sorted(glob.glob(fspath(part), recursive=True))
    if not found:
        raise UnreadableSource(f"no file matches {path.name}")
    return map(Path, found)


def _files_of(folder: Path) -> list[Path]:
    """List the files of a folder and of those in it; names that begin with a dot or `_` are not those of records."""
    inside = ((path, path.relative_to(folder).parts) for path in folder.rglob("*"))
    found = sorted(
        path
        for path, parts in inside
        if path.is_file() and is_of_a_folder(path) and not any(part.startswith((".", "_")) for part in parts)
    )
    if not found:
        raise UnreadableSource(f"{folder.name} has no file of records")
    return found
