"""Age bands of persons at their events."""

from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.records import Column

AGE_BAND: Final = "ageBand"
_STARTS: Final = (18, 25, 35, 45, 55, 65)
BANDS: Final = ("under 18", "18-24", "25-34", "35-44", "45-54", "55-64", "65 and over")


def age_bands(births: Column, event_times: IntArray) -> Column:
    """Return the age band of each record.

    Parameters
    ----------
    births : Column
        Dates of birth, `YYYY-MM-DD`.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC; the age is that on the day in UTC.

    Returns
    -------
    Column
        Values in `BANDS`.

    Examples
    --------
    >>> births = Column(("2000-06-15",), np.zeros(2, dtype=np.int32))
    >>> days = np.array(["2025-06-14", "2025-06-15"], dtype="datetime64[us]").astype(np.int64)
    >>> age_bands(births, days).codes.tolist()
    [1, 2]
    """
    born = np.array([*(int(value.replace("-", "")) for value in births.values), 0])[births.codes]
    days = event_times.astype("datetime64[us]").astype("datetime64[D]")
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    year = years.astype(np.int64) + 1970
    month = (months - years).astype(np.int64) + 1
    day = (days - months).astype(np.int64) + 1
    ages = (year * 10_000 + month * 100 + day - born) // 10_000
    codes = np.searchsorted(_STARTS, ages, side="right")
    return Column(BANDS, np.where(births.codes < 0, -1, codes).astype(np.int32))
