"""How many attempts begin in a second, beside requests that the same process answers.

An attempt costs the process its beginning and its end, not the time for which its receiver thinks. So the rate of
beginnings is controlled: it falls as long as requests wait, and grows while they don't, but never falls below a floor.

References
----------
RFC 6817 (LEDBAT) controls background transfers in the same way: by the distance of the delay from its target.
"""

import math
from typing import Final

TICK: Final = 0.01
"""Seconds between two measurements of how long requests wait."""

TARGET_WAIT: Final = 0.004
"""Seconds that requests may wait on average: for the event loop, and then for a transaction."""

_MOST: Final = 10_000.0  # attempts per second; more than a process can begin
_WEIGHT: Final = 0.1  # of one tick in the moving average: commits make the load bursty
_GAIN: Final = 0.2  # of one tick
_WORST: Final = 3.0  # a wait counts as at most so many times the target,
_LONGEST: Final = 5.0  # and a pause as at most so many ticks: one pause must not reset the rate
_BURST: Final = 0.05  # seconds whose attempts may begin together


class RateController:
    """A token bucket whose rate yields to requests.

    Parameters
    ----------
    floor : float or None
        Attempts per second that may begin however long requests wait; None for no limit at all.

    Examples
    --------
    >>> rate_controller = RateController(floor=200)
    >>> for _ in range(100):
    ...     rate_controller.tick(waits=0.02)
    >>> rate_controller.rate, rate_controller.within(0.5)
    (200.0, 100.0)
    """

    def __init__(self, *, floor: float | None) -> None:
        self._floor = math.inf if floor is None else float(floor)
        self._rate = max(self._floor, _MOST)
        self._waits = 0.0
        self._tokens = 0.0
        self._at = -math.inf

    @property
    def limits(self) -> bool:
        """Whether there is any limit."""
        return self._floor < math.inf

    @property
    def rate(self) -> float:
        """Attempts per second that may begin now."""
        return self._rate

    def within(self, seconds: float) -> float:
        """How many attempts may begin in so many seconds, at least one."""
        return max(1.0, self._rate * seconds)

    def tick(self, *, waits: float, seconds: float = TICK) -> None:
        """Adjust the rate.

        Parameters
        ----------
        waits : float
            Seconds for which a request waits now.
        seconds : float
            Since the last tick.
        """
        ticks = min(seconds / TICK, _LONGEST)
        self._waits += (1.0 - (1.0 - _WEIGHT) ** ticks) * (min(waits, _WORST * TARGET_WAIT) - self._waits)
        change = math.exp(_GAIN * ticks * (1.0 - self._waits / TARGET_WAIT))
        self._rate = max(self._floor, min(_MOST, self._rate * change))

    def begin(self, *, at: float) -> bool:
        """Take a token for an attempt, if there is one.

        Parameters
        ----------
        at : float
            Seconds of a monotonic clock.
        """
        if not self.limits:
            return True
        gained = (at - self._at) * self._rate
        self._tokens = min(self._tokens + gained, max(1.0, self._rate * _BURST))
        self._at = at
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
