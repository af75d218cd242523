"""The clients of the service and their keys (contract, "Authentication" and "Rate limit"), on real databases."""

import asyncio
import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.cli.clients import create
from scoring_model.contract.violation import Invalid
from scoring_model.service.clients.clients import (
    NewClient,
    Permission,
    RevokedClient,
    UnknownClient,
    create_client,
    format_permissions,
    grant,
    is_live,
    key_digest,
    list_clients,
    parse_permissions,
    parse_quota,
    revoke,
    rotate_key,
)
from scoring_model.service.clients.credentials import Credentials
from scoring_model.service.core.rows import ApiKeyRow
from scoring_model.service.store import Store
from service_use import SetClock
from store_story import with_store

NOW = 1_800_000_000_000_000
SECOND = 1_000_000
ALL = frozenset(Permission)


async def ada(store: Store, *, history_scope: str | None = None) -> NewClient:
    """A client of everything."""
    return await create_client(store, name="Ada", permissions=ALL, history_scope=history_scope, now=NOW)


async def is_let_in(store: Store, client_id: str, api_key: str, now: int = NOW) -> bool:
    """Return True if a process without a cache accepts a pair."""
    return await Credentials(store, SetClock(now)).authenticate(client_id, api_key) is not None


async def keys_of_the_one(store: Store) -> list[ApiKeyRow]:
    """The keys of the only client."""
    [(_, keys)] = await list_clients(store)
    return keys


@with_store
async def test_authentication_a_new_client_is_let_in(store: Store) -> None:
    """A new pair is valid immediately, with its permissions, quota (default 6,000 a minute) and own history."""
    new = await create_client(
        store, name=" Zoe\u0308 ", permissions=[Permission.WEBHOOKS], quota=10, quota_seconds=1, now=NOW
    )
    other = await ada(store)
    caller = await Credentials(store, SetClock(NOW)).authenticate(new.client_id, new.api_key)
    assert caller is not None
    assert (caller.client_id, caller.permissions) == (new.client_id, frozenset({Permission.WEBHOOKS}))
    assert (caller.quota, caller.quota_seconds, caller.history_scope) == (10, 1, str(caller.client))
    assert not await is_let_in(store, new.client_id, other.api_key)
    (zoe, _), (ada_, _) = await list_clients(store)
    assert (zoe.name, zoe.quota, zoe.quota_seconds, zoe.created_at) == ("Zoë", 10, 1, NOW)
    assert (ada_.quota, ada_.quota_seconds) == (6000, 60)


@with_store
async def test_authentication_keys_are_256_random_bits_and_only_their_hash_is_kept(store: Store) -> None:
    """Ids and keys have their formats and are unique, and the database stores only the SHA-256."""
    new = [await ada(store) for _ in range(20)]
    assert len({client.client_id for client in new}) == len({client.api_key for client in new}) == 20
    for client in new:
        assert re.fullmatch(r"cl_[0-9A-Za-z]{22}", client.client_id)
        assert re.fullmatch(r"sk_[0-9A-Za-z_-]{43}", client.api_key)
    async with store.reading() as reader:
        digest = key_digest(new[3].api_key)
        found = (await reader.credentials([digest])).get(digest)
        rows = [await reader.clients(), await reader.api_keys(found[1].client if found else 0)]
    assert found is not None
    assert found[1].client_id == new[3].client_id
    assert len(found[0].digest) == 32
    assert new[3].api_key not in repr(rows)
    assert new[3].api_key not in repr(new[3])
    assert new[3].api_key not in repr(await list_clients(store))


@with_store
async def test_privacy_history_scopes_exist_only_by_name(store: Store) -> None:
    """Clients of one named history scope share it; no client can name another's scope."""
    for history_scope in ("banks", " banks ", None, None):
        await ada(store, history_scope=history_scope)
    scopes = [client.pool for client, _ in await list_clients(store)]
    assert scopes[:2] == ["banks", "banks"]
    assert len(set(scopes)) == 3
    for own in (scopes[2], f" {scopes[3]}", "٣"):
        with pytest.raises(Invalid, match="historyScope: must not be a number"):
            await ada(store, history_scope=own)
    assert len(await list_clients(store)) == 4


@with_store
async def test_a_client_that_breaks_rules_is_refused_with_all_of_them(store: Store) -> None:
    """Every broken rule is reported, and nothing is written."""
    with pytest.raises(Invalid) as caught:
        await create_client(
            store,
            name=" ",
            permissions=[],
            quota=0,
            quota_seconds=86_401,
            history_scope="a\x00" + "b" * 99,
            now=NOW,
        )
    assert str(caught.value).split("; ") == [
        "name: must have 1 to 100 characters, got 0",
        "quota: must be 1 to 1000000000 requests",
        "quota: must be of 1 to 86400 seconds",
        "scopes: must be at least one",
        "historyScope: must have 1 to 100 characters, got 101",
        "historyScope: must have no control characters",
    ]
    for name in ("x" * 101, "a\nb", "\ud800"):
        with pytest.raises(Invalid):
            await create_client(store, name=name, permissions=ALL, now=NOW)
    assert await list_clients(store) == []
    await create_client(store, name="x" * 100, permissions=ALL, now=NOW)


@with_store
async def test_authentication_rotation_leaves_both_keys_good_for_a_while(store: Store) -> None:
    """The old key expires after its grace period, the new one does not."""
    new = await ada(store)
    second = await rotate_key(store, new.client_id, grace_seconds=60, now=NOW)
    for later, old_is_good in ((0, True), (60 * SECOND - 1, True), (60 * SECOND, False)):
        assert await is_let_in(store, new.client_id, new.api_key, NOW + later) == old_is_good
        assert await is_let_in(store, new.client_id, second, NOW + later)


@with_store
async def test_authentication_at_most_two_keys_are_live(store: Store) -> None:
    """A second rotation ends the oldest key immediately and extends no grace period."""
    new = await ada(store)
    second = await rotate_key(store, new.client_id, grace_seconds=60, now=NOW + 1)
    third = await rotate_key(store, new.client_id, grace_seconds=3600, now=NOW + 2)
    good = [await is_let_in(store, new.client_id, key, NOW + 2) for key in (new.api_key, second, third)]
    assert good == [False, True, True]
    keys = await keys_of_the_one(store)
    assert [is_live(key, NOW + 2) for key in keys] == good
    assert keys[1].expires_at == NOW + 2 + 3600 * SECOND
    fourth = await rotate_key(store, new.client_id, grace_seconds=0, now=NOW + 3)
    keys = await keys_of_the_one(store)
    assert [is_live(key, NOW + 3) for key in keys] == [False, False, False, True]
    assert keys[1].expires_at == NOW + 2 + 3600 * SECOND  # ended by revocation
    assert await is_let_in(store, new.client_id, fourth, NOW + 3)


@with_store
async def test_authentication_a_rotation_never_lengthens_a_key(store: Store) -> None:
    """An expired newest key stays expired, and a key that ends soon is not extended."""
    new = await ada(store)
    async with store.writing([]) as transaction:
        await transaction.expire_api_key(key_digest(new.api_key), NOW + 10)
    await rotate_key(store, new.client_id, grace_seconds=3600, now=NOW + 5)
    assert (await keys_of_the_one(store))[0].expires_at == NOW + 10
    await rotate_key(store, new.client_id, grace_seconds=3600, now=NOW + 20)
    assert (await keys_of_the_one(store))[0].expires_at == NOW + 10


@with_store
async def test_authentication_rotations_at_once_leave_two_live_keys(store: Store) -> None:
    """Concurrent rotations take turns, in any order."""
    new = await ada(store)
    await asyncio.gather(*(rotate_key(store, new.client_id, now=NOW + i) for i in range(5)))
    keys = await keys_of_the_one(store)
    assert len(keys) == 6
    assert sum(is_live(key, NOW + 5) for key in keys) == 2


@with_store
async def test_authentication_a_revoked_client_is_shut_out(store: Store) -> None:
    """Revocation ends all keys of only that client, is idempotent, and forbids new keys."""
    new, other = await ada(store), await ada(store)
    second = await rotate_key(store, new.client_id, now=NOW)
    await revoke(store, new.client_id, now=NOW + 1)
    for key in (new.api_key, second):
        assert not await is_let_in(store, new.client_id, key, NOW + 1)
    assert await is_let_in(store, other.client_id, other.api_key, NOW + 1)
    before = await list_clients(store)
    await revoke(store, new.client_id, now=NOW + 2)
    assert await list_clients(store) == before
    assert before[0][0].revoked_at == NOW + 1
    assert not any(is_live(key, NOW + 1) for key in before[0][1])
    with pytest.raises(RevokedClient, match=new.client_id):
        await rotate_key(store, new.client_id, now=NOW + 2)


@with_store
async def test_what_is_unknown_is_refused_by_name(store: Store) -> None:
    """Commands report an unknown client, and refuse a negative grace period."""
    with pytest.raises(UnknownClient, match="cl_none"):
        await rotate_key(store, "cl_none", now=NOW)
    with pytest.raises(UnknownClient, match="cl_none"):
        await revoke(store, "cl_none", now=NOW)
    new = await ada(store)
    with pytest.raises(Invalid, match="grace"):
        await rotate_key(store, new.client_id, grace_seconds=-1, now=NOW)


@given(st.integers(1, 10**9), st.integers(1, 86_400))
def test_a_quota_is_read_as_it_is_written(quota: int, seconds: int) -> None:
    """Requests, a slash, seconds."""
    assert parse_quota(f"{quota}/{seconds}") == (quota, seconds)


@pytest.mark.parametrize(
    "text", ["", "6000", "6000/", "/60", "-1/60", "6000/60s", "0/60", "1/0", "1/86401", "9999999999/1", "٣/1"]
)
def test_other_quotas_are_refused(text: str) -> None:
    """Another form or a value out of range is reported."""
    with pytest.raises(Invalid, match="quota"):
        parse_quota(text)


@given(st.sets(st.sampled_from(list(Permission)), min_size=1))
def test_scopes_are_read_as_they_are_written(scopes: set[Permission]) -> None:
    """In any order, with blanks or without."""
    text = format_permissions(scopes)
    assert parse_permissions(text) == parse_permissions(", ".join(reversed(text.split(",")))) == scopes


@pytest.mark.parametrize("text", ["", "identities,", "all", "identities;webhooks", "Identities"])
def test_other_scopes_are_refused(text: str) -> None:
    """The error lists the existing ones."""
    with pytest.raises(Invalid, match="identities, verifications, webhooks"):
        parse_permissions(text)


@with_store
async def test_scopes_of_a_client_are_replaced(store: Store) -> None:
    """`grant` gives exactly these scopes; keys stay as they are, and others' scopes too."""
    one, other = await ada(store), await ada(store)
    await grant(store, one.client_id, permissions=[Permission.LABELS, Permission.WEBHOOKS])
    credentials = Credentials(store, SetClock(NOW))
    callers = [await credentials.authenticate(made.client_id, made.api_key) for made in (one, other)]
    found = [None if caller is None else caller.permissions for caller in callers]
    assert found == [frozenset({Permission.LABELS, Permission.WEBHOOKS}), ALL]
    with pytest.raises(UnknownClient):
        await grant(store, "cl_none", permissions=[Permission.LABELS])


def test_a_client_of_the_command_may_do_everything_but_lists_by_default() -> None:
    """A scope that is added is in the command's default. Who may write a pass list may let anyone pass."""
    default = inspect.signature(create).parameters["scopes"].default
    assert parse_permissions(default) == frozenset(Permission) - {Permission.LISTS}
