"""Retries of requests."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.client.errors import Conflict, RateLimited, TransportError, Unavailable

_MANY_DOUBLINGS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When and how often a request is retried.

    Parameters
    ----------
    attempts : int
        Including the first; 1 never retries.
    total_seconds : float
        No attempt starts later than this after the call.
    first_delay, longest_delay : float
        Seconds. Without `Retry-After` the delay doubles from the first to the longest, with a random reduction of up
        to one half, so that clients do not retry simultaneously.

    Raises
    ------
    ValueError
        If values are out of range; the message lists all.
    """

    attempts: int = 5
    total_seconds: float = 60.0
    first_delay: float = 0.5
    longest_delay: float = 8.0

    def __post_init__(self) -> None:
        rules = {
            "attempts must be at least 1": self.attempts >= 1,
            "total_seconds must be finite and at least 0": 0 <= self.total_seconds < math.inf,
            "first_delay must be above 0": self.first_delay > 0,
            "longest_delay must be finite and at least first_delay": self.first_delay
            <= self.longest_delay
            < math.inf,
        }
        broken = [rule for rule, kept in rules.items() if not kept]
        if broken:
            raise ValueError("; ".join(broken))

    def backoff(self, attempt: int, chance: Callable[[], float] = random.random) -> float:
        """Seconds to wait after an attempt, counted from 1, without `Retry-After`; `chance` is in [0, 1)."""
        longest = min(self.longest_delay, self.first_delay * 2.0 ** min(attempt - 1, _MANY_DOUBLINGS))
        return longest * (1.0 - 0.5 * chance())


def may_repeat(failure: BaseException, *, repeatable: bool, idempotent: bool) -> bool:
    """Return True if a request may be retried after this failure.

    Parameters
    ----------
    repeatable : bool
        Whether the service applies repeated requests only once: a GET, an erasure, a POST with an Idempotency-Key.
    idempotent : bool
        Whether it is repeatable or its method is idempotent (RFC 9110, section 9.2.2), but a second answer
        may differ from the first.

    Notes
    -----
    A request refused with 429, or never sent, was not carried out and may always be retried. After 503 it was almost
    certainly not carried out. After a lost connection or a gateway error this is unknown. A pending request with the
    same Idempotency-Key is waited for.
    """
    match failure:
        case RateLimited() | TransportError(sent=False):
            return True
        case Unavailable(status=503):
            return idempotent
        case Unavailable() | TransportError():
            return repeatable
        case Conflict(code="idempotency_in_progress"):
            return True
        case _:
            return False
