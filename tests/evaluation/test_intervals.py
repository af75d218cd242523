import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from scoring_model.evaluation.intervals import share_of

counts = st.integers(1, 10**6).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(counts)
def test_interval_is_that_of_scipy(pair: tuple[int, int]) -> None:
    """Share and interval agree with scipy's binomial proportion by Wilson's method."""
    share = share_of(*pair)
    expected = binomtest(*pair).proportion_ci(confidence_level=0.95, method="wilson")
    assert share.share == pair[0] / pair[1]
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(counts)
def test_interval_holds_the_share_and_stays_in_the_unit_interval(pair: tuple[int, int]) -> None:
    """0 <= low <= share <= high <= 1 whatever the rounding, and 0 of n and n of n reach the ends."""
    share = share_of(*pair)
    assert share.share is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.share <= share.high <= 1
    assert (share.low == 0) == (pair[0] == 0)
    assert (share.high == 1) == (pair[0] == pair[1])


def test_share_of_nothing_is_none() -> None:
    """Without records there is neither a share nor an interval."""
    nothing = share_of(0, 0)
    assert (nothing.share, nothing.low, nothing.high) == (None, None, None)
