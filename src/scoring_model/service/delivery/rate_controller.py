"""How many attempts begin in a second, beside requests that are answered in the same process.

What an attempt costs the process is its beginning and its end, not the time for which its receiver thinks. So the rate
is what is steered: it falls as long as requests wait for their turn, and grows while they don't. Deliveries so take
what requests leave, but never less than a floor.

References
----------
RFC 6817 (LEDBAT) does so for bytes beside those of others: the delay that everybody has is the sign to give way, and
the further it is from its target, the faster the rate changes.
"""

import math
from typing import Final

TICK: Final = 0.01
"""Seconds between two looks at how long requests wait."""

WAIT: Final = 0.004
"""Seconds that they may wait on average: until the event loop sees them, and then for a transaction."""

_MOST: Final = 10_000.0  # a second; more than a process can
_WEIGHT: Final = 0.1  # of one look. Work comes in bursts, one for each commit: an average over ten looks
_GAIN: Final = 0.2  # of one look too
_WORST: Final = 3.0  # times the bound, and
_LONGEST: Final = 5.0  # beats: a single pause of a second is no reason to begin again from nothing
_BURST: Final = 0.05  # seconds whose attempts may begin together


class RateController:
    """A rate that gives way.

    Parameters
    ----------
    floor : float or None
        Attempts a second that may begin however long requests wait; None for as many as can.

    Examples
    --------
    >>> pace = Pace(floor=200)
    >>> for _ in range(100):
    ...     pace.beat(waits=0.02)
    >>> pace.rate, pace.within(0.5)
    (200.0, 100.0)
    """

    def __init__(self, *, floor: float | None) -> None:
        self._floor = math.inf if floor is None else float(floor)
        self._rate = max(self._floor, _MOST)
        self._waits = 0.0
        self._left = 0.0
        self._at = -math.inf

    @property
    def steers(self) -> bool:
        """Whether anything is ever held back."""
        return self._floor < math.inf

    @property
    def rate(self) -> float:
        """Attempts a second that may begin now."""
        return self._rate

    def within(self, seconds: float) -> float:
        """How many attempts may begin in a stretch of time, at least one."""
        return max(1.0, self._rate * seconds)

    def tick(self, *, waits: float, seconds: float = TICK) -> None:
        """Steer.

        Parameters
        ----------
        waits : float
            Seconds for which a request waits now, at least 0.
        seconds : float
            Since the last look.
        """
        beats = min(seconds / TICK, _LONGEST)
        self._waits += (1.0 - (1.0 - _WEIGHT) ** beats) * (min(waits, _WORST * WAIT) - self._waits)
        change = math.exp(_GAIN * beats * (1.0 - self._waits / WAIT))
        self._rate = max(self._floor, min(_MOST, self._rate * change))

    def begin(self, *, at: float) -> bool:
        """Take the right to begin an attempt, if there is one.

        Parameters
        ----------
        at : float
            Seconds of a clock that never steps back.
        """
        if not self.steers:
            return True
        gained = (at - self._at) * self._rate
        self._left = min(self._left + gained, max(1.0, self._rate * _BURST))
        self._at = at
        if self._left < 1:
            return False
        self._left -= 1
        return True
