"""Counts of flips: those of a loop, which add up over pages and groups."""

from collections import Counter

import numpy as np

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.flips import FRAUD, SHAPE, UNLABELLED, count_flips, flip_codes, kinds, turns


def test_counts_are_those_of_a_loop_and_add_up() -> None:
    """Each cell has the records of its class and outcomes; pages and groups sum to the whole."""
    rng = np.random.default_rng(0)
    classes, before, after, groups = (rng.integers(0, size, 500) for size in (3, 3, 3, 4))
    codes = flip_codes(classes, before, after)
    (whole,) = count_flips(codes)
    expected = Counter(zip(classes.tolist(), before.tolist(), after.tolist(), strict=True))
    assert {place: whole[place] for place in np.ndindex(SHAPE)} == expected
    assert (count_flips(codes[:200]) + count_flips(codes[200:]) == whole).all()
    by_group = count_flips(codes, groups, 4)
    assert by_group.shape == (4, *SHAPE)
    assert (by_group.sum(axis=0) == whole).all()
    assert [part.sum() for part in by_group] == np.bincount(groups).tolist()


def test_turns_are_stricter_or_milder() -> None:
    """A later outcome is the stricter one; equal outcomes are neither."""
    counts = np.zeros(SHAPE, dtype=np.int64)
    counts[FRAUD] = [[1, 2, 4], [8, 16, 32], [64, 128, 256]]
    found = turns(np.stack([counts, counts]))
    assert [part[:, FRAUD].tolist() for part in found] == [[511] * 2, [2 + 4 + 32] * 2, [8 + 64 + 128] * 2]
    assert all((part[:, [0, UNLABELLED]] == 0).all() for part in found)


def test_kinds_are_the_combinations_that_occur() -> None:
    """In the order of the outcomes, each with its records by class."""
    counts = np.zeros(SHAPE, dtype=np.int64)
    counts[:, 2, 0], counts[UNLABELLED, 0, 0] = (1, 2, 3), 4
    passed, _, failed = OUTCOMES
    assert [(one, other, numbers.tolist()) for one, other, numbers in kinds(counts)] == [
        (passed, passed, [0, 0, 4]),
        (failed, passed, [1, 2, 3]),
    ]
