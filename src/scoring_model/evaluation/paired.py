"""Differences of figures between evaluations of the same records, on the same draws of days."""

from collections.abc import Mapping

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.evaluation import Evaluation
from scoring_model.evaluation.uncertainty import Estimate, interval_of


def paired_differences(challenger: Evaluation, champion: Evaluation) -> Mapping[str, Estimate]:
    """Subtract every figure of one evaluation from that of another.

    Both are measured on the same draws of days, so what the days have in common cancels out.

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
    return {
        name: _difference(figure, champion.figures[name], challenger.draws[name] - champion.draws[name])
        for name, figure in challenger.figures.items()
        if name in champion.figures
    }


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
