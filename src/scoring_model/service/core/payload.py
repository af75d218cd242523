"""Packing of the data that a verification stores sealed: signals, subject and feature row."""

import struct
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json, to_json

_HEAD: Final = struct.Struct("<?I")  # whether a row follows, bytes of JSON


def pack_stored(signals: Mapping[str, object] | None, subject_id: str | None, row: bytes | None) -> bytes:
    """Pack signals (None if they were removed), subject and feature row.

    Returns
    -------
    bytes
        A head of 5 bytes, UTF-8 JSON of signals and subject, and the row.
    """
    text = to_json([None if signals is None else dict(signals), subject_id])
    return _HEAD.pack(row is not None, len(text)) + text + (row or b"")


def unpack_payload(packed: bytes) -> tuple[dict[str, object], str | None, bytes | None]:
    """Unpack the result of `pack_stored`, with equal values and types; no signals if they were removed."""
    has_row, length = _HEAD.unpack_from(packed)
    end = _HEAD.size + length
    parts: tuple[dict[str, Any] | None, str | None] = from_json(packed[_HEAD.size : end], cache_strings=False)
    signals, subject_id = parts
    return signals or {}, subject_id, packed[end:] if has_row else None


def signals_are_gone(packed: bytes) -> bool:
    """Return True if the signals of a payload were removed."""
    return packed[_HEAD.size : _HEAD.size + 5] == b"[null"
