"""The clock of the service, injected so that tests and replays can set it."""

import time
from typing import Final, Protocol

SKEW: Final = 5_000_000
"""Microseconds by which the newest event of a history may be ahead of the clock."""


class Clock(Protocol):
    """Instants in microseconds since 1970-01-01 UTC."""

    def now(self) -> int:
        """The present."""
        ...

    def event(self, reference: str | None) -> int:
        """Return the earliest event time of a verification scored now; a replay looks it up by idempotency key."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        """The present."""
        return time.time_ns() // 1000

    def event(self, reference: str | None) -> int:
        """The present, whatever the request."""
        return self.now()
