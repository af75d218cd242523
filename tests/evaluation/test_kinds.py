"""Kinds of stopped applicants of whom nobody was observed: ranges of features, and what a comparison says of them."""

import numpy as np
import pytest

from scoring_model.evaluation.kinds import FEW, Kinds, check_released
from scoring_model.findings import Code, State

NAN = float("nan")
COLUMNS = np.array([0, 1])


def rows(count: int) -> np.ndarray:
    """Rows of a number, of a flag that 2 % have, and of a column that no model reads."""
    place = np.arange(count)
    return np.column_stack([place / count, (place % 50 == 0).astype(np.float64), np.full(count, 7.0)])


@pytest.mark.parametrize(("seen", "unseen"), [(FEW - 1, True), (FEW, False)])
def test_a_flag_that_nearly_all_were_stopped_for_is_no_kind_that_was_observed(
    seen: int, unseen: bool
) -> None:
    """Below twenty observed ones the released with the flag are counted; those without it never are."""
    everyone = rows(5_000)
    flagged = np.flatnonzero(everyone[:, 1])
    observed = np.ones(len(everyone), dtype=bool)
    observed[flagged[seen:]] = False
    kinds = Kinds.of(everyone, observed, COLUMNS)
    released = np.array([[0.31, 1.0, 7.0], [0.62, 0.0, 99.0]])
    found = kinds.unseen(released)
    assert {column: mask.tolist() for column, mask in found.items()} == ({1: [True, False]} if unseen else {})


def test_ranges_and_missing_values_are_kinds() -> None:
    """Of a number that was always stopped above .9, and where it is missing, nobody was observed."""
    everyone = rows(2_000)
    everyone[::100, 0] = NAN
    observed = (everyone[:, 0] < 0.9) & (everyone[:, 1] == 0)
    kinds = Kinds.of(everyone, observed, np.array([0]))
    found = kinds.unseen(np.array([[0.95, 0, 0], [NAN, 0, 0], [0.5, 0, 0]]))
    assert found[0].tolist() == [True, True, False]


def test_the_finding_counts_each_applicant_once() -> None:
    """By the title of the feature; without such a kind it is clear."""
    everyone = rows(2_000)
    observed = (everyone[:, 0] < 0.9) & (everyone[:, 1] == 0)
    kinds = Kinds.of(everyone, observed, COLUMNS)
    released = np.array([[0.95, 1.0, 0.0], [0.5, 1.0, 0.0], [0.5, 0.0, 0.0]])
    found = check_released(
        kinds, released, ("share", "vpn", "rest"), {"vpn": "Whether a VPN is used"}, records=1_800
    )
    assert (found.code, found.state, found.count, found.records) == (Code.UNSEEN_KINDS, State.FOUND, 2, 1_800)
    assert found.sentence == (
        "2 of the 3 stopped applicants whom the challenger releases are of a kind of which fewer than 20 were "
        "observed, by Whether a VPN is used (2), share (1): it can't have learnt what they are"
    )
    clear = check_released(kinds, released[2:], ("share", "vpn", "rest"), {}, records=1_800)
    assert clear.state is State.CLEAR
