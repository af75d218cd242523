import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from scoring_model.decision.document import DocumentError
from scoring_model.decision.probability import (
    RESOLUTION,
    Beta,
    Calibration,
    Platt,
    calibration_json,
    read_calibration,
)

platts = st.builds(Platt, slope=st.floats(1e-3, 1e3), intercept=st.floats(-50, 50))
slopes = st.floats(0, 50)
betas = st.builds(Beta, below=st.floats(1e-3, 50), above=slopes, intercept=st.floats(-50, 50)) | st.builds(
    Beta, below=slopes, above=st.floats(1e-3, 50), intercept=st.floats(-50, 50)
)
calibrations = platts | betas
margins_lists = st.lists(st.floats(allow_nan=False), min_size=1, max_size=40)


@given(platts, st.lists(st.floats(-60, 60), min_size=1, max_size=40))
def test_probability_is_the_sigmoid_to_the_resolution(platt: Platt, margins: list[float]) -> None:
    """Half a resolution step from the logistic function of scipy, and no more."""
    exact = expit(platt.slope * np.array(margins) + platt.intercept)
    assert np.abs(platt.probabilities(np.array(margins)) - exact).max() <= RESOLUTION / 2 + 1e-14


def test_sigmoid_is_exact_between_the_powers_of_two() -> None:
    """Half a resolution step from scipy on a dense grid, the worst places of the series included."""
    margins = np.linspace(-40, 40, 200_001)
    error = np.abs(Platt(slope=1.0, intercept=0.0).probabilities(margins) - expit(margins))
    assert error.max() <= RESOLUTION / 2 + 1e-14


@given(calibrations, margins_lists)
def test_one_margin_has_the_bits_of_many(calibration: Calibration, margins: list[float]) -> None:
    """A margin gets the same multiple of 2^-30 alone and in an array, infinite and huge ones included."""
    many = calibration.probabilities(np.array(margins))
    assert [calibration.probability(margin) for margin in margins] == many.tolist()
    steps = many / RESOLUTION
    assert np.array_equal(steps, np.rint(steps))
    assert 0 <= many.min() <= many.max() <= 1


@pytest.mark.parametrize(
    "calibration",
    [Platt(slope=0.83, intercept=-0.31), Beta(below=0.83, above=1.7, intercept=-0.31)],
    ids=["platt", "beta"],
)
def test_one_margin_has_the_bits_of_many_at_scale(calibration: Calibration) -> None:
    """A hundred thousand margins get the same bits one by one; NaN has no probability."""
    margins = np.random.default_rng(0).normal(0, 8, 100_000)
    many = calibration.probabilities(margins).tolist()
    assert [calibration.probability(margin) for margin in margins.tolist()] == many
    with pytest.raises(ValueError, match="NaN"):
        calibration.probability(math.nan)
    with pytest.raises(ValueError, match="NaN in 1 of 2"):
        calibration.probabilities(np.array([0.0, math.nan]))


@given(calibrations, st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40))
def test_probability_rises_with_the_margin(calibration: Calibration, margins: list[float]) -> None:
    """A higher margin is never less probable, neighbours of each float included."""
    given_margins = np.array(margins)
    near = [np.nextafter(given_margins, end) for end in (-np.inf, np.inf)]
    ordered = np.sort(np.concatenate([given_margins, *near]))
    assert np.all(np.diff(calibration.probabilities(ordered)) >= 0)


@given(calibrations)
def test_document_reads_back_exactly(calibration: Calibration) -> None:
    """Parameters that went through JSON text are equal, and name their method."""
    assert read_calibration(json.loads(json.dumps(calibration_json(calibration)))) == calibration


@given(
    st.builds(Beta, below=st.floats(0.1, 3), above=st.floats(0.1, 3), intercept=st.floats(-9, 9)),
    st.lists(st.floats(-30, 30), min_size=1, max_size=40),
)
def test_probability_is_what_the_family_says(beta: Beta, margins: list[float]) -> None:
    """The formula written with logarithms of the sigmoid and scipy, to the resolution.

    The margin is rounded by up to 2^-31 and the slope is at most 3, which moves a probability by 3 * 2^-33.
    """
    m = np.array(margins)
    logits = -beta.below * np.logaddexp(0, -m) + beta.above * np.logaddexp(0, m) + beta.intercept
    assert np.abs(beta.probabilities(m) - expit(logits)).max() <= RESOLUTION


@pytest.mark.parametrize(("below", "above"), [(1.3, 0.7), (0.0, 1.0), (1.0, 0.0), (37.0, 0.01)])
def test_probability_rises_along_a_dense_grid(below: float, above: float) -> None:
    """Steps of the grid that margins are rounded to, of its halves and of floats, never fall."""
    beta = Beta(below=below, above=above, intercept=-0.2)
    for start in (-40.0, -3.3, -1e-6, 0.6931471805599453, 17.0):
        for step in (2.0**-31, 2.0**-30, 2.0**-48):
            assert np.all(
                np.diff(beta.probabilities(start + step * np.arange(20_000, dtype=np.float64))) >= 0
            )


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"slope": 1.0},
        {"slope": 0, "intercept": 0},
        {"slope": "1", "intercept": 0},
        {"slope": 1, "intercept": True},
        {"method": "isotonic", "slope": 1.0, "intercept": 0.0},
        {"method": "beta", "slope": 1.0, "intercept": 0.0},
        {"slope": 0.75, "intercept": -1.5},
        {"method": "platt", "below": 1.0, "above": 1.0, "intercept": 0.0},
        {"method": "beta", "below": -1.0, "above": 1.0, "intercept": 0.0},
        {"method": "beta", "below": 0, "above": 0, "intercept": 0.0},
        {"method": "beta", "below": 1.0, "above": True, "intercept": 0.0},
        {"below": 1.0, "above": 1.0, "intercept": 0.0},
    ],
)
def test_malformed_documents_are_refused(document: object) -> None:
    """Unknown methods, missing fields, fields of another method and values out of range are refused."""
    with pytest.raises(DocumentError, match="probability"):
        read_calibration(document)


@pytest.mark.parametrize(("slope", "intercept"), [(0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (1.0, math.nan)])
def test_parameters_of_platt_out_of_range_are_refused(slope: float, intercept: float) -> None:
    """The slope is positive and both are finite."""
    with pytest.raises(ValueError, match="slope"):
        Platt(slope=slope, intercept=intercept)


@pytest.mark.parametrize(
    ("below", "above", "intercept"),
    [(0.0, 0.0, 1.0), (-1.0, 1.0, 0.0), (1.0, math.inf, 0.0), (1.0, 1.0, math.nan)],
)
def test_parameters_of_beta_out_of_range_are_refused(below: float, above: float, intercept: float) -> None:
    """Slopes are at least 0, not both 0, and all is finite."""
    with pytest.raises(ValueError, match="below and above"):
        Beta(below=below, above=above, intercept=intercept)
