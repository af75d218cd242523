"""What time it is: given to the service when it is made, so that no request can move it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Instants in microseconds since 1970-01-01 UTC."""

    def now(self) -> int:
        """The present."""
        ...

    def event(self, reference: str | None) -> int:
        """The earliest instant that an event may get which is being decided now.

        Parameters
        ----------
        reference : str or None
            The idempotency key of the request, by which a replay of a file knows its records.
        """
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        """The present."""
        return time.time_ns() // 1000

    def event(self, reference: str | None) -> int:
        """The present, whatever the request."""
        return self.now()
