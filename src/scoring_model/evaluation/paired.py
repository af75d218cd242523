"""Differences of figures between evaluations of the same records, on the same draws of days."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Protocol

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.flips import count_flips, flip_codes
from scoring_model.estimates import Estimate
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.rates import RATES, gained_and_lost
from scoring_model.evaluation.uncertainty import CONFIDENCE, drawn_estimate


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
    flips = count_flips(pair_codes(champion.records, challenger.records))[0]
    return {
        name: _widened(found, *gained_and_lost(RATES[name], flips)) if name in RATES else found
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


def pair_codes(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> IntArray:
    """Return the codes of `flip_codes` of the same records under both models, of shape (n,)."""
    return flip_codes(champion.labels, champion.decisions.outcomes, challenger.decisions.outcomes)


def _widened(difference: Estimate, gained: FloatArray, lost: FloatArray) -> Estimate:
    """Let the interval of a rate's difference cover that for independent records."""
    if difference.value is None or difference.low is None or difference.high is None:
        return difference
    variance = paired_variance(gained - lost, gained + lost, np.array(float(difference.records)))
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * math.sqrt(float(variance))
    low, high = max(difference.value - half, -1.0), min(difference.value + half, 1.0)
    low, high = min(low, difference.low), max(high, difference.high)
    return replace(difference, low=low, high=high, method="days_and_pairs")


def _same(one: EvaluatedRecords, other: EvaluatedRecords) -> bool:
    return (
        one.record_ids == other.record_ids
        and np.array_equal(one.labels, other.labels)
        and np.array_equal(one.event_times, other.event_times)
    )


def _difference(one: Estimate, other: Estimate, drawn: FloatArray) -> Estimate:
    known = one.low is not None and other.low is not None
    value = np.nan if one.value is None or other.value is None else one.value - other.value
    return drawn_estimate(value, drawn if known else drawn[:0], min(one.records, other.records))
