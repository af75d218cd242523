"""Differences of figures between evaluations of the same records, on the same draws of blocks."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.flips import SHAPE, UNLABELLED, count_flips, flip_codes
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.draws import Basis
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.rates import RATES, cell_codes, gained_and_lost
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.evaluation.uncertainty import block_estimate, normal_quantile
from scoring_model.figures import APPLICANT_SHARES, FPR_LIMITS

NORMAL_QUANTILE: Final = normal_quantile()


class Measured(Protocol):
    """Records with figures and the value of each figure in each draw of days, as an `Evaluation` has them."""

    @property
    def records(self) -> EvaluatedRecords:
        """The records behind the figures."""
        ...

    @property
    def figures(self) -> NamedEstimates:
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
    everyone = flips + _flips_of(champion.records.others, challenger.records.others)
    moved = {name: gained_and_lost(RATES[name], flips) for name in differences if name in RATES}
    both = everyone.sum(axis=0).astype(np.float64)
    for code, name in enumerate(APPLICANT_SHARES):
        moved[name] = both[:, code].sum() - both[code, code], both[code].sum() - both[code, code]
    least = least_variances(champion.records, challenger.records)
    return {
        name: _widened(found, *moved.get(name, (None, None)), least=least.get(name, 0.0))
        for name, found in differences.items()
    }


def least_variances(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> dict[str, float]:
    """Return what the variance of differences is at least where records stand for others.

    Whom only the champion stops is seen in the control group alone, so few such records carry most of a difference, and
    where none was drawn its own variance is far too small. If the models were equal, as many would be stopped by either
    alone: a of them by the challenger, who are seen with weight 1, and a by the champion, who are seen with the weight
    w of the control group. The numerator of the difference then has the variance a + a w.

    Returns
    -------
    dict of str to float
        By rate, and by recall at a false positive rate; empty where each record stands for itself.
    """
    weights = champion.weights
    if weights is None:
        return {}
    frauds, heaviest = champion.labels == 1, float(weights.max(initial=1.0))
    cells = [cell_codes(one.labels, one.decisions.outcomes) for one in (champion, challenger)]
    errors = {
        name: (
            np.isin(cells[0], list(rate.denominator)),
            *(np.isin(codes, list(rate.numerator)) for codes in cells),
        )
        for name, rate in RATES.items()
    }
    for limit in FPR_LIMITS:
        found = (_above_rate(one, limit) for one in (champion, challenger))
        errors[f"recall_at_fpr_{limit:g}"] = (frauds, *found)

    def variance(held: BoolArray, old: BoolArray, new: BoolArray) -> float:
        gained, lost = (float(weights[held & one & ~other].sum()) for one, other in ((new, old), (old, new)))
        total = float(weights[held].sum())
        return (1 + heaviest) * max(gained, lost, 0.5) / total**2 if total else 0.0

    return {name: variance(*masks) for name, masks in errors.items()}


def _above_rate(records: EvaluatedRecords, limit: float) -> BoolArray:
    """Mask the records above the margin that at most this share of genuine ones exceeds."""
    margins, genuine = records.decisions.margins, records.labels == 0
    if not genuine.any():
        return np.zeros(len(records), dtype=np.bool_)
    order = np.argsort(-margins[genuine], kind="stable")
    shares = np.cumsum(records.weight_of_each[genuine][order])
    place = min(int(np.searchsorted(shares, limit * shares[-1], side="right")), len(order) - 1)
    return np.asarray(margins > margins[genuine][order][place])


def stopped_flips(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> IntArray:
    """Count the flips of those who were not observed, of `decision.flips.SHAPE`; zeros where all were."""
    return _flips_of(champion.not_observed, challenger.not_observed)


def _flips_of(old: NotObserved | None, new: NotObserved | None) -> IntArray:
    if old is None or new is None:
        return np.zeros(SHAPE, dtype=np.int64)
    return np.asarray(count_flips(stopped_codes(old, new))[0])


def stopped_codes(old: NotObserved, new: NotObserved) -> IntArray:
    """Return the codes of `flip_codes` of those who were not observed, of shape (n,)."""
    classes = np.where(old.labels < 0, UNLABELLED, old.labels)
    return flip_codes(classes, old.outcomes, new.outcomes)


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
    return (discordant + 1 - gained**2 / size) / size**2


def pair_codes(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> IntArray:
    """Return the codes of `flip_codes` of the same records under both models, of shape (n,)."""
    return flip_codes(champion.labels, champion.decisions.outcomes, challenger.decisions.outcomes)


def _widened(
    difference: Estimate, gained: FloatArray | None, lost: FloatArray | None, *, least: float
) -> Estimate:
    """Let the interval of a difference cover that of the least variance, and of independent records for a rate."""
    if difference.value is None or difference.low is None or difference.high is None:
        return difference
    variance = least
    if gained is not None and lost is not None:
        pairs = paired_variance(gained - lost, gained + lost, np.array(float(difference.records)))
        variance = max(variance, float(pairs))
    if not variance:
        return difference
    half = NORMAL_QUANTILE * math.sqrt(variance)
    low, high = max(difference.value - half, -1.0), min(difference.value + half, 1.0)
    low, high = min(low, difference.low), max(high, difference.high)
    return replace(difference, low=low, high=high, method="blocks_and_pairs")


def _same(one: EvaluatedRecords, other: EvaluatedRecords) -> bool:
    return (
        one.record_ids == other.record_ids
        and np.array_equal(one.labels, other.labels)
        and np.array_equal(one.event_times, other.event_times)
    )


def _difference(one: Estimate, other: Estimate, drawn: FloatArray) -> Estimate:
    value = np.nan if one.value is None or other.value is None else one.value - other.value
    records, blocks = (min(one.records, other.records), min(one.independent or 0, other.independent or 0))
    found = block_estimate(value, drawn, records, Basis(blocks, records), scale="difference")
    if one.absence or other.absence:
        return replace(found, low=None, high=None, absence=found.absence or one.absence or other.absence)
    return found
