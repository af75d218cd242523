import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.decomposition import calibration_table, expected_calibration_error

Sample = tuple[FloatArray, IntArray]

samples = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), max_size=80).map(
    lambda pairs: (
        np.array([pair[0] / 12 for pair in pairs]),
        np.array([pair[1] for pair in pairs], dtype=np.int64),
    )
)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 8))
def test_distinct_probabilities_fall_in_equal_bins(seed: int, size: int, bins: int) -> None:
    """Without ties bins have equal numbers of records and equal numpy's split of the sorted ones."""
    rng = np.random.default_rng(seed)
    probabilities, labels = rng.permutation(size * bins) / (size * bins), rng.integers(0, 2, size * bins)
    parts = np.split(np.argsort(probabilities), bins)
    table = calibration_table(probabilities, labels, bins=bins)
    assert [row.observed.records for row in table] == [size] * bins
    assert [row.observed.count for row in table] == [labels[part].sum() for part in parts]
    assert [row.probability for row in table] == pytest.approx([probabilities[part].mean() for part in parts])


@given(samples, st.integers(1, 10))
def test_bins_partition_the_records(sample: Sample, bins: int) -> None:
    """Records, frauds and probabilities sum over the bins, which ascend and do not exceed their number."""
    probabilities, labels = sample
    table = calibration_table(probabilities, labels, bins=bins)
    assert len(table) <= bins
    assert sum(row.observed.records for row in table) == len(labels)
    assert sum(row.observed.count or 0 for row in table) == labels.sum()
    assert sum(row.probability * row.observed.records for row in table) == pytest.approx(probabilities.sum())
    means = [row.probability for row in table]
    assert means == sorted(means)


def test_equal_probabilities_share_the_bin_of_their_middle() -> None:
    """Three equal records of four are in the lower bin, because the second one is."""
    table = calibration_table(np.array([0.2, 0.2, 0.2, 0.9]), np.array([0, 1, 0, 1]), bins=2)
    assert [(row.observed.count, row.observed.records) for row in table] == [(1, 3), (1, 1)]


@given(samples, st.integers(0, 2**32))
def test_order_of_records_does_not_matter(sample: Sample, seed: int) -> None:
    """Shuffled records give the same table, with ties."""
    order = np.random.default_rng(seed).permutation(len(sample[1]))
    assert calibration_table(sample[0][order], sample[1][order]) == calibration_table(*sample)


def test_error_weighs_bins_by_their_records() -> None:
    """Three records that are half wrong and one that is wholly right give three eighths."""
    table = calibration_table(np.array([0.5, 0.5, 0.5, 1.0]), np.array([0, 0, 0, 1]))
    assert expected_calibration_error(table) == pytest.approx(3 * 0.5 / 4)


def test_no_records_have_no_error() -> None:
    """Without records the table is empty and the error is None."""
    assert calibration_table(np.zeros(0), np.zeros(0, dtype=np.int64)) == ()
    assert expected_calibration_error(()) is None
