"""Labels of invented records: late, rare, and sometimes wrong."""

from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.events import EventArray, Kind
from scoring_model.synthetic.seasons import DAY

FRAUD, GENUINE, NONE = 1, 0, -1
EXTRACT_AFTER = 90 * DAY
"""A history is what was known this long after its end (microseconds): a label of later is none yet."""

_NEVER_FOUND = 0.065
_ACCUSED = 0.00075
_REVIEWED = 0.07
_FRAUD_DAYS = (25.0, 0.6)
_REVIEW_DAYS = (4.0, 0.9)
_SECOND = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Labels of n records.

    Parameters
    ----------
    values : ndarray of shape (n,), int64
        1 fraud, 0 genuine, -1 none.
    known_at : ndarray of shape (n,), int64
        Microseconds since 1970 UTC, always after the event; without meaning where there is none.
    """

    values: IntArray
    known_at: IntArray


def label(draws: Draws, events: EventArray, *, end: int) -> Labels:
    """Label events.

    Parameters
    ----------
    events : EventArray of shape (n,)
    end : int
        End of the history, microseconds.
    """
    keys = events["key"]
    fraud = events["kind"] != Kind.GENUINE
    missed = draws.chance("label.missed", _NEVER_FOUND, keys)
    accused = draws.chance("label.accused", _ACCUSED, keys)
    reviewed = draws.chance("label.reviewed", np.where(events["vpn"], 2.0, 1.0) * _REVIEWED, keys)
    reported = np.where(fraud, ~missed, accused)
    values = np.where(reported, FRAUD, np.where(reviewed, GENUINE, NONE))
    fraud_days = draws.lognormal("label.fraud.days", *_FRAUD_DAYS, keys)
    review_days = draws.lognormal("label.review.days", *_REVIEW_DAYS, keys)
    delay = np.where(reported, fraud_days, review_days) * (DAY / _SECOND)
    known_at = events["time"] + np.maximum(delay.astype(np.int64), 1) * _SECOND
    return Labels(values=np.where(known_at < end + EXTRACT_AFTER, values, NONE), known_at=known_at)
