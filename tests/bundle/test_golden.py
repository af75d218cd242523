"""Golden rows: an exact round trip, and every changed bit is found."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.arrays import FloatArray
from scoring_model.bundle.codec import npz_bytes, read_npz
from scoring_model.bundle.errors import ContentInvalid, GoldenMismatch
from scoring_model.bundle.golden import Golden, choose_rows
from scoring_model.decision.rules import Decisions

ROWS = np.array([[0.0, 1.5], [np.nan, -0.0], [np.inf, 5e-324], [7.0, -np.inf]])


def decide(rows: FloatArray) -> Decisions:
    """Decide by a model of the tests' own."""
    margins = np.nan_to_num(rows, nan=0.5, posinf=3.0, neginf=-3.0).sum(axis=1)
    scores = np.clip(margins * 100, 0, 1000).astype(np.int64)
    outcomes = ((scores >= 100).astype(np.int8) + (scores >= 300)).astype(np.int8)
    return Decisions(
        margins=margins, scores=scores, probabilities=1 / (1 + np.exp(-margins)), outcomes=outcomes
    )


GOLDEN = Golden(rows=ROWS, decisions=decide(ROWS))


def test_round_trip_is_exact() -> None:
    """What is read gives the same bytes again, and passes its own check."""
    read = Golden.from_bytes(GOLDEN.to_bytes())
    assert read.to_bytes() == GOLDEN.to_bytes()
    assert read.rows.tobytes() == ROWS.tobytes()
    read.check(decide)


@given(st.sampled_from(["margins", "probabilities", "scores"]), st.integers(0, 3), st.integers(0, 62))
def test_every_changed_bit_is_named(name: str, row: int, bit: int) -> None:
    """One bit of one output is a mismatch that names this output and this row, and no other."""

    def wrong(rows: FloatArray) -> Decisions:
        decided = decide(rows)
        changed = getattr(decided, name).copy()
        changed.view(np.int64)[row] ^= 1 << bit
        return replace(decided, **{name: changed})

    with pytest.raises(GoldenMismatch) as caught:
        GOLDEN.check(wrong)
    assert caught.value.differences == (f"{name} in 1 of 4 rows ({row})",)


def test_all_outputs_are_named_at_once() -> None:
    """Different margins and different outcomes are both named, with their rows."""

    def wrong(rows: FloatArray) -> Decisions:
        decided = decide(rows)
        return replace(decided, margins=decided.margins + 1, outcomes=np.roll(decided.outcomes, 1))

    with pytest.raises(GoldenMismatch, match=r"margins in 4 of 4 rows \(0, 1, 2, 3\); outcomes in"):
        GOLDEN.check(wrong)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [(np.nan, np.nan, True), (0.0, -0.0, False), (1.0, np.nextafter(1.0, 2.0), False), (np.nan, 1.0, False)],
)
def test_bits_are_compared(expected: float, actual: float, same: bool) -> None:
    """NaN equals itself, 0.0 is not -0.0, and neighbouring doubles differ."""
    decided = replace(decide(ROWS), probabilities=np.full(4, expected))
    changed = decided.probabilities.copy()
    changed[1] = actual
    golden = Golden(rows=ROWS, decisions=decided)
    if same:
        golden.check(lambda rows: replace(decided, probabilities=changed))
        return
    with pytest.raises(GoldenMismatch, match=re.escape("probabilities in 1 of 4 rows (1)")):
        golden.check(lambda rows: replace(decided, probabilities=changed))


@pytest.mark.parametrize(
    "change",
    [
        lambda margins: margins.astype(np.float32),
        lambda margins: margins[:-1],
        lambda margins: margins[:, None],
        lambda margins: margins.astype(np.int64),
    ],
)
def test_outputs_of_another_form_are_named(change: Callable[[FloatArray], Any]) -> None:
    """An output of another type, length or shape is a mismatch, not an accident."""
    with pytest.raises(GoldenMismatch, match="margins: "):
        GOLDEN.check(lambda rows: replace(decide(rows), margins=change(decide(rows).margins)))


def test_many_rows_are_counted_and_few_named() -> None:
    """An error stays short however many rows differ."""
    rows = np.zeros((1000, 2))
    golden = Golden(rows=rows, decisions=decide(rows))
    with pytest.raises(GoldenMismatch) as caught:
        golden.check(lambda rows: decide(rows + 1.0))
    assert "margins in 1000 of 1000 rows (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" in caught.value.differences


def test_all_misfits_are_named_at_once() -> None:
    """Golden rows whose parts do not fit together are not made."""
    decided = replace(decide(ROWS), scores=np.zeros(3, dtype=np.int64), margins=np.zeros(4, dtype=np.float32))
    with pytest.raises(ValueError, match=r"margins: .*float32.*scores: ") as caught:
        Golden(rows=ROWS, decisions=decided)
    assert "outcomes" not in str(caught.value)


def altered(**changes: Any) -> bytes:
    """Return the bytes of golden rows with some arrays replaced, or left out where None is given."""
    arrays = {**read_npz(GOLDEN.to_bytes()), **changes}
    return npz_bytes({name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        altered(rows=None),
        altered(more=np.zeros(1)),
        altered(margins=np.zeros(3)),
        altered(rows=np.zeros(4)),
    ],
)
def test_other_contents_are_refused(data: bytes) -> None:
    """A sealed file that does not hold golden rows is refused by name."""
    with pytest.raises(ContentInvalid):
        Golden.from_bytes(data)


def test_chosen_rows_spread_over_the_margins() -> None:
    """The least and greatest margin are chosen, no large gap is left, and a third at least has gaps."""
    random = np.random.default_rng(4)
    rows = random.normal(size=(2000, 3))
    rows[:500, 1] = np.nan
    margins = random.normal(size=2000)
    chosen = choose_rows(rows, margins, count=90)
    assert chosen.size == np.unique(chosen).size == 90
    assert np.isnan(rows[chosen]).any(axis=1).sum() >= 30
    assert margins[500:].min() in margins[chosen]
    assert margins[500:].max() in margins[chosen]
    ranks = np.sort(np.searchsorted(np.sort(margins), margins[chosen]))
    assert np.diff(ranks).max() < 60


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 30))
def test_as_many_rows_are_chosen_as_there_are(size: int, count: int, missing: int) -> None:
    """The requested number of rows, or all, is chosen, distinct and in order, with ties and missing values."""
    rows = np.zeros((size, 2))
    rows[:missing, 0] = np.nan
    chosen = choose_rows(rows, np.zeros(size), count=count)
    assert chosen.size == min(count, size)
    assert np.all(np.diff(chosen) > 0)
    assert set(chosen.tolist()) <= set(range(size))
