"""Requests that are done once however often they are sent."""

from dataclasses import dataclass
from typing import Final

LIFETIME: Final = 24 * 3600 * 1_000_000
"""How long an answer is kept, in microseconds."""


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What a request is known by again.

    Parameters
    ----------
    digest : bytes
        Keyed hash of client, operation and idempotency key.
    client : int
    body_digest : bytes
        Keyed hash of the raw body.
    """

    digest: bytes
    client: int
    body_digest: bytes
