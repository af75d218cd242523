"""Identities: creation from a body, storage, and erasure of the person."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from scoring_model.contract.identity import Identity, IdentityStatus
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core import ids
from scoring_model.service.core.errors import IdentityNotValidated, Invalid, NotFound, Unavailable
from scoring_model.service.core.rows import IdentityRow, PersonKeyRow
from scoring_model.service.identities.persons import Persons, seal_reference
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, Unreadable
from service_use import (
    MASTERS,
    START,
    World,
    applicants,
    id_of,
    opened,
    run_story,
    signals_of,
    table,
    together,
    with_service,
)
from stored_rows import pending_row

NEWER = Keyring(KeyEncryptionKey(bytes(range(1, 33))), (MASTERS.primary,))


async def keys_of(world: World, *identities: bytes) -> list[bytes]:
    """The person's key of each identity."""
    rows = {row.id: row.key_id for row in await table(world.url, IdentityRow)}
    return [rows[identity] for identity in identities]


def redacted(identity: bytes, at: int) -> Identity:
    """An identity of the start after its erasure."""
    return Identity(
        id=to_text(identity),
        validated=False,
        status=IdentityStatus.REDACTED,
        created_at=instant(START),
        updated_at=instant(at),
    )


@pytest.mark.parametrize(
    ("changes", "status", "reported"),
    [
        ({}, "VALIDATED", ["identity.created", "identity.validated"]),
        ({"dob": None}, "INCOMPLETE", ["identity.created"]),
        ({"dob": "2019-02-03"}, "INVALID", ["identity.created", "identity.invalid"]),
        ({"dob": "2019-02-03", "imageUrls": []}, "INCOMPLETE", ["identity.created"]),
    ],
)
@with_service
async def test_identity_is_what_its_body_makes_it(
    world: World, changes: dict[str, object], status: str, reported: list[str]
) -> None:
    """A new identity has its status, times and events, and is read back as answered."""
    caller = await world.client()
    body = {**applicants(world.bundle)[0].identity, "externalId": "own", **changes}
    made = (await world.service.identities.create(caller, body, None)).resource
    assert (made.status, made.created_at, made.updated_at) == (status, instant(START), instant(START))
    assert bool(made.validation_errors) is (changes.get("dob") == "2019-02-03")
    world.clock.advance(60)
    assert await world.service.identities.get(caller, id_of(made)) == made
    assert made.external_id == "own"
    events = await world.events(caller)
    assert [(event.type, event.sequence) for event in events] == list(
        zip(reported, range(1, 1 + len(reported)), strict=True)
    )
    for event in events:
        assert json.loads(event.data) == {"id": made.id, "status": status}


@with_service
async def test_identity_that_breaks_rules_is_not_stored(world: World) -> None:
    """A malformed body leaves no row, no key and no event."""
    caller = await world.client()
    with pytest.raises(Invalid) as caught:
        await world.identity(caller, {"firstName": "Ann", "dob": "soon", "status": "VALIDATED"})
    assert {error.pointer for error in caught.value.errors} == {"/dob", "/status"}
    assert await table(world.url, IdentityRow) == []
    assert await table(world.url, PersonKeyRow) == []
    assert await world.events(caller) == []


@with_service
async def test_identity_is_there_for_its_client_alone(world: World) -> None:
    """Another client's id, even in the same history scope, and an unknown id are both not found."""
    caller, mate = await world.client("bank"), await world.client("bank")
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    for who, what in ((mate, identity), (caller, ids.new_id(0))):
        with pytest.raises(NotFound):
            await world.service.identities.get(who, what)
        with pytest.raises(NotFound):
            await world.service.identities.erase(who, what)
    assert (await world.service.identities.get(caller, identity)).status == IdentityStatus.VALIDATED


@with_service
async def test_privacy_a_person_of_a_client_has_one_key(world: World) -> None:
    """Identities share a key exactly if person and client are the same."""
    caller, mate = await world.client("bank"), await world.client("bank")
    person, other_person = applicants(world.bundle)[:2]
    shouted = {**person.identity, "lastName": person.identity["lastName"].upper()}
    same = [await world.identity(caller, body) for body in (person.identity, shouted)]
    together_made = await together(
        world,
        *(world.identity(caller, {**other_person.identity, "externalId": f"e{i}"}) for i in range(3)),
    )
    elsewhere = await world.identity(mate, person.identity)
    unknown = [await world.identity(caller, {"firstName": "Ann"}) for _ in range(2)]
    assert len(set(await keys_of(world, *same))) == 1
    assert len(set(await keys_of(world, *together_made))) == 1
    assert len(set(await keys_of(world, same[0], together_made[0], elsewhere, *unknown))) == 5
    assert len(await table(world.url, PersonKeyRow)) == 5


@with_service
async def test_privacy_erasure_takes_the_person_from_everything(world: World) -> None:
    """All identities of the person are redacted, verdicts stay without a subject, link rows stay without an id."""
    caller = await world.client()
    person = applicants(world.bundle)[0]
    first = await world.identity(caller, {**person.identity, "externalId": "own"})
    second = await world.identity(caller, {**person.identity, "documentType": "PASSPORT"})
    made = (await world.verify(caller, identity=second, signals=person.signals, subject="s")).resource
    links, reported = await world.link_rows(), len(await world.events(caller))
    world.clock.advance(60)
    answered = await world.service.identities.erase(caller, first)
    at = world.clock.now()
    assert answered == redacted(first, at)
    for identity in (first, second):
        assert await world.service.identities.get(caller, identity) == redacted(identity, at)
    kept = await world.verification(caller, made.id)
    assert kept == replace(made, subject_id=None)
    row = await world.row(made.id)
    assert row.payload is row.links is None
    assert row.row_digest is not None
    assert await world.link_rows() == links
    assert await table(world.url, PersonKeyRow) == []
    assert [(event.type, event.resource) for event in (await world.events(caller))[reported:]] == [
        ("identity.redacted", identity) for identity in (first, second)
    ]


@with_service
async def test_privacy_erasure_touches_nobody_else(world: World) -> None:
    """Other persons, similar persons and the same person at another client stay readable."""
    caller, mate = await world.client("bank"), await world.client("bank")
    person, other_person = applicants(world.bundle)[:2]
    mine = await world.identity(caller, person.identity)
    theirs = await world.identity(mate, person.identity)
    other = await world.identity(caller, {**other_person.identity, "address": person.identity["address"]})
    partial = await world.identity(caller, {"firstName": person.identity["firstName"]})
    kept = [(mate, theirs), (caller, other), (caller, partial)]
    subject = (await world.verify(caller, signals=person.signals, subject="s")).resource
    verified = (await world.verify(mate, identity=theirs, subject="t")).resource
    before = [await world.service.identities.get(who, what) for who, what in kept]
    await world.service.identities.erase(caller, mine)
    assert [await world.service.identities.get(who, what) for who, what in kept] == before
    assert await world.verification(caller, subject.id) == subject
    assert await world.verification(mate, verified.id) == verified


@with_service
async def test_privacy_erasing_twice_answers_the_same(world: World) -> None:
    """A second erasure, also by another identity of the person, changes nothing and writes no event."""
    caller = await world.client()
    body = applicants(world.bundle)[0].identity
    first, second = await world.identity(caller, body), await world.identity(caller, body)
    answered = await world.service.identities.erase(caller, first)
    events = await world.events(caller)
    world.clock.advance(60)
    assert await world.service.identities.erase(caller, first) == answered
    assert (await world.service.identities.erase(caller, second)).updated_at == answered.updated_at
    assert await world.events(caller) == events


@with_service
async def test_privacy_who_comes_back_after_erasure_is_new(world: World) -> None:
    """The same person gets a new key and is not redacted, while history still knows of the link."""
    caller = await world.client()
    person = applicants(world.bundle)[0]
    old = await world.identity(caller, person.identity)
    await world.verify(caller, identity=old, signals=person.signals)
    (old_key,) = await keys_of(world, old)
    await world.service.identities.erase(caller, old)
    new = await world.identity(caller, person.identity)
    assert (await keys_of(world, new)) != [old_key]
    made = await world.verify(caller, identity=new, signals=person.signals)
    assert (await world.features(made.resource.id))["link_person_1d_records"] == 1
    assert (await world.service.identities.get(caller, old)).status == IdentityStatus.REDACTED
    assert (await world.service.identities.get(caller, new)).status == IdentityStatus.VALIDATED


@with_service
async def test_privacy_who_is_erased_while_a_verification_waits_is_not_verified(world: World) -> None:
    """The identity is checked again under the lock, so an erasure by any process counts."""
    caller = await world.client()
    first, second = [await world.identity(caller, one.identity) for one in applicants(world.bundle)[:2]]
    async with opened(world.url, world.bundle) as other:
        world.store.gate.clear()
        waiting = asyncio.ensure_future(world.verify(caller, identity=first))
        while not world.store.knocking:
            await asyncio.sleep(0.001)
        await other.service.identities.erase(caller, first)
        world.store.gate.set()
        with pytest.raises(IdentityNotValidated):
            await waiting
    refused, erased = await together(
        world, world.verify(caller, identity=second), world.service.identities.erase(caller, second)
    )
    assert isinstance(refused, IdentityNotValidated)
    assert erased.status == IdentityStatus.REDACTED
    assert await world.link_rows() == set()


@with_service
async def test_privacy_erasing_the_signals_erases_the_person(world: World) -> None:
    """Erasure by a verification covers its signals, subject and row, and all others of the same person."""
    caller = await world.client()
    signals = signals_of(world.bundle)
    mine = [(await world.verify(caller, signals=one, subject="s")).resource for one in signals[:2]]
    other = (await world.verify(caller, signals=signals[2], subject="t")).resource
    nobody = [(await world.verify(caller, signals=one)).resource for one in signals[3:5]]
    links, events = await world.link_rows(), await world.events(caller)
    for _ in range(2):
        answered = await world.erase_signals(caller, mine[0].id)
        assert (answered.id, answered.subject_id, answered.score) == (mine[0].id, None, mine[0].score)
        assert answered == await world.verification(caller, mine[0].id)
    assert (await world.verification(caller, mine[1].id)).subject_id is None
    assert await world.verification(caller, other.id) == other
    await world.erase_signals(caller, nobody[0].id)
    payloads = [(await world.row(one.id)).payload is None for one in (*mine, other, *nobody)]
    assert payloads == [True, True, False, True, False]
    assert await world.link_rows() == links
    assert await world.events(caller) == events
    again = (await world.verify(caller, signals=signals[0], subject="s")).resource
    assert again.status is VerificationStatus.COMPLETED
    assert (await world.features(again.id))["link_person_1d_records"] == 2


@with_service
async def test_privacy_erasing_the_signals_of_an_identity_redacts_it(world: World) -> None:
    """The person of a verification with an identity is the identity's: it is redacted, and webhooks get the event."""
    caller = await world.client()
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    made = (await world.verify(caller, identity=identity)).resource
    await world.erase_signals(caller, made.id)
    assert (await world.service.identities.get(caller, identity)).status == IdentityStatus.REDACTED
    assert (await world.event_types(caller, identity))[-1] == "identity.redacted"


@with_service
async def test_privacy_what_is_sealed_is_bound_to_its_row(world: World) -> None:
    """The payload of one identity or verification does not open in the place of another of the same person."""
    caller = await world.client()
    body = applicants(world.bundle)[0].identity
    for _ in range(2):
        await world.identity(caller, body)
    first, second = await table(world.url, IdentityRow)
    made = [
        (await world.verify(caller, signals=one, subject="s")).resource
        for one in signals_of(world.bundle)[:2]
    ]
    rows = [await world.row(one.id) for one in made]
    async with world.store.reading() as reader:
        of_identity = await world.persons.key_of(reader, first.key_id)
        of_subject = await world.persons.key_of(reader, rows[0].key_id)
    assert of_identity is not None
    assert of_subject is not None
    assert world.persons.identity_values(first, of_identity)["dob"] == body["dob"]
    with pytest.raises(Unreadable):
        world.persons.identity_values(first._replace(payload=second.payload), of_identity)
    with pytest.raises(Unreadable):
        world.persons.verification_payload(rows[0]._replace(payload=rows[1].payload), of_subject)
    with pytest.raises(Unreadable):
        world.persons.identity_values(first, of_subject)


@pytest.mark.parametrize("reference", [None, "", "a key", "ключ"])
def test_privacy_an_idempotency_key_opens_in_its_row_alone(reference: str | None) -> None:
    """A sealed value opens in its row, is not readable there, and does not open in another row."""
    row, other = pending_row(), pending_row()
    persons, (_, key) = Persons(Vault(MASTERS)), Vault(MASTERS).new_key(1, None, 0)
    sealed = seal_reference(key, row.id, reference)
    assert persons.reference(row._replace(reference=sealed), key) == reference
    if reference is not None:
        assert not reference or reference not in (sealed or "")
        with pytest.raises(Unreadable):
            persons.reference(other._replace(reference=sealed), key)


@with_service
async def test_privacy_an_unknown_master_key_is_unavailable_to_those_whom_it_concerns(world: World) -> None:
    """If a process cannot read the newest master key, only the persons under it wait."""
    caller = await world.client()
    person, other = [one.identity for one in applicants(world.bundle)[:2]]
    mine = await world.identity(caller, other)
    async with opened(world.url, world.bundle, keyring=lambda: NEWER) as ahead:
        theirs = await ahead.identity(caller, person)
        made = (await ahead.verify(caller, identity=theirs, subject="s")).resource
    for call in (
        lambda: world.service.identities.get(caller, theirs),
        lambda: world.verification(caller, made.id),
        lambda: world.verify(caller, identity=theirs),
        lambda: world.identity(caller, person),
    ):
        with pytest.raises(Unavailable) as caught:
            await call()
        assert caught.value.retry_after >= 1
    assert str((await world.service.identities.get(caller, mine)).dob) == other["dob"]
    # Destroying a key needs no key.
    assert (await world.service.identities.erase(caller, theirs)).first_name is None
    assert (await world.verification(caller, made.id)).subject_id is None


def test_privacy_a_service_reads_its_master_keys_again_when_it_meets_a_newer_one(
    store_url: str, sealed: Path
) -> None:
    """After a rotation by another process no restart is needed."""
    current = MASTERS

    async def story(world: World) -> None:
        nonlocal current
        caller = await world.client()
        current = NEWER
        async with opened(store_url, sealed, keyring=lambda: NEWER) as ahead:
            identity = await ahead.identity(caller, applicants(sealed)[0].identity)
        assert (await world.service.identities.get(caller, identity)).first_name
        assert (await world.verify(caller, identity=identity)).resource.score is not None

    run_story(store_url, sealed, story, keyring=lambda: current)
