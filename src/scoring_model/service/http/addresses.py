"""Whom a request without good credentials comes from, for the limit on such requests."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

UNKNOWN: Final = "unknown"
"""Stands for all peers without an address, such as those of a Unix socket."""


def limited_address(peer: str | None, forwarded: Sequence[bytes], trusted: Sequence[Network]) -> str:
    """Name what a limit by address counts.

    Parameters
    ----------
    peer : str or None
        Address of the other end of the connection.
    forwarded : sequence of bytes
        Values of `X-Forwarded-For`, in the order in which they came.
    trusted : sequence of networks
        Of proxies whose header is believed.

    Returns
    -------
    str
        An IPv4 address, or the /64 of an IPv6 address: the owner of one address there has all of them. Of
        forwarded ones it is the rightmost that is no trusted proxy: what stands left of it anybody can write.
    """
    address = _parsed(peer or "")
    if address is None:
        return UNKNOWN
    if _is_trusted(address, trusted):
        address = _forwarded(address, forwarded, trusted)
    return str(address) if isinstance(address, IPv4Address) else str(ip_network((address, 64), strict=False))


@lru_cache(maxsize=4096)
def connecting_address(peer: str | None, trusted: tuple[Network, ...]) -> str | None:
    """Name what a limit on connections by address counts.

    Parameters
    ----------
    peer : str or None
        Address of the other end of the connection.
    trusted : tuple of networks
        Of proxies, which bound the connections of addresses behind them themselves.

    Returns
    -------
    str or None
        As `limited_address`; None for a trusted proxy and where there is no address.
    """
    address = _parsed(peer or "")
    if address is None or _is_trusted(address, trusted):
        return None
    return limited_address(peer, (), ())


def _forwarded(address: Address, forwarded: Sequence[bytes], trusted: Sequence[Network]) -> Address:
    """Go from proxy to proxy, back to the first hop that is none or that can't be read."""
    for entry in reversed(b",".join(forwarded).split(b",")):
        hop = _parsed(_without_port(entry.decode("latin-1").strip()))
        if hop is None:
            break
        address = hop
        if not _is_trusted(hop, trusted):
            break
    return address


def _parsed(text: str) -> Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _without_port(entry: str) -> str:
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def _is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)
