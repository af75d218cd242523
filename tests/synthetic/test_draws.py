import math

import numpy as np
import pytest
from scipy import stats

from scoring_model.synthetic.draws import Draws, mixed

KEYS = np.arange(20_000, dtype=np.uint64)


def test_mixed_is_the_published_finaliser() -> None:
    """The first outputs of SplitMix64 with seed 1234567 equal those of its reference implementation."""
    state = (1234567 + 0x9E3779B97F4A7C15 * np.arange(3, dtype=object)) % 2**64
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(state.astype(np.uint64)).tolist() == expected


def test_draws_depend_on_seed_purpose_and_key_alone() -> None:
    """A draw is the same at any position and in any batch, and differs by seed and purpose."""
    draws = Draws(5)
    whole = draws.uniform("age", KEYS)
    assert (draws.uniform("age", KEYS[::-3]) == whole[::-3]).all()
    assert (Draws(5).uniform("age", KEYS) == whole).all()
    for other in (draws.uniform("sex", KEYS), Draws(6).uniform("age", KEYS)):
        assert abs(np.corrcoef(whole, other)[0, 1]) < 0.03


@pytest.mark.parametrize("seed", [0, -3, 2**70])
def test_uniform_is_uniform(seed: int) -> None:
    """Draws over consecutive keys pass a Kolmogorov-Smirnov test."""
    values = Draws(seed).uniform("any", KEYS)
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-4


def test_lognormal_follows_its_distribution() -> None:
    """Draws from the table agree with scipy's log-normal distribution."""
    values = Draws(1).lognormal("any", 25.0, 0.6, KEYS)
    assert stats.kstest(values, stats.lognorm(s=0.6, scale=25.0).cdf).pvalue > 1e-4
    assert np.median(values) == pytest.approx(25.0, rel=0.03)
    assert values.max() < 25.0 * math.exp(0.6 * 4.3)


def test_choice_follows_its_weights() -> None:
    """Frequencies agree with the weights; a choice with weight 0 is never drawn."""
    counts = np.bincount(Draws(2).choice("any", (3.0, 0.0, 1.0), KEYS), minlength=3)
    assert counts[1] == 0
    assert counts[0] / len(KEYS) == pytest.approx(0.75, abs=0.015)


def test_below_covers_its_range() -> None:
    """Integers are below their own bounds and reach them."""
    bounds = np.where(KEYS % 2, 3, 7)
    values = Draws(2).below("any", bounds, KEYS)
    assert (values < bounds).all()
    assert values.min() == 0
    assert set(values[bounds == 7]) == set(range(7))
