"""The stored payload of a verification unpacks to what was packed."""

from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.core.payload import pack_stored, signals_are_gone, unpack_payload

scalars = (
    st.booleans()
    | st.integers(-(10**308), 10**308)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.dictionaries(names, scalars, max_size=20),
    st.none() | names.filter(lambda name: name.strip() == name),
    st.none() | st.binary(max_size=80),
)
def test_what_is_packed_comes_back(
    signals: dict[str, object], subject: str | None, row: bytes | None
) -> None:
    """Signals, subject and row are equal and of the same types, an empty row included."""
    found = unpack_payload(pack_stored(signals, subject, row))
    assert found == (signals, subject, row)
    assert repr(found[0]) == repr(signals)  # 1, 1.0 and True are equal, but not the same


def test_removed_signals_are_known_as_removed() -> None:
    """Removed signals do not come back, and differ from a request without signals."""
    packed = pack_stored(None, "s", b"row")
    assert unpack_payload(packed) == ({}, "s", b"row")
    assert signals_are_gone(packed)
    assert not signals_are_gone(pack_stored({}, "s", b"row"))
