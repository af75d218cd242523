"""Settings of the HTTP interface."""

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
        Proxies whose `X-Forwarded-For` is trusted.
    max_body : int
        Maximum bytes of a request body, at least 1.
    max_connections : int
        At least 1. Above it, the oldest connection without good credentials is closed for a new one.
    max_connections_per_address : int
        Maximum connections without good credentials from one IPv4 address or IPv6 /64, at least 1.
    max_buffered : int
        Maximum bytes of all open requests and responses, at least `max_body`.
    head_seconds : float
        Time for the first byte of a connection, and then for the headers of a request, to arrive; above 0.
    body_seconds : float
        Time for a body to arrive, even if its request was already answered; above 0.
    write_seconds : float
        Time for a client to read what was written to it (at most 64 KiB and an answer); above 0.
    basic_auth : bool
        Whether HTTP Basic with client id and key counts where neither header is there (RFC 7617).
    access_log : bool
        Log every request as a line of JSON on standard error.

    Raises
    ------
    scoring_model.contract.violation.Invalid
        If a limit is out of range.
    """

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    max_body: int = MAX_BODY
    max_connections: int = 4096
    max_connections_per_address: int = 1024
    max_buffered: int = 64 * 1024 * 1024
    head_seconds: float = 20.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    basic_auth: bool = False
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
