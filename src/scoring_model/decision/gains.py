"""How much a forest uses each feature, from its trees alone."""

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.forest import Forest


def split_gains(forest: Forest) -> tuple[IntArray, FloatArray]:
    """Count the splits on each feature, and what they explain of the variance of the trees.

    A split of n training rows into n_l and n_r, whose mean outputs of the tree are m_l and m_r, explains
    ``(n_l n_r / n) (m_l - m_r)^2 / N`` of the variance of that output over the N rows of the tree. The splits of a tree
    explain all of it.

    Returns
    -------
    splits : ndarray of shape (d,), int64
    gains : ndarray of shape (d,), float64
        In squared log-odds, at least 0. They sum to the sum of the variances of all trees. Unlike a contribution they
        depend on the rows of the training alone, and features that say the same share what they explain.
    """
    counts = np.zeros(len(forest.feature))
    sums = np.zeros(len(forest.feature))
    explained = np.zeros(len(forest.feature))
    leaf_sums = forest.leaf_count * forest.leaf_value
    # A child has a higher index than its parent, so backwards every child comes first.
    for split in range(len(forest.feature) - 1, -1, -1):
        below = [
            (counts[child], sums[child]) if child >= 0 else (forest.leaf_count[~child], leaf_sums[~child])
            for child in (forest.left[split], forest.right[split])
        ]
        (left, left_sum), (right, right_sum) = below
        counts[split], sums[split] = left + right, left_sum + right_sum
        if left and right:
            explained[split] = left * right / (left + right) * (left_sum / left - right_sum / right) ** 2
    trees = np.repeat(np.arange(forest.tree_count), np.diff(forest.tree_splits))
    rows = counts[forest.tree_splits[trees]]
    shares = np.divide(explained, rows, out=np.zeros_like(explained), where=rows > 0)
    gains = np.zeros(forest.feature_count)
    np.add.at(gains, forest.feature, shares)
    return np.bincount(forest.feature, minlength=forest.feature_count), gains
