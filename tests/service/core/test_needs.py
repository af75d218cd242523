"""What an identity needs: decided when it is created, by the bundle that is served then."""

import asyncio
from pathlib import Path

import pytest

from identity_use import shared
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.contract.verification import VerificationStatus
from scoring_model.scorer import Scorer
from scoring_model.service.activating import activate, roll_back_and_wait
from scoring_model.service.clients import Caller
from scoring_model.service.core.errors import IdentityNotValidated
from scoring_model.training.run import Training
from service_use import World, applicants, id_of, save_requiring, with_service


@pytest.fixture(scope="session")
def frugal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of the tests, which requires a last name alone."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        save_requiring(training.bundle, out, "lastName")

    return shared(tmp_path_factory, "frugal", make)


async def follow(world: World) -> None:
    """Look at the activations until cancelled."""
    while True:
        await world.service.follower.step()
        await asyncio.sleep(0.01)


async def missing_of(world: World, caller: Caller, identity: bytes) -> tuple[str, ...]:
    """What a verification of an identity lacks."""
    with pytest.raises(IdentityNotValidated) as refused:
        await world.verify(caller, identity=identity)
    return refused.value.missing


@with_service(url="sqlite_url")
async def test_no_activation_changes_what_an_identity_is(world: World, frugal: Path) -> None:
    """Status and missing fields stay as they were at creation, and a VALIDATED identity is always scored."""
    caller, (person, *_) = await world.client(), applicants(world.bundle)
    whole = {**person.identity, "dob": None, "address": {**person.identity["address"], "country": None}}
    create = world.service.identities.create
    before = (await create(caller, whole, None)).resource
    assert (before.status, before.missing_fields) == ("INCOMPLETE", ("/dob", "/address/country"))
    await world.service.follower.step()
    following = asyncio.create_task(follow(world))
    await activate(world.store, frugal, by="ops", clock=world.clock, timeout=5)
    after = (await create(caller, whole, None)).resource
    assert (after.status, after.validated, after.missing_fields) == ("VALIDATED", True, ())
    nameless = (await create(caller, {**whole, "lastName": None}, None)).resource
    assert (nameless.status, nameless.missing_fields) == ("INCOMPLETE", ("/lastName",))
    for _ in range(2):
        assert await missing_of(world, caller, id_of(before)) == before.missing_fields
        assert await world.service.identities.get(caller, id_of(before)) == before
        assert await world.service.identities.get(caller, id_of(after)) == after
        made = await world.verify(caller, identity=id_of(after), signals=person.signals)
        assert made.resource.status == VerificationStatus.COMPLETED
        await roll_back_and_wait(world.store, by="ops", clock=world.clock, timeout=5)
    following.cancel()
    erased = await world.service.identities.erase(caller, id_of(after))
    assert (erased.status, erased.missing_fields) == ("REDACTED", ())
    assert await missing_of(world, caller, id_of(after)) == ()


def test_what_an_identity_needs_is_sealed(frugal: Path, sealed: Path) -> None:
    """It is part of the policy's version and raises the protocol, so that an older service refuses the bundle."""
    found, other = Scorer.load(frugal), Scorer.load(sealed)
    assert found.contents.identity_requires == ("lastName",)
    assert found.manifest.model_version == other.manifest.model_version
    assert found.manifest.policy_version != other.manifest.policy_version
    assert found.manifest.protocol == PROTOCOL > other.manifest.protocol
