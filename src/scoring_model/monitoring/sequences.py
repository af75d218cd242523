"""Rates that are looked at every day: a confidence sequence, and an alarm whose start is unknown.

Both rest on one fact about events X_1, X_2, ... in {0, 1} with conditional rates m_i given what came before: for every
real l, the product of exp(l X_i) / (1 - m_i + m_i exp(l)) is a martingale with mean 1. It needs neither independent
events nor a constant rate. Mixed over a fixed grid of l it stays one, and by Ville's inequality it ever reaches 1 / a
with a probability of at most a.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray

YEAR_DAYS: Final = 365
"""Days over whose starts an alarm is mixed; later ones begin anew."""

_TILTS: Final[FloatArray] = 0.005 * np.float64(1.5) ** np.arange(17.0)  # up to 3.3 in log-odds
_STEPS: Final = 60  # of bisections: to the precision of doubles


def confidence_sequence(events: int, records: int, *, error: float) -> tuple[float, float]:
    """Return the ends of a confidence sequence for a mean rate.

    At all times together the mean of the conditional rates so far is outside with a probability of at most `error`,
    whether or not the rate moves: the logarithm of 1 - m + m exp(l) is concave in m, so the test of the mean rate is a
    test of the rates. Howard, Ramdas, McAuliffe and Sekhon 2021, doi:10.1214/20-AOS1991 (their sub-Bernoulli boundary,
    as a discrete mixture).

    Parameters
    ----------
    events, records : int
        0 <= events <= records.
    error : float
        In (0, 1).

    Returns
    -------
    low, high : float
        In [0, 1].
    """
    if not records:
        return 0.0, 1.0
    most = -np.log(error / 2)
    return _low_end(events, records, most), 1 - _low_end(records - events, records, most)


def _low_end(events: int, records: int, most: float) -> float:
    """Return the least rate against which the evidence is at most `most`; it grows with the distance from the share."""
    below, inside = 0.0, events / records
    for _ in range(_STEPS if events else 0):
        middle = (below + inside) / 2
        refuted = _log_evidence(events, records, middle) > most
        below, inside = (middle, inside) if refuted else (below, middle)
    return below


def _log_evidence(events: int, records: int, rate: float) -> float:
    """Return the logarithm of the mixture's value against a lower mean rate."""
    exponents = _TILTS * events - records * np.log1p(rate * np.expm1(_TILTS))
    return float(np.logaddexp.reduce(exponents) - np.log(len(_TILTS)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RateAlarm:
    """Evidence, day by day, that a rate has risen above a limit on some day.

    Parameters
    ----------
    log_evidence : ndarray of shape (k,), float64
        Natural logarithm of the e-process after each day.
    raised : int or None
        First day, from 0, on which it reached 1 / error; None: never.
    since : int or None
        Day from which the rate most likely lies above the limit; None without an alarm.
    """

    log_evidence: FloatArray
    raised: int | None
    since: int | None


def rate_alarm(events: IntArray, records: IntArray, *, limit: float, error: float) -> RateAlarm:
    """Look every day whether a rate rose above a limit.

    For each starting day there is an e-process of the hypothesis that the rate never exceeds the limit from then on;
    before its start it is 1. Their mean over the 365 starting days of a year is an e-process of the hypothesis for the
    whole year, so a false alarm has a probability of at most `error` a year, however often one looks. Starting days
    make it find a rise in the middle of a year about as fast as one at its beginning: at the price of ln 365, the
    evidence of the days before is not needed. Shin, Ramdas and Rinaldo 2024, E-detectors, New England Journal of
    Statistics in Data Science 2(2), doi:10.51387/23-NEJSDS51; weights that sum to 1 bound the probability of a false
    alarm instead of the run length.

    Parameters
    ----------
    events, records : ndarray of shape (k,), int64
        By day; days without records count as days.
    limit : float
        In (0, 1).
    error : float
        In (0, 1).
    """
    log_growth = np.outer(events, _TILTS) - np.outer(records, np.log1p(limit * np.expm1(_TILTS)))
    found, raised = np.empty(len(events)), None
    for day in range(len(events)):
        if day % YEAR_DAYS == 0:
            started = np.full(len(_TILTS), -np.inf)
        started = np.logaddexp(started, -np.log(YEAR_DAYS)) + log_growth[day]
        waiting = 1 - (day % YEAR_DAYS + 1) / YEAR_DAYS
        mixed = np.logaddexp.reduce(started) - np.log(len(_TILTS))
        found[day] = np.logaddexp(mixed, np.log(waiting)) if waiting else mixed
        if raised is None and found[day] >= -np.log(error):
            raised = day
    since = None if raised is None else _likeliest_start(log_growth[: raised + 1])
    return RateAlarm(log_evidence=found, raised=raised, since=since)


def _likeliest_start(log_growth: FloatArray) -> int:
    """Return the starting day of the year with the most evidence up to the last day."""
    first = (len(log_growth) - 1) // YEAR_DAYS * YEAR_DAYS
    totals = np.cumsum(log_growth[first:][::-1], axis=0)[::-1]
    return first + int(np.argmax(np.logaddexp.reduce(totals, axis=1)))
