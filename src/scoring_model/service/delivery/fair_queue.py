"""The deliveries that one process has leased: clients take turns, and so do the destinations of each client.

Three resources are shared: leased deliveries, concurrent attempts, and attempts to one destination. The same rule
applies to each: a user gets one more only while it holds less than is free. So a single client gets about half of each,
and a new client always finds some free.

References
----------
Choudhury, Hahne: Dynamic Queue Length Thresholds for Shared-Memory Packet Switches. IEEE/ACM Transactions on Networking
6(2), 1998. DOI 10.1109/90.664262

Decision record: docs/adr/0031-deliveries.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from scoring_model.service.core.rows import DeliveryRow, EventRow, WebhookRow
from scoring_model.service.store import DueWebhook

SLOW_SECONDS: Final = 2.0
"""An attempt that takes longer, or gets no answer, halves the concurrency of its lane."""

_FEWEST: Final = 2  # minimum concurrency of a lane
_REMEMBERED: Final = 2_000  # lanes above which idle ones are removed


class LeasedDelivery(NamedTuple):
    """A leased delivery with the data for an attempt."""

    delivery: DeliveryRow
    event: EventRow
    webhook: WebhookRow


@dataclass(slots=True, eq=False)
class Lane:
    """The deliveries of one client to one destination, a host and port.

    At most `at_once` attempts run concurrently: additive increase up to `most`, multiplicative decrease.
    """

    destination: str
    most: int
    at_once: int
    running: int = 0
    waiting: deque[LeasedDelivery] = field(default_factory=deque)

    @property
    def held(self) -> int:
        """Number of deliveries held."""
        return self.running + len(self.waiting)

    def may_hold(self, held: int) -> bool:
        """Return True if one more may be leased: in a slow lane, leases would expire while waiting."""
        return self.at_once == self.most or held < 2 * self.at_once

    def adapt(self, *, is_quick: bool) -> None:
        """Increase the concurrency by one, or halve it."""
        if is_quick:
            self.at_once = min(self.most, self.at_once + 1)
        else:
            self.at_once = max(min(_FEWEST, self.most), self.at_once // 2)


@dataclass(slots=True, eq=False)
class Client:
    """The deliveries of one client: not yet being sent (`waiting`) and being sent (`running`).

    Parameters
    ----------
    lanes : deque of Lane
        Lanes with waiting deliveries, next turn first.
    is_refused : bool
        Whether more deliveries are due than its share allows.
    """

    lanes: deque[Lane] = field(default_factory=deque)
    waiting: int = 0
    running: int = 0
    is_refused: bool = False

    @property
    def held(self) -> int:
        """Number of deliveries held."""
        return self.waiting + self.running


class DeliveryQueue:
    """Leased deliveries that wait or are being sent.

    At most `at_once` attempts run concurrently, and at most `per_destination` to one destination.
    """

    def __init__(self, *, at_once: int, per_destination: int) -> None:
        self._at_once = at_once
        self._per_destination = per_destination
        self._lanes: dict[tuple[int, str], Lane] = {}
        self._clients: defaultdict[int, Client] = defaultdict(Client)  # next turn first
        self._attempts_to: Counter[str] = Counter()
        self._last_leased = 0
        self.waiting = 0
        """Number of waiting deliveries."""
        self.running = 0
        """Number of running attempts."""

    @property
    def held(self) -> int:
        """Number of deliveries held."""
        return self.waiting + self.running

    def shares(self, due: Sequence[DueWebhook], *, capacity: int, batch: int) -> dict[bytes, int]:
        """Divide capacity for deliveries among webhooks: clients take turns, and so do the webhooks of each.

        Parameters
        ----------
        capacity : int
            How many more may be leased in addition to those held.
        batch : int
            How many may be leased now.

        Returns
        -------
        dict of bytes to int
            Number of deliveries to lease, by webhook id.
        """
        self._forget_idle()
        total, given, lanes, clients = 0, Counter[bytes](), Counter[Lane](), Counter[int]()
        turns = self._turns(due)
        while turns and total < batch:
            client, webhooks = turns.popleft()
            webhook, lane = webhooks.popleft()
            held = lane.held + lanes[lane]
            free = capacity - total - self._clients[client].held - clients[client]
            if not lane.may_hold(held) or held >= free:
                self._clients[client].is_refused = True
            else:
                total += 1
                given[webhook.id] += 1
                lanes[lane] += 1
                clients[client] += 1
                self._last_leased = client
                if webhook.due is None or given[webhook.id] < webhook.due:
                    webhooks.append((webhook, lane))
            if webhooks:
                turns.append((client, webhooks))
        return dict(given)

    def add(self, deliveries: Sequence[LeasedDelivery]) -> None:
        """Add leased deliveries."""
        for leased in deliveries:
            client, lane = self._of(leased)
            if not lane.waiting:
                client.lanes.append(lane)
            lane.waiting.append(leased)
            self._count(client, waiting=1)

    def next(self, *, until: int) -> LeasedDelivery | None:
        """Begin an attempt; call `done` when it ends.

        Drops deliveries whose lease expires before `until`, since the attempt would outlast it; they are leased again
        later.
        """
        for number, client in self._clients.items():
            leased = self._next_of(client, until)
            if leased is not None:
                self._clients[number] = self._clients.pop(number)  # now last
                return leased
        return None

    def done(self, leased: LeasedDelivery, *, answered: bool, seconds: float) -> bool:
        """End an attempt; returns whether its client has more due deliveries that did not fit its share before."""
        client, lane = self._of(leased)
        lane.running -= 1
        self._attempts_to[lane.destination] -= 1
        self._count(client, running=-1)
        lane.adapt(is_quick=answered and seconds <= SLOW_SECONDS)
        was_refused, client.is_refused = client.is_refused, False
        return was_refused

    def drop(self, webhook: bytes) -> None:
        """Drop the waiting deliveries of a webhook."""
        self._let_go(lambda leased: leased.webhook.id == webhook)

    def clear(self) -> list[LeasedDelivery]:
        """Drop and return all waiting deliveries."""
        return self._let_go(lambda _: True)

    def _turns(self, due: Sequence[DueWebhook]) -> deque[tuple[int, deque[tuple[DueWebhook, Lane]]]]:
        """Return the webhooks of each client with their lanes, in the order of turns."""
        found = defaultdict[int, deque[tuple[DueWebhook, Lane]]](deque)
        for webhook in due:
            found[webhook.client].append((webhook, self._lane(webhook.client, webhook.destination_url)))
        return deque((client, found[client]) for client in in_turn(found, after=self._last_leased))

    def _next_of(self, client: Client, until: int) -> LeasedDelivery | None:
        for _ in range(len(client.lanes)):
            if client.running >= self._at_once - self.running:
                return None
            lane = client.lanes.popleft()
            leased = self._begin(client, lane, until) if self._may_begin(client, lane) else None
            if lane.waiting:
                client.lanes.append(lane)
            if leased is not None:
                return leased
        return None

    def _may_begin(self, client: Client, lane: Lane) -> bool:
        return (
            lane.running < lane.at_once
            and lane.running < self._per_destination - self._attempts_to[lane.destination]
            and lane.running < self._at_once - self.running - client.running
        )

    def _begin(self, client: Client, lane: Lane, until: int) -> LeasedDelivery | None:
        while lane.waiting:
            leased = lane.waiting.popleft()
            self._count(client, waiting=-1)
            if (leased.delivery.leased_until or 0) >= until:
                lane.running += 1
                self._attempts_to[lane.destination] += 1
                self._count(client, running=1)
                return leased
        return None

    def _let_go(self, condition: Callable[[LeasedDelivery], bool]) -> list[LeasedDelivery]:
        found = []
        for client in self._clients.values():
            for lane in client.lanes:
                gone = [leased for leased in lane.waiting if condition(leased)]
                lane.waiting = deque(leased for leased in lane.waiting if not condition(leased))
                self._count(client, waiting=-len(gone))
                found += gone
            client.lanes = deque(lane for lane in client.lanes if lane.waiting)
        return found

    def _count(self, client: Client, *, waiting: int = 0, running: int = 0) -> None:
        client.waiting += waiting
        client.running += running
        self.waiting += waiting
        self.running += running

    def _of(self, leased: LeasedDelivery) -> tuple[Client, Lane]:
        webhook = leased.webhook
        return self._clients[webhook.client], self._lane(webhook.client, webhook.destination_url)

    def _lane(self, client: int, url: str) -> Lane:
        destination = host_and_port(url)
        found = self._lanes.get((client, destination))
        if found is None:
            most = (self._per_destination + 1) // 2
            found = self._lanes[client, destination] = Lane(destination, most, most)
        return found

    def _forget_idle(self) -> None:
        self._attempts_to += Counter()  # removes zero counts
        self._clients = defaultdict(
            Client, {number: client for number, client in self._clients.items() if client.held}
        )
        if len(self._lanes) > _REMEMBERED:
            self._lanes = {name: lane for name, lane in self._lanes.items() if lane.held}


def in_turn(clients: Iterable[int], *, after: int) -> list[int]:
    """Order clients by number, starting after the one that was served last.

    Examples
    --------
    >>> in_turn([9, 1, 5], after=1)
    [5, 9, 1]
    """
    return sorted(clients, key=lambda client: (client <= after, client))


def host_and_port(url: str) -> str:
    """Return the host and port of an absolute URL.

    Examples
    --------
    >>> host_and_port("https://Example.com./hook?x=1"), host_and_port("http://[::1]:8080/")
    ('example.com:443', '::1:8080')
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
