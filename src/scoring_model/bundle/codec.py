"""The two encodings of bundle files: canonical JSON, and arrays in a zip file without pickle."""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from scoring_model.bundle.errors import ContentInvalid

ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that the format can hold: no clock enters a bundle
ARRAY_KINDS = "biufU"  # booleans, integers, floats and text; never objects, which would be pickled
ARRAY_SUFFIX = ".npy"
LOCAL_HEADER = 30  # bytes before the name of an entry (APPNOTE.TXT 6.3.10, section 4.3.7)
UNREADABLE = (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, struct.error)


def json_bytes(value: object) -> bytes:
    r"""Encode plain values as canonical JSON.

    Keys are sorted by code point, floats are the shortest text that reads back as the same double, the
    encoding is UTF-8, and one line feed ends the text: equal values have equal bytes.

    Raises
    ------
    TypeError
        On a value or key of another type.
    ValueError
        On a float that is not finite, or text that is not Unicode.

    Examples
    --------
    >>> json_bytes({"b": 0.1, "a": ()})
    b'{\n  "a": [],\n  "b": 0.1\n}\n'
    """
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        if odd := sorted({type(key).__name__ for key in value if not isinstance(key, str)}):
            raise TypeError(f"keys of a JSON object must be str, got {', '.join(odd)}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def read_json(data: bytes) -> Any:
    """Decode JSON as strictly as I-JSON asks (RFC 7493, sections 2.1 to 2.3), NaN and infinities refused.

    Raises
    ------
    ContentInvalid
        When the bytes are not UTF-8, not JSON, repeat a name or hold a fraction beyond a double.
    """
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_distinct_names,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise ContentInvalid("JSON is nested too deeply") from None
    except ValueError as error:
        # The error's own text would quote the file.
        raise ContentInvalid(f"not JSON in UTF-8 ({type(error).__name__})") from None


def _distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ContentInvalid("JSON repeats a name within one object")
    return names


def _refuse_constant(constant: str) -> NoReturn:
    raise ContentInvalid(f"JSON holds {constant}, which is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ContentInvalid("JSON holds a number beyond the range of a double")
    return number


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Encode named arrays as an uncompressed ``.npz`` file: equal arrays, equal bytes; `numpy.load` reads it.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Of booleans, integers, floats or text. Written little-endian and in C order.

    Raises
    ------
    TypeError
        On an array of objects, dates or records, by name.
    """
    if odd := sorted(name for name, array in arrays.items() if array.dtype.kind not in ARRAY_KINDS):
        raise TypeError(f"arrays of a bundle are booleans, numbers or text, unlike {', '.join(odd)}")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(name + ARRAY_SUFFIX, ZIP_EPOCH)
            entry.create_system = 3  # Unix, on every system
            archive.writestr(entry, _npy_bytes(arrays[name]))
    return out.getvalue()


def _npy_bytes(array: NDArray[Any]) -> bytes:
    canonical = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    out = io.BytesIO()
    npy.write_array(out, canonical, version=(1, 0), allow_pickle=False)
    return out.getvalue()


def read_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """Decode the result of `npz_bytes`, as read-only arrays.

    Nothing is unpickled or decompressed, and allocations are bounded by the size of the file.

    Raises
    ------
    ContentInvalid
        If the bytes are not such a file, or an array in it has another kind or size, or is compressed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len({entry.filename for entry in entries}) != len(entries):
                raise ContentInvalid("the archive repeats a name")
            filled = sum(
                LOCAL_HEADER + len(entry.filename.encode()) + entry.compress_size for entry in entries
            )
            if filled != archive.start_dir:
                raise ContentInvalid("the archive holds more than its directory names")
            return {_array_name(entry): _read_npy(archive, entry) for entry in entries}
    except UNREADABLE as error:
        raise ContentInvalid(f"not an archive of arrays ({type(error).__name__})") from None


def _array_name(entry: zipfile.ZipInfo) -> str:
    if entry.compress_type != zipfile.ZIP_STORED or not entry.filename.endswith(ARRAY_SUFFIX):
        raise ContentInvalid("the archive holds an entry that is not a stored array")
    return entry.filename.removesuffix(ARRAY_SUFFIX)


def _read_npy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    body = io.BytesIO(archive.read(entry))
    if npy.read_magic(body) != (1, 0):
        raise ContentInvalid("an array is of another version of its format")
    shape, fortran_order, dtype = npy.read_array_header_1_0(body)
    if dtype.kind not in ARRAY_KINDS or fortran_order:
        raise ContentInvalid("an array is not one of booleans, numbers or text in C order")
    values = body.read()
    count = int(np.prod(shape, dtype=object))
    if count * dtype.itemsize != len(values):
        raise ContentInvalid("an array does not hold as many values as its shape says")
    return np.frombuffer(values, dtype=dtype, count=count).reshape(shape)
