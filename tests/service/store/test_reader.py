"""Rows that readers and transactions find, on both databases."""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.core.rows import (
    BundleRow,
    IdentityRow,
    LabelRow,
    LinkRow,
    PersonKeyRow,
    VerificationRow,
)
from scoring_model.service.store import Duplicate, Reader, Store
from store_story import write
from stored_rows import (
    api_key_row,
    client_row,
    idempotency_row,
    identity_row,
    link_labels,
    new_id,
    packed,
    pending_row,
    person_key_row,
    verification_row,
    webhook_row,
)

pytestmark = pytest.mark.anyio

POOLS = ["1"]


async def test_bundles_are_listed_as_they_served(store: Store, reader: Reader) -> None:
    """Every bundle that ever served, in order."""
    rows = [BundleRow("z", "p", "{}", 1), BundleRow("a", "q", '{"A": "Ä"}', 2), BundleRow("a", "r", "{}", 3)]
    await write(store, *reversed(rows))
    assert await reader.bundles() == rows


async def test_clients_get_numbers_and_history_scopes(store: Store, reader: Reader) -> None:
    """A new client gets a number, and its own history scope where none is named; it is found by its key's digest."""
    alone, pooled = client_row(), client_row(pool="shared")
    async with store.writing(POOLS) as transaction:
        one = await transaction.new_client(alone)
        two = await transaction.new_client(pooled)
        keys = [api_key_row(one, created_at=2), api_key_row(one, created_at=1), api_key_row(two)]
        await transaction.insert(keys)
    assert one != two
    clients = [alone._replace(client=one, pool=str(one)), pooled._replace(client=two)]
    assert await reader.clients() == clients
    assert await reader.api_keys(one) == [keys[1], keys[0]]
    assert await reader.credentials([keys[2].digest, os.urandom(32), keys[0].digest]) == {
        keys[2].digest: (keys[2], clients[1]),
        keys[0].digest: (keys[0], clients[0]),
    }


async def test_revocation_is_dated_once(store: Store, reader: Reader) -> None:
    """A client or key that is revoked again keeps its first date; an expiry can be moved."""
    async with store.writing(POOLS) as transaction:
        client = await transaction.new_client(client_row())
        key = api_key_row(client)
        await transaction.insert([key])
        for at in (5, 6):
            await transaction.revoke_api_key(key.digest, at)
            await transaction.expire_api_key(key.digest, at)
            await transaction.revoke_client(client, at)
    assert await reader.api_keys(client) == [key._replace(revoked_at=5, expires_at=6)]
    assert [row.revoked_at for row in await reader.clients()] == [5]


async def test_resources_are_their_clients_own(store: Store, reader: Reader) -> None:
    """Identities, verifications and webhooks of another client are not there."""
    identity, verification, webhook = identity_row(), verification_row(), webhook_row()
    await write(store, identity)
    await write(store, verification)
    await write(store, webhook)
    assert await reader.identity(1, identity.id) == identity
    assert await reader.verification(1, verification.id) == verification
    assert await reader.webhook(1, webhook.id) == webhook
    assert await reader.identity(2, identity.id) is None
    assert await reader.verification(2, verification.id) is None
    assert await reader.webhook(2, webhook.id) is None
    assert await reader.verification_by_id(verification.id) == verification
    assert await reader.verification_by_id(identity.id) is None
    assert await reader.webhooks(2, b"", 10) == []


async def test_an_identity_comes_with_its_persons_key(store: Store, reader: Reader) -> None:
    """Both in one look, and the identity alone once the key is gone."""
    key = person_key_row()
    identity = identity_row(key_id=key.key_id)
    await write(store, key)
    await write(store, identity)
    assert await reader.identity_and_key(1, identity.id) == (identity, key)
    assert await reader.identity_and_key(2, identity.id) is None
    async with store.writing(POOLS) as transaction:
        await transaction.erase(key.key_id, 99)
        found = await transaction.identity_and_key(1, identity.id)
        assert found == (await transaction.identity(1, identity.id), None)


async def test_identities_that_are_asked_for_together_do_not_mix(store: Store) -> None:
    """Concurrent readers each get their own identity, only of their own client, also if one of them is cancelled."""
    keys = [person_key_row() for _ in range(20)]
    identities = [identity_row(key_id=key.key_id, client=n % 2) for n, key in enumerate(keys)]
    await write(store, *keys)
    await write(store, *identities)

    async def ask(client: int, resource: bytes) -> tuple[IdentityRow, PersonKeyRow | None] | None:
        async with store.reading() as reader:
            return await reader.identity_and_key(client, resource)

    asked = [asyncio.create_task(ask(c, identity.id)) for identity in identities for c in (0, 1, 1)]
    nobody = asyncio.create_task(ask(1, new_id()))
    await asyncio.sleep(0)
    given_up, asked[1] = asked[1], asyncio.create_task(ask(1, identities[0].id))
    given_up.cancel()
    expected = [
        pair if pair[0].client == c else None
        for pair in zip(identities, keys, strict=True)
        for c in (0, 1, 1)
    ]
    assert await asyncio.gather(*asked) == expected
    assert await nobody is None


async def test_an_identitys_verifications_are_found(store: Store, reader: Reader) -> None:
    """Those that scored it, not those of its person's other identities, which have the same key."""
    key = new_id()
    identity, other = identity_row(key_id=key), identity_row(key_id=key)
    rows = [verification_row(key_id=key, identity_id=identity.id) for _ in range(2)]
    await write(store, identity, other, identity_row())
    await write(store, *rows, verification_row(key_id=key, identity_id=other.id), verification_row())
    first, second = sorted(row.id for row in rows)
    assert await reader.ids_of_identity(identity.id, 9) == [first, second]
    assert await reader.ids_of_identity(identity.id, 1) == [first]
    assert await reader.ids_of_identity(identity.id, 9, first) == [second]
    assert await reader.ids_of_identity(new_id(), 9) == []


async def test_completed_verifications_come_page_by_page(store: Store, reader: Reader) -> None:
    """Pages by (completed_at, id) put together are all COMPLETED verifications of the client, in that order."""
    same = [verification_row(completed_at=30) for _ in range(3)]
    rows = [verification_row(completed_at=40), *same, verification_row(completed_at=20)]
    others = [verification_row(client=2), pending_row(), verification_row(status="ERROR")]
    await write(store, *rows, *others)
    found: list[VerificationRow] = []
    while page := await reader.completed(
        1, (found[-1].completed_at or 0, found[-1].id) if found else None, 2
    ):
        assert len(page) <= 2
        found += page
    assert found == sorted(rows, key=lambda row: (row.completed_at or 0, row.id))


async def test_labels_come_in_the_order_in_which_they_were_reported(store: Store, reader: Reader) -> None:
    """Labels of several verifications, reported in one transaction or in several, keep their order."""
    one, two, none = new_id(), new_id(), new_id()
    reported = [
        LabelRow(1, one, "withdrawn", 9, 20),
        LabelRow(1, two, "genuine", 1, 20),
        LabelRow(1, one, "fraud", 3, 20),
    ]
    await write(store, *reported)
    await write(store, LabelRow(1, one, "genuine", 1, 15))
    assert await reader.labels([one, none, two]) == {
        one: [("withdrawn", 9, 20), ("fraud", 3, 20), ("genuine", 1, 15)],
        two: [("genuine", 1, 20)],
    }
    assert await reader.labels([]) == {}
    with pytest.raises(Duplicate):
        await write(store, reported[0]._replace(told_at=99))


async def test_keys_of_persons_are_found_by_id_and_by_person(store: Store, reader: Reader) -> None:
    """A person has one key with each client; where no person is known, any number of keys may be."""
    person = os.urandom(16)
    rows = [
        person_key_row(person=person),
        person_key_row(person=person, client=2),
        person_key_row(person=None),
        person_key_row(person=None),
    ]
    await write(store, *rows)
    ids = [row.key_id for row in rows]
    assert await reader.person_keys([*ids, new_id()]) == dict(zip(ids, rows, strict=True))
    wanted = [(1, person), (2, person), (3, person), (1, os.urandom(16))]
    assert await reader.persons(wanted) == {(1, person): rows[0], (2, person): rows[1]}
    assert (await reader.person_keys([]), await reader.persons([])) == ({}, {})
    with pytest.raises(Duplicate):
        await write(store, person_key_row(person=person))


async def test_keys_are_wrapped_anew(store: Store) -> None:
    """Keys under other masters are found until they are rewrapped; one that was erased meanwhile stays so."""
    rows = [person_key_row() for _ in range(3)]
    await write(store, *rows)
    async with store.writing(POOLS) as transaction:
        assert len(await transaction.keys_under_other_masters(b"master-b", 2)) == 2
        await transaction.erase(rows[2].key_id, 99)
        new = [row._replace(master_id=b"master-b", wrapped=b"again", person=b"no") for row in rows]
        await transaction.rewrap(new)
        assert await transaction.keys_under_other_masters(b"master-b", 9) == []
        kept = await transaction.person_keys([row.key_id for row in rows])
    assert list(kept.values()) == [row._replace(master_id=b"master-b", wrapped=b"again") for row in rows[:2]]


async def test_answers_are_found_by_digest(store: Store, reader: Reader) -> None:
    """Those digests that were answered, with all that is kept of the answer."""
    rows = [idempotency_row(), idempotency_row(answer=b"sealed", status=202)]
    await write(store, *rows)
    digests = [row.digest for row in rows]
    assert await reader.idempotency([os.urandom(32), *digests]) == dict(zip(digests, rows, strict=True))
    assert await reader.idempotency([]) == {}
    async with store.writing(POOLS) as transaction:
        await transaction.forget_answers([digests[0], os.urandom(32)])
        assert list(await transaction.idempotency(digests)) == [digests[1]]
        await transaction.insert([rows[0]])  # it may come again


async def test_webhooks_come_page_by_page(store: Store, reader: Reader) -> None:
    """Pages put together are all webhooks of the client in the order of their ids."""
    rows = [webhook_row() for _ in range(5)]
    await write(store, *reversed(rows), webhook_row(client=2))
    first = await reader.webhooks(1, b"", 3)
    assert first + await reader.webhooks(1, first[-1].id, 3) == rows
    assert await reader.webhooks(1, rows[-1].id, 3) == []


async def test_webhooks_change_and_go(store: Store) -> None:
    """All of a webhook changes but whose it is and since when; a deleted one is gone."""
    row = webhook_row()
    changed = webhook_row(
        id=row.id,
        destination_url="https://example.org/",
        active=0,
        event_types="[]",
        description=b"d",
        disabled_reason="r",
        secret=b"s",
        old_secret=b"o",
        old_secret_until=5,
        updated_at=99,
        succeeded_at=98,
        query=b"q",
        since_sequence=7,
    )
    await write(store, row)
    async with store.writing(POOLS) as transaction:
        await transaction.update_webhook(changed._replace(client=2, created_at=77))
        assert await transaction.webhook(1, row.id) == changed
        await transaction.delete_webhook(row.id)
        await transaction.delete_webhook(row.id)
        assert await transaction.webhook(1, row.id) is None


async def test_sequences_move_on_and_only_clients_with_an_active_webhook_listen(store: Store) -> None:
    """Each by its own count, returned as it was before, though client and webhooks are made in the same transaction."""
    async with store.writing(POOLS) as transaction:
        one, two, three = [
            await transaction.new_client(client_row(sequence=s, sandbox=int(s == 7))) for s in (0, 7, 0)
        ]
        await transaction.insert(
            [webhook_row(client=one), webhook_row(client=one), webhook_row(client=two, active=0)]
        )
        found = await transaction.advance({one: 2, two: 1, three: 1})
        assert found == {
            one: (0, True, False, False),
            two: (7, False, False, True),
            three: (0, False, False, False),
        }
        assert await transaction.advance({one: 3}) == {one: (2, True, False, False)}
        assert await transaction.advance({}) == {}


async def test_only_pending_verifications_are_settled(store: Store) -> None:
    """A verification leaves PENDING once; its id, client and creation never change."""
    pending, done = pending_row(), verification_row()
    await write(store, pending, done)
    new = [
        verification_row(id=row.id, key_id=row.key_id, client=5, created_at=77, score=900, attempts=2)
        for row in (pending, done, pending_row())
    ]
    async with store.writing(POOLS) as transaction:
        assert await transaction.settle(new) == {pending.id}
        assert await transaction.settle(new) == frozenset()
        assert await transaction.settle([]) == frozenset()
        assert await transaction.verification(1, done.id) == done
        assert await transaction.verification(1, pending.id) == new[0]._replace(
            client=1, created_at=pending.created_at
        )


async def test_pending_verifications_are_leased_once_at_a_time(store: Store) -> None:
    """The oldest come first, and again only when their lease is over."""
    rows = [pending_row(created_at=at) for at in (3, 1, 2)]
    oldest = [rows[1], rows[2], rows[0]]
    await write(store, *rows, verification_row(created_at=0))
    async with store.writing(POOLS) as transaction:
        leased = await transaction.lease_pending(100, 200, 2)
        assert leased == [row._replace(leased_until=200) for row in oldest[:2]]
        assert [row.id for row in await transaction.lease_pending(200, 300, 9)] == [oldest[2].id]
        again = await transaction.lease_pending(201, 400, 9)
        assert [row.id for row in again] == [row.id for row in oldest[:2]]


async def test_two_who_lease_at_once_get_different_ones(postgres_store: Store) -> None:
    """Under different locks, two transactions lease without waiting for each other and never the same row."""
    rows = [pending_row(created_at=at) for at in range(5)]
    await write(postgres_store, *rows)
    async with postgres_store.writing(["1"]) as one, postgres_store.writing(["2"]) as two:
        first, second = await one.lease_pending(100, 200, 2), await two.lease_pending(100, 200, 9)
    assert [row.id for row in first + second] == [row.id for row in rows]


def latest_first(rows: list[LinkRow]) -> list[LinkRow]:
    """Link rows by their instants, descending."""
    return sorted(rows, key=lambda row: -row.time)


def with_ties(rows: list[LinkRow], cap: int) -> list[LinkRow]:
    """The first rows, and those of the instant of the last one."""
    return [row for row in rows if row.time >= rows[min(cap, len(rows)) - 1].time]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.sets(st.tuples(st.integers(0, 2), st.integers(-5, 12), st.integers(0, 2)), max_size=25),
    since=st.integers(-6, 13),
    cap=st.integers(1, 6),
    asked=st.lists(st.integers(0, 3), unique=True, max_size=4),
    amount=st.none() | st.sampled_from([0, -(2**63), 2**63 - 1]),
    between=st.tuples(st.integers(-6, 13), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))),
)
async def test_histories_are_the_latest_events(
    store: Store,
    events: set[tuple[int, int, int]],
    since: int,
    cap: int,
    asked: list[int],
    amount: int | None,
    between: tuple[int, int],
) -> None:
    """Under each hash: the latest `cap` events from an instant on and the ties of the last one, as a search gives.

    Their amounts come with them where they are asked for. Between two instants there is no cap.
    """
    base = os.urandom(15)
    rows = [
        LinkRow(base + bytes([h]), time, os.urandom(4), None, amount, b"m", tie) for h, time, tie in events
    ]
    await write(store, *rows)
    async with store.writing(POOLS) as transaction:
        hashes = [base + bytes([h]) for h in asked]
        plain = await transaction.histories(hashes, since=since, cap=cap)
        found = await transaction.histories(hashes, since=since, cap=cap, amounts=1)
        every = await transaction.histories(hashes, since=since, cap=cap, amounts=3)
        within = await transaction.histories(hashes, since=since, cap=cap, between=between)
    for h, history, summed, whole, older in zip(asked, plain, found, every, within, strict=True):
        mine = [row for row in rows if row.hash[-1] == h and row.time >= since]
        latest = with_ties(latest_first(mine), cap)
        assert sorted(history) == sorted(row[1:4] for row in latest)
        assert [past[0] for past in history] == [row.time for row in latest]
        assert sorted(summed) == sorted((*row[1:5], row.tie) for row in latest)
        assert sorted(whole) == sorted(row[1:] for row in latest)
        first, last = between
        among = [row for row in latest_first(mine) if first <= row.time < last]
        before = with_ties([row for row in latest_first(mine) if row.time < first], cap)
        assert sorted(older) == sorted(row[1:4] for row in among + before)
        assert [past[0] for past in older] == [row.time for row in among + before]


async def test_labels_are_appended_to_links(store: Store) -> None:
    """Labels go to the events of one instant under the given hashes, behind those reported before, byte for byte."""
    hashes = [bytes([value]) * 16 for value in range(3)]
    first, second = packed((0, 1)), packed((-1, 0), (2**62, 1))
    await write(store, *[LinkRow(value, time, b"p", None) for value in hashes for time in (5, 6)])
    async with store.writing(POOLS) as transaction:
        await link_labels(transaction, [*hashes[:2], b"x" * 16], 5, first)
        await link_labels(transaction, [hashes[0], hashes[0]], 5, second)
        await link_labels(transaction, hashes, 7, first)
        labels = {
            (place, time): reported
            for place, history in enumerate(await transaction.histories(hashes, since=0, cap=9))
            for time, _, reported, *_ in history
        }
    assert {key: reported for key, reported in labels.items() if reported is not None} == {
        (0, 5): first + second,
        (1, 5): first,
    }


async def test_newest_counts_events_and_labels(store: Store) -> None:
    """The newest instant under some hashes is that of an event or of any label, whichever came with it or later."""
    one, two, three = (bytes([value]) * 16 for value in range(3))
    async with store.writing(POOLS) as transaction:
        assert await transaction.newest([]) is None
        assert await transaction.newest([one]) is None
        await transaction.insert([LinkRow(one, 5, b"p", None), LinkRow(one, 4, b"p", None)])
        await transaction.insert([LinkRow(two, 7, b"p", None)])
        assert await transaction.newest([one, three]) == 5
        await link_labels(transaction, [two], 7, packed((60, 1), (30, 0)))
        assert await transaction.newest([one, two]) == 60
        await link_labels(transaction, [one], 4, packed((80, 1), (70, 1)))
        await link_labels(transaction, [one], 5, packed((75, 1)))
        assert await transaction.newest([one]) == 80
        await link_labels(transaction, [two], 99, packed((1000, 1)))  # there is no such event
        assert await transaction.newest([one, two, three]) == 80


async def test_erasure_takes_the_key_and_what_it_sealed(store: Store, reader: Reader) -> None:
    """Privacy, Erasure: the key is gone, payloads and links are empty, verdicts and others' rows stay."""
    key, other = person_key_row(), person_key_row()
    identity, verification = identity_row(key_id=key.key_id), verification_row(key_id=key.key_id)
    kept_identity, kept = identity_row(key_id=other.key_id), verification_row(key_id=other.key_id)
    await write(store, key, other)
    await write(store, identity, kept_identity)
    await write(store, verification, kept)
    for now in (50, 60):
        async with store.writing(POOLS) as transaction:
            await transaction.erase(key.key_id, now)
    assert await reader.person_keys([key.key_id, other.key_id]) == {other.key_id: other}
    assert await reader.identity(1, identity.id) == identity._replace(
        payload=None, status="REDACTED", updated_at=50
    )
    assert await reader.verification(1, verification.id) == verification._replace(payload=None, links=None)
    assert await reader.identity(1, kept_identity.id) == kept_identity
    assert await reader.verification(1, kept.id) == kept
