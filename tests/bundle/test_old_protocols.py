"""Bundles of older protocols, committed when they were current, are read and decide as they did."""

import json
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from scoring_model.bundle import read_bundle
from scoring_model.bundle.errors import BundleError, FeaturesUnknown, OlderProtocol
from scoring_model.bundle.golden import OUTPUTS, Golden
from scoring_model.bundle.manifest import WITHOUT_CONTROL
from scoring_model.scorer import Scorer
from scoring_model.scorer.decider import Decider

HERE: Final = Path(__file__).parent
OLD: Final = {1: HERE / "protocol_1", 2: HERE / "protocol_2"}
"""By protocol, a bundle that a version of that protocol sealed. Never to be written again."""
REASONS: Final = json.loads((HERE / "old_reasons.json").read_text())
"""By protocol, the reasons of the golden rows of that bundle, as the version that sealed it gave them."""


def test_every_older_protocol_has_a_bundle() -> None:
    """A change that raises the protocol leaves a bundle of the one before."""
    assert list(OLD) == list(range(1, WITHOUT_CONTROL))


@pytest.mark.parametrize("protocol", OLD)
def test_an_old_bundle_decides_as_it_did(protocol: int) -> None:
    """The whole decision part gives the bits of its golden rows, and the reasons that it gave then."""
    sealed = read_bundle(OLD[protocol])
    assert sealed.manifest.protocol == protocol
    golden, decider = Golden.from_bytes(sealed.files["golden.npz"]), Decider.of(sealed)
    found = decider.decide(golden.rows)
    for name in OUTPUTS:
        assert np.array_equal(getattr(found, name), getattr(golden.decisions, name)), name
    reasons = [[reason.code for reason in decider.decide_row(row).reasons] for row in golden.rows]
    assert reasons == REASONS[str(protocol)]
    assert any(reasons)


@pytest.mark.parametrize(
    ("protocol", "error", "text"),
    [
        (
            1,
            FeaturesUnknown,
            "the bundle of protocol 1 has links 1, normalisation 1, signals 1 .*b3b4672af1f2",
        ),
        (2, OlderProtocol, "protocol_2: is of protocol 2, .*scoring-model upgrade .*protocol_2 --out NEW"),
    ],
)
def test_an_old_bundle_scores_nothing_new(protocol: int, error: type[BundleError], text: str) -> None:
    """It is refused by name, with what to do."""
    with pytest.raises(error, match=text):
        Scorer.load(OLD[protocol])
