"""What one process has taken to deliver, by destination, so that slow ones hold up none but themselves.

Each destination has a share: so many attempts at once, and so many deliveries that wait here for their turn. The share
of one that is quick grows, since to lease in large batches is cheap; that of one that is slow shrinks.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from scoring_model.service.core.rows import DeliveryRow, EventRow, WebhookRow

SLOW_SECONDS: Final = 2.0
"""An attempt that takes longer, or gets no answer, makes its destination a slow one."""

_QUICK_SECONDS: Final = 1.0  # in which a share must have been worked off to grow
_FEWEST: Final = 2  # attempts at once to the slowest
_REMEMBERED: Final = 2_000  # destinations, beyond which those without traffic are forgotten


class Job(NamedTuple):
    """A leased delivery with all that an attempt needs."""

    delivery: DeliveryRow
    event: EventRow
    webhook: WebhookRow


@dataclass(slots=True, eq=False)
class Destination:
    """One host and port.

    Parameters
    ----------
    at_once : int
        Attempts that may be under way now.
    share : int
        Deliveries that may be here, under way or waiting.
    """

    at_once: int
    share: int
    running: int = 0
    waiting: deque[Job] = field(default_factory=deque)
    held: set[bytes] = field(default_factory=set)  # webhooks of which more is to be had, but not taken now
    held_at: float = 0.0
    in_turn: bool = False


class Traffic:
    """What has been taken and is not sent yet, or is being sent.

    Parameters
    ----------
    per_destination : int
        The most attempts at once to one destination.
    most : int
        The most deliveries of one destination that are here at a time.
    """

    def __init__(self, *, per_destination: int, most: int) -> None:
        self._per_destination = per_destination
        self._most = most
        self._destinations: dict[str, Destination] = {}
        self._turns: deque[Destination] = deque()
        self._waiting = 0
        self._running = 0

    @property
    def taken(self) -> int:
        """How many deliveries are here."""
        return self._waiting + self._running

    @property
    def waiting(self) -> int:
        """How many of them wait for their turn."""
        return self._waiting

    @property
    def running(self) -> int:
        """How many attempts are under way."""
        return self._running

    def avoided(self) -> list[bytes]:
        """Webhooks of which no more is to be taken now."""
        found: list[bytes] = []
        for destination in self._destinations.values():
            if not destination.running and not destination.waiting:
                destination.held.clear()  # what waited was let go without an attempt
            found += destination.held
        return found

    def add(self, jobs: Sequence[Job], *, at: float) -> list[Job]:
        """Take deliveries.

        Parameters
        ----------
        jobs : sequence of Job
        at : float
            Seconds of a clock that never steps back.

        Returns
        -------
        list of Job
            Those beyond the share of their destination, to be given back.
        """
        self._forget_idle()
        return [job for job in jobs if not self._add(job, at)]

    def next(self, *, until: int) -> Job | None:
        """Begin an attempt, of all destinations in turn; `done` must follow.

        Parameters
        ----------
        until : int
            Deliveries whose lease ends before this instant are let go: the attempt would outlast it. Another look
            finds them.
        """
        while self._turns:
            destination = self._turns.popleft()
            destination.in_turn = False
            job = self._pop(destination, until)
            if job is not None:
                destination.running += 1
                self._running += 1
                self._queue_up(destination)
                return job
        return None

    def done(self, job: Job, *, answered: bool, seconds: float, at: float) -> bool:
        """End an attempt.

        Parameters
        ----------
        job : Job
        answered : bool
            Whether any answer came.
        seconds : float
            That it took.
        at : float
            Seconds of a clock that never steps back.

        Returns
        -------
        bool
            Whether more of this destination may be taken, after it had to be left.
        """
        destination = self._of(job)
        destination.running -= 1
        self._running -= 1
        if answered and seconds <= SLOW_SECONDS:
            destination.at_once = min(self._per_destination, destination.at_once + 1)
        else:
            destination.at_once = max(min(_FEWEST, self._per_destination), destination.at_once // 2)
        self._queue_up(destination)
        return self._open_again(destination, at)

    def drop(self, webhook: bytes) -> None:
        """Let go of what waits here for a webhook."""
        for destination in self._destinations.values():
            kept = [job for job in destination.waiting if job.webhook.id != webhook]
            self._waiting -= len(destination.waiting) - len(kept)
            destination.waiting = deque(kept)

    def clear(self) -> list[Job]:
        """Let go of all that waits here; returns it."""
        left = [job for destination in self._destinations.values() for job in destination.waiting]
        for destination in self._destinations.values():
            destination.waiting.clear()
        self._waiting = 0
        return left

    def _add(self, job: Job, at: float) -> bool:
        destination = self._of(job)
        if destination.held or destination.running + len(destination.waiting) >= destination.share:
            if not destination.held:
                destination.held_at = at
            destination.held.add(job.webhook.id)
            return False
        destination.waiting.append(job)
        self._waiting += 1
        self._queue_up(destination)
        return True

    def _of(self, job: Job) -> Destination:
        name = destination_of(job.webhook.destination_url)
        if name not in self._destinations:
            share = min(2 * self._per_destination, self._most)
            self._destinations[name] = Destination(self._per_destination, share)
        return self._destinations[name]

    def _pop(self, destination: Destination, until: int) -> Job | None:
        while destination.waiting:
            self._waiting -= 1
            job = destination.waiting.popleft()
            if (job.delivery.leased_until or 0) >= until:
                return job
        return None

    def _queue_up(self, destination: Destination) -> None:
        if destination.waiting and destination.running < destination.at_once and not destination.in_turn:
            destination.in_turn = True
            self._turns.append(destination)

    def _open_again(self, destination: Destination, at: float) -> bool:
        if not destination.held or destination.waiting:
            return False
        least = min(2 * self._per_destination, self._most)
        quick = at - destination.held_at <= _QUICK_SECONDS
        share = destination.share * 2 if quick else destination.share // 2
        destination.share = max(least, min(self._most, share))
        destination.held.clear()
        return True

    def _forget_idle(self) -> None:
        if len(self._destinations) > _REMEMBERED:
            self._destinations = {
                name: one
                for name, one in self._destinations.items()
                if one.running or one.waiting or one.held
            }


def destination_of(url: str) -> str:
    """Name the host and port that a URL leads to.

    Parameters
    ----------
    url : str
        Absolute, with a host.

    Examples
    --------
    >>> destination_of("https://Example.com./hook?x=1"), destination_of("http://[::1]:8080/")
    ('example.com:443', '::1:8080')
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
