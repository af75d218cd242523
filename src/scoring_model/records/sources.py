"""File sources of records: one path, several, or a pattern."""

import glob
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path

from scoring_model.records.sheet import UnreadableSource


def file_paths(source: object) -> tuple[Path, ...] | None:
    """List the files of a source; patterns expand to the matching files, sorted by name.

    Returns
    -------
    tuple of Path or None
        None for a table in memory.

    Raises
    ------
    UnreadableSource
        If no file matches a pattern, or a file is repeated.
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
    if path.exists() or not glob.has_magic(fspath(part)):
        return (path,)
    found = sorted(glob.glob(fspath(part), recursive=True))
    if not found:
        raise UnreadableSource(f"no file matches {path.name}")
    return map(Path, found)
