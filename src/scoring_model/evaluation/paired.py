"""Differences of figures between evaluations of the same records, on the same draws of days."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Protocol

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.rates import CELLS, RATES, Rate, cell_codes
from scoring_model.evaluation.uncertainty import CONFIDENCE, Estimate, interval_of


class Measured(Protocol):
    """Records with figures and the value of each figure in each draw of days, as an `Evaluation` has them."""

    @property
    def records(self) -> EvaluatedRecords:
        """The records behind the figures."""
        ...

    @property
    def figures(self) -> Mapping[str, Estimate]:
        """The figures by name."""
        ...

    @property
    def draws(self) -> Mapping[str, FloatArray]:
        """The value of each figure in each draw of days."""
        ...


def paired_differences(challenger: Measured, champion: Measured) -> Mapping[str, Estimate]:
    """Subtract every figure of one evaluation from that of another.

    Both are measured on the same draws of days, so what the days have in common cancels out. Without a flip no draw
    has a difference of rates, so the interval of a rate's difference also covers that for independent records.

    Returns
    -------
    mapping of str to Estimate
        Challenger minus champion, for figures that both have. Without ends where one of them has none.

    Raises
    ------
    EvaluationError
        If the evaluations do not rest on the same records in the same order.
    """
    if not _same(challenger.records, champion.records):
        raise EvaluationError(
            "evaluations of different records, labels or orders cannot be compared in pairs"
        )
    differences = {
        name: _difference(figure, champion.figures[name], challenger.draws[name] - champion.draws[name])
        for name, figure in challenger.figures.items()
        if name in champion.figures
    }
    pairs = _pairs(champion.records, challenger.records)
    return {
        name: _widened(found, pairs, RATES[name]) if name in RATES else found
        for name, found in differences.items()
    }


def paired_variance(gained: FloatArray, discordant: FloatArray, totals: FloatArray) -> FloatArray:
    """Variance of the difference of two shares of the same independent records.

    Half a record is added to each of the four combinations (Agresti and Min 2005, doi:10.1002/sim.1781), so that a
    difference without a single flip is not certain.

    Parameters
    ----------
    gained : ndarray of shape (...), float64
        Records in the second numerator minus records in the first.
    discordant : ndarray of shape (...), float64
        Records in exactly one of them.
    totals : ndarray of shape (...), float64
    """
    size = totals + 2
    return np.asarray((discordant + 1 - gained**2 / size) / size**2)


def _pairs(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> FloatArray:
    """Count records by their cells under both models, of shape (6, 6)."""
    old, new = (cell_codes(one.labels, one.decisions.outcomes) for one in (champion, challenger))
    counts = np.bincount(old * CELLS + new, minlength=CELLS * CELLS)
    return counts.reshape(CELLS, CELLS).astype(np.float64)


def _widened(difference: Estimate, pairs: FloatArray, rate: Rate) -> Estimate:
    """Let the interval of a rate's difference cover that for independent records."""
    if difference.value is None or difference.low is None or difference.high is None:
        return difference
    inside = np.array([cell in rate.numerator for cell in range(CELLS)])
    gained, lost = pairs[~inside][:, inside].sum(), pairs[inside][:, ~inside].sum()
    variance = paired_variance(gained - lost, gained + lost, np.array(float(difference.records)))
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * math.sqrt(float(variance))
    low, high = max(difference.value - half, -1.0), min(difference.value + half, 1.0)
    return replace(difference, low=min(low, difference.low), high=max(high, difference.high))


def _same(one: EvaluatedRecords, other: EvaluatedRecords) -> bool:
    return (
        one.record_ids == other.record_ids
        and np.array_equal(one.labels, other.labels)
        and np.array_equal(one.event_times, other.event_times)
    )


def _difference(one: Estimate, other: Estimate, drawn: FloatArray) -> Estimate:
    known = one.low is not None and other.low is not None
    ends = interval_of(drawn if known else drawn[:0])
    value = None if one.value is None or other.value is None else one.value - other.value
    return Estimate(value=value, low=ends.low, high=ends.high, records=min(one.records, other.records))
