"""What is sealed under the keys of persons opens with them alone, where it was put."""

from pathlib import Path

import pytest

from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import IdentityRow
from scoring_model.service.identities import Persons, seal_reference
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, Unreadable
from service_use import MASTERS, World, applicants, opened, signals_of, table, tell
from stored_rows import pending_row

NEWER = Keyring(KeyEncryptionKey(bytes(range(1, 33))), (MASTERS.primary,))


def test_privacy_what_is_sealed_is_bound_to_its_row(store_url: str, sealed: Path) -> None:
    """The payload of one identity or verification does not open in the place of another of the same person."""

    async def story(world: World) -> None:
        caller = await world.client()
        body = applicants(sealed)[0].identity
        for _ in range(2):
            await world.identity(caller, body)
        first, second = await table(store_url, IdentityRow)
        made = [
            (await world.verify(caller, signals=one, subject="s")).resource for one in signals_of(sealed)[:2]
        ]
        rows = [await world.row(one.id) for one in made]
        async with world.store.reading() as reader:
            of_identity = await world.persons.key_of(reader, first.key_id)
            of_subject = await world.persons.key_of(reader, rows[0].key_id)
        assert of_identity is not None
        assert of_subject is not None
        assert world.persons.identity_values(first, of_identity)[0]["dob"] == body["dob"]
        with pytest.raises(Unreadable):
            world.persons.identity_values(first._replace(payload=second.payload), of_identity)
        with pytest.raises(Unreadable):
            world.persons.verification_payload(rows[0]._replace(payload=rows[1].payload), of_subject)
        with pytest.raises(Unreadable):
            world.persons.identity_values(first, of_subject)

    tell(store_url, sealed, story)


@pytest.mark.parametrize("reference", [None, "", "a key", "ключ"])
def test_privacy_an_idempotency_key_opens_in_its_row_alone(reference: str | None) -> None:
    """What was sealed comes back, is not to be read in the row, and is nothing in another row."""
    row, other = pending_row(), pending_row()
    persons, (_, key) = Persons(Vault(MASTERS)), Vault(MASTERS).new_key(1, None, 0)
    sealed = seal_reference(key, row.id, reference)
    assert persons.reference(row._replace(reference=sealed), key) == reference
    if reference is not None:
        assert not reference or reference not in (sealed or "")
        with pytest.raises(Unreadable):
            persons.reference(other._replace(reference=sealed), key)


def test_privacy_an_unknown_master_key_is_unavailable_to_those_whom_it_concerns(
    store_url: str, sealed: Path
) -> None:
    """While a process can't get at the newest master key, the persons under it wait, and nobody else does."""

    async def story(world: World) -> None:
        caller = await world.client()
        person, other = [one.identity for one in applicants(sealed)[:2]]
        mine = await world.identity(caller, other)
        async with opened(store_url, sealed, keyring=lambda: NEWER) as ahead:
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
        assert (await world.service.identities.get(caller, mine)).values["dob"] == other["dob"]
        # It takes no key to destroy one.
        assert (await world.service.identities.erase(caller, theirs)).values == {}
        assert (await world.verification(caller, made.id)).subject_id is None

    tell(store_url, sealed, story)


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
        assert (await world.service.identities.get(caller, identity)).values
        assert (await world.verify(caller, identity=identity)).resource.score is not None

    tell(store_url, sealed, story, keyring=lambda: current)
