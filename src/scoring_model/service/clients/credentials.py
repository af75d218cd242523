"""Authentication by client id and API key, in constant time, and rate limits by token buckets."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring_model.service.clients.clients import Caller, caller_of, is_live, key_digest
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import ApiKeyRow, ClientRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import Bucket, LookUps, Store

FAILURES_PER_MINUTE: Final = 60
"""Failed authentications allowed per address."""

REMEMBERED_FOR: Final = 5_000_000
"""Microseconds for which a valid pair is cached: the maximum delay of a revocation."""

MOST_REMEMBERED: Final = 4_096
"""Maximum number of cached pairs; the oldest are evicted."""

LIMITED_SECONDS: Final = 0.05
"""Seconds between shared look-ups for addresses that failed too often."""

DUMMY_CREDENTIAL: Final = (
    ApiKeyRow(bytes(32), 0, 0, None, 0),
    ClientRow(0, "cl_" + 22 * "0", "", "", "", 0, 0, 0, 0, 0),
)


class _Known(NamedTuple):
    caller: Caller
    seen_at: int
    until: int


class _LookUp(NamedTuple):
    found: tuple[ApiKeyRow, ClientRow] | None
    began_at: int


class Credentials:
    """Checks pairs of client id and API key.

    A pair that is not cached costs one look-up by the SHA-256 of its key and one constant-time comparison of client
    ids, whether its key is unknown, revoked, expired, another client's or valid: an unknown key is compared with a
    dummy credential. Concurrent look-ups share a query; addresses that failed too often share separate, infrequent
    queries, unless the pair was good before. Invalid pairs are never cached, so every attempt costs the same and they
    can't fill the memory. The cache holds hashes of keys, never keys.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[bytes, str], _Known] = {}
        self._look_ups = LookUps(self._look_up)
        self._limited_look_ups = LookUps(self._look_up, pause=LIMITED_SECONDS)

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """Return the client of a pair of any texts; None if it is unknown, mismatched, expired or revoked.

        Parameters
        ----------
        limited : bool
            The pair comes from an address that failed too often.

        Raises
        ------
        StoreUnavailable
            If the pair is not cached and the store is unavailable.
        """
        pair = key_digest(api_key), client_id
        known = self._known.get(pair)
        now = self._clock.now()
        # A clock that was set back must not prolong a cache entry.
        if known is not None and known.seen_at <= now < known.until:
            return known.caller
        # A pair that was good a while ago is no guess.
        look_ups = self._limited_look_ups if limited and known is None else self._look_ups
        look_up = await look_ups.find(pair[0])
        key, client = look_up.found or DUMMY_CREDENTIAL
        if not _is_good(key, client, client_id, self._clock.now()):
            self._known.pop(pair, None)
            return None
        return self._remember(pair, key, client, look_up.began_at)

    async def _look_up(self, digests: Sequence[bytes]) -> dict[bytes, _LookUp]:
        began_at = self._clock.now()
        async with self._store.reading() as reader:
            rows = await reader.credentials(digests)
        return {digest: _LookUp(rows.get(digest), began_at) for digest in digests}

    def _remember(self, pair: tuple[bytes, str], key: ApiKeyRow, client: ClientRow, began_at: int) -> Caller:
        """Cache a pair until 5 s after the start of its look-up, which saw all earlier revocations."""
        until = began_at + REMEMBERED_FOR
        if key.expires_at is not None:
            until = min(until, key.expires_at)
        caller = caller_of(client)
        self._known.pop(pair, None)  # keep the order of look-ups
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[pair] = _Known(caller, began_at, until)
        return caller


def _is_good(key: ApiKeyRow, client: ClientRow, client_id: str, now: int) -> bool:
    sent, real = client_id.encode(errors="surrogatepass"), client.client_id.encode()
    is_same = hmac.compare_digest(sent, real)
    return is_same and client.revoked_at is None and is_live(key, now)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Takes tokens from the buckets of clients and addresses. Buckets of addresses are named by a keyed hash."""

    store: Store
    secrets: Secrets
    clock: Clock

    async def take_token(self, caller: Caller, size: int = 1) -> Bucket:
        """Take a token for one request of a client, or `size` of them or none for a large one."""
        return await self.store.take(
            b"client:%d" % caller.client,
            capacity=caller.quota,
            per_second=caller.quota / caller.quota_seconds,
            now=self.clock.now(),
            size=size,
        )

    async def take_failure(self, address: str) -> Bucket:
        """Take a token for one failed authentication of an address."""
        return await self.store.take(
            self.secrets.digest(Purpose.ADDRESS, address.encode(), size=16),
            capacity=FAILURES_PER_MINUTE,
            per_second=FAILURES_PER_MINUTE / 60,
            now=self.clock.now(),
        )
