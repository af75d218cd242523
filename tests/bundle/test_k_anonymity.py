"""Groups of at least five persons, whatever the data."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle.k_anonymity import Levels, k_anonymous_quantiles

MIN_GROUP_SIZE = 5  # promised in the documentation, and so not taken from the code

few_values = st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf])
columns = st.integers(0, 60).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=few_values | st.floats(width=64)),
        hnp.arrays(np.int64, n, elements=st.integers(0, 12)),
        st.integers(1, 12),
    )
)


def groups(values: FloatArray, persons: IntArray, levels: Levels) -> list[int]:
    """Recover the groups by their sizes; return how many persons each has."""
    finite = np.isfinite(values)
    order = np.argsort(values[finite], kind="stable")
    sizes = np.rint(levels.shares * finite.sum()).astype(int)
    assert sizes.sum() == (finite.sum() if sizes.size else 0)
    return [len(set(part)) for part in np.split(persons[finite][order], np.cumsum(sizes)[:-1]) if sizes.size]


MOST = np.finfo(np.float64).max


@example((np.array([0.0, MOST, MOST, MOST, MOST]), np.arange(5), 1))
@given(columns)
def test_every_group_is_k_anonymous(column: tuple[FloatArray, IntArray, int]) -> None:
    """Each group is of five persons at least, there are no more than asked for, and levels ascend."""
    values, persons, most = column
    levels = k_anonymous_quantiles(values, persons, most=most)
    assert all(count >= MIN_GROUP_SIZE for count in groups(values, persons, levels))
    assert levels.values.size == levels.shares.size <= most
    assert np.all(np.diff(levels.values) > 0)
    assert np.isfinite(levels.values).all()
    assert levels.shares.sum() == pytest.approx(1.0 if levels.values.size else 0.0)


@given(columns)
def test_too_few_persons_have_no_levels(column: tuple[FloatArray, IntArray, int]) -> None:
    """There are levels exactly when five persons have a finite value."""
    values, persons, most = column
    levels = k_anonymous_quantiles(values, persons, most=most)
    assert bool(levels.values.size) == (len(set(persons[np.isfinite(values)])) >= MIN_GROUP_SIZE)


@given(columns, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(column: tuple[FloatArray, IntArray, int], random: object) -> None:
    """Rows in another order give the same bits."""
    values, persons, most = column
    order = np.array(sorted(range(len(values)), key=lambda _: random.random()), dtype=np.int64)  # type: ignore[attr-defined]
    one = k_anonymous_quantiles(values + 0.0, persons, most=most)
    two = k_anonymous_quantiles(values[order] + 0.0, persons[order], most=most)
    assert one.values.tobytes() == two.values.tobytes()
    assert one.shares.tobytes() == two.shares.tobytes()


def test_shared_values_stay_as_they_are() -> None:
    """Values that enough persons share are their own levels, with their own shares."""
    values = np.repeat([0.0, 1.0, 7.0], [50, 30, 20])
    levels = k_anonymous_quantiles(values, np.arange(100), most=10)
    assert levels.values.tolist() == [0.0, 1.0, 7.0]
    assert levels.shares.tolist() == [0.5, 0.3, 0.2]


def test_a_common_value_is_not_moved_by_rare_ones() -> None:
    """Rare neighbours join a common value's group and leave its value alone."""
    values = np.concatenate([[-3.5, -2.5], np.zeros(50), [0.25]])
    assert k_anonymous_quantiles(values, np.arange(53), most=10).values.tolist() == [0.0]


def test_a_rare_value_among_few_keeps_its_group() -> None:
    """With few distinct values a rare one, if shared, is not swallowed by the common one that follows."""
    values = np.repeat([0.0, 1.0], [10, 990])
    assert k_anonymous_quantiles(values, np.arange(1000), most=10).values.tolist() == [0.0, 1.0]


def test_no_unique_value_is_shown() -> None:
    """A value of only one person is never a level."""
    values = np.random.default_rng(1).normal(size=2000)
    levels = k_anonymous_quantiles(values, np.arange(2000), most=64)
    assert levels.values.size == 64
    assert not np.isin(levels.values, values).any()


def test_rows_of_one_person_are_one_person() -> None:
    """A value that one person repeats a hundred times is not shared."""
    values = np.concatenate([np.full(100, 7.5), [1.0, 2.0, 3.0, 4.0, 5.0]])
    persons = np.concatenate([np.zeros(100, dtype=np.int64), np.arange(1, 6)])
    levels = k_anonymous_quantiles(values, persons, most=10)
    assert 7.5 not in levels.values
    assert np.all(levels.values <= 5.0)


def test_groups_are_about_quantiles() -> None:
    """Many distinct values fall into groups of equal size, whose levels lie close to the middle quantiles."""
    values = np.random.default_rng(2).normal(size=10_000)
    levels = k_anonymous_quantiles(values, np.arange(10_000), most=10)
    np.testing.assert_allclose(levels.shares, 0.1, atol=1e-3)
    middles = np.quantile(values, np.arange(0.05, 1, 0.1))
    np.testing.assert_allclose(levels.values[1:-1], middles[1:-1], atol=0.02)


def test_integers_stay_integers() -> None:
    """A group of counts has a count as its level."""
    values = np.random.default_rng(3).integers(0, 500, size=1000).astype(np.float64)
    levels = k_anonymous_quantiles(values, np.arange(1000), most=20)
    assert np.array_equal(levels.values, np.rint(levels.values))
