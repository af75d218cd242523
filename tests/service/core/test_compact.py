import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.core.compact import from_json, to_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
PLAIN = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


@given(PLAIN)
def test_what_is_written_is_read_with_the_same_values_and_types(value: object) -> None:
    """Text, integers of any size and every bit of a float come back; `repr` tells 1 from 1.0 and 0.0 from -0.0."""
    assert repr(from_json(to_json(value))) == repr(value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_neighbours_of_a_float_are_written_differently(value: float, up: bool) -> None:
    """No two floats are written alike but the two zeros, of which only the sign tells."""
    neighbour = math.nextafter(value, math.inf if up else -math.inf)
    if math.isfinite(neighbour):
        assert to_json(neighbour) != to_json(value)


def test_it_is_written_without_blanks_in_utf_8() -> None:
    """Nothing is escaped that need not be, and nothing stands between."""
    assert to_json({"a": ["é", None, True, 1.0]}) == '{"a":["é",null,true,1.0]}'.encode()


def test_extremes_of_doubles_come_back() -> None:
    """The largest, the smallest normal and the smallest denormal double."""
    extremes = [sys.float_info.max, sys.float_info.min, 5e-324, -0.0]
    assert repr(from_json(to_json(extremes))) == repr(extremes)


@pytest.mark.parametrize("broken", [b"", b"{", b"[1,]", b'{"a":1}x', b"\xff"])
def test_what_is_no_json_is_refused(broken: bytes) -> None:
    """A row that was cut or changed is an error, never a guess."""
    with pytest.raises(ValueError, match=r"."):
        from_json(broken)


def test_half_a_surrogate_pair_is_refused() -> None:
    """It has no bytes in UTF-8."""
    with pytest.raises(ValueError, match="surrogates"):
        to_json("\ud800")
