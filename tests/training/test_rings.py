"""Rings against a search in breadth, and the choice of one record of each."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.arrays import IntArray
from scoring_model.training.preparation import MOST_SHARED, find_rings, one_of_each


def searched(keys: list[IntArray], rows: IntArray) -> list[int]:
    """The first place of each record's component, found by walking from record to record."""
    counts = [{code: int(np.count_nonzero(codes == code)) for code in codes.tolist()} for codes in keys]

    def tied(one: int, other: int) -> bool:
        return any(
            codes[one] == codes[other] >= 0 and count[int(codes[one])] <= MOST_SHARED
            for codes, count in zip(keys, counts, strict=True)
        )

    found = [-1] * len(rows)
    for start in range(len(rows)):
        queue = deque([start] if found[start] < 0 else [])
        while queue:
            place = queue.popleft()
            if found[place] < 0:
                found[place] = start
                queue.extend(p for p in range(len(rows)) if found[p] < 0 and tied(rows[place], rows[p]))
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(0, 40), st.integers(2, 80))
def test_rings_are_the_connected_components(seed: int, keys: int, rows: int, values: int) -> None:
    """Union-find finds what a search in breadth finds, for any keys, absent ones among them."""
    rng = np.random.default_rng(seed)
    table = [rng.integers(-1, values, 60) for _ in range(keys)]
    chosen = rng.permutation(60)[:rows].astype(np.int64)
    assert find_rings(table, chosen).tolist() == searched(table, chosen)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_value_that_more_records_hold_joins_nobody(extra: int) -> None:
    """A value of 256 records of the table joins; that of 257 does not, however few of them are asked for."""
    codes = np.zeros(MOST_SHARED + extra, dtype=np.int64)
    rows = np.array([3, 0, 7])
    assert find_rings([codes], rows).tolist() == ([0, 1, 2] if extra else [0, 0, 0])


def test_records_that_are_not_asked_for_join_nobody() -> None:
    """Two records that each share a value with a third are joined through it only when it is one of them."""
    address, device = np.array([5, 5, 6]), np.array([1, 2, 2])
    assert find_rings([address, device], np.array([0, 2])).tolist() == [0, 1]
    assert find_rings([address, device], np.array([0, 2, 1])).tolist() == [0, 0, 0]


def test_a_chain_is_one_ring() -> None:
    """Ten thousand records, each tied to the next by another value, are one ring."""
    places = np.arange(10_000)
    shuffled = np.random.default_rng(0).permutation(places)
    keys = [shuffled // 2, (shuffled + 1) // 2]
    assert set(find_rings(keys, places).tolist()) == {0}


@settings(max_examples=100)
@given(st.lists(st.integers(-5, 5), max_size=60))
def test_each_group_is_represented_once(groups: list[int]) -> None:
    """There is exactly one place of each group, and the same ones whatever the groups are called."""
    codes = np.array(groups, dtype=np.int64)
    chosen = one_of_each(codes)
    assert sorted(codes[chosen].tolist()) == sorted(set(groups))
    assert chosen.tolist() == sorted(chosen.tolist()) == one_of_each(-7 * codes).tolist()


def test_every_member_is_chosen_equally_often() -> None:
    """Of 4,000 groups of four the members of each place are chosen in a quarter, within four standard errors."""
    chosen = one_of_each(np.repeat(np.arange(4000), 4))
    counts = np.bincount(chosen % 4, minlength=4)
    assert np.all(np.abs(counts - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5)
