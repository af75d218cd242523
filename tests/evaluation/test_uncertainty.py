"""Intervals: percentiles of draws, and of shares by Wilson's method."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from scoring_model.evaluation.draws import Basis
from scoring_model.evaluation.uncertainty import drawn_estimate, interval_of, rate_estimate, share_of


def test_an_interval_leaves_out_a_fortieth_at_either_end() -> None:
    """Of a thousand draws the 26th from below and from above are the ends; draws without a value do not count."""
    assert interval_of(np.array([np.nan, *range(999, -1, -1), np.nan])) == (25.0, 974.0)
    assert interval_of(np.array([np.nan])) == (None, None)


def test_a_rate_has_the_wider_of_both_intervals() -> None:
    """Draws without an error do not make a rate certain, and draws that vary more than Wilson's interval count."""
    none, wilson = rate_estimate(0, 200, np.zeros(100), Basis(20, 200)), share_of(0, 200)
    assert (none.low, none.high) == (0.0, wilson.high)
    wide, half = rate_estimate(100, 200, np.linspace(0, 1, 1000), Basis(200, 200)), share_of(100, 200)
    assert wide.low is not None
    assert wide.high is not None
    assert half.low is not None
    assert wide.low < half.low - 0.3
    assert wide.low + wide.high == pytest.approx(1)
    assert rate_estimate(100, 200, np.linspace(0, 1, 1000), Basis(9, 200)).low is None


def test_a_number_without_ends_says_why() -> None:
    """Too few days, no record, or no draw with a value; and nothing where there are ends."""
    found = {
        "": (0.5, np.array([0.4, 0.6]), 7),
        "fewer than ten days": (0.5, np.empty(0), 7),
        "no value": (np.nan, np.array([np.nan]), 7),
        "no records": (np.nan, np.array([np.nan]), 0),
    }
    for absence, numbers in found.items():
        estimate = drawn_estimate(*numbers)
        assert (estimate.absence, estimate.records) == (absence, numbers[2])
        assert (estimate.low is None) == (estimate.high is None) == bool(absence)
    assert rate_estimate(3, 9, np.empty(0), Basis(9, 9)).absence == "few independent"
    assert (rate_estimate(3, 9, np.array([0.3, 0.4]), Basis(10, 9)).absence, share_of(0, 0).absence) == (
        "",
        "no records",
    )


counts = st.integers(1, 10**6).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(counts)
def test_interval_is_that_of_scipy(pair: tuple[int, int]) -> None:
    """Share and interval agree with scipy's binomial proportion by Wilson's method."""
    share = share_of(*pair)
    expected = binomtest(*pair).proportion_ci(confidence_level=0.95, method="wilson")
    assert share.value == pair[0] / pair[1]
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(counts)
def test_interval_holds_the_share_and_stays_in_the_unit_interval(pair: tuple[int, int]) -> None:
    """0 <= low <= share <= high <= 1 whatever the rounding, and 0 of n and n of n reach the ends."""
    share = share_of(*pair)
    assert share.value is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
    assert (share.low == 0) == (pair[0] == 0)
    assert (share.high == 1) == (pair[0] == pair[1])


def test_share_of_nothing_is_none() -> None:
    """Without records there is no share and no interval."""
    nothing = share_of(0, 0)
    assert (nothing.value, nothing.low, nothing.high) == (None, None, None)
