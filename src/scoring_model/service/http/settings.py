"""What the HTTP side is told when it is made."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final

MAX_BODY: Final = 256 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSettings:
    """Limits and switches of the HTTP side.

    Parameters
    ----------
    trusted_proxies : tuple of IPv4Network or IPv6Network
        Whose `X-Forwarded-For` is believed.
    max_body : int
        Bytes that the body of a request may have, at least 1.
    body_seconds : float
        Within which a body has to arrive, above 0.
    access_log : bool
        Whether every request is told in a line of JSON on standard error.

    Raises
    ------
    ValueError
        If a limit is outside of its range.
    """

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    max_body: int = MAX_BODY
    body_seconds: float = 30.0
    access_log: bool = True

    def __post_init__(self) -> None:
        if self.max_body < 1:
            raise ValueError(f"max_body must be at least 1, got {self.max_body}")
        if not self.body_seconds > 0:
            raise ValueError(f"body_seconds must be above 0, got {self.body_seconds}")
