"""Quantiles and trigamma against SciPy, and degrees of freedom that many variances lend."""

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import t

from scoring_model.evaluation.student import prior_degrees, student_quantiles, trigamma


@pytest.mark.parametrize(
    ("degrees", "error"), [(2.0, 0.01), (4.0, 0.01), (13.5, 0.003), (60.0, 1e-7), (1e6, 1e-9)]
)
def test_quantiles_are_those_of_scipy(degrees: float, error: float) -> None:
    """To 1 % with few degrees of freedom, and nearly exact with many, far out too."""
    levels = np.array([0.9, 0.3, 0.05, 1e-3, 1e-5, 1e-8])
    expected = t.isf(levels / 2, degrees)
    assert student_quantiles(levels, np.full(6, degrees)) == pytest.approx(expected, rel=error)


@pytest.mark.parametrize("value", [0.1, 0.7, 1.0, 6.5, 8.0, 100.0])
def test_trigamma_is_that_of_scipy(value: float) -> None:
    """The series and the recurrence agree with it."""
    assert trigamma(value) == pytest.approx(float(polygamma(1, value)), rel=1e-9)


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
