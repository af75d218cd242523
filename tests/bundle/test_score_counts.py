"""The counts of scores in a bundle: exact, aggregated, and read strictly."""

import json
from typing import Any

import numpy as np
import pytest

from scoring_model.bundle import ScoreCounts
from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.scorer import Scorer
from scoring_model.training.preparation import Prepared
from scoring_model.training.run import Training

KINDS = ("persons", "rings", "genuine", "frauds")


@pytest.fixture(scope="module")
def data(training: Training) -> bytes:
    """The file of a real bundle."""
    return training.bundle.files["score_counts.json"]


def test_counts_are_those_of_the_validation_part(data: bytes, prepared: Prepared, scorer: Scorer) -> None:
    """Each score counts its records: all of a class, and one of each genuine person and ring of frauds."""
    scores = scorer.decide(prepared.rows[prepared.split.validation]).scores
    targets, counts = prepared.split.validation_targets, ScoreCounts.from_bytes(data)
    for kind, chosen in zip(
        KINDS, (prepared.genuine_persons, prepared.fraud_rings, targets == 0, targets == 1), strict=True
    ):
        assert np.array_equal(getattr(counts, kind), np.bincount(scores[chosen], minlength=1001)), kind
    assert dict(counts.limits) == {"max_false_reject": 0.01, "max_step_up": 0.08}
    assert counts.confidence == 0.95
    assert counts.until == prepared.split.boundaries.validation_to


def test_nothing_but_counts_is_held(data: bytes) -> None:
    """The file holds counts by score, and nothing of single records; it reads back to the same bytes."""
    plain = json.loads(data)
    assert plain.keys() == {*KINDS, "limits", "confidence", "until"}
    assert {type(number) for kind in KINDS for number in plain[kind].values()} == {int}
    assert ScoreCounts.from_bytes(data).to_bytes() == data
    assert len(data) < 60_000


@pytest.mark.parametrize(
    "change",
    [
        {"persons": {"1001": 1}},
        {"persons": {"-1": 1}},
        {"persons": {"07": 1}},
        {"persons": {"x": 1}},
        {"persons": {"7": 0}},
        {"persons": {"7": -1}},
        {"persons": {"7": True}},
        {"persons": {"7": 1.5}},
        {"persons": {"7": 2**70}},
        {"persons": [1]},
        {"confidence": 2},
        {"limits": {"max_step_up": "0.1"}},
        {"until": "yesterday"},
        {"until": None},
        {"names": ["Ada"]},
    ],
)
def test_anything_else_is_refused(data: bytes, change: dict[str, Any]) -> None:
    """Scores out of range, counts that are none, and unknown fields are errors."""
    with pytest.raises(ContentInvalid):
        ScoreCounts.from_bytes(json_bytes({**json.loads(data), **change}))
