"""Admission control: rejects a request at arrival when its estimated wait is too long."""

import math
from typing import Final

from scoring_model.service.core.errors import Overloaded

LONGEST_RETRY: Final = 10
"""The most seconds of `Retry-After`."""

_FIRST_GUESS: Final = (
    0.001  # seconds a job: more are admitted than may be right until a full batch was measured
)
_WEIGHT: Final = 0.2  # of one full batch in the moving average


class Admission:
    """Counts the open requests of each client, and rejects those that would wait too long.

    A client's next request has before it as many requests of each other client as the client has itself (round robin),
    so that the flood of one client does not reject the requests of others.

    Parameters
    ----------
    most : int
        Requests before it at which a request is rejected, however fast they are.
    wait_seconds : float
        Estimated wait above which a request is rejected.
    """

    def __init__(self, *, most: int, wait_seconds: float) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._under_way: dict[int, int] = {}
        self._count = 0
        self._job_seconds = _FIRST_GUESS
        self._next_retry = 0.0

    def enter(self, client: int, *, waited: float, now: float) -> None:
        """Admit a request; `leave` must follow.

        Parameters
        ----------
        client : int
        waited : float
            Seconds for which the client's oldest request has waited: the next one waits as long, whatever the estimate.
        now : float
            Seconds of a clock that never steps back.

        Raises
        ------
        Overloaded
        """
        own = self._under_way.get(client, 0)
        clients = len(self._under_way) + (own == 0)
        ahead = min(self._count, (own + 1) * clients)
        if ahead >= self._most or max(ahead * self._job_seconds, waited) > self._wait_seconds:
            raise Overloaded(self._retry_after(now))
        self._under_way[client] = own + 1
        self._count += 1

    def leave(self, client: int) -> None:
        """End a request that was admitted."""
        self._count -= 1
        self._under_way[client] -= 1
        if not self._under_way[client]:
            del self._under_way[client]

    def measured(self, seconds: float, jobs: int, *, full: bool) -> None:
        """Update the estimate from a batch.

        Parameters
        ----------
        seconds : float
            That it took.
        jobs : int
            Requests in it.
        full : bool
            Whether it held as many as fit. A smaller one takes longer for each request than a full one would: it only
            shows that the estimate is too high.
        """
        if not jobs:
            return
        sample = seconds / jobs
        if full:
            self._job_seconds += _WEIGHT * (sample - self._job_seconds)
        else:
            self._job_seconds = min(self._job_seconds, sample)

    def _retry_after(self, now: float) -> int:
        """Seconds until a retry, such that rejected requests come back at the rate at which jobs end."""
        self._next_retry = min(max(self._next_retry, now) + self._job_seconds, now + LONGEST_RETRY)
        return max(1, math.ceil(self._next_retry - now))
