"""The unchecked cells of a source as columns, so that each distinct cell is parsed once."""

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.contract.rules import URLS
from scoring_model.records.sheet import Cells, Objects
from scoring_model.records.table import Column
from scoring_model.records.times import timestamp_microseconds

_SCALARS: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


def encode(cells: Cells, rows: int, nulls: Collection[str] = ()) -> Column:
    """Encode one column.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray or Objects
        The column.
    rows : int
        Number of rows of its source.
    nulls : collection of str
        Texts that mean a missing value, as they stand.

    Returns
    -------
    Column
        Of as many rows, its values in any order: an ndarray of datetime64[us] where the source has a type for dates or
        timestamps. Times of day become text. Cells of a type that no field can have (a struct, a duration) become one
        value, that type. Of a list of more than `URLS` items only the length is kept.
    """
    column = _encoded(cells, rows)
    words = frozenset(nulls)
    gone = (
        [code for code, value in enumerate(column.values) if type(value) is str and value in words]
        if words
        else []
    )
    if not gone:
        return column
    return Column.compact(column.values, np.where(np.isin(column.codes, gone), np.int32(-1), column.codes))


def _encoded(cells: Cells, rows: int) -> Column:
    if isinstance(cells, Objects):
        return _objects(cells, rows)
    kind = cells.type
    if pa.types.is_dictionary(kind):
        found = _coded(cells)
        return encode(cells.cast(kind.value_type), rows) if found is None else found
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _instants(cells)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], kind))
    if pa.types.is_time(kind):
        return _scalars(cells.cast(pa.string()))
    if _is_scalar(kind):
        return _scalars(cells)
    return Column((kind,), np.where(_valid(cells), 0, -1).astype(np.int32))


def is_typed(column: Column) -> bool:
    """Whether an encoded column is one of dates or timestamps by its type."""
    values: object = column.values
    return isinstance(values, np.ndarray)


def is_zoned(cells: Cells) -> bool:
    """Whether the type of a column says that its times are UTC."""
    return not isinstance(cells, Objects) and pa.types.is_timestamp(cells.type) and cells.type.tz is not None


def _is_scalar(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _SCALARS)


def _valid(cells: Any) -> NDArray[np.bool_]:
    return np.asarray(cells.is_valid(), dtype=np.bool_)


def _scalars(cells: Any) -> Column:
    if pa.types.is_float16(cells.type):
        cells = cells.cast(pa.float32())  # Arrow encodes no halves
    encoded = cells.dictionary_encode()
    if not encoded.num_chunks:
        return Column((), np.empty(0, dtype=np.int32))
    if len({_addresses(chunk.dictionary) for chunk in encoded.chunks}) > 1:
        encoded = encoded.unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks]
    return Column(_python(encoded.chunk(0).dictionary), np.concatenate(codes).astype(np.int32))


def _addresses(values: pa.Array) -> tuple[int, ...]:
    """Identify the memory of an array: chunks usually share it, and to compare ids in it takes most of reading."""
    return (
        values.offset,
        len(values),
        *(buffer.address for buffer in values.buffers() if buffer is not None),
    )


def _coded(cells: Any) -> Column | None:
    """Take over the codes of a dictionary of text; None unless its values are distinct, none null, and all in use."""
    if not pa.types.is_string(cells.type.value_type) or not cells.num_chunks:
        return None
    unified = cells.unify_dictionaries()
    values = _python(unified.chunk(0).dictionary)
    codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in unified.chunks])
    used = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
    if None in values or len(set(values)) < len(values) or not used.all():
        return None
    return Column(values, codes.astype(np.int32))


def _python(values: pa.Array) -> list[object]:
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        # Lone surrogates represent bytes that are not UTF-8; the rules reject them.
        return [
            bytes(value).decode(errors="surrogateescape") for value in values.cast(pa.binary()).to_pylist()
        ]


def _instants(cells: Any) -> Column:
    unit = {"date32[day]": pa.timestamp("s"), "date64[ms]": pa.timestamp("ms")}.get(
        str(cells.type), cells.type
    )
    chunks = [timestamp_microseconds(chunk.cast(unit)) for chunk in cells.chunks]
    micros: IntArray = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)
    values, codes = _distinct(micros)
    stamps: Any = values.astype("datetime64[us]")
    return Column(stamps, np.where(_valid(cells), codes, -1).astype(np.int32))


def _distinct(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Do what `numpy.unique` does with `return_inverse`, without sorting numbers that ascend, like times often do."""
    steps = np.diff(numbers)
    if (steps < 0).any():
        return np.unique(numbers, return_inverse=True)
    new = np.append(True, steps > 0)[: len(numbers)]
    return numbers[new], np.cumsum(new) - 1


def _lists(cells: Any) -> Column:
    items = encode(pa.chunked_array([cells.flatten()]), 0)
    lengths: IntArray = cells.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    valid = _valid(cells)
    known = np.fromiter([*items.values, None], dtype=object)  # the last place is that of the code -1
    values: list[object] = []
    codes = np.full(len(lengths), -1, dtype=np.int32)
    for length in np.unique(lengths[valid]).tolist():
        rows = np.flatnonzero(valid & (lengths == length))
        if length > URLS:  # no rule asks what is in a list that is too long
            codes[rows] = len(values)
            values.append([None] * length)
            continue
        matrix = items.codes[starts[rows, np.newaxis] + np.arange(length)].astype(np.int64)
        first, which = _distinct_rows(matrix, len(items.values))
        codes[rows] = len(values) + which
        values += known[matrix[first]].tolist()
    return Column(values, codes)


def _distinct_rows(matrix: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Find the distinct rows of codes (-1 to below `bound`): where each first is, and which one each row is.

    One sort of integers for each column of the matrix: sorting whole rows takes numpy many times longer.
    """
    which = np.zeros(len(matrix), dtype=np.int64)
    for column in matrix.T:
        which = np.unique(which * (bound + 1) + column + 1, return_inverse=True)[1]
    return np.unique(which, return_index=True)[1], which


def _objects(cells: Objects, rows: int) -> Column:
    index: dict[object, int] = {}
    values: list[object] = []
    codes: list[int] = []
    for value in cells.values:
        code = index.setdefault(_identity(value), len(index))
        if code == len(values):
            values.append(value)
        codes.append(code)
    spread = np.full(rows, -1, dtype=np.int32)
    spread[np.asarray(cells.rows, dtype=np.int64)] = codes
    return Column(values, spread)


def _identity(value: object) -> object:
    """Distinguish cells: 1, 1.0 and True, and 0.0 and -0.0, are equal but not the same; lists cannot be keys."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    kind = type(value)
    if kind is str:
        return value
    return (kind, value) if kind in (int, float, bool) and value else (kind, repr(value))
