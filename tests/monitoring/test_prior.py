"""Degrees of freedom that many variances lend to each other."""

import numpy as np
import pytest

from scoring_model.monitoring.shifts import prior_degrees


@pytest.mark.parametrize("prior", [6.0, 30.0])
def test_variances_that_differ_lend_as_many_degrees_as_they_were_drawn_with(prior: float) -> None:
    """Variances of a scaled inverse chi-square law, estimated with 13 degrees of freedom."""
    rng = np.random.default_rng(0)
    variances = prior / rng.chisquare(prior, 200_000) * rng.chisquare(13, 200_000) / 13
    assert prior_degrees(np.log(variances), 13) == pytest.approx(prior, rel=0.1)


def test_equal_variances_lend_without_end_and_a_single_one_nothing() -> None:
    """What differs by chance alone is the same; one variance says nothing about others."""
    assert prior_degrees(np.full(50, 0.3), 13) == np.inf
    assert prior_degrees(np.array([0.3]), 13) == 0
