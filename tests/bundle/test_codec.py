"""Canonical encodings: equal values have equal bytes, and only what was written reads back."""

import io
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scoring_model.bundle.codec import json_bytes, npz_bytes, read_json, read_npz
from scoring_model.bundle.errors import ContentInvalid

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
dtypes: tuple[Any, ...] = (np.float64, np.float32, np.int64, np.uint8, np.bool_, np.dtype("<U10"))
arrays: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["margins", "rows", "codes", "names"]),
    hnp.arrays(
        dtype=st.sampled_from(dtypes), shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
    ),
)
ARCHIVE = npz_bytes({"rows": np.arange(6.0).reshape(2, 3), "outcomes": np.array(["PASSED", "FAILED"])})


def bits(value: Any) -> Any:
    """Return a value in which doubles are distinguished by their bits."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, list):
        return [bits(item) for item in value]
    return {name: bits(item) for name, item in value.items()} if isinstance(value, dict) else value


@given(plain_values)
def test_json_reads_back_exactly(value: Any) -> None:
    """Every plain value reads back as itself, to the bit, and is written again as the same bytes."""
    try:
        data = json_bytes(value)
    except UnicodeEncodeError:
        return  # a lone surrogate is no Unicode text
    assert bits(read_json(data)) == bits(value)
    assert json_bytes(read_json(data)) == data


@given(st.dictionaries(st.text("abc"), st.integers()))
def test_json_bytes_do_not_depend_on_the_order_of_names(value: dict[str, int]) -> None:
    """The order in which names were put into a mapping leaves no trace."""
    assert json_bytes(dict(reversed(value.items()))) == json_bytes(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
def test_json_holds_no_number_that_is_none(value: object) -> None:
    """NaN and infinities are refused in writing."""
    with pytest.raises(ValueError, match="JSON compliant"):
        json_bytes(value)


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, {"a": {2.0: 1}}, np.int64(3), b"x", {1, 2}])
def test_json_holds_plain_values_only(value: object) -> None:
    """A key or value that would read back as another type is refused in writing."""
    with pytest.raises(TypeError):
        json_bytes(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b'{"a":1,"a":1}',
        b"[" * 100_000,
        b"1 2",
    ],
)
def test_json_is_read_strictly(data: bytes) -> None:
    """Invalid JSON, a repeated name or a non-finite number is refused by name."""
    with pytest.raises(ContentInvalid):
        read_json(data)


def test_json_errors_quote_nothing() -> None:
    """The text of the file does not appear in the error, which may be logged."""
    with pytest.raises(ContentInvalid) as caught:
        read_json(b'{"firstName": "Canary" oops}')
    assert "Canary" not in str(caught.value)


@given(arrays)
def test_arrays_read_back_exactly(named: dict[str, Any]) -> None:
    """Arrays keep their bits, types and shapes, and `numpy.load` reads them without pickle."""
    data = npz_bytes(named)
    read = read_npz(data)
    assert read.keys() == named.keys()
    with np.load(io.BytesIO(data), allow_pickle=False) as peer:
        for name, array in named.items():
            assert read[name].dtype == array.dtype == peer[name].dtype
            assert read[name].shape == array.shape == peer[name].shape
            assert read[name].tobytes() == array.tobytes() == peer[name].tobytes()


def test_array_bytes_depend_on_values_alone() -> None:
    """The bytes do not depend on the clock, order of names, memory layout or byte order."""
    rows = np.arange(6.0).reshape(2, 3)
    expected = npz_bytes({"a": rows, "b": rows[0]})
    assert npz_bytes({"b": rows[0], "a": np.asfortranarray(rows).astype(">f8")}) == expected
    with zipfile.ZipFile(io.BytesIO(expected)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_objects_are_not_written() -> None:
    """An array of objects, which would have to be pickled, is refused by its name."""
    with pytest.raises(TypeError, match="outcomes"):
        npz_bytes({"outcomes": np.array(["PASSED"], dtype=object), "rows": np.zeros(1)})


class Trap:
    """An object that records when it is unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return (_spring, ())


def _spring() -> None:
    Trap.sprung = True


def _archive(name: str, content: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def test_nothing_is_unpickled() -> None:
    """Neither a pickle nor an archive of objects is ever unpickled."""
    objects = np.empty(1, dtype=object)
    objects[0] = Trap()
    saved = io.BytesIO()
    np.savez(saved, allow_pickle=True, rows=objects)
    for hostile in (pickle.dumps(Trap()), saved.getvalue()):
        with pytest.raises(ContentInvalid):
            read_npz(hostile)
    assert not Trap.sprung
    pickle.loads(pickle.dumps(Trap()))
    assert Trap.sprung  # the trap works


@pytest.mark.parametrize(
    "data",
    [
        b"",
        ARCHIVE[:-1],
        _archive("rows.npy", b""),
        _archive("rows.npy", b"\x93NUMPY\x01\x00"),
        _archive("rows.txt", _npy(np.zeros(2))),
        _archive("rows.npy", _npy(np.zeros(2)), zipfile.ZIP_DEFLATED),
        _archive("rows.npy", _npy(np.zeros(2))[:-1]),
        _archive("rows.npy", _npy(np.zeros(2)) + b"\0"),
        _archive("rows.npy", _npy(np.zeros(2)).replace(b"(2,)", b"(9000000000000,)")),
        _archive("rows.npy", _npy(np.zeros(2, dtype="M8[s]"))),
        _archive("rows.npy", _npy(np.zeros((2, 2), order="F"))),
        _archive("rows.npy", b"\x93NUMPY\x02\x00" + _npy(np.zeros(2))[8:]),
    ],
)
def test_other_archives_are_refused(data: bytes) -> None:
    """An archive that is cut off, compressed, or holds anything but whole arrays is refused by name."""
    with pytest.raises(ContentInvalid):
        read_npz(data)


def test_repeated_arrays_are_refused() -> None:
    """Two entries of one name could be read as either."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("rows.npy", _npy(np.zeros(1)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("rows.npy", _npy(np.ones(1)))
    with pytest.raises(ContentInvalid, match="repeats"):
        read_npz(out.getvalue())


@given(st.integers(0, len(ARCHIVE) - 1), st.integers(1, 255))
def test_a_flipped_byte_changes_no_array_unnoticed(position: int, mask: int) -> None:
    """A damaged archive is refused by name or holds arrays whose values are those written."""
    damaged = bytearray(ARCHIVE)
    damaged[position] ^= mask
    try:
        read = read_npz(bytes(damaged))
    except ContentInvalid:
        return
    assert [array.tobytes() for array in read.values()] == [
        array.tobytes() for array in read_npz(ARCHIVE).values()
    ]
