"""Limits on the connections of one process and on their bytes in memory."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Protocol

from scoring_model.service.core.faults import log_warning
from scoring_model.service.http.authentication import connecting_address
from scoring_model.service.http.settings import HttpSettings

RESERVED: Final = 32
"""Extra connections beyond the limit. Each gets one answer of `/health` or 503."""

_SECONDS_BETWEEN_WARNINGS: Final = 60.0


class Connection(Protocol):
    """What the limits need to know of a connection."""

    buffered: int
    """Bytes of its open requests and responses in memory."""

    @property
    def is_authenticated(self) -> bool:
        """Whether a request on it had good credentials."""

    def abort(self) -> None:
        """Close it at once."""


class Connections:
    """All connections of a process.

    Closes connections without good credentials in favour of others: the oldest one if there are too many in total or
    from one address, the largest one if there are too many bytes. Connections of trusted proxies are not counted by
    address.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        # In order of arrival; values are addresses, None if not counted.
        self._unknown: OrderedDict[Connection, str | None] = OrderedDict()
        self._authenticated: set[Connection] = set()
        self._reserved: OrderedDict[Connection, None] = OrderedDict()
        self._by_address: dict[str, OrderedDict[Connection, None]] = {}
        self._buffered = 0
        self._warned: dict[str, float] = {}

    def add(self, connection: Connection, host: str | None) -> bool:
        """Admit a connection from an address.

        Returns
        -------
        bool
            False if the limit is reached and all others are authenticated: it may only request `/health`.
        """
        settings = self._settings
        address = connecting_address(host, settings.trusted_proxies)
        near = self._by_address.get(address or "", OrderedDict())
        if len(near) >= settings.max_connections_per_address:
            self._abort_oldest(near, "max_connections_per_address")
        is_full = len(self._unknown) + len(self._authenticated) >= settings.max_connections
        if is_full and not self._abort_oldest(self._unknown, "max_connections"):
            return self._reserve(connection)
        self._unknown[connection] = address
        if address is not None:
            self._by_address.setdefault(address, OrderedDict())[connection] = None
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._authenticated.discard(connection)
        self._reserved.pop(connection, None)
        address = self._unknown.pop(connection, None)
        if address is not None:
            near = self._by_address[address]
            del near[connection]
            if not near:
                del self._by_address[address]

    def buffer(self, change: int) -> bool:
        """Count a change of `Connection.buffered`.

        Returns
        -------
        bool
            False if there are too many bytes, and closing unauthenticated connections can't help.
        """
        self._buffered += change
        if change > 0 and self._buffered > self._settings.max_buffered:
            self._abort_largest()
        return self._buffered <= self._settings.max_buffered

    def _reserve(self, connection: Connection) -> bool:
        if len(self._reserved) >= RESERVED:
            self._abort(next(iter(self._reserved)))
        self._reserved[connection] = None
        return False

    def _abort_oldest(self, candidates: Mapping[Connection, object], setting: str) -> bool:
        while candidates:
            oldest = next(iter(candidates))
            if not self._notice(oldest):
                self._warn(f"{setting} is reached")
                self._abort(oldest)
                return True
        return False

    def _abort_largest(self) -> None:
        self._warn("open requests and responses fill the memory allowed for them")
        holders = [one for one in list(self._unknown) if one.buffered and not self._notice(one)]
        holders += [one for one in self._reserved if one.buffered]
        enough = self._settings.max_buffered * 7 // 8  # so that this does not repeat for every connection
        for holder in sorted(holders, key=lambda one: one.buffered, reverse=True):
            if self._buffered <= enough:
                return
            self._abort(holder)

    def _notice(self, connection: Connection) -> bool:
        """Check whether a connection is now authenticated: here it is rare, unlike at every request."""
        if connection.is_authenticated:
            self.remove(connection)
            self._authenticated.add(connection)
        return connection.is_authenticated

    def _abort(self, connection: Connection) -> None:
        self.remove(connection)
        connection.abort()

    def _warn(self, text: str) -> None:
        now = time.monotonic()
        if now - self._warned.get(text, -_SECONDS_BETWEEN_WARNINGS) >= _SECONDS_BETWEEN_WARNINGS:
            self._warned[text] = now
            log_warning(text)
