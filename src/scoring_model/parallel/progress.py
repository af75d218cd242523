"""Reports how far a job is, and the time left."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

_REPORT_SECONDS: Final = 10.0

Report: TypeAlias = Callable[[str], None]
"""Takes a line of text."""


@dataclass(kw_only=True)
class Progress:
    """Reports how far a stage is: records, records per second, and the time left.

    Parameters
    ----------
    name : str
        Name of the stage.
    total : int
        Records of all its tasks.
    done : int
        Records of the tasks that an earlier run finished.
    report : callable
        Takes a line of text, at most every ten seconds.
    """

    name: str
    total: int
    report: Report
    done: int = 0
    clock: Callable[[], float] = time.monotonic
    _before: int = field(init=False)
    _started: float = field(init=False)
    _reported: float = field(init=False)

    def __post_init__(self) -> None:
        self._before = self.done
        self._started = self._reported = self.clock()

    def add(self, records: int) -> None:
        """Count records that are done."""
        self.done += records
        now = self.clock()
        if now - self._reported >= _REPORT_SECONDS or self.done >= self.total:
            self._reported = now
            self.report(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        rate = (self.done - self._before) / max(seconds, 1e-3)
        left = (self.total - self.done) / rate if rate else 0.0
        return (
            f"{self.name}: {self.done:,} of {self.total:,} records, {rate:,.0f} records/s, {time_left(left)}"
        )


def time_left(seconds: float) -> str:
    """Write the time left for people.

    Examples
    --------
    >>> time_left(3723.4)
    'about 1:02:03 left'
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"about {clock} left"
