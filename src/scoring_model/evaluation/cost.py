"""Expected cost of an applicant under a policy, and of the frauds whom a control group lets pass."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.control import Control
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.estimates import Estimate
from scoring_model.evaluation.draws import MIN_BLOCKS
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.uncertainty import CONFIDENCE
from scoring_model.records.times import DAY


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExpectedCost:
    """Expected cost of an applicant, in the unit of the settings: the sum of a part for each threshold.

    Parameters
    ----------
    step_up_parts, fail_parts : ndarray of shape (1001,), float64
        Costs added by the thresholds 1 to 1001, at index t - 1.
    prevalence : float
        Share of frauds among applicants, in [0, 1].
    """

    step_up_parts: FloatArray
    fail_parts: FloatArray
    prevalence: float
    settings: CostSettings

    def at(self, step_up_from: int, fail_from: int) -> float:
        """Return the expected cost of an applicant under an ordered pair of thresholds."""
        return float(self.step_up_parts[step_up_from - 1] + self.fail_parts[fail_from - 1])

    def cheapest(self, step_up: range, fail: range) -> tuple[int, int]:
        """Find the cheapest ordered pair; among ties the highest, which affects the fewest applicants."""
        first, last = np.array(step_up)[:, None], np.array(fail)[None, :]
        costs = self.step_up_parts[first - 1] + self.fail_parts[last - 1]
        costs[first > last] = np.inf
        row, column = np.argwhere(costs == costs.min())[-1]
        return step_up[row], fail[column]


def expected_cost(genuine_scores: IntArray, fraud_scores: IntArray, settings: CostSettings) -> ExpectedCost:
    """Estimate the expected cost of an applicant from records with known labels.

    With G and F the scores of a genuine applicant and of a fraud, p the prevalence and e the effectiveness, the
    pair (s, f), s <= f, costs

        p * fraud_loss * (P(F < s) + (1 - e) * P(s <= F < f))
        + (1 - p) * (step_up_cost * P(s <= G < f) + reject_cost * P(G >= f)),

    with the shares of the records. It is an average over applications without a guarantee, so it counts every record
    of a person or ring, while the tests of the bounds count one.

    Parameters
    ----------
    genuine_scores : ndarray of shape (n,), int64, 0 to 1000
    fraud_scores : ndarray of shape (m,), int64, 0 to 1000
        Not both empty; an empty class costs nothing.
    settings : CostSettings
        A prevalence of None is m / (n + m).
    """
    genuine = at_or_above(genuine_scores) / max(len(genuine_scores), 1)
    passed = 1.0 - at_or_above(fraud_scores) / max(len(fraud_scores), 1)
    prevalence = settings.prevalence
    if prevalence is None:
        prevalence = len(fraud_scores) / (len(genuine_scores) + len(fraud_scores))
    loss, friction = prevalence * settings.fraud_loss, (1.0 - prevalence) * settings.step_up_cost
    rejection = (1.0 - prevalence) * settings.reject_cost
    effect = settings.step_up_effectiveness
    return ExpectedCost(
        step_up_parts=loss * effect * passed + friction * genuine,
        fail_parts=loss * (1.0 - effect) * passed + (rejection - friction) * genuine,
        prevalence=prevalence,
        settings=settings,
    )


def cost_of_cells(cells: NDArray[np.int64] | FloatArray, settings: CostSettings) -> FloatArray:
    """Return the same expected cost from counts by class and outcome.

    Parameters
    ----------
    cells : ndarray of shape (..., 6)
        Numbers of records, as `rates.cell_codes` orders them.

    Returns
    -------
    ndarray of shape (...), float64
    """
    held = cells.reshape(*cells.shape[:-1], 2, len(OUTCOMES))
    return np.asarray((held * unit_costs(held.sum(axis=-1), settings)).sum(axis=(-2, -1)))


def unit_costs(sizes: NDArray[np.int64] | FloatArray, settings: CostSettings) -> FloatArray:
    """Return what one record of each class and outcome adds to the expected cost of an applicant.

    Parameters
    ----------
    sizes : ndarray of shape (..., 2)
        Numbers of genuine records and of frauds.

    Returns
    -------
    ndarray of shape (..., 2, 3), float64
    """
    missed = settings.fraud_loss * np.array([1.0, 1.0 - settings.step_up_effectiveness, 0.0])
    friction = np.array([0.0, settings.step_up_cost, settings.reject_cost])
    frauds = sizes[..., 1] / np.maximum(sizes.sum(axis=-1), 1)
    if settings.prevalence is not None:
        frauds = np.full(frauds.shape, settings.prevalence)
    shares = np.stack([1.0 - frauds, frauds], axis=-1) / np.maximum(sizes, 1)
    return np.asarray(shares[..., None] * np.stack([friction, missed]))


def at_or_above(scores: IntArray) -> IntArray:
    """Count the scores that reach each threshold.

    Parameters
    ----------
    scores : ndarray of shape (n,), int64, 0 to 1000

    Returns
    -------
    ndarray of shape (1001,), int64
        For the threshold t at index t - 1; the last is 0.
    """
    if len(scores) and not 0 <= int(scores.min()) <= int(scores.max()) <= MAX_SCORE:
        raise ValueError(f"scores: must be integers in 0..{MAX_SCORE}")
    counts = np.bincount(scores, minlength=MAX_SCORE + 1)
    return np.append(np.cumsum(counts[::-1])[::-1][1:], 0).astype(np.int64)


def forecast_control_cost(records: EvaluatedRecords, control: Control, *, days: float) -> Estimate:
    """Forecast the cost of a control group over some later days like those of the records.

    Each fraud that passes costs `Control.fraud_loss`. The forecast rests on the calibrated probabilities of those whom
    the policy stops, so it is as true as these are. Caps are not considered: they can only lower the cost.

    Parameters
    ----------
    records : EvaluatedRecords
        All records of a period. Records of one person are drawn together; without persons each is drawn alone.
    days : float
        Length of the time to forecast.

    Returns
    -------
    Estimate
        Cost with a 95 % prediction interval, none with fewer than ten days; `records` are those that the policy stops.
        It allows for a varying number of applicants by day, for the draw, for who is fraud, and for the days of the
        records being a sample themselves.
    """
    stopped = np.flatnonzero(records.decisions.outcomes)
    if not len(records):
        return Estimate(value=None, records=0, method="prediction", absence="no records")
    arms = [control.arm(outcome) for outcome in OUTCOMES]
    shares = np.array([0.0 if arm is None else arm.share for arm in arms])
    expected = (
        shares[records.decisions.outcomes[stopped]]
        * records.decisions.probabilities[stopped]
        * records.weight_of_each[stopped]
    )
    first, last = int(records.event_times.min() // DAY), int(records.event_times.max() // DAY)
    length = last - first + 1
    day_of = records.event_times[stopped] // DAY - first
    by_day = np.bincount(day_of, expected, minlength=length)
    mean = float(by_day.mean()) * days * control.fraud_loss
    found = Estimate(value=mean, records=len(stopped), method="prediction")
    if length < MIN_BLOCKS:
        return replace(found, absence="fewer than ten days")
    # The records of a person are drawn together, and are all frauds or none.
    chance = float((expected * _records_of_person(records)[stopped]).sum()) / length
    variance = days * (1 + days / length) * float(by_day.var(ddof=1)) + days * chance
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * math.sqrt(variance) * control.fraud_loss
    return replace(found, low=max(mean - half, 0.0), high=mean + half)


def _records_of_person(records: EvaluatedRecords) -> FloatArray:
    """Return how many records that the policy stops the person of each record has."""
    if records.persons is None:
        return np.ones(len(records))
    _, codes = np.unique(records.persons, return_inverse=True)
    counts = np.bincount(codes, records.decisions.outcomes > 0)
    return counts[codes].astype(np.float64)
