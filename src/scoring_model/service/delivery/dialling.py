"""The checked dial: resolve a name, check every address, and open sockets to permitted addresses only."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from scoring_model.service.delivery.egress import AddressPolicy

MOST_LOOKUPS: Final = 128
"""Maximum number of concurrent look-ups; each occupies a thread while a DNS server hangs."""

MOST_ADDRESSES: Final = 8
"""Maximum number of addresses tried per name."""

CLIENT: Final[ContextVar[int]] = ContextVar("client")
"""The client whose delivery is being sent: aiohttp passes only the name to a resolver."""

Lookup = Callable[[str], Sequence[str]]
"""Returns the addresses of a name as text; blocks, and raises `OSError` if there are none."""

Sockaddr = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
SocketInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, Sockaddr]
"""What `socket.getaddrinfo` returns for one address."""


class RefusedAddress(OSError):
    """No address of the destination may be dialled."""


class UnknownName(OSError):
    """The name of the destination can't be resolved."""


def system_lookup(host: str) -> list[str]:
    """Resolve a name as the system does, including its hosts file."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Lookups:
    """Name look-ups in dedicated threads, at most one per name at a time, shared fairly by clients.

    A system look-up can't be cancelled, so a name whose DNS server hangs keeps its thread until the resolver gives up.
    A client may begin another look-up while it runs fewer than there are free threads: alone it gets half of them, and
    a new client finds some free. Others wait. The threads are daemons, so a stopping service does not wait for
    them.

    References
    ----------
    Choudhury, Hahne: Dynamic Queue Length Thresholds for Shared-Memory Packet Switches. IEEE/ACM Transactions on
    Networking 6(2), 1998. DOI 10.1109/90.664262
    """

    def __init__(self, lookup: Lookup = system_lookup, *, most: int = MOST_LOOKUPS) -> None:
        self._lookup = lookup
        self._most = most
        self._under_way: dict[str, asyncio.Future[Sequence[str]]] = {}
        self._begun_by: Counter[int] = Counter()
        self._ended = asyncio.Event()

    async def addresses(self, host: str, *, client: int) -> Sequence[str]:
        """Resolve a name, in the client's share of the threads.

        Raises
        ------
        UnknownName
            If it has no address, or no thread can be started.
        """
        while (future := self._under_way.get(host)) is None:
            if self._begun_by[client] < self._most - len(self._under_way):
                future = self._begin(host, client)
                break
            await self._ended.wait()
        await asyncio.wait((future,))  # cancelling one waiter does not cancel the look-up of others
        return future.result()

    def _begin(self, host: str, client: int) -> asyncio.Future[Sequence[str]]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Sequence[str]] = loop.create_future()
        thread = threading.Thread(target=self._run, args=(host, loop, future), daemon=True, name="look-up")
        try:
            thread.start()
        except RuntimeError as error:
            raise UnknownName("no thread is left for a look-up") from error
        self._under_way[host] = future
        self._begun_by[client] += 1
        future.add_done_callback(lambda done: self._end(host, client, done))
        return future

    def _run(self, host: str, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Sequence[str]]) -> None:
        found: Sequence[str] = ()
        with contextlib.suppress(OSError, UnicodeError):  # the latter for a label too long for IDNA
            found = self._lookup(host)
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(_settle, future, found)

    def _end(self, host: str, client: int, future: asyncio.Future[Sequence[str]]) -> None:
        del self._under_way[host]
        self._begun_by[client] -= 1
        if not self._begun_by[client]:
            del self._begun_by[client]
        self._ended.set()  # waiters check again in order of arrival
        self._ended = asyncio.Event()
        if not future.cancelled():
            future.exception()  # retrieved even if the caller is gone


def _settle(future: asyncio.Future[Sequence[str]], found: Sequence[str]) -> None:
    if future.done():
        return
    if found:
        future.set_result(found)
    else:
        future.set_exception(UnknownName("the name has no address"))


class CheckedNames(AbstractResolver):
    """Resolves names and drops every address that may not be dialled."""

    def __init__(self, policy: AddressPolicy, lookups: Lookups) -> None:
        self._policy = policy
        self._lookups = lookups

    async def permitted(self, host: str) -> list[str]:
        """Return the addresses of a host that may be dialled, at least one.

        A name is resolved in the share of `CLIENT`; an address is only checked.

        Raises
        ------
        UnknownName
            If the name has no address.
        RefusedAddress
            If none of its addresses may be dialled.
        """
        found = (host,) if _is_address(host) else await self._lookups.addresses(host, client=CLIENT.get())
        permitted = [address for address in found if self._policy.permits(address)]
        if not permitted:
            raise RefusedAddress("no address of the destination may be dialled")
        return permitted[:MOST_ADDRESSES]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return what `permitted` returns in the form of aiohttp."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self.permitted(host)
        ]

    async def close(self) -> None:
        """Do nothing."""


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False


def checked_sockets(policy: AddressPolicy) -> Callable[[SocketInfo], socket.socket]:
    """Return a socket factory that checks each address again, whether from a name, a URL or a cache."""

    def open_socket(info: SocketInfo) -> socket.socket:
        family, kind, proto, _, sockaddr = info
        if not policy.permits(str(sockaddr[0])):
            raise RefusedAddress("the address may not be dialled")
        return socket.socket(family, kind, proto)

    return open_socket
