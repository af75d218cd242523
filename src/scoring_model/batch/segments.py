"""Files of fixed-size rows in consecutive segments: what one stage writes for all tasks of the next one.

A file holds the number of segments, the first row of each and the number of rows, as int64, and then the rows. Only its
owner can read it.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.records.atomic import atomic_file

Rows = NDArray[Any]
"""Rows of a structured dtype, shape (n,)."""

_NUMBER = 8


def write_private(path: Path, *blocks: bytes | memoryview) -> None:
    """Write a file with mode 0600, atomically; after a crash of the machine its task runs again."""
    with atomic_file(path, private=True, synced=False) as partial, partial.open("wb") as file:
        file.writelines(blocks)


def write_segments(path: Path, rows: Rows, bounds: IntArray) -> None:
    """Write rows; segment `s` is `rows[bounds[s] : bounds[s + 1]]`.

    Parameters
    ----------
    bounds : ndarray of shape (segments + 1,), int64
    """
    index = np.concatenate([[len(bounds) - 1], bounds]).astype("<i8")
    write_private(path, index.tobytes(), np.ascontiguousarray(rows).data.cast("B") if len(rows) else b"")


def segment_size(path: Path, segment: int) -> int:
    """Return the number of rows of a segment."""
    with path.open("rb") as file:
        _, start, end = _place(file, segment)
    return end - start


def read_segment(
    path: Path, segment: int, dtype: np.dtype[Any], start: int = 0, end: int | None = None
) -> Rows:
    """Read a segment, or some of its rows."""
    with path.open("rb") as file:
        offset, first, last = _place(file, segment)
        stop = last if end is None else first + end
        file.seek(offset + (first + start) * dtype.itemsize)
        return np.fromfile(file, dtype, stop - first - start)


def _place(file: Any, segment: int) -> tuple[int, int, int]:
    segments = int.from_bytes(file.read(_NUMBER), "little")
    file.seek(_NUMBER * (1 + segment))
    first, last = np.frombuffer(file.read(2 * _NUMBER), "<i8").tolist()
    return _NUMBER * (2 + segments), first, last
