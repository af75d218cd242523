"""The reference profile: true shares, an exact round trip, and k-anonymity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.profile import CodeProfile, NumberProfile, Profile, measure_profile

MIN_GROUP_SIZE = 5  # promised in the documentation, and so not taken from the code
NAMES = ("number", "code")
Table = tuple[FloatArray, FloatArray, IntArray, IntArray]
tables = st.integers(0, 50).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.5, np.nan, np.inf]) | st.floats()),
        hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.0, 30.0, np.nan])),
        hnp.arrays(np.int64, n, elements=st.integers(0, 1000)),
        hnp.arrays(np.int64, n, elements=st.integers(0, 15)),
    )
)


def measure(numbers: FloatArray, codes: FloatArray, scores: IntArray, persons: IntArray) -> Profile:
    """Measure a number and a category."""
    rows = np.column_stack([numbers, codes])
    return measure_profile(rows, scores, names=NAMES, persons=persons, categorical=[1])


def distribution(feature: NumberProfile | CodeProfile, values: FloatArray) -> FloatArray:
    """Return the shares of the known values in each bin."""
    counts = np.bincount(feature.places(values), minlength=len(feature.shares) + 1)[:-1]
    found: FloatArray = counts / max(int(counts.sum()), 1)
    return found


def features(profile: Profile) -> tuple[NumberProfile, CodeProfile]:
    """Return the profiles of the number and of the category."""
    number, code = (profile.features[name] for name in NAMES)
    assert isinstance(number, NumberProfile)
    assert isinstance(code, CodeProfile)
    return number, code


def is_group(persons: IntArray) -> bool:
    """Return whether these are nobody's rows or those of five persons."""
    return persons.size == 0 or len(set(persons.tolist())) >= MIN_GROUP_SIZE


@given(tables)
def test_nothing_is_shown_of_few_persons(table: Table) -> None:
    """Every bin, code, rest, gap and score covers no person or at least five."""
    numbers, codes, scores, persons = table
    profile = measure(*table)
    number, code = features(profile)
    values, owners = numbers[~np.isnan(numbers)], persons[~np.isnan(numbers)]
    if number.missing < 1.0:
        bins = np.searchsorted(number.borders, values)
        assert all(is_group(owners[bins == place]) for place in range(len(number.shares)))
    known, owners = codes[~np.isnan(codes)], persons[~np.isnan(codes)]
    if code.missing < 1.0:
        assert all(is_group(owners[known == value]) and (known == value).any() for value in code.codes)
        assert is_group(owners[~np.isin(known, code.codes)])
    for column, feature in ((numbers, number), (codes, code)):
        missing = np.isnan(column)
        shown = missing.mean() if missing.size else 1.0
        whole = is_group(persons[missing]) and is_group(persons[~missing])
        assert feature.missing == (pytest.approx(shown) if whole else pytest.approx(feature.missing))
        assert whole or feature.missing in (0.0, 1.0)
    for place in np.flatnonzero(profile.scores):
        assert is_group(persons[scores // 10 == place])


@given(tables)
def test_round_trip_is_exact(table: Table) -> None:
    """What is read back is equal and gives the same bytes."""
    profile = measure(*table)
    assert Profile.from_bytes(profile.to_bytes()) == profile
    assert Profile.from_bytes(profile.to_bytes()).to_bytes() == profile.to_bytes()


@given(tables)
def test_the_reference_does_not_drift_from_itself(table: Table) -> None:
    """The distribution of the reference rows is the one that the profile holds, and shares sum to 1."""
    profile = measure(*table)
    for feature, values in zip(profile.features.values(), table[:2], strict=True):
        if feature.missing < 1.0:
            assert distribution(feature, values).tolist() == list(feature.shares)
            assert sum(feature.shares) == pytest.approx(1.0)


def test_borders_are_deciles() -> None:
    """With many distinct values the borders are close to the deciles, and none is anybody's value."""
    values = np.random.default_rng(1).normal(size=5000)
    number, _ = features(measure(values, np.zeros(5000), np.zeros(5000, dtype=np.int64), np.arange(5000)))
    np.testing.assert_allclose(number.borders, np.quantile(values, np.arange(0.1, 1, 0.1)), atol=0.02)
    np.testing.assert_allclose(number.shares, 0.1, atol=0.003)
    assert not np.isin(number.borders, values).any()


def test_a_flag_has_two_bins() -> None:
    """A rare flag keeps a bin of its own, with its true share."""
    for counts in ([990, 10], [10, 990]):
        values = np.repeat([0.0, 1.0], counts)
        number, _ = features(measure(values, values, np.zeros(1000, dtype=np.int64), np.arange(1000)))
        assert number.borders == (0.5,)
        assert number.shares == (counts[0] / 1000, counts[1] / 1000)
        assert number.missing == 0.0


def test_a_common_value_leaves_bins_to_the_others() -> None:
    """Where nine in ten are 0 the tenth that is not still falls into nine bins of about equal share."""
    values = np.concatenate([np.zeros(9000), np.random.default_rng(5).lognormal(sigma=3.0, size=1000)])
    number, _ = features(
        measure(values, np.zeros(10_000), np.zeros(10_000, dtype=np.int64), np.arange(10_000))
    )
    assert len(number.borders) == 9
    assert number.shares[0] == pytest.approx(0.9, abs=0.002)
    np.testing.assert_allclose(number.shares[1:], 0.1 / 9, rtol=0.3)


def test_drift_shows() -> None:
    """Other values, infinities among them, fall into the bins that they belong to."""
    number = NumberProfile(missing=0.0, borders=(0.0, 1.0), shares=(0.3, 0.3, 0.4))
    values = np.array([-np.inf, 0.0, np.nextafter(0.0, 1.0), 1.0, 2.0, np.inf, np.nan, np.nan])
    np.testing.assert_allclose(distribution(number, values), [2 / 6, 2 / 6, 2 / 6])
    assert distribution(number, np.array([np.nan])).tolist() == [0.0, 0.0, 0.0]


def test_unseen_codes_are_the_rest() -> None:
    """Codes between, below and above those known are counted together, last."""
    code = CodeProfile(missing=0.0, codes=(2, 5), shares=(0.5, 0.5, 0.0))
    values = np.array([2.0, 5.0, 5.0, 3.0, -1.0, 9.0, np.nan, 5.0])
    np.testing.assert_allclose(distribution(code, values), [1 / 7, 3 / 7, 3 / 7])
    assert distribution(CodeProfile(missing=0.0, codes=(), shares=(1.0,)), values).tolist() == [1.0]


def test_rare_codes_hide_behind_others() -> None:
    """Where the rest would be one person's, the rarest common code joins it."""
    codes = np.repeat([0.0, 1.0, 2.0], [60, 39, 1])
    _, code = features(measure(codes, codes, np.zeros(100, dtype=np.int64), np.arange(100)))
    assert code.codes == (0,)
    assert code.shares == (0.6, 0.4)


def test_scores_are_counted_in_tens() -> None:
    """Scores 0 to 9 are the first bin, 1000 is the last alone, and bins of few persons are empty."""
    scores = np.repeat([0, 9, 10, 999, 1000, 500], [10, 10, 40, 20, 20, 4])
    zeros = np.zeros(len(scores))
    profile = measure(zeros, zeros, scores, np.arange(len(scores)))
    shown = {int(place): profile.scores[place] for place in np.flatnonzero(profile.scores)}
    assert shown == {0: 0.2, 1: 0.4, 99: 0.2, 100: 0.2}
    assert len(profile.scores) == 101


def test_misfits_are_refused() -> None:
    """Arrays of different lengths and scores beyond their range are refused."""
    two, scores = np.zeros((2, 1)), np.zeros(2, dtype=np.int64)
    for rows, of_rows, names in (
        (two, scores[:1], ["a"]),
        (two, scores, ["a", "b"]),
        (two[:, 0], scores, ["a"]),
    ):
        with pytest.raises(ValueError, match="a score and a person a row"):
            measure_profile(rows, of_rows, names=names, persons=scores)
    for beyond in (-1, 1001):
        with pytest.raises(ValueError, match="from 0 to 1000"):
            measure_profile(two, scores + beyond, names=["a"], persons=scores)


@pytest.mark.parametrize(
    "change",
    [
        {"features": []},
        {"features": {"a": {"missing": 0.0}}},
        {"features": {"a": {"missing": 0.0, "borders": [], "shares": [1.0], "x": 1}}},
        {"scores": [0.0] * 100},
        {"scores": None},
        {"more": 1},
    ],
)
def test_other_contents_are_refused(change: dict[str, object]) -> None:
    """An invalid profile is refused by name."""
    profile = measure(np.zeros(9), np.zeros(9), np.zeros(9, dtype=np.int64), np.arange(9))
    document = read_json(profile.to_bytes())
    with pytest.raises(ContentInvalid):
        Profile.from_bytes(json_bytes({**document, **change}))
    with pytest.raises(ContentInvalid):
        Profile.from_bytes(b"[]")
