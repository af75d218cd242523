"""Rate limits: token buckets for the requests of a client and for the failed authentications of an address."""

from typing import Final

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.resources import Caller
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import Bucket, Store

FAILURES_PER_MINUTE: Final = 60
"""Failed authentications that one address may have."""


class RateLimits:
    """Takes tokens from the buckets of clients and addresses.

    Parameters
    ----------
    secrets : Secrets
        Hash addresses: no bucket's name shows one.
    """

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock

    async def take_token(self, caller: Caller) -> Bucket:
        """Take a token for one request of a client."""
        return await self._store.take(
            b"client:%d" % caller.client,
            capacity=caller.quota,
            per_second=caller.quota / caller.quota_seconds,
            now=self._clock.now(),
        )

    async def take_failure(self, address: str) -> Bucket:
        """Take a token for one failed authentication of an address."""
        return await self._store.take(
            self._secrets.digest(Purpose.ADDRESS, address.encode(), size=16),
            capacity=FAILURES_PER_MINUTE,
            per_second=FAILURES_PER_MINUTE / 60,
            now=self._clock.now(),
        )
