"""How many attempts begin in a second, beside requests that are answered in the same process.

What an attempt costs the process is its beginning and its end, not the time for which its receiver thinks. So the rate
is what is steered: it falls as long as the event loop is late or never rests, whatever keeps it, and grows while it is
on time and has time left. Deliveries so take what requests leave, but never less than a floor.

References
----------
RFC 6817 (LEDBAT) does so for bytes beside those of others: the delay that everybody has is the sign to give way.
"""

import math
from typing import Final

BEAT: Final = 0.01
"""Seconds between two looks at how late the event loop is."""

LATE: Final = 0.002
"""Seconds by which it may be late. At 5 ms a drain on SQLite slowed verifications by a third."""

BUSY: Final = 0.8
"""Share of the time for which it may compute. Where a database is waited for step by step, as PostgreSQL is, a loop
that has no time left is hardly ever late: each of its turns is short."""

_MOST: Final = 10_000.0  # a second; more than a process can
_SLOWER: Final = 0.7  # for each beat that it is late
_FASTER: Final = 1.1
_BURST: Final = 0.05  # seconds whose attempts may begin together


class Pace:
    """A rate that gives way.

    Parameters
    ----------
    floor : float or None
        Attempts a second that may begin however little time is left; None for as many as can.

    Examples
    --------
    >>> pace = Pace(floor=200)
    >>> for _ in range(100):
    ...     pace.beat(late=0.02, busy=1.0)
    >>> pace.rate, pace.within(0.5)
    (200.0, 100.0)
    """

    def __init__(self, *, floor: float | None) -> None:
        self._floor = math.inf if floor is None else float(floor)
        self._rate = max(self._floor, _MOST)
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

    def beat(self, *, late: float, busy: float) -> None:
        """Steer.

        Parameters
        ----------
        late : float
            Seconds by which the event loop is late now.
        busy : float
            Share of the time since the last look, 0 to 1, for which its thread computed.
        """
        change = _SLOWER ** max(1.0, late / BEAT) if late > LATE or busy > BUSY else _FASTER
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
