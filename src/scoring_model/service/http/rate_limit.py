"""Rate limits: the quota of a client as headers, and failed authentications by address."""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from scoring_model.service.clients import Caller
from scoring_model.service.core.store import Bucket
from scoring_model.service.http.context import header_values
from scoring_model.service.http.errors import TooManyFailures
from scoring_model.service.http.settings import HttpSettings

if TYPE_CHECKING:
    from scoring_model.service.service import Service

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

UNKNOWN: Final = "unknown"
"""Stands for all peers without an address, such as those of a Unix socket."""

LIMITED_SECONDS: Final = 10.0
"""For which an address counts as limited after its last failure above the limit."""

MOST_LIMITED: Final = 4_096
"""Limited addresses in memory; the oldest give way."""


def quota_headers(caller: Caller, bucket: Bucket) -> list[tuple[bytes, bytes]]:
    """Report a client's quota and what is left of it.

    Returns
    -------
    list of (bytes, bytes)
        `RateLimit-Policy` with quota and window, `RateLimit` with what is left and the seconds until all is.

    References
    ----------
    draft-ietf-httpapi-ratelimit-headers, sections 3 and 4.
    """
    policy = f'"default";q={caller.quota};w={caller.quota_seconds}'
    limit = f'"default";r={max(0, bucket.left)};t={math.ceil(bucket.full_in)}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", limit.encode())]


def seconds_to_wait(bucket: Bucket) -> int:
    """Whole seconds until there is a token, at least 1 (RFC 9110, section 10.2.3)."""
    return max(1, math.ceil(bucket.next_in))


class FailureLimit:
    """Counts failed authentications and remembers the addresses above the limit."""

    def __init__(self, service: "Service", settings: HttpSettings) -> None:
        self._service = service
        self._settings = settings
        self._limited: dict[str, float] = {}

    def is_limited(self, scope: Scope) -> bool:
        """Whether the address of a request failed too often a short time ago."""
        # Most of the time no address is limited, and that of the request need not be known.
        return bool(self._limited) and self._limited.get(self._address(scope), 0.0) > time.monotonic()

    async def count(self, scope: Scope) -> None:
        """Count a failure.

        Raises
        ------
        TooManyFailures
        """
        address = self._address(scope)
        bucket = await self._service.rate_limits.take_failure(address)
        if not bucket.allowed:
            self._limit(address)
            raise TooManyFailures(seconds_to_wait(bucket))

    def _limit(self, address: str) -> None:
        self._limited.pop(address, None)  # so that the order is that of the last failures
        while self._limited and (
            len(self._limited) >= MOST_LIMITED or next(iter(self._limited.values())) <= time.monotonic()
        ):
            del self._limited[next(iter(self._limited))]
        self._limited[address] = time.monotonic() + LIMITED_SECONDS

    def _address(self, scope: Scope) -> str:
        peer = scope.get("client")
        return limited_address(
            None if peer is None else peer[0],
            header_values(scope, b"x-forwarded-for"),
            self._settings.trusted_proxies,
        )


def limited_address(peer: str | None, forwarded: Sequence[bytes], trusted: Sequence[IpNetwork]) -> str:
    """Name what a limit by address counts.

    Parameters
    ----------
    peer : str or None
        Address of the other end of the connection.
    forwarded : sequence of bytes
        Values of `X-Forwarded-For`, in the order of the request.
    trusted : sequence of networks
        Proxies whose header counts.

    Returns
    -------
    str
        An IPv4 address, or the /64 of an IPv6 address: the owner of one address there has all of them. Of
        forwarded addresses it is the rightmost that is no trusted proxy: any client can write what stands left of it.
    """
    address = _parsed(peer or "")
    if address is None:
        return UNKNOWN
    if _is_trusted(address, trusted):
        address = _forwarded(address, forwarded, trusted)
    return str(address) if isinstance(address, IPv4Address) else str(ip_network((address, 64), strict=False))


@lru_cache(maxsize=4096)
def connecting_address(peer: str | None, trusted: tuple[IpNetwork, ...]) -> str | None:
    """Name what a limit on connections by address counts.

    Returns
    -------
    str or None
        As `limited_address`; None without an address, and for a trusted proxy, which limits the connections of
        addresses behind it itself.
    """
    address = _parsed(peer or "")
    if address is None or _is_trusted(address, trusted):
        return None
    return limited_address(peer, (), ())


def _forwarded(address: IpAddress, forwarded: Sequence[bytes], trusted: Sequence[IpNetwork]) -> IpAddress:
    """Go from proxy to proxy, back to the first hop that is none or is unreadable."""
    for entry in reversed(b",".join(forwarded).split(b",")):
        hop = _parsed(_without_port(entry.decode("latin-1").strip()))
        if hop is None:
            break
        address = hop
        if not _is_trusted(hop, trusted):
            break
    return address


def _parsed(text: str) -> IpAddress | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _without_port(entry: str) -> str:
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def _is_trusted(address: IpAddress, trusted: Sequence[IpNetwork]) -> bool:
    return any(address in network for network in trusted)
