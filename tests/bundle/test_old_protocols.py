"""Bundles of older protocols, committed when they were current, are read and decide as they did."""

from pathlib import Path

import numpy as np
import pytest

from scoring_model.bundle import Bundle, read_bundle
from scoring_model.bundle.codec import read_json
from scoring_model.bundle.golden import Golden
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.decision.probability import Platt, read_calibration
from scoring_model.decision.scale import ScoreScale
from scoring_model.scorer.session import MarginSession
from scoring_model.training.run import Training

OLD = {1: Path(__file__).with_name("protocol_1")}
"""By protocol, a bundle that a version of that protocol sealed. Never to be written again."""


def test_every_older_protocol_has_a_bundle() -> None:
    """Whoever raises the protocol leaves a bundle of the one before."""
    assert list(OLD) == list(range(1, PROTOCOL))


@pytest.mark.parametrize("protocol", OLD)
def test_an_old_bundle_decides_as_it_did(protocol: int) -> None:
    """Its seal is sound, and margins, scores and probabilities of its golden rows are the bits that it holds."""
    sealed = read_bundle(OLD[protocol])
    assert sealed.manifest.protocol == protocol
    golden = Golden.from_bytes(sealed.files["golden.npz"])
    margins = MarginSession(sealed.files["model.onnx"], threads=1).margins(golden.rows)
    scale = ScoreScale.from_json(read_json(sealed.files["scale.json"]))
    calibration = read_calibration(read_json(sealed.files["probability.json"]))
    assert isinstance(calibration, Platt)
    assert np.array_equal(margins, golden.decisions.margins)
    assert np.array_equal(scale.scores(margins), golden.decisions.scores)
    assert np.array_equal(calibration.probabilities(margins), golden.decisions.probabilities)


def test_a_new_bundle_names_its_method(training: Training) -> None:
    """What is written now names how margins become probabilities."""
    bundle: Bundle = training.bundle
    assert read_json(bundle.files["probability.json"])["method"] in ("platt", "beta")
