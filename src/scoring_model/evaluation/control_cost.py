"""What a control group is expected to cost: frauds that pass though the policy would have stopped them."""

import math
from statistics import NormalDist

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.control import Control
from scoring_model.evaluation.day_draws import MIN_DAYS
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.uncertainty import CONFIDENCE, Estimate
from scoring_model.records.times import DAY


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
        return Estimate(value=None, low=None, high=None, records=0)
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
    if length < MIN_DAYS:
        return Estimate(value=mean, low=None, high=None, records=len(stopped))
    # The records of a person are drawn together, and are all frauds or none.
    chance = float((expected * _records_of_person(records)[stopped]).sum()) / length
    variance = days * (1 + days / length) * float(by_day.var(ddof=1)) + days * chance
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * math.sqrt(variance) * control.fraud_loss
    return Estimate(value=mean, low=max(mean - half, 0.0), high=mean + half, records=len(stopped))


def _records_of_person(records: EvaluatedRecords) -> FloatArray:
    """Return how many records that the policy stops the person of each record has."""
    if records.persons is None:
        return np.ones(len(records))
    _, codes = np.unique(records.persons, return_inverse=True)
    counts = np.bincount(codes, records.decisions.outcomes > 0)
    return counts[codes].astype(np.float64)
