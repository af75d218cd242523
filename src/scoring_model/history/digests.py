"""Keyed digests of link keys: equal where the keys are equal, in any part of any file."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.history.keys import PERSON, PERSONS, LinkKey
from scoring_model.history.parts import combined_codes, key_part
from scoring_model.records import RecordTable

SECRET_BYTES: Final = 32
_DIGEST_BYTES: Final = 16

Digests = NDArray[np.uint64]


def key_digests(table: RecordTable, key: LinkKey, secret: bytes) -> tuple[Digests, BoolArray]:
    """Hash the link keys of a table's records.

    Parameters
    ----------
    secret : bytes of length 32
        Key of the hash, BLAKE2b (RFC 7693).

    Returns
    -------
    digests : ndarray of shape (n, 2), uint64
        128 bits for each record, equal where `key_of` is equal.
    present : ndarray of shape (n,), bool
        Whether the record has such a key.
    """
    if key.name != PERSON:
        return _of_parts(table, key.name, key.parts, secret)
    (digests, present), *others = [_of_parts(table, name, parts, secret) for name, parts in PERSONS]
    for found, known in others:
        digests, present = np.where(present[:, None], digests, found), present | known
    return digests, present


def text_digests(texts: Iterable[str], name: str, secret: bytes) -> Digests:
    """Hash texts under a name; the same text has other digests under another name.

    Returns
    -------
    ndarray of shape (n, 2), uint64
    """
    keyed = blake2b(_framed([name]).encode(), key=secret, digest_size=_DIGEST_BYTES)
    found = []
    for text in texts:
        one = keyed.copy()
        one.update(text.encode(errors="surrogatepass"))
        found.append(one.digest())
    return np.frombuffer(b"".join(found), dtype=np.uint64).reshape(-1, 2)


def content_digests(table: RecordTable, secret: bytes) -> Digests:
    """Hash what each record holds, without its id and label: equal where instant and all values are equal.

    Returns
    -------
    ndarray of shape (n, 2), uint64
        The sum of the digests of all values, each under the name of its field.
    """
    times, places = np.unique(table.event_times, return_inverse=True)
    found = text_digests(map(str, times.tolist()), "eventTime", secret)[places]
    for field, column in table.columns.items():
        present = column.codes >= 0
        found[present] += text_digests(map(repr, column.values), field, secret)[column.codes[present]]
    return found


def among(digests: Digests, others: Digests) -> BoolArray:
    """Whether each digest is one of others."""
    pairs = np.dtype([("hi", "<u8"), ("lo", "<u8")])
    some = np.isin(digests[:, 0], others[:, 0])  # few or all: only these are compared as a whole
    found: BoolArray = some.copy()
    ours, theirs = (np.ascontiguousarray(one).view(pairs).ravel() for one in (digests[some], others))
    found[some] = np.isin(ours, theirs)
    return found


def _of_parts(
    table: RecordTable, name: str, parts: Sequence[str], secret: bytes
) -> tuple[Digests, BoolArray]:
    """Hash each distinct combination of raw values once: normalised texts decide whether digests are equal."""
    fields = tuple(dict.fromkeys(field for part in parts for field in key_part(part).fields))
    # A missing value counts as a further value, since it may be left out of a part of several fields.
    codes = combined_codes([table.column(field).codes.astype(np.int64) + 1 for field in fields])
    _, rows, where = np.unique(codes, return_index=True, return_inverse=True)
    by_part = [_texts(table, part, rows) for part in parts]
    keys = [None if None in texts else texts for texts in zip(*by_part, strict=True)]
    known = [texts is not None for texts in keys]
    framed = [_framed(texts) for texts in keys if texts is not None]
    digests = np.zeros((len(rows), 2), dtype=np.uint64)
    digests[known] = text_digests(framed, name, secret)
    return digests[where], np.array(known, dtype=np.bool_)[where]


def _framed(texts: Iterable[str]) -> str:
    """Join texts so that different sequences never give the same text."""
    return "".join([f"{len(text)}:{text}" for text in texts])


def _texts(table: RecordTable, text: str, rows: IntArray) -> list[str | None]:
    """Return the normalised part of a link key for some rows."""
    part = key_part(text)
    columns = [table.column(field) for field in part.fields]
    if len(columns) == 1:
        of_value = [*part.of_column(columns[0].values), None]  # the code -1 is the last one
        return [of_value[code] for code in columns[0].codes[rows].tolist()]
    codes = [column.codes[rows].tolist() for column in columns]
    found = []
    for row_codes in zip(*codes, strict=True):
        pairs = zip(part.fields, columns, row_codes, strict=True)
        found.append(part.of({field: column.values[code] for field, column, code in pairs if code >= 0}))
    return found
