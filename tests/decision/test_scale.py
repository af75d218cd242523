import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.arrays import FloatArray
from scoring_model.decision.document import DocumentError
from scoring_model.decision.scale import MAX_SCORE, ScoreScale, nominal_share

finite = st.floats(-1e6, 1e6)
cuts_lists = st.lists(finite, min_size=1, max_size=30).map(
    lambda few: np.sort(np.resize(np.array(few), MAX_SCORE))
)


def _scale_of(cuts: FloatArray) -> ScoreScale:
    return ScoreScale(cuts=cuts, extrapolated_from=900)


@given(cuts_lists, st.lists(st.floats(allow_nan=False), max_size=20))
def test_score_is_the_number_of_cuts_at_most_the_margin(cuts: FloatArray, margins: list[float]) -> None:
    """A score counts the cuts that are at most the margin, and one margin scores as many do."""
    scale = _scale_of(cuts)
    probes = [*margins, *cuts[::97], *np.nextafter(cuts[::97], -np.inf), -0.0, 0.0, math.inf, -math.inf]
    counted = [sum(cut <= margin for cut in cuts.tolist()) for margin in probes]
    assert [scale.score(margin) for margin in probes] == counted
    many = scale.scores(np.array(probes))
    assert many.dtype == np.int64
    assert many.tolist() == counted


@given(cuts_lists, st.integers(1, 1001))
def test_document_reads_back_exactly(cuts: FloatArray, extrapolated_from: int) -> None:
    """A scale that went through JSON text is equal, to the last bit of every cut."""
    scale = ScoreScale(cuts=cuts, extrapolated_from=extrapolated_from)
    again = ScoreScale.from_json(json.loads(json.dumps(scale.to_json(), allow_nan=False)))
    assert again == scale
    assert again.cuts.tobytes() == scale.cuts.tobytes()


def test_scale_does_not_change_with_the_array_that_made_it() -> None:
    """The cuts are a read-only copy: what is written into the source later moves no score."""
    source = np.arange(1000.0)
    scale = _scale_of(source)
    source[:] = 0.0
    assert scale.score(0.5) == 1
    with pytest.raises(ValueError, match="read-only"):
        scale.cuts[0] = 1.0


def test_nan_is_refused() -> None:
    """A margin that is not a number never gets a score, alone or among others."""
    scale = _scale_of(np.arange(1000.0))
    with pytest.raises(ValueError, match="NaN"):
        scale.score(math.nan)
    with pytest.raises(ValueError, match="NaN in 1 of 2"):
        scale.scores(np.array([0.0, math.nan]))


@pytest.mark.parametrize(
    ("cuts", "problem"),
    [
        (np.arange(999.0), "1000 finite"),
        (np.append(np.arange(999.0), np.inf), "1000 finite"),
        (np.append(np.arange(999.0), np.nan), "1000 finite"),
        (np.append(np.arange(999.0), 0.0), "must not decrease"),
    ],
)
def test_cuts_that_are_no_scale_are_refused(cuts: FloatArray, problem: str) -> None:
    """A scale has 1,000 finite cuts that never decrease."""
    with pytest.raises(ValueError, match=problem):
        _scale_of(cuts)


@pytest.mark.parametrize("extrapolated_from", [0, 1002])
def test_extrapolated_from_is_a_score_or_one_more(extrapolated_from: int) -> None:
    """The first extrapolated score lies in 1..1001."""
    with pytest.raises(ValueError, match="extrapolated_from"):
        ScoreScale(cuts=np.arange(1000.0), extrapolated_from=extrapolated_from)


def test_document_names_all_its_problems() -> None:
    """A document is refused with every unknown, missing and malformed field at once."""
    with pytest.raises(DocumentError) as refused:
        ScoreScale.from_json({"cuts": [1.0, True], "colour": 1})
    assert sorted(found.pointer for found in refused.value.violations) == [
        "/colour",
        "/cuts",
        "/extrapolated_from",
    ]


def test_nominal_share_is_a_tenth_every_250_points() -> None:
    """250 is one in ten, 500 one in a hundred, 750 one in a thousand, 1000 one in ten thousand."""
    assert [nominal_share(score) for score in (0, 250, 500, 750, 1000)] == [1.0, 0.1, 0.01, 0.001, 0.0001]
