"""Reads IP addresses, and names the networks that they are in."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

IpAddress = IPv4Address | IPv6Address

IPV6_BITS: Final[Mapping[int, int]] = {16: 32, 24: 48, 32: 64}
"""Length of an IPv4 prefix to that of the IPv6 prefix that a like number of hosts share.

A provider has a /32 or more of IPv6, a site a /48 and a line a /64 (RFC 6177).
"""


def read_ip(text: str) -> IpAddress | None:
    """Read an IP address; None where the text is none. An IPv4-mapped address is the IPv4 address.

    Examples
    --------
    >>> read_ip("::ffff:192.0.2.7"), read_ip("192.0.2")
    (IPv4Address('192.0.2.7'), None)
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def network_of(address: IpAddress, bits: int) -> str:
    """Name the network of an address.

    Parameters
    ----------
    bits : int
        Length of the prefix in IPv4, a key of `IPV6_BITS`, which has that in IPv6.

    Examples
    --------
    >>> network_of(IPv4Address("192.0.2.7"), 24), network_of(IPv6Address("2001:db8:1:2::7"), 24)
    ('192.0.2.0/24', '2001:db8:1::/48')
    """
    kept = bits if isinstance(address, IPv4Address) else IPV6_BITS[bits]
    dropped = address.max_prefixlen - kept
    return f"{type(address)(int(address) >> dropped << dropped)}/{kept}"
