"""The contract of credentials (contract, "Authentication")."""

import asyncio
import gc
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.service.clients import credentials as module
from scoring_model.service.clients.clients import Caller, Permission, key_digest
from scoring_model.service.clients.credentials import Credentials
from scoring_model.service.core.rows import ApiKeyRow, ClientRow
from scoring_model.service.store import Reader, Store, StoreUnavailable
from service_use import SetClock

SECOND = 1_000_000
ADA = ClientRow(1, "cl_ada", "Ada", "1", "identities,webhooks", 6000, 60, 0, 0, None)
BOB = ClientRow(2, "cl_bob", "Bob", "shared", "verifications", 10, 1, 0, 0, None)
CALLER = Caller(1, "cl_ada", "1", frozenset({Permission.IDENTITIES, Permission.WEBHOOKS}), 6000, 60)


class Keys:
    """Keys of a store that counts queries and can delay or fail them."""

    def __init__(self) -> None:
        self.rows: dict[bytes, tuple[ApiKeyRow, ClientRow]] = {}
        self.asked: list[bytes] = []
        self.queries = 0
        self.gate: asyncio.Event | None = None
        self.away = False

    def give(
        self, api_key: str, client: ClientRow, *, expires_at: int | None = None, revoked_at: int | None = None
    ) -> None:
        """Store a key of a client."""
        row = ApiKeyRow(key_digest(api_key), client.client, 0, expires_at, revoked_at)
        self.rows[row.digest] = row, client

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """Let one query proceed."""
        yield cast(Reader, self)

    async def credentials(self, digests: Sequence[bytes]) -> dict[bytes, tuple[ApiKeyRow, ClientRow]]:
        """The current keys, returned when the gate opens."""
        self.queries += 1
        self.asked += digests
        found = {digest: self.rows[digest] for digest in digests if digest in self.rows}
        if self.gate is not None:
            await self.gate.wait()
        if self.away:
            raise StoreUnavailable
        return found


class World:
    """Ada and Bob with a key each, and the credential check."""

    def __init__(self) -> None:
        self.clock, self.keys = SetClock(1_000 * SECOND), Keys()
        self.keys.give("sk_ada", ADA)
        self.keys.give("sk_bob", BOB)
        self.credentials = Credentials(cast(Store, self.keys), self.clock)

    async def ask(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """Check a pair."""
        return await self.credentials.authenticate(client_id, api_key, limited=limited)


def in_loop(scenario: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test in an event loop that reports every error."""

    @wraps(scenario)
    def test(**arguments: Any) -> None:
        unheard: list[dict[str, Any]] = []

        async def listening() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
            await scenario(**arguments)
            gc.collect()
            await asyncio.sleep(0)

        asyncio.run(listening())
        assert unheard == []

    return test


@in_loop
async def test_authentication_a_good_pair_is_its_client() -> None:
    """The caller has history scope, permissions and quota; the store is queried only by SHA-256."""
    world = World()
    assert await world.ask("cl_ada", "sk_ada") == CALLER
    assert (await world.ask("cl_bob", "sk_bob")) == Caller(
        2, "cl_bob", "shared", frozenset({Permission.VERIFICATIONS}), 10, 1
    )
    assert world.keys.asked[0] == hashlib.sha256(b"sk_ada").digest()


@pytest.mark.parametrize(
    ("client_id", "api_key"),
    [
        ("cl_ada", "sk_bob"),
        ("cl_ada", "sk_none"),
        ("cl_none", "sk_ada"),
        ("CL_ADA", "sk_ada"),
        ("cl_ada ", "sk_ada"),
        ("", ""),
        ("cl_" + 22 * "0", "sk_none"),
        ("cl_äda", "sk_ädä"),
        ("\ud800", "\ud800"),
    ],
)
@in_loop
async def test_authentication_unknown_and_mismatched_pairs_are_nobody(client_id: str, api_key: str) -> None:
    """A wrong pair is refused whatever the cache holds, also if it is not text."""
    world = World()
    assert await world.ask(client_id, api_key) is None
    await world.ask("cl_ada", "sk_ada")
    await world.ask("cl_bob", "sk_bob")
    assert await world.ask(client_id, api_key) is None


@in_loop
async def test_authentication_the_dummy_credential_opens_nothing() -> None:
    """The dummy credential is a revoked key of a revoked client, so that a store containing it would refuse it."""
    world = World()
    world.keys.rows[key_digest("sk_dummy")] = module.DUMMY_CREDENTIAL
    assert await world.ask(module.DUMMY_CREDENTIAL[1].client_id, "sk_dummy") is None


@pytest.mark.parametrize(
    ("fields", "client", "is_good"),
    [
        ({"revoked_at": 999 * SECOND}, ADA, False),
        ({"expires_at": 1_000 * SECOND}, ADA, False),
        ({"expires_at": 1_000 * SECOND + 1}, ADA, True),
        ({}, ADA._replace(revoked_at=999 * SECOND), False),
    ],
)
@in_loop
async def test_authentication_expired_and_revoked_pairs_are_nobody(
    fields: dict[str, int], client: ClientRow, is_good: bool
) -> None:
    """A key ends at its expiry; a revoked client has no valid key."""
    world = World()
    world.keys.give("sk_ada", client, **fields)
    assert (await world.ask("cl_ada", "sk_ada") is not None) == is_good


@in_loop
async def test_authentication_good_pairs_are_remembered_for_at_most_5_s() -> None:
    """The store is not queried again within 5 s; a revocation takes effect after at most 5 s."""
    world = World()
    await world.ask("cl_ada", "sk_ada")
    world.keys.give("sk_ada", ADA, revoked_at=world.clock.at)
    world.clock.at += 5 * SECOND - 1
    assert await world.ask("cl_ada", "sk_ada") == CALLER
    assert len(world.keys.asked) == 1
    world.clock.at += 1
    assert await world.ask("cl_ada", "sk_ada") is None
    assert await world.ask("cl_ada", "sk_ada") is None
    assert len(world.keys.asked) == 3


@in_loop
async def test_authentication_what_is_remembered_outlives_neither_the_key_nor_a_clock_set_back() -> None:
    """A cached key ends at its expiry within the 5 s; an entry from the future is queried again."""
    world = World()
    world.keys.give("sk_ada", ADA, expires_at=world.clock.at + SECOND)
    assert await world.ask("cl_ada", "sk_ada") == CALLER
    world.clock.at += SECOND
    assert await world.ask("cl_ada", "sk_ada") is None
    assert await world.ask("cl_bob", "sk_bob") is not None
    world.keys.give("sk_bob", BOB, revoked_at=1)
    world.clock.at -= SECOND
    assert await world.ask("cl_bob", "sk_bob") is None


pairs = st.tuples(
    st.sampled_from(["cl_ada", "cl_bob", "cl_none"]), st.sampled_from(["sk_ada", "sk_bob", "sk_none"])
)
GOOD = {("cl_ada", "sk_ada"), ("cl_bob", "sk_bob")}


@settings(max_examples=50)
@given(st.lists(st.tuples(pairs, st.integers(0, 6 * SECOND)), max_size=15))
def test_authentication_known_and_unknown_do_the_same_work(shown: list[tuple[tuple[str, str], int]]) -> None:
    """A pair that is not cached as valid costs exactly one look-up, whatever came before."""

    async def scenario() -> None:
        world = World()
        asked_at: dict[tuple[str, str], int] = {}
        for pair, pause in shown:
            world.clock.at += pause
            world.keys.asked.clear()
            found = await world.ask(*pair)
            assert (found is not None) == (pair in GOOD)
            is_fresh = world.clock.at - asked_at.get(pair, -10 * SECOND) < 5 * SECOND
            assert world.keys.asked == ([] if is_fresh else [key_digest(pair[1])])
            if pair in GOOD and not is_fresh:
                asked_at[pair] = world.clock.at

    asyncio.run(scenario())


@in_loop
async def test_authentication_compares_in_constant_time_whether_the_key_is_known_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every look-up is followed by one comparison of client ids that does not stop at the first difference."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return left == right

    monkeypatch.setattr(hmac, "compare_digest", compare)

    world = World()
    for pair in (("cl_ada", "sk_ada"), ("cl_ada", "sk_bob"), ("cl_ada", "sk_none")):
        await world.ask(*pair)
    assert compared == [(b"cl_ada", b"cl_ada"), (b"cl_ada", b"cl_bob"), (b"cl_ada", b"cl_" + 22 * b"0")]


@in_loop
async def test_simultaneous_misses_of_a_key_share_a_look_up() -> None:
    """Concurrent checks of one key, under any client ids, share a look-up, and each gets its own answer."""
    world = World()
    world.keys.gate = asyncio.Event()
    asking = [asyncio.create_task(world.ask(name, "sk_ada")) for name in ["cl_ada", "cl_bob"] * 5]
    await asyncio.sleep(0.001)
    assert len(world.keys.asked) == 1
    world.keys.gate.set()
    assert await asyncio.gather(*asking) == [CALLER, None] * 5
    assert len(world.keys.asked) == 1


@in_loop
async def test_who_gives_up_does_not_spoil_a_shared_look_up() -> None:
    """Cancelling the first of several checks does not affect the others."""
    world = World()
    world.keys.gate = asyncio.Event()
    first, second = (asyncio.create_task(world.ask("cl_ada", "sk_ada")) for _ in range(2))
    await asyncio.sleep(0.001)
    first.cancel()
    await asyncio.sleep(0.001)
    world.keys.gate.set()
    assert await second == CALLER
    assert first.cancelled()
    assert len(world.keys.asked) == 1


@in_loop
async def test_unknown_pairs_of_one_moment_share_a_query() -> None:
    """The first check queries immediately; all that arrive during its query share the next one."""
    world = World()
    world.keys.gate = asyncio.Event()
    first = asyncio.create_task(world.ask("cl_none", "sk_none"))
    await asyncio.sleep(0.001)
    flood = [asyncio.create_task(world.ask("cl_none", f"sk_{i}")) for i in range(1_000)]
    good = asyncio.create_task(world.ask("cl_ada", "sk_ada"))
    await asyncio.sleep(0.001)
    world.keys.gate.set()
    assert await asyncio.gather(first, *flood) == [None] * 1_001
    assert await good == CALLER
    assert world.keys.queries == 2


@in_loop
async def test_limited_addresses_share_queries_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood from throttled addresses costs few queries, a valid pair in it is served, and no other client waits."""
    monkeypatch.setattr(module, "LIMITED_SECONDS", 0.05)
    world = World()
    flood = []
    for i in range(50):
        flood.append(asyncio.create_task(world.ask("cl_none", f"sk_{i}", limited=True)))
        await asyncio.sleep(0)
    good = asyncio.create_task(world.ask("cl_ada", "sk_ada", limited=True))
    await asyncio.sleep(0)
    assert world.keys.queries == 1
    assert await world.ask("cl_bob", "sk_bob") is not None
    assert world.keys.queries == 2
    assert not good.done()
    assert await good == CALLER
    assert await asyncio.gather(*flood) == [None] * 50
    assert world.keys.queries == 3


@in_loop
async def test_a_query_begins_after_those_who_share_it_asked() -> None:
    """A query under way may predate a revocation, so checks that arrive during it wait for the next one."""
    world = World()
    world.keys.gate = asyncio.Event()
    early = asyncio.create_task(world.ask("cl_ada", "sk_ada"))
    await asyncio.sleep(0.001)
    world.keys.give("sk_ada", ADA, revoked_at=world.clock.at)
    late = asyncio.create_task(world.ask("cl_ada", "sk_ada"))
    await asyncio.sleep(0.001)
    world.keys.gate.set()
    assert await late is None
    assert await early == CALLER  # it was valid at the time of the query
    assert await world.ask("cl_ada", "sk_ada") is None


@in_loop
async def test_a_pair_is_remembered_from_the_beginning_of_its_query() -> None:
    """The answer of a query that took 4 s is cached for one more second."""
    world = World()
    world.keys.gate = asyncio.Event()
    asking = asyncio.create_task(world.ask("cl_ada", "sk_ada"))
    await asyncio.sleep(0.001)
    world.keys.give("sk_ada", ADA, revoked_at=world.clock.at)
    world.clock.at += 4 * SECOND
    world.keys.gate.set()
    assert await asking == CALLER
    world.clock.at += SECOND - 1
    assert await world.ask("cl_ada", "sk_ada") == CALLER
    world.clock.at += 1
    assert await world.ask("cl_ada", "sk_ada") is None


@in_loop
async def test_a_store_that_is_away_is_reported_to_all_and_not_remembered() -> None:
    """All checks that share a failed look-up get its error, the next one queries again, and no failure is unhandled."""
    world = World()
    world.keys.gate, world.keys.away = asyncio.Event(), True
    asking = [asyncio.create_task(world.ask("cl_ada", "sk_ada")) for _ in range(3)]
    alone = asyncio.create_task(world.ask("cl_bob", "sk_bob"))
    await asyncio.sleep(0.001)
    alone.cancel()
    world.keys.gate.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(error) for error in found] == [StoreUnavailable] * 3
    world.keys.away = False
    assert await world.ask("cl_ada", "sk_ada") == CALLER


@in_loop
async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used pairs are evicted; wrong pairs are never cached."""
    monkeypatch.setattr(module, "MOST_REMEMBERED", 4)
    world = World()
    for i in range(5):
        world.keys.give(f"sk_{i}", ADA)
        await world.ask("cl_ada", f"sk_{i}")
        await world.ask("cl_none", f"sk_{i}")
    world.keys.asked.clear()
    await world.ask("cl_ada", "sk_4")
    await world.ask("cl_ada", "sk_1")
    assert world.keys.asked == []
    await world.ask("cl_ada", "sk_0")
    assert world.keys.asked == [key_digest("sk_0")]


@in_loop
async def test_keys_are_not_held() -> None:
    """No cache entry contains the text of a key."""
    world = World()
    await world.ask("cl_ada", "sk_ada")
    assert "sk_ada" not in repr(vars(world.credentials))


@in_loop
async def test_a_pair_that_was_good_does_not_wait_with_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a limited address too it is looked up at once when it is no longer cached."""
    monkeypatch.setattr(module, "LIMITED_SECONDS", 3600.0)
    world = World()
    assert await world.ask("cl_ada", "sk_ada") == CALLER
    assert (
        await world.ask("cl_none", "sk_none", limited=True) is None
    )  # the next shared query is an hour away
    world.clock.at += module.REMEMBERED_FOR
    found = await asyncio.wait_for(world.ask("cl_ada", "sk_ada", limited=True), 60)
    assert (found, world.keys.queries) == (CALLER, 3)
