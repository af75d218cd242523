"""The settings of outgoing connections: special networks that may be dialled, and a proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_PROXY: Final = "egress_proxy must be a URL such as http://proxy.example:3128"


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
    ValueError
        With every field that breaks its rule.
    """

    networks: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    development: bool = False

    def __post_init__(self) -> None:
        if problems := [*egress_problems(self.networks, self.proxy)]:
            raise ValueError("; ".join(problems))


def egress_problems(networks: Sequence[str], proxy: str | None) -> Iterator[str]:
    """List what is wrong with the settings, under their names.

    Parameters
    ----------
    proxy : str or None
        Not repeated in a problem: it may hold a password.

    Examples
    --------
    >>> list(egress_problems(["10.0.0.1/8"], None))
    ['egress_networks.0 must be an address or a network such as 10.0.0.0/8']
    """
    yield from network_problems("egress_networks", networks)
    if proxy is not None and not _is_proxy(proxy):
        yield _PROXY


def network_problems(name: str, networks: Sequence[str]) -> Iterator[str]:
    """Find the texts that are no networks."""
    for place, text in enumerate(networks):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            yield f"{name}.{place} must be an address or a network such as 10.0.0.0/8"


def _is_proxy(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    plain = parts.scheme == "http" and parts.hostname and parts.path in ("", "/")
    return bool(plain) and port != 0 and not parts.query and not parts.fragment
