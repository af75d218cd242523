import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from scoring_model.decision.document import DocumentError
from scoring_model.decision.probability import RESOLUTION, Platt

platts = st.builds(Platt, slope=st.floats(1e-3, 1e3), intercept=st.floats(-50, 50))
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


@given(platts, margins_lists)
def test_one_margin_has_the_bits_of_many(platt: Platt, margins: list[float]) -> None:
    """A margin gets the same bits alone and in an array, infinite and huge ones included."""
    many = platt.probabilities(np.array(margins))
    assert [platt.probability(margin) for margin in margins] == many.tolist()


def test_one_margin_has_the_bits_of_many_at_scale() -> None:
    """A hundred thousand margins get the same bits one by one."""
    margins = np.random.default_rng(0).normal(0, 8, 100_000)
    platt = Platt(slope=0.83, intercept=-0.31)
    assert [platt.probability(margin) for margin in margins.tolist()] == platt.probabilities(margins).tolist()


@given(platts, margins_lists)
def test_probability_is_a_multiple_of_the_resolution_in_the_unit_interval(
    platt: Platt, margins: list[float]
) -> None:
    """Every probability is k * 2^-30 with an integer k in 0..2^30."""
    steps = platt.probabilities(np.array(margins)) / RESOLUTION
    assert np.array_equal(steps, np.rint(steps))
    assert steps.min() >= 0
    assert steps.max() <= 2**30


@given(platts, margins_lists)
def test_probability_rises_with_the_margin(platt: Platt, margins: list[float]) -> None:
    """A higher margin is never less probable."""
    assert np.all(np.diff(platt.probabilities(np.sort(np.array(margins)))) >= 0)


@given(platts)
def test_document_reads_back_exactly(platt: Platt) -> None:
    """Parameters that went through JSON text are equal."""
    assert Platt.from_json(json.loads(json.dumps(platt.to_json()))) == platt


@pytest.mark.parametrize(("slope", "intercept"), [(0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (1.0, math.nan)])
def test_parameters_out_of_range_are_refused(slope: float, intercept: float) -> None:
    """The slope is positive and both are finite."""
    with pytest.raises(ValueError, match="slope"):
        Platt(slope=slope, intercept=intercept)


@pytest.mark.parametrize(
    "document",
    [
        {"slope": 1.0},
        {"slope": 0, "intercept": 0},
        {"slope": "1", "intercept": 0},
        {"slope": 1, "intercept": True},
    ],
)
def test_malformed_documents_are_refused(document: dict[str, object]) -> None:
    """A document with a missing field, text for a number or a slope of 0 is refused."""
    with pytest.raises(DocumentError):
        Platt.from_json(document)


def test_nan_is_refused() -> None:
    """A margin that is not a number has no probability, alone or among others."""
    platt = Platt(slope=1.0, intercept=0.0)
    with pytest.raises(ValueError, match="NaN"):
        platt.probability(math.nan)
    with pytest.raises(ValueError, match="NaN in 1 of 2"):
        platt.probabilities(np.array([0.0, math.nan]))
