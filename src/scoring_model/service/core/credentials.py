"""Who asks: client ids and API keys, checked at a cost that tells nobody anything."""

import asyncio
import hmac
from typing import Final, NamedTuple

from scoring_model.service.core.clients import caller_of, is_live, key_digest
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.resources import Caller
from scoring_model.service.core.rows import ApiKeyRow, ClientRow
from scoring_model.service.core.store import Store

REMEMBERED_FOR: Final = 5_000_000
"""Microseconds for which a good pair is believed, and so the longest that a revocation takes."""

MOST_REMEMBERED: Final = 4_096
"""Good pairs that are remembered at a time; the oldest give way."""

_Found = tuple[ApiKeyRow, ClientRow] | None
_STRANGER: Final = (
    ApiKeyRow(bytes(32), 0, 0, None, 0),
    ClientRow(0, "cl_" + 22 * "0", "", "", "", 0, 0, 0, 0, 0),
)


class _Known(NamedTuple):
    caller: Caller
    seen_at: int
    until: int


class _LookUp(NamedTuple):
    task: "asyncio.Task[_Found]"
    began_at: int


class Credentials:
    """Checks pairs of client id and API key.

    A pair that is not remembered costs one look-up in the store, by the SHA-256 of its key, and one comparison
    of client ids in constant time, whether its key is unknown, revoked, expired, another client's or good:
    where there is no such key the comparison is made with a client that nobody is. Bad pairs are never
    remembered, so the next attempt costs the same again, and nobody can fill the memory with them. What is
    remembered is found by the hash of the key together with the client id; keys themselves are not held.

    Parameters
    ----------
    store : Store
    clock : Clock
        Good pairs are remembered for 5 s by it.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[bytes, str], _Known] = {}
        self._under_way: dict[bytes, _LookUp] = {}

    async def authenticate(self, client_id: str, api_key: str) -> Caller | None:
        """Find the client that a pair of credentials belongs to.

        Parameters
        ----------
        client_id, api_key : str
            As they were sent: any text at all.

        Returns
        -------
        Caller or None
            None if the pair is unknown, mismatched, expired or revoked.

        Raises
        ------
        StoreUnavailable
            If it is not remembered and the store can't be asked.
        """
        pair = key_digest(api_key), client_id
        known = self._known.get(pair)
        now = self._clock.now()
        # A clock that was set back must not stretch the memory.
        if known is not None and known.seen_at <= now < known.until:
            return known.caller
        look_up = self._look_up(pair[0], now)
        # Waiting for a task, unlike awaiting it, leaves it to the others when this one gives up.
        await asyncio.wait([look_up.task])
        key, client = look_up.task.result() or _STRANGER
        if not _is_good(key, client, client_id, self._clock.now()):
            self._known.pop(pair, None)
            return None
        return self._remember(pair, key, client, look_up.began_at)

    def _remember(self, pair: tuple[bytes, str], key: ApiKeyRow, client: ClientRow, began_at: int) -> Caller:
        """Believe a pair until 5 s after its look-up began: what was revoked before that was seen."""
        until = began_at + REMEMBERED_FOR
        if key.expires_at is not None:
            until = min(until, key.expires_at)
        caller = caller_of(client)
        self._known.pop(pair, None)  # so that the order is that of the look-ups
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[pair] = _Known(caller, began_at, until)
        return caller

    def _look_up(self, digest: bytes, now: int) -> _LookUp:
        """Ask the store, once for all that ask of the same key at the same time.

        What has been under way for as long as pairs are remembered may have seen a key that was revoked since.
        """
        shared = self._under_way.get(digest)
        if shared is None or not shared.began_at <= now < shared.began_at + REMEMBERED_FOR:
            shared = _LookUp(asyncio.create_task(self._ask(digest)), now)
            self._under_way[digest] = shared
            shared.task.add_done_callback(lambda task: self._forget(digest, task))
        return shared

    async def _ask(self, digest: bytes) -> _Found:
        async with self._store.reading() as reader:
            return await reader.credentials(digest)

    def _forget(self, digest: bytes, task: "asyncio.Task[_Found]") -> None:
        if (shared := self._under_way.get(digest)) is not None and shared.task is task:
            del self._under_way[digest]
        if not task.cancelled():
            task.exception()  # raised by those who wait; if they all gave up, it has been seen to here


def _is_good(key: ApiKeyRow, client: ClientRow, client_id: str, now: int) -> bool:
    sent, real = client_id.encode(errors="surrogatepass"), client.client_id.encode()
    is_same = hmac.compare_digest(sent, real)
    return is_same and client.revoked_at is None and is_live(key, now)
