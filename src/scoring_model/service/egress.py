"""The settings of outgoing connections: special networks that may be dialled, and a proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from scoring_model.contract.violation import Invalid, Violation, pointer

_PROXY: Final = "must be a URL such as http://proxy.example:3128"


@dataclass(frozen=True, kw_only=True, slots=True)
class Egress:
    """What a deliverer may dial, and through which proxy.

    Parameters
    ----------
    networks : tuple of str
        Private and other special networks that may be dialled nevertheless.
    proxy : str, optional
        ``http://[user:password@]host:port``, which gets CONNECT to checked addresses. Never shown.
    development : bool
        Whether plain http and loopback may be dialled.

    Raises
    ------
    Invalid
        With every field that breaks its rule.
    """

    networks: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    development: bool = False

    def __post_init__(self) -> None:
        if violations := [*broken_egress(self.networks, self.proxy)]:
            raise Invalid(violations)


def broken_egress(networks: Sequence[str], proxy: str | None) -> Iterator[Violation]:
    """Find the violations of the settings of egress. The proxy is not repeated: it may hold a password.

    Examples
    --------
    >>> [violation.pointer for violation in broken_egress(["10.0.0.1/8"], None)]
    ['/egress_networks/0']
    """
    yield from broken_networks("egress_networks", networks)
    if proxy is not None and not _is_proxy(proxy):
        yield Violation("/egress_proxy", "not_a_url", _PROXY)


def broken_networks(name: str, networks: Sequence[str]) -> Iterator[Violation]:
    """Find the texts in a list that are no network."""
    for place, text in enumerate(networks):
        try:
            ipaddress.ip_network(text)
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
