import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.training.folds import FIRST_ORIGIN, FoldError, cut_folds


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 400))
def test_each_fold_trains_on_all_earlier_rows(seed: int, folds: int, instants: int) -> None:
    """A fold trains only on earlier rows than it validates on, and the validation segments cover the rest once."""
    rng = np.random.default_rng(seed)
    times = rng.integers(0, instants, 300)
    targets = rng.integers(0, 2, 300).astype(np.int8)
    try:
        cuts = cut_folds(times, targets, folds)
    except FoldError:
        assert instants < 100  # so few instants that a fold is empty
        return
    assert 1 <= len(cuts) <= folds
    for train, validation in cuts:
        assert times[train].max() < times[validation].min()
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(validation) > 0)
        assert set(train) == set(np.flatnonzero(times < times[validation].min()))
    judged = np.concatenate([validation for _, validation in cuts])
    assert sorted([*cuts[0][0], *judged]) == list(range(300))
    if instants > 200:
        assert len(cuts) == folds
        assert abs(len(cuts[0][0]) / 300 - FIRST_ORIGIN) < 0.1


def test_folds_have_equally_many_frauds_where_a_stretch_has_none() -> None:
    """Twelve frauds before row 40 and seven after row 85: none lies where the first folds would be judged."""
    times = np.arange(100)
    targets = ((times < 36) & (times % 3 == 0) | (times > 85) & (times % 2 == 0)).astype(np.int8)
    cuts = cut_folds(times, targets, 3)
    assert [int(targets[judged].sum()) for _, judged in cuts] == [4, 4, 4]
    assert [int(targets[before].sum()) for before, _ in cuts] == [7, 11, 15]


def test_folds_are_fewer_where_so_many_lack_frauds() -> None:
    """Two rings, each of one moment, are one to train on and one to be judged on."""
    times = np.arange(100) // 5
    targets = ((times == 6) | (times == 16)).astype(np.int8)
    ((before, judged),) = cut_folds(times, targets, 3)
    assert (int(targets[before].sum()), int(targets[judged].sum())) == (5, 5)


def test_folds_without_a_class_are_named() -> None:
    """The error names every fold that cannot be trained or validated."""
    times = np.arange(100)
    targets = (times == 7).astype(np.int8)
    with pytest.raises(FoldError, match=r"fold 1 has 20 rows to be judged on, 0.*fold 2.*fold 3"):
        cut_folds(times, targets, 3)
    with pytest.raises(FoldError, match="no rows"):
        cut_folds(times[:0], targets[:0], 3)
