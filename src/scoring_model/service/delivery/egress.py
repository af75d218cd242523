"""Rules for outgoing connections: permitted addresses (no IANA special-purpose blocks) and a proxy.

The table is our own, so that all supported Python versions agree: `ipaddress` changed between releases and permits IPv6
addresses that embed a special IPv4 address.

References
----------
- IANA IPv4 Special-Purpose Address Registry, IANA IPv6 Special-Purpose Address Registry (RFC 6890, RFC 8190): all
  blocks of both, including globally reachable ones, since receivers have no addresses in them.
- IANA IPv4 Multicast Address Space (RFC 5771), IANA Internet Protocol Version 6 Address Space (RFC 4291).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from scoring_model.contract.violation import Invalid, Violation, pointer

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

SPECIAL_IPV4: Final[dict[str, str]] = {
    "0.0.0.0/8": "this network, RFC 791",
    "10.0.0.0/8": "private use, RFC 1918",
    "100.64.0.0/10": "shared address space, RFC 6598",
    "127.0.0.0/8": "loopback, RFC 1122",
    "169.254.0.0/16": "link local, RFC 3927",
    "172.16.0.0/12": "private use, RFC 1918",
    "192.0.0.0/24": "IETF protocol assignments, RFC 6890, with all blocks inside",
    "192.0.2.0/24": "documentation, RFC 5737",
    "192.31.196.0/24": "AS112, RFC 7535",
    "192.52.193.0/24": "AMT, RFC 7450",
    "192.88.99.0/24": "6to4 relay anycast, deprecated, RFC 7526, with 6a44 inside",
    "192.168.0.0/16": "private use, RFC 1918",
    "192.175.48.0/24": "direct delegation of AS112, RFC 7534",
    "198.18.0.0/15": "benchmarking, RFC 2544",
    "198.51.100.0/24": "documentation, RFC 5737",
    "203.0.113.0/24": "documentation, RFC 5737",
    "224.0.0.0/4": "multicast, RFC 5771",
    "240.0.0.0/4": "reserved, RFC 1112, with limited broadcast inside",
}
"""IPv4 blocks without public hosts, and their purposes."""

SPECIAL_IPV6: Final[dict[str, str]] = {
    "::/3": "not for unicast: loopback, unspecified, compatible (RFC 4291), discard-only (RFC 6666), local NAT64",
    "2001::/23": "IETF protocol assignments, RFC 2928, with all blocks inside",
    "2001:db8::/32": "documentation, RFC 3849",
    "2620:4f:8000::/48": "direct delegation of AS112, RFC 7534",
    "3fff::/20": "documentation, RFC 9637",
    "4000::/2": "not for unicast, with the SIDs of segment routing (5f00::/16, RFC 9602)",
    "8000::/1": "not for unicast: unique local (RFC 4193), link and site local (RFC 4291, RFC 3879), multicast",
}
"""IPv6 blocks without public hosts, which are all in 2000::/3."""

MAPPED: Final = IPv6Network("::ffff:0:0/96")
"""IPv4-mapped addresses: the system dials the IPv4 address itself (RFC 4291, section 2.5.5.2)."""

NAT64: Final = IPv6Network("64:ff9b::/96")
"""The well-known prefix: a translator dials the last 32 bits (RFC 6052, section 2.1)."""

LOCAL_NAT64: Final = IPv6Network("64:ff9b:1::/48")
"""Prefixes of local translators (RFC 8215): special, unless a setting names the prefix."""

SIX_TO_FOUR: Final = IPv6Network("2002::/16")
"""6to4: a relay dials bits 16 to 47 (RFC 3056, section 2)."""

TEREDO: Final = IPv6Network("2001::/32")
"""Teredo: bits 32 to 63 are the server, the last 32 inverted are the client (RFC 4380, section 4)."""

LOOPBACK: Final[tuple[IpNetwork, ...]] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
"""This machine."""

_IPV4: Final = tuple(IPv4Network(text) for text in SPECIAL_IPV4)
_IPV6: Final = tuple(IPv6Network(text) for text in SPECIAL_IPV6)
_PROXY: Final = "must be a URL such as http://proxy.example:3128"
_PREFIX_LENGTHS: Final = (48, 56, 64, 96)  # of RFC 6052, section 2.2, that fit into `LOCAL_NAT64`


@dataclass(frozen=True)
class AddressPolicy:
    """Permits public hosts and configured networks.

    An address that embeds IPv4 addresses (mapped, NAT64, 6to4, Teredo) is permitted if all of these are.

    Parameters
    ----------
    named : tuple of networks
        Special networks that may be dialled anyway. A network within `LOCAL_NAT64` is the prefix of a
        translator: the IPv4 address behind it, at the position that its length implies, must be permitted too.

    Examples
    --------
    >>> AddressPolicy().permits("2002:7f00:1::"), AddressPolicy().permits("64:ff9b::8.8.8.8")
    (False, True)
    """

    named: tuple[IpNetwork, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[str | IpNetwork] = (), *, development: bool = False) -> AddressPolicy:
        """Create a policy from networks; `development` permits loopback. Raises `ValueError`."""
        named = tuple(ip_network(network) for network in networks)
        return cls(named + LOOPBACK if development else named)

    def permits(self, address: str | IpAddress) -> bool:
        """Return True if an address may be dialled; other text may not. A zone (RFC 4007) is ignored."""
        try:
            known = ip_address(address)
        except ValueError:
            return False
        if isinstance(known, IPv6Address) and (inner := tuple(self._embedded(known))):
            return all(map(self.permits, inner))
        return not _is_listed(known) or any(known in network for network in self.named)

    def _embedded(self, address: IPv6Address) -> Iterator[IPv4Address]:
        """Return the IPv4 addresses that an IPv6 address leads to."""
        octets = address.packed
        if address in MAPPED or address in NAT64:
            yield IPv4Address(octets[12:])
        elif address in SIX_TO_FOUR:
            yield IPv4Address(octets[2:6])
        elif address in TEREDO:
            yield IPv4Address(octets[4:8])
            yield IPv4Address(bytes(octet ^ 0xFF for octet in octets[12:]))
        elif address in LOCAL_NAT64:
            for network in self.named:
                if isinstance(network, IPv6Network) and address in network and network.subnet_of(LOCAL_NAT64):
                    yield _translated(octets, network.prefixlen)


def _is_listed(address: IpAddress) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _IPV4)
    return any(address in network for network in _IPV6)


def _translated(octets: bytes, length: int) -> IPv4Address:
    """Return the IPv4 address that a translator extracts under a prefix (RFC 6052, section 2.2: octet 8 is skipped)."""
    if length not in _PREFIX_LENGTHS:
        return IPv4Address(0)  # special: the embedded address can't be found
    if length == 96:
        return IPv4Address(octets[12:])
    return IPv4Address((octets[length // 8 : 8] + octets[9:])[:4])


@dataclass(frozen=True, kw_only=True, slots=True)
class Egress:
    """Settings of outgoing connections; raises `Invalid` with every field that breaks its rule.

    Parameters
    ----------
    networks : tuple of str
        Private and other special networks that may be dialled anyway.
    proxy : str, optional
        ``http://[user:password@]host:port``, which gets CONNECT to checked addresses. Never displayed.
    development : bool
        Allow plain http and loopback.
    """

    networks: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    development: bool = False

    def __post_init__(self) -> None:
        if violations := [*broken_egress(self.networks, self.proxy)]:
            raise Invalid(violations)


def broken_egress(networks: Sequence[str], proxy: str | None) -> Iterator[Violation]:
    """Find violations in egress settings. Omits the proxy, which may contain a password.

    Examples
    --------
    >>> [violation.pointer for violation in broken_egress(["10.0.0.1/8"], None)]
    ['/egress_networks/0']
    """
    yield from broken_networks("egress_networks", networks)
    if proxy is not None and not _is_proxy(proxy):
        yield Violation("/egress_proxy", "not_a_url", _PROXY)


def broken_networks(name: str, networks: Sequence[str]) -> Iterator[Violation]:
    """Find the texts in a list that are not networks."""
    for place, text in enumerate(networks):
        try:
            ip_network(text)
        except ValueError:
            detail = "must be an address or a network such as 10.0.0.0/8"
            yield Violation(pointer(name, place), "not_a_network", detail)


def _is_proxy(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    plain = parts.scheme == "http" and parts.hostname and parts.path in ("", "/")
    return bool(plain) and port != 0 and not parts.query and not parts.fragment
