"""Value functions on arbitrary text return numbers or missing, and views lose nothing."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import SIGNALS, STATE
from scoring_model.contract.rules import COUNTRIES, HTTPS
from scoring_model.features import FeatureMatrix, FeatureSettings, Group
from scoring_model.records import DOCUMENT_TYPES

GROUPS = [
    group
    for family in FeatureMatrix(FeatureSettings(signals=SIGNALS), STATE).families
    for group in family.groups
]

# Lone surrogates too, which the contract refuses: a value function must not be what finds out.
_characters = st.characters() | st.sampled_from("\u0130ß\ufb03\ufdfa\u0345\u200d²٣𝟛Ⅷªµ\x00\ud800")
_text = st.text(_characters, min_size=1, max_size=100) | st.text("aZ1 -./,", min_size=1, max_size=200)
_country = st.sampled_from(sorted(COUNTRIES))
_url = st.from_regex(HTTPS, fullmatch=True)
_SPECIAL: dict[str, st.SearchStrategy[object]] = {
    "dob": st.dates().map(lambda day: day.isoformat()),
    "citizenship": _country,
    "address.country": _country,
    "documentType": st.sampled_from(DOCUMENT_TYPES),
    "imageUrls": st.lists(_url, min_size=1, max_size=10).map(tuple),
    "eventDay": st.integers(-719_162, 2_932_896),  # of the years 1 to 9999
    "eventHour": st.integers(0, 23),
    "signals.emailAgeDays": st.floats(allow_nan=False, allow_infinity=False),
    "signals.vpn": st.sampled_from([0.0, 1.0]),
}


def arguments(group: Group) -> st.SearchStrategy[tuple[object, ...]]:
    """Any value that the contract accepts, or a missing one, for each input of a group."""
    values = [_SPECIAL.get(name, _text) for name in group.inputs]
    known = {"eventDay", "eventHour"}
    return st.tuples(*[v if n in known else st.none() | v for n, v in zip(group.inputs, values, strict=True)])


def named(group: Group) -> str:
    """Name of a group in a report."""
    return group.features[0].name


@pytest.mark.parametrize("group", GROUPS, ids=named)
@settings(max_examples=40)
@given(data=st.data())
def test_every_text_gives_numbers_or_nothing(group: Group, data: st.DataObject) -> None:
    """One finite number or NaN for each feature, never an exception, and twice the same."""
    values = data.draw(arguments(group))
    found = group.function(*values)
    assert len(found) == len(group.features)
    assert all(math.isnan(number) or math.isfinite(number) for number in found)
    assert repr(group.function(*values)) == repr(found)


def viewed(view: Callable[..., object], value: object) -> object:
    """What a table calls the function with instead of a value."""
    return None if value is None else view(value)


@pytest.mark.parametrize("group", [group for group in GROUPS if group.views], ids=named)
@settings(max_examples=100)
@given(data=st.data())
def test_a_view_loses_nothing_that_the_function_sees(group: Group, data: st.DataObject) -> None:
    """The substitute of a value gives the same features, bit for bit."""
    values = data.draw(arguments(group))
    seen = [viewed(view, value) for view, value in zip(group.views, values, strict=True)]
    assert repr(group.function(*seen)) == repr(group.function(*values))
