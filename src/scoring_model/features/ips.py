"""Features of signals that are IP addresses: version, special ranges and network.

The ranges are a table of our own, since `ipaddress` changes its answers between versions of Python. A change of it
raises `VERSION`.

References
----------
IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), as of November 2026; RFC 5771, RFC 4291.
"""

from functools import partial
from ipaddress import ip_network
from typing import Final

from scoring_model.features.catalogue import MISSING, Group, ReasonTopic, read_features
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.features.state import NETWORK_BITS, FittedState
from scoring_model.records.ip import IPV6_BITS, IpAddress, network_of, read_ip

VERSION = 1

_RANGES: Final = {
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
    "shared by customers of a provider": "100.64.0.0/10",
    "loopback": "127.0.0.0/8 ::1/128",
    "link local": "169.254.0.0/16 fe80::/10",
    "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    "translated or tunnelled": "192.88.99.0/24 2001::/32 2002::/16 64:ff9b::/96 64:ff9b:1::/48",
    "multicast": "224.0.0.0/4 ff00::/8",
    "reserved": "0.0.0.0/8 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 ::/3 2001::/23 4000::/2 8000::/1",
}
"""Ranges that are not public, by name; an address is in the first that holds it."""

_BOUNDS: Final = {
    version: [
        (int(network.network_address), int(network.broadcast_address), code)
        for code, networks in enumerate(_RANGES.values(), 1)
        for network in map(ip_network, networks.split())
        if network.version == version
    ]
    for version in (4, 6)
}


def groups(signal: str, settings: SignalSettings, state: FittedState) -> tuple[Group, ...]:
    """Return the group of one signal."""
    field = f"signals.{signal}"
    networks = state.vocabulary(f"{field}:network")
    words = {"network": networks.values, "range": _RANGE_WORDS}
    features = partial(read_features, "ip", signal, protected=settings.protected, words=words)

    def described(ip: str | None) -> tuple[float, ...]:
        address = None if ip is None else read_ip(ip)
        if address is None:
            return (MISSING if ip is None else 1.0, MISSING, MISSING, MISSING, MISSING)
        code = range_of(address)
        return (
            0.0,
            address.version,
            networks.code(network_of(address, NETWORK_BITS)),
            code > 0,
            code,
        )

    return (
        Group(
            inputs=(field,),
            features=(*features(_ADDRESS), *features(_RANGE, aspect="RANGE")),
            function=described,
        ),
    )


def range_of(address: IpAddress) -> int:
    """Return the code of the range of an address, 0 if it is public."""
    number = int(address)
    return next((code for low, high, code in _BOUNDS[address.version] if low <= number <= high), 0)


_ADDRESS = (
    ("unreadable", "0 or 1", "Whether the {} cannot be read as an IP address."),
    ("version", "version", "Version of the {}, 4 or 6."),
    (
        "network",
        "code",
        f"Network of the {{}}: its first {NETWORK_BITS} bits, or {IPV6_BITS[NETWORK_BITS]} of version 6.",
    ),
)
_RANGE_WORDS = ("public", *_RANGES)
_NAMES = ", ".join(f"{code} {name}" for code, name in enumerate(_RANGE_WORDS))
_RANGE = (
    ("special", "0 or 1", "Whether the {} is of a range that is not public."),
    ("range", "code", f"Range of the {{}}: {_NAMES}."),
)

REASONS = (
    ReasonTopic(
        code="",
        sentence="The {title} counted against the {event}.",
        about="the {title}",
        present=("unreadable",),
        absence=("", "No {title} was given."),
        detail=("UNREADABLE", "The {title} cannot be read as an IP address.", ("unreadable",)),
    ),
    ReasonTopic(
        code="RANGE",
        sentence="The range of the {title} counted against the {event}.",
        about="the range of the {title}",
        present=("special",),
        absence=("", "No {title} with a range was given."),
        detail=("NOT_PUBLIC", "The {title} is of a range that is not public.", ("special",)),
    ),
)
