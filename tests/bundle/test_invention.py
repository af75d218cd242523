"""Invented rows belong to no person, are reproducible, and contain hostile values."""

import numpy as np
import pytest

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle.invention import HOSTILE_CODES, HOSTILE_NUMBERS, MOST_LEVELS, invent_rows
from scoring_model.bundle.k_anonymity import k_anonymous_quantiles

SPLITS = np.array([-0.5, 0.25, 1e-35])
CATEGORY, RARE = 3, 4


@pytest.fixture(scope="module")
def rows() -> FloatArray:
    """Return rows of a number, a pair that go together, a category and a feature that three persons have."""
    random = np.random.default_rng(7)
    number = random.normal(size=3000)
    codes = random.integers(0, 4, size=3000).astype(np.float64)
    rare = np.full(3000, np.nan)
    rare[:3] = [11.0, 12.0, 13.0]
    made = np.column_stack([number, number, number, codes, rare])
    made[random.random(3000) < 0.3, 1] = np.nan
    return made


@pytest.fixture(scope="module")
def invented(rows: FloatArray) -> FloatArray:
    """Return four hundred rows of each kind."""
    return invent(rows, np.arange(len(rows)))


def invent(rows: FloatArray, persons: IntArray, seed: int = 1, count: int = 1600) -> FloatArray:
    """Invent rows with splits on the first feature."""
    return invent_rows(
        rows, persons=persons, count=count, seed=seed, categorical=[CATEGORY], thresholds={0: SPLITS}
    )


def test_same_arguments_give_the_same_bits(rows: FloatArray, invented: FloatArray) -> None:
    """The seed decides all; the order of the real rows nothing; another seed gives other rows."""
    persons = np.arange(len(rows))
    order = np.random.default_rng(0).permutation(len(rows))
    assert invent(rows, persons).tobytes() == invented.tobytes()
    assert invent(rows[order], persons[order]).tobytes() == invented.tobytes()
    assert invent(rows, persons, seed=2).tobytes() != invented.tobytes()


def test_every_value_is_covered(rows: FloatArray, invented: FloatArray) -> None:
    """Nothing stands in an invented row but levels of five persons, splits, their neighbours and extremes."""
    persons = np.arange(len(rows))
    neighbours = np.concatenate([SPLITS, np.nextafter(SPLITS, -np.inf), np.nextafter(SPLITS, np.inf)])
    for column in range(rows.shape[1]):
        allowed = [k_anonymous_quantiles(rows[:, column], persons, most=MOST_LEVELS).values]
        allowed.append(HOSTILE_CODES if column == CATEGORY else HOSTILE_NUMBERS)
        allowed.append(neighbours if column == 0 else np.array([np.nan]))
        values = invented[:, column]
        assert np.isin(values[~np.isnan(values)], np.concatenate(allowed)).all()


def test_no_real_value_is_copied(rows: FloatArray, invented: FloatArray) -> None:
    """No value that only one person has appears, nor anything of a feature that three persons have."""
    assert not np.isin(invented[:, :3], rows[:, :3]).any()
    assert not np.isin(invented, [11.0, 12.0, 13.0]).any()
    assert np.isnan(invented[0::4, RARE]).all()


def test_features_are_drawn_apart(invented: FloatArray) -> None:
    """Two features that are always equal in the real rows are independent in invented ones."""
    plain = invented[0::4]
    both = ~np.isnan(plain[:, :3]).any(axis=1)
    correlation = np.corrcoef(plain[both, 0], plain[both, 2])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(both.sum())


def test_plain_rows_look_like_the_population(rows: FloatArray, invented: FloatArray) -> None:
    """Quantiles, shares of codes and of missing values are those of the real rows, up to chance."""
    plain = invented[0::4]
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(plain[:, 0], share) == pytest.approx(np.quantile(rows[:, 0], share), abs=0.25)
    assert np.isnan(plain[:, 1]).mean() == pytest.approx(0.3, abs=0.1)
    assert not np.isnan(plain[:, 0]).any()
    np.testing.assert_allclose(np.bincount(plain[:, CATEGORY].astype(int)) / len(plain), 0.25, atol=0.1)


def test_splits_and_their_neighbours_are_hit(invented: FloatArray) -> None:
    """Each split appears itself and with the doubles on both sides of it, and only in rows of its kind."""
    for split in SPLITS:
        for value in (np.nextafter(split, -np.inf), split, np.nextafter(split, np.inf)):
            assert (invented[1::4, 0] == value).any()
            assert not (invented[0::4, 0] == value).any()


def test_hostile_values_are_hit(invented: FloatArray) -> None:
    """Each hostile number and code appears to the bit, and codes are integers or missing throughout."""
    bits = set(invented[3::4, 0].view(np.int64).tolist())
    assert set(HOSTILE_NUMBERS.view(np.int64).tolist()) <= bits
    assert set(HOSTILE_CODES.view(np.int64).tolist()) <= set(invented[3::4, CATEGORY].view(np.int64).tolist())
    codes = invented[:, CATEGORY]
    assert np.array_equal(codes, np.rint(codes), equal_nan=True)


def test_missing_values_are_hit(invented: FloatArray) -> None:
    """In rows of the third kind about half of all features are missing."""
    assert np.isnan(invented[2::4, 0]).mean() == pytest.approx(0.5, abs=0.1)


def test_a_missing_value_of_few_persons_is_not_shown(rows: FloatArray) -> None:
    """A feature that only four persons lack is never missing in plain rows."""
    lacking = rows.copy()
    lacking[:4, 0] = np.nan
    repeated = np.concatenate([lacking, np.repeat(lacking[:4], 500, axis=0)])
    persons = np.concatenate([np.arange(len(rows)), np.repeat(np.arange(4), 500)])
    assert not np.isnan(invent(repeated, persons)[0::4, 0]).any()


def test_one_person_is_no_group(rows: FloatArray) -> None:
    """From any number of rows of four persons nothing is reported."""
    invented = invent(rows, np.arange(len(rows)) % 4)
    assert np.isnan(invented[0::4]).all()


def test_persons_are_needed(rows: FloatArray) -> None:
    """Without a person for each row nothing is invented, and the error names the shapes."""
    with pytest.raises(ValueError, match=r"\(3000, 5\), persons \(2999,\)"):
        invent(rows, np.arange(len(rows) - 1))
