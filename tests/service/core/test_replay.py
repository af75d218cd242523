"""Replay of verdicts: equal with the stored data and the deciding bundle, or reported as different."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring_model.bundle import BundleError
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.rules import Policy
from scoring_model.scorer.decider import Decider
from scoring_model.service.activation.shelf import BundleShelf
from scoring_model.service.core import ids
from scoring_model.service.core.payload import pack_stored, unpack_payload
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.scoring.replaying import NotReplayable, Replay, replay
from scoring_model.training.run import Training
from service_use import (
    MASTERS,
    SetClock,
    World,
    applicants,
    blob,
    decider_of,
    opened,
    run_story,
    save_under,
    select,
    signals_of,
)

Find = Callable[[str, str | None], Path | None]


@pytest.fixture(scope="module")
def strict(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model under a policy that passes almost no record."""
    policy = Policy(step_up_from=1, fail_from=2)
    return save_under(training.bundle, tmp_path_factory.mktemp("strict") / "bundle", policy)


async def replayed(world: World, resource: bytes, find: Find | None = None) -> Replay:
    """Replay a verification, with the bundle of the service unless another one is given."""
    where = find or (lambda *_: world.bundle)

    def decider(*versions: Any) -> Decider | None:
        path = where(*versions)
        return None if path is None else decider_of(path)

    return await replay(world.store, MASTERS, resource, find=decider)


def nothing(model_version: str, policy_version: str | None) -> Path | None:
    """Find no bundle."""
    return None


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_privacy_a_verdict_replayed_is_the_same(store_url: str, sealed: Path, outcome: Outcome) -> None:
    """Every verdict replays equal, of identities and signals, also after the history has grown."""

    async def story(world: World) -> None:
        caller = await world.client()
        person = applicants(sealed, outcome)[0]
        identity = await world.identity(caller, person.identity)
        made = [
            (await world.verify(caller, identity=identity, signals=person.signals)).resource,
            (await world.verify(caller, signals=signals_of(sealed, outcome)[0], subject="s")).resource,
        ]
        assert made[0].outcome is outcome
        world.clock.advance(60)
        await world.verify(caller, identity=identity, signals=person.signals)
        assert [await replayed(world, one.id) for one in made] == [Replay.SAME] * 2

    run_story(store_url, sealed, story)


@pytest.mark.parametrize(
    "change",
    [
        "score = score + 1",
        "outcome = 'PASSED'",
        "reasons = ''",
        "reasons = 'NAME_UNUSUAL,' || reasons",
        "row_digest = model_digest",
        "payload = other",
        "payload = cut",
        "payload = resealed",
    ],
)
def test_privacy_a_row_that_was_tampered_with_is_different(store_url: str, sealed: Path, change: str) -> None:
    """A change of score, outcome, reasons, digest or sealed bytes in the database is detected."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = signals_of(sealed, Outcome.FAILED)
        first, second = [
            (await world.verify(caller, signals=one, subject="s")).resource for one in signals[:2]
        ]
        row, other = await world.row(first.id), await world.row(second.id)
        assert row.payload is not None
        assert other.payload is not None
        async with world.store.reading() as reader:
            key = await world.persons.key_of(reader, row.key_id)
        assert key is not None
        place = {"table": "verifications", "column": "payload"}
        known, subject, _ = unpack_payload(key.open(row.payload, row=row.id, **place))
        strange = unpack_payload(key.open(other.payload, row=other.id, **place))[2]
        values = {
            "model_digest": bytes(32),
            "other": other.payload,
            "cut": row.payload[:-1],
            # Even with the data key: the digest is keyed by the root secret.
            "resealed": key.seal(pack_stored(known, subject, strange), row=row.id, **place),
        }
        statement = change
        for name, value in values.items():
            statement = statement.replace(f"= {name}", f"= {blob(store_url, value)}")
        assert await replayed(world, first.id) is Replay.SAME
        await select(store_url, f"UPDATE verifications SET {statement} WHERE id = {blob(store_url, row.id)}")
        assert await world.row(first.id) != row
        assert await replayed(world, first.id) is Replay.DIFFERENT
        assert await replayed(world, second.id) is Replay.SAME

    run_story(store_url, sealed, story)


def test_privacy_a_verdict_of_an_erased_person_can_not_be_replayed(store_url: str, sealed: Path) -> None:
    """The replay of an erased verification reports the erasure, and needs no bundle."""

    async def story(world: World) -> None:
        caller = await world.client()
        identity = await world.identity(caller, applicants(sealed)[0].identity)
        first = (await world.verify(caller, identity=identity)).resource.id
        second = (await world.verify(caller, signals={"vpn": True}, subject="s")).resource.id
        third = (await world.verify(caller, signals={"vpn": True}, subject="t")).resource.id
        await world.service.identities.erase(caller, identity)
        await world.erase_signals(caller, second)
        assert [await replayed(world, one, nothing) for one in (first, second)] == [Replay.ERASED] * 2
        assert await replayed(world, third) is Replay.SAME

    run_story(store_url, sealed, story)


def test_what_has_no_verdict_can_not_be_replayed(store_url: str, sealed: Path) -> None:
    """An id of nothing, of an identity, of what is PENDING or an ERROR is refused by what it lacks."""

    async def story(world: World) -> None:
        caller = await world.client()
        identity = await world.identity(caller, applicants(sealed)[0].identity)
        for resource in (ids.new_id(0), identity):
            with pytest.raises(NotReplayable, match="no such verification"):
                await replayed(world, resource)
        async with opened(store_url, sealed, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
            pending = (await busy.verify(caller, identity=identity)).resource.id
        with pytest.raises(NotReplayable, match="PENDING"):
            await replayed(world, pending)
        await world.service.identities.erase(caller, identity)
        await world.pending.step()
        with pytest.raises(NotReplayable, match="ERROR"):
            await replayed(world, pending)

    run_story(store_url, sealed, story)


def test_a_verdict_is_replayed_with_the_bundle_that_decided(
    store_url: str, sealed: Path, strict: Path, tmp_path: Path
) -> None:
    """One model served under two policies: each verdict finds its own, and is different under the other."""
    shelf = BundleShelf(tmp_path / "shelf")
    kept = [shelf.keep(path) for path in (strict, sealed)]

    async def story(world: World) -> None:
        caller = await world.client()
        signals = signals_of(sealed, Outcome.STEPPED_UP)[0]
        lenient = (await world.verify(caller, signals=signals)).resource
        async with opened(store_url, strict, clock=world.clock) as later:
            firm = (await later.verify(caller, signals=signals)).resource
        assert (lenient.outcome, firm.outcome) == (Outcome.STEPPED_UP, Outcome.FAILED)
        assert lenient.model_version == firm.model_version
        for verdict, own, wrong in ((firm, kept[0], kept[1]), (lenient, kept[1], kept[0])):
            assert shelf.find(verdict.model_version or "", verdict.policy_version) == own
            assert await replayed(world, verdict.id, shelf.find) is Replay.SAME
            assert await replayed(world, verdict.id, lambda *_, path=wrong: path) is Replay.DIFFERENT

    run_story(store_url, sealed, story, clock=SetClock())


def test_a_bundle_that_is_missing_is_named(store_url: str, sealed: Path) -> None:
    """A bundle is found by both of its versions; an invalid one is refused."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = (await world.verify(caller, signals={"vpn": True})).resource
        with pytest.raises(NotReplayable) as caught:
            await replayed(world, made.id, nothing)
        assert f"model {made.model_version} with policy {made.policy_version}" in str(caught.value)
        with pytest.raises(BundleError):
            await replayed(world, made.id, lambda *_: Path(__file__).parent)

    run_story(store_url, sealed, story)


def test_a_verdict_under_a_master_key_that_is_missing_is_reported(store_url: str, sealed: Path) -> None:
    """With a key source older than a rotation the error names the missing key and does not report an erasure."""
    newer = Keyring(KeyEncryptionKey(bytes(range(1, 33))), (MASTERS.primary,))

    async def story(world: World) -> None:
        caller = await world.client()
        async with opened(store_url, sealed, keyring=lambda: newer) as ahead:
            made = (await ahead.verify(caller, signals={"vpn": True})).resource
        with pytest.raises(NotReplayable, match="master key"):
            await replayed(world, made.id)
        found = await replay(world.store, newer, made.id, find=lambda *_: decider_of(world.bundle))
        assert found is Replay.SAME

    run_story(store_url, sealed, story)
