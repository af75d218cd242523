"""Bundles of an older protocol are read by its reader, those made before the first release by none."""

from pathlib import Path

import numpy as np
import pytest

from older_protocol import OLDER, older_bundle, register, with_protocol
from scoring_model.bundle import read_bundle
from scoring_model.bundle.errors import OlderProtocol, UnreleasedProtocol
from scoring_model.bundle.golden import OUTPUTS, Golden
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.scorer import Scorer
from scoring_model.scorer.decider import Decider


@pytest.mark.parametrize("protocol", [*range(1, 6), OLDER])
def test_what_was_made_before_the_first_release_is_refused(bundle: Path, protocol: int) -> None:
    """Every protocol that was never released is refused by name, with what to do."""
    with_protocol(bundle, protocol)
    with pytest.raises(
        UnreleasedProtocol, match=f"{protocol}, was made before the first release; make it anew"
    ):
        read_bundle(bundle)


def test_an_older_bundle_decides_as_it_did(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reader of its protocol it gives the bits of its golden rows, and the reasons that it gave then."""
    register(monkeypatch)
    old = read_bundle(older_bundle(sealed, tmp_path / "old"))
    assert old.manifest.protocol == OLDER < PROTOCOL
    golden, decider, then = Golden.from_bytes(old.files["golden.npz"]), Decider.of(old), Decider.load(sealed)
    found = decider.decide(golden.rows)
    for name in OUTPUTS:
        assert np.array_equal(getattr(found, name), getattr(golden.decisions, name)), name
    said = [decider.decide_row(row).reasons for row in golden.rows]
    assert said == [then.decide_row(row).reasons for row in golden.rows]
    assert any(said)


def test_an_older_bundle_scores_nothing_new(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused by name, with what to do."""
    register(monkeypatch)
    old = older_bundle(sealed, tmp_path / "old")
    with pytest.raises(
        OlderProtocol, match=f"old: is of protocol {OLDER}; .*scoring-model upgrade .*old --out NEW"
    ):
        Scorer.load(old)
