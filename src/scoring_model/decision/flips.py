"""Flips: records that a second decision gives another outcome than the first, as counts that add up.

Counts are arrays of `SHAPE`: by class, then by the outcome of the first decision, then by that of the second. Those of
several pages, days or groups are summed to those of all.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome

GENUINE, FRAUD, UNLABELLED = range(3)
"""Codes of classes: genuine and fraud are those of labels."""

SHAPE: Final = (3, len(OUTCOMES), len(OUTCOMES))
KINDS: Final = SHAPE[0] * SHAPE[1] * SHAPE[2]
"""Combinations of class and both outcomes."""

_STRICTER: Final = np.triu(np.ones(SHAPE[1:], dtype=bool), 1)


def flip_codes(
    classes: NDArray[np.integer], before: NDArray[np.integer], after: NDArray[np.integer]
) -> IntArray:
    """Return the place of each record in flattened counts, of shape (n,), 0 to `KINDS` - 1.

    Parameters
    ----------
    classes : ndarray of shape (n,)
    before, after : ndarray of shape (n,)
        Codes of outcomes.
    """
    return np.asarray((classes.astype(np.int64) * len(OUTCOMES) + before) * len(OUTCOMES) + after)


def count_flips(codes: IntArray, groups: IntArray | int = 0, size: int = 1) -> IntArray:
    """Count records by the codes of `flip_codes`.

    Parameters
    ----------
    groups : ndarray of shape (n,), int64
        Group of each record, 0 to `size` - 1.

    Returns
    -------
    ndarray of shape (size, *SHAPE), int64
    """
    return np.bincount(groups * KINDS + codes, minlength=size * KINDS).reshape(size, *SHAPE)


class Turns(NamedTuple):
    """Records of each class, and those whose second outcome is stricter or milder; each of shape (..., 3)."""

    records: IntArray
    stricter: IntArray
    milder: IntArray


def turns(counts: IntArray) -> Turns:
    """Sum counts of shape (..., *SHAPE)."""
    return Turns(
        records=counts.sum(axis=(-2, -1)),
        stricter=counts[..., _STRICTER].sum(axis=-1),
        milder=counts[..., _STRICTER.T].sum(axis=-1),
    )


def kinds(counts: IntArray) -> Iterator[tuple[Outcome, Outcome, IntArray]]:
    """Yield both outcomes, and the records of each class, of every combination that occurs in counts of `SHAPE`."""
    for i, j in np.argwhere(counts.any(axis=0)).tolist():
        yield OUTCOMES[i], OUTCOMES[j], counts[:, i, j]
