"""What an identity needs: decided when it is created, by the bundle that is served then."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from identity_use import shared
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.rules import Policy
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import feature_rows, score_table
from scoring_model.service.activation.activating import activate, roll_back_and_wait
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import IdentityNotValidated, Invalid
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.export import export_file
from scoring_model.service.past.whatif import what_if
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.training.run import Training
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    applicants,
    decider_of,
    id_of,
    save_under,
    with_service,
)


@pytest.fixture(scope="session")
def frugal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that requires a last name alone, with a policy that steps nearly everybody up."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        save_under(training.bundle, out, Policy(step_up_from=1, fail_from=1001), requires=("lastName",))

    return shared(tmp_path_factory, "frugal", make)


@pytest.fixture(scope="session")
def frugal_control(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a policy that fails nearly everybody, and a control group of every second person."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        half = ControlArm(share=0.5, most_per_day=1_000)
        policy = Policy(step_up_from=1, fail_from=2, control=Control(failed=half, stepped_up=half))
        save_under(training.bundle, out, policy, requires=("lastName",))

    return shared(tmp_path_factory, "frugal_control", make)


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


OUTCOME = {"frugal": Outcome.STEPPED_UP, "frugal_control": Outcome.FAILED}


class Sent(NamedTuple):
    """A verification to send: its identity, signals and subject, and earlier ones of its person."""

    of: str | None
    signals: Mapping[str, object] | None
    subject: str | None
    earlier: int


async def people(world: World, caller: Caller) -> dict[str, bytes]:
    """Identities that lack names, date of birth or all but one field."""
    whole, other, *_ = [one.identity for one in applicants(world.bundle, OUTCOME[world.bundle.name])]
    bodies: dict[str, Mapping[str, object]] = {
        "whole": whole,
        "again": {**whole, "citizenship": None, "imageUrls": None},
        "unborn": {**other, "dob": None, "documentType": None},
        "alike": {**other, "dob": None},
        "named": {"lastName": "Li"},
    }
    return {name: await world.identity(caller, body) for name, body in bodies.items()}


@with_service(url="sqlite_url", bundle="frugal_control")
async def test_replay_what_is_missing_is_missing_as_in_a_file(world: World, tmp_path: Path) -> None:
    """Law 3 for identities without all fields: same rows, persons and verdicts, in files, what-if and replays."""
    caller = await world.client()
    known = await people(world, caller)
    signals = applicants(world.bundle, Outcome.FAILED)[2].signals
    sent = [
        Sent("whole", None, None, 0),
        Sent("again", signals, None, 1),
        Sent("unborn", None, None, 0),
        Sent("alike", None, None, 0),
        Sent("unborn", signals, None, 1),
        Sent("named", None, "s", 0),
        Sent("alike", None, "s", 1),
        Sent(None, signals, "s", 2),
        Sent(None, signals, to_text(known["alike"]), 0),
        Sent("named", signals, None, 0),
    ]
    made = []
    for one in sent:
        world.clock.advance(60)
        identity = None if one.of is None else known[one.of]
        answer = await world.verify(caller, identity=identity, signals=one.signals, subject=one.subject)
        made.append(answer.resource)
    rows = [await world.features(one.id) for one in made]
    assert [row["link_person_1d_records"] for row in rows] == [one.earlier for one in sent]
    async with world.store.reading() as reader:
        clients = await reader.clients()
    scorer = Scorer.load(world.bundle)
    ends: dict[str, Any] = {"since": START, "before": START + HOUR}
    file = tmp_path / "export.parquet"
    types = scorer.contents.schema.signals
    await export_file(world.store, Vault(MASTERS), clients, file, signals=types, **ends)
    table = read_records(file, scorer.contents.schema, labelled=False).table
    assert table.record_ids == tuple(to_text(one.id) for one in made)
    assert np.array_equal(
        feature_rows(scorer, table, None), [list(row.values()) for row in rows], equal_nan=True
    )
    assert score_table(scorer, table).decisions.scores.tolist() == [one.score for one in made]
    asked = await what_if(world.store, Vault(MASTERS), world.secrets, scorer, tmp_path / "w.parquet", **ends)
    assert (asked.own, asked.own_differ, asked.differ) == (len(made), 0, 0)
    rows_stored = [await world.row(one.id) for one in made]
    assert all(row.control_share == 0.5 for row in rows_stored)
    find = {(scorer.manifest.model_version, scorer.manifest.policy_version): decider_of(world.bundle)}
    for verification in made:
        found = await replay(world.store, MASTERS, verification.id, find=lambda *versions: find[versions])
        assert found is Replay.SAME


@with_service(url="sqlite_url", bundle="frugal")
async def test_a_verification_follows_one_of_the_same_person(world: World) -> None:
    """The person of an identity without names or date of birth is the subject, else the identity."""
    caller = await world.client()
    known = await people(world, caller)
    signals = applicants(world.bundle, Outcome.STEPPED_UP)[2].signals
    stepped = {
        (name, subject): (
            await world.verify(caller, identity=known.get(name), signals=signals, subject=subject)
        ).resource
        for name, subject in [("alike", None), ("alike", "s"), ("", "s"), ("named", None)]
    }
    assert {one.outcome for one in stepped.values()} == {Outcome.STEPPED_UP}
    for (name, subject), one in stepped.items():
        for other, reference in stepped:
            same = (name, subject) == (other, reference) or subject == reference == "s"
            asked = world.verify(
                caller,
                identity=known.get(other),
                signals=signals,
                subject=reference,
                previous=one.id,
            )
            if same:
                assert (await asked).resource.previous_id == one.id
            else:
                with pytest.raises(Invalid):
                    await asked


def test_what_an_identity_needs_is_sealed(frugal: Path, sealed: Path) -> None:
    """It is part of the policy's version, and none of the model's."""
    found, other = Scorer.load(frugal), Scorer.load(sealed)
    assert found.contents.identity_requires == ("lastName",)
    assert found.manifest.model_version == other.manifest.model_version
    assert found.manifest.policy_version != other.manifest.policy_version
