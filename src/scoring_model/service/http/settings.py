"""The settings of the HTTP interface."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from scoring_model.contract.violation import check_fields

MAX_BODY: Final = 256 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSettings:
    """Limits and switches of the HTTP interface.

    Parameters
    ----------
    trusted_proxies : tuple of IPv4Network or IPv6Network
        Whose `X-Forwarded-For` counts.
    max_body : int
        Bytes that the body of a request may have, at least 1.
    max_connections : int
        At least 1. Above it the oldest one without good credentials makes room for a new one.
    max_connections_per_address : int
        Of those without good credentials, at least 1, from one IPv4 address or /64 of IPv6.
    max_buffered : int
        Bytes of all requests and responses under way, at least `max_body`.
    head_seconds : float
        Within which the first byte of a connection and then the headers of a request have to arrive, above 0.
    body_seconds : float
        Within which a body has to arrive, above 0, whether or not its request was answered before.
    write_seconds : float
        Within which a client has to take what was written for it, at most 64 KiB and an answer, above 0.
    access_log : bool
        Whether every request is logged as a line of JSON on standard error.

    Raises
    ------
    scoring_model.contract.violation.Invalid
        If a limit is outside of its range.
    """

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    max_body: int = MAX_BODY
    max_connections: int = 4096
    max_connections_per_address: int = 1024
    max_buffered: int = 64 * 1024 * 1024
    head_seconds: float = 20.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    access_log: bool = True

    def __post_init__(self) -> None:
        counts = ("max_body", "max_connections", "max_connections_per_address")
        times = ("head_seconds", "body_seconds", "write_seconds")
        check_fields(
            self,
            *((name, "at least 1", getattr(self, name) >= 1) for name in counts),
            ("max_buffered", "at least max_body", self.max_buffered >= self.max_body),
            *((name, "above 0", getattr(self, name) > 0) for name in times),
        )
