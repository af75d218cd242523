"""Rates of outcomes and errors: sums of counts by class and outcome."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.flips import UNLABELLED
from scoring_model.estimates import Estimate
from scoring_model.evaluation.uncertainty import share_of, weighted_share

CELLS: Final = 2 * len(OUTCOMES)
"""Combinations of class (0 genuine, 1 fraud) and outcome; a cell's code is 3 * class + outcome."""

_GENUINE: Final = frozenset(range(len(OUTCOMES)))
_FRAUDS: Final = frozenset(range(len(OUTCOMES), CELLS))
_ALL: Final = _GENUINE | _FRAUDS
_OUTCOME: Final = {outcome: frozenset({code, code + len(OUTCOMES)}) for code, outcome in enumerate(OUTCOMES)}
_PASSED, _STEPPED_UP, _FAILED = (
    _OUTCOME[one] for one in (Outcome.PASSED, Outcome.STEPPED_UP, Outcome.FAILED)
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of records: the cells of the numerator and of the denominator."""

    numerator: frozenset[int]
    denominator: frozenset[int]


_NAMES: Final = {"passed": _PASSED, "stepped_up": _STEPPED_UP, "failed": _FAILED}

RATES: Final[dict[str, Rate]] = {
    **{name: Rate(cells, _ALL) for name, cells in _NAMES.items()},
    **{f"{name}_frauds": Rate(cells & _FRAUDS, _ALL) for name, cells in _NAMES.items()},
    **{f"genuine_{name}": Rate(cells & _GENUINE, _GENUINE) for name, cells in _NAMES.items()},
    **{f"fraud_{name}": Rate(cells & _FRAUDS, _FRAUDS) for name, cells in _NAMES.items()},
    "false_reject": Rate(_FAILED & _GENUINE, _GENUINE),
    "step_up": Rate((_STEPPED_UP | _FAILED) & _GENUINE, _GENUINE),
    "missed_fraud": Rate(_PASSED & _FRAUDS, _FRAUDS),
    "fraud_share": Rate(_FRAUDS, _ALL),
}
"""Shares of all records, of genuine records and of frauds, by name."""

CLASS_RATES: Final = (
    *(f"{label}_{name}" for label in ("genuine", "fraud") for name in _NAMES),
    *("false_reject", "step_up", "missed_fraud"),
)
"""Those of one class: what becomes of genuine records and of frauds, and the errors."""

SHARES: Final = tuple(name for name in RATES if name not in CLASS_RATES)
"""Those of all records."""


def errs(name: str, outcomes: NDArray[np.integer]) -> BoolArray:
    """Return which outcomes a rate counts, for records of its class."""
    return np.isin(outcomes, [cell % len(OUTCOMES) for cell in RATES[name].numerator])


def cell_codes(labels: NDArray[np.integer], outcomes: NDArray[np.integer]) -> IntArray:
    """Return the code of the cell of each record, of shape (n,)."""
    return labels.astype(np.int64) * len(OUTCOMES) + outcomes


def outcome_cells(flips: IntArray) -> tuple[IntArray, IntArray]:
    """Sum flips of shape (..., *SHAPE) to the cells of the first and of the second decision, of shape (..., 6)."""
    labelled = flips[..., :UNLABELLED, :, :]
    first, second = (labelled.sum(axis=axis).reshape(*flips.shape[:-3], CELLS) for axis in (-1, -2))
    return first, second


def gained_and_lost(rate: Rate, flips: IntArray) -> tuple[FloatArray, FloatArray]:
    """Count records that the second decision alone has in a numerator, and the first alone.

    Parameters
    ----------
    flips : ndarray of shape (..., *SHAPE), int64

    Returns
    -------
    gained, lost : ndarray of shape (...), float64
    """
    inside = np.array([float(cell in rate.numerator) for cell in range(CELLS)]).reshape(2, -1)
    sums = "...kij,ki,kj->..."
    labelled, outside = flips[..., :UNLABELLED, :, :], 1 - inside
    return np.einsum(sums, labelled, outside, inside), np.einsum(sums, labelled, inside, outside)


def rate_counts(
    cells: NDArray[np.int64] | FloatArray, names: Iterable[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum the cells of rates.

    Parameters
    ----------
    cells : ndarray of shape (..., 6)
        Numbers of records by cell.

    Returns
    -------
    numerators, denominators : ndarray of shape (..., r), float64
        One for each name.
    """
    chosen = [RATES[name] for name in names]
    numerators, denominators = (
        np.array([[cell in held for cell in range(CELLS)] for held in sets], dtype=np.float64).T
        for sets in ([rate.numerator for rate in chosen], [rate.denominator for rate in chosen])
    )
    return cells @ numerators, cells @ denominators


def rate_share(codes: IntArray, weights: FloatArray | None, rate: Rate) -> Estimate:
    """Return a rate of independent records, which may stand for others, by the codes of their cells."""
    held = np.isin(codes, list(rate.denominator))
    errors = np.isin(codes[held], list(rate.numerator))
    if weights is None:
        return share_of(int(np.count_nonzero(errors)), len(errors))
    return weighted_share(errors, weights[held], heaviest=float(weights.max(initial=1.0)))
