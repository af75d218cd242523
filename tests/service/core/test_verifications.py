"""Verifications: valid requests, refusals and their errors, and reading back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import IdentityNotValidated, Invalid, NotFound
from service_use import World, applicants, run_story, signals_of, verification_body

NOBODY = ids.new_id(0)
IDENTITY, PREVIOUS = "/identityId", "/previousVerificationId"


async def refused(world: World, caller: Caller, body: Mapping[str, object]) -> set[tuple[str, str]]:
    """Pointer and code of every error of a body, of which nothing is stored."""
    events = await world.events(caller)
    with pytest.raises(Invalid) as caught:
        await world.service.verifications.create(caller, body, None)
    assert await world.events(caller) == events
    return {(error.pointer, error.code) for error in caught.value.errors}


async def stepped_up(world: World, caller: Caller, **parts: Any) -> bytes:
    """A verification whose outcome is STEPPED_UP."""
    found = (await world.verify(caller, **parts)).resource
    assert found.outcome is Outcome.STEPPED_UP
    return found.id


def test_verification_of_an_identity_that_is_not_there(store_url: str, sealed: Path) -> None:
    """An unknown id and another client's are the same error at the same place, with those of the other id."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        theirs = await world.identity(other, applicants(sealed)[0].identity)
        their_verification = (await world.verify(other, identity=theirs)).resource.id
        for identity in (theirs, NOBODY):
            body = verification_body(identity=identity)
            assert await refused(world, caller, body) == {(IDENTITY, "not_found")}
            for previous in (their_verification, NOBODY):
                body = verification_body(identity=identity, previous=previous)
                assert await refused(world, caller, body) == {
                    (IDENTITY, "not_found"),
                    (PREVIOUS, "not_found"),
                }
        # Of whom a verification would be is not known here, so that nothing is said of the other id.
        own = await stepped_up(world, caller, signals=signals_of(sealed, Outcome.STEPPED_UP)[0], subject="s")
        body = verification_body(identity=NOBODY, previous=own)
        assert await refused(world, caller, body) == {(IDENTITY, "not_found")}

    run_story(store_url, sealed, story)


def test_verification_of_an_identity_that_is_not_validated(store_url: str, sealed: Path) -> None:
    """Incomplete, implausible and erased identities are a conflict; errors of the body are reported first."""

    async def story(world: World) -> None:
        caller = await world.client()
        person = applicants(sealed)[0].identity
        incomplete = await world.identity(caller, {"firstName": "Ann"})
        invalid = await world.identity(caller, {**person, "dob": "2020-01-01"})
        erased = await world.identity(caller, person)
        await world.service.identities.erase(caller, erased)
        for identity in (incomplete, invalid, erased):
            with pytest.raises(IdentityNotValidated):
                await world.verify(caller, identity=identity)
            body = verification_body(identity=identity, previous=NOBODY)
            assert await refused(world, caller, body) == {(PREVIOUS, "not_found")}

    run_story(store_url, sealed, story)


def test_verification_follows_one_of_the_same_identity(store_url: str, sealed: Path) -> None:
    """Names and date of birth define the person, across identities and spellings."""

    async def story(world: World) -> None:
        caller = await world.client()
        person, stranger = applicants(sealed, Outcome.STEPPED_UP)[:2]
        identity = await world.identity(caller, person.identity)
        first = await stepped_up(world, caller, identity=identity, signals=person.signals)
        shouted = {**person.identity, "firstName": f"  {person.identity['firstName'].upper()} "}
        again = await world.identity(caller, {**shouted, "documentType": "PASSPORT"})
        for own in (identity, again):
            found = (await world.verify(caller, identity=own, previous=first, subject="any")).resource
            assert found.previous_id == first
            assert (await world.verification(caller, found.id)).previous_id == first
        other = await world.identity(caller, stranger.identity)
        for body in (
            verification_body(identity=other, previous=first),
            verification_body(signals=person.signals, previous=first),
            verification_body(signals=person.signals, subject="any", previous=first),
        ):
            assert await refused(world, caller, body) == {(PREVIOUS, "not_stepped_up")}

    run_story(store_url, sealed, story)


def test_verification_follows_one_of_the_same_subject(store_url: str, sealed: Path) -> None:
    """Without an identity the client's reference defines the person; without it there is no person."""

    async def story(world: World) -> None:
        caller, other = await world.client("bank"), await world.client("bank")
        first_signals, second_signals = signals_of(sealed, Outcome.STEPPED_UP)[:2]
        first = await stepped_up(world, caller, signals=first_signals, subject="s")
        found = (await world.verify(caller, signals={"vpn": True}, subject=" s ", previous=first)).resource
        assert found.previous_id == first
        nobody = await stepped_up(world, caller, signals=second_signals)
        for body in (
            verification_body(signals={}, subject="t", previous=first),
            verification_body(signals={}, previous=first),
            verification_body(signals={}, previous=nobody),
            verification_body(signals={}, subject="s", previous=nobody),
        ):
            assert await refused(world, caller, body) == {(PREVIOUS, "not_stepped_up")}
        body = verification_body(signals={}, subject="s", previous=first)
        assert await refused(world, other, body) == {(PREVIOUS, "not_found")}

    run_story(store_url, sealed, story)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
def test_verification_follows_none_that_asked_for_nothing(
    store_url: str, sealed: Path, outcome: Outcome
) -> None:
    """Only a STEPPED_UP verification can be followed by another."""

    async def story(world: World) -> None:
        caller = await world.client()
        found = (await world.verify(caller, signals=signals_of(sealed, outcome)[0], subject="s")).resource
        assert found.outcome is outcome
        body = verification_body(signals={}, subject="s", previous=found.id)
        assert await refused(world, caller, body) == {(PREVIOUS, "not_stepped_up")}

    run_story(store_url, sealed, story)


def test_verification_signals_that_nobody_uses_are_kept(store_url: str, sealed: Path) -> None:
    """A signal unknown to the model is accepted, changes nothing and is stored."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = signals_of(sealed)[0]
        extra = {"visits": 3, "ratio": 0.25, "text": "läuft", "flag": False, "nothing": None}
        plain = (await world.verify(caller, signals=signals)).resource
        world.clock.advance(42 * 86_400)
        more = (await world.verify(caller, signals={**signals, **extra})).resource
        assert plain.score is not None
        row = await world.row(more.id)
        async with world.store.reading() as reader:
            key = await world.persons.key_of(reader, row.key_id)
        assert key is not None
        kept = world.persons.verification_payload(row, key)[0]
        assert kept == {**signals, **{name: value for name, value in extra.items() if value is not None}}
        assert [type(kept[name]) for name in ("visits", "ratio", "flag")] == [int, float, bool]
        same, other = await world.features(plain.id), await world.features(more.id)
        assert other == pytest.approx(same, nan_ok=True)

    run_story(store_url, sealed, story)


def test_verification_is_read_by_its_client_alone(store_url: str, sealed: Path) -> None:
    """A verification is read back as answered; other clients, even of the same history scope, get not found."""

    async def story(world: World) -> None:
        caller, mate = await world.client("bank"), await world.client("bank")
        for outcome in Outcome:
            made = (await world.verify(caller, signals=signals_of(sealed, outcome)[0], subject="s")).resource
            assert await world.verification(caller, made.id) == made
            for who, what in ((mate, made.id), (caller, NOBODY)):
                with pytest.raises(NotFound):
                    await world.verification(who, what)
                with pytest.raises(NotFound):
                    await world.erase_signals(who, what)

    run_story(store_url, sealed, story)
