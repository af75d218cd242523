"""Keyed digests of the records that a model was trained on, beside its bundle.

A digest is BLAKE2b (RFC 7693) of 128 bits under a random key of the training. Each record has two: of its `recordId`
if the source names one, and of its event time and all values that the bundle reads. The digests are sorted, so their
order says nothing, and the key lies in a file of its own: without the key nobody can test whether a person is among
them, and digests of two trainings have nothing in common.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import BufferedWriter
from pathlib import Path
from typing import Any, Final, Self, TypeAlias
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, is_among
from scoring_model.records import Column, RecordTable
from scoring_model.records.atomic import atomic_file

DIGESTS_FILE: Final = "training_records.npz"
KEY_FILE: Final = "training_records.key"

_BYTES: Final = 16
_KEY_BYTES: Final = 32
_CHUNK: Final = 65_536
"""Records whose texts are in memory at a time."""

Digests: TypeAlias = NDArray[np.bytes_]


class DigestsUnusable(ValueError):
    """The digests of a training cannot be read; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlap:
    """Records that a model was trained on.

    Parameters
    ----------
    records : int
        Records found in either way.
    compared : int
        Records with an id or values to compare.
    by_id, by_content : int
    """

    records: int
    compared: int
    by_id: int
    by_content: int


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class TrainingDigests:
    """Digests of the records that fitted one model or chose its thresholds.

    Parameters
    ----------
    key : bytes
        32 random bytes.
    ids, contents : ndarray of bytes, 16 each
        Sorted.
    """

    model_version: str
    key: bytes
    ids: Digests
    contents: Digests

    @classmethod
    def of(cls, table: RecordTable, fields: Iterable[str], *, model_version: str) -> Self:
        """Digest records under a new key.

        Parameters
        ----------
        table : RecordTable
            The training records.
        fields : iterable of str
            Fields that the bundle reads.
        """
        key = secrets.token_bytes(_KEY_BYTES)
        digester = _Digester(key)
        ids, named = digester.ids(table)
        return cls(
            model_version=model_version,
            key=key,
            ids=np.sort(ids[named]),
            contents=np.sort(digester.contents(table, fields)),
        )

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.contents)

    def among(self, table: RecordTable, fields: Sequence[str] | None) -> Overlap:
        """Count the records of a table that are among these.

        Parameters
        ----------
        fields : sequence of str or None
            As for `of`. None: the table does not hold the values, and only ids are compared.
        """
        digester = _Digester(self.key)
        ids, named = digester.ids(table)
        by_id = named & is_among(ids, self.ids)
        by_content = np.zeros(len(table), dtype=np.bool_)
        if fields is not None:
            by_content = is_among(digester.contents(table, fields), self.contents)
        return Overlap(
            records=int(np.count_nonzero(by_id | by_content)),
            compared=len(table) if fields is not None else int(np.count_nonzero(named & (len(self.ids) > 0))),
            by_id=int(np.count_nonzero(by_id)),
            by_content=int(np.count_nonzero(by_content)),
        )

    def save(self, folder: Path) -> None:
        """Write digests and key into a folder, as files that only their owner can read."""
        arrays: dict[str, Any] = {"ids": self.ids, "contents": self.contents, "check": _check_of(self.key)}
        version = np.array(self.model_version)
        _write_private(folder / KEY_FILE, lambda out: out.write(self.key.hex().encode() + b"\n"))
        _write_private(folder / DIGESTS_FILE, lambda out: np.savez(out, model_version=version, **arrays))

    @classmethod
    def find(cls, folders: Sequence[Path], model_version: str) -> Self:
        """Read the digests of a model from the first of some folders that holds them.

        Raises
        ------
        DigestsUnusable
            If none does.
        """
        others = []
        for folder in folders:
            if (folder / DIGESTS_FILE).is_file():
                digests = cls._read(folder)
                if digests.model_version == model_version:
                    return digests
                others.append(f"; {folder.name} is of {digests.model_version}")
        raise DigestsUnusable(
            f"there are no digests of the training of {model_version} beside the bundle or in a folder named by "
            f"--training{''.join(others)}"
        )

    @classmethod
    def _read(cls, folder: Path) -> Self:
        try:
            key = bytes.fromhex((folder / KEY_FILE).read_text(encoding="ascii"))
            with np.load(folder / DIGESTS_FILE, allow_pickle=False) as arrays:
                names = ("model_version", "ids", "contents", "check")
                version, ids, contents, check = (arrays[name] for name in names)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise DigestsUnusable(
                f"{folder.name}: the digests of the training can't be read: {error}"
            ) from error
        if len(key) != _KEY_BYTES or any(found.dtype != f"S{_BYTES}" for found in (ids, contents)):
            raise DigestsUnusable(f"{folder.name}: the digests of the training are damaged")
        if check != _check_of(key):
            raise DigestsUnusable(f"{folder.name}: {KEY_FILE} is not the key of {DIGESTS_FILE}")
        return cls(model_version=str(version), key=key, ids=ids, contents=contents)


def content_digests(table: RecordTable, fields: Iterable[str], key: bytes) -> Digests:
    """Digest the event time and the values of each record.

    Parameters
    ----------
    fields : iterable of str
        Fields whose values count, in order.
    key : bytes
        At most 64 bytes.

    Returns
    -------
    ndarray of shape (n,), bytes, 16 each
        Equal content gives equal digests, in whatever file or row it is.
    """
    return _Digester(key).contents(table, fields)


class _Digester:
    """Digests of records under one key."""

    def __init__(self, key: bytes) -> None:
        # Keying costs as much as hashing, so every hash starts from a copy of a keyed hasher.
        self._of_id, self._of_content = (
            blake2b(digest_size=_BYTES, key=key, person=kind) for kind in (b"recordId", b"content")
        )

    def ids(self, table: RecordTable) -> tuple[Digests, BoolArray]:
        """Digest record ids; also return which of them the source names. The others are numbers of rows."""
        rows = map(str, table.source_rows.tolist())
        named = [own != row for own, row in zip(table.record_ids, rows, strict=True)]
        return _digests(self._of_id, table.record_ids), np.array(named, dtype=np.bool_)

    def contents(self, table: RecordTable, fields: Iterable[str]) -> Digests:
        """Digest event times and values."""
        return _digests(self._of_content, _texts(table, [table.column(field) for field in fields]))


def _texts(table: RecordTable, columns: Sequence[Column]) -> Iterator[str]:
    """Write the event time and the values of each record as one text; different records have different texts."""
    framed = [np.array([*map(_framed, column.values), "-"], dtype=np.object_) for column in columns]
    for start in range(0, len(table), _CHUNK):
        rows = slice(start, start + _CHUNK)
        cells = [of[column.codes[rows]].tolist() for of, column in zip(framed, columns, strict=True)]
        yield from map("".join, zip(map(str, table.event_times[rows].tolist()), *cells, strict=True))


def _framed(value: object) -> str:
    kind, text = ("s", value) if isinstance(value, str) else ("j", json.dumps(value))
    return f"{kind}{len(text)}:{text}"


def _digests(keyed: Any, texts: Iterable[str]) -> Digests:
    found = []
    for text in texts:
        hasher = keyed.copy()
        hasher.update(text.encode(errors="surrogatepass"))
        found.append(hasher.digest())
    return np.frombuffer(b"".join(found), dtype=f"S{_BYTES}")


def _check_of(key: bytes) -> Digests:
    """Return what shows that digests were made under a key, as the two files are written one after the other."""
    return np.array(blake2b(digest_size=_BYTES, key=key, person=b"check").digest(), dtype=f"S{_BYTES}")


def _write_private(path: Path, write: Callable[[BufferedWriter], object]) -> None:
    with atomic_file(path, private=True) as partial, partial.open("wb") as out:
        write(out)
