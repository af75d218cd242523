"""Bundles are activated, refused and rolled back while services are open, on either database."""

import asyncio
import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring_model.bundle import read_bundle
from scoring_model.bundle.manifest import MANIFEST
from scoring_model.decision.rules import Policy
from scoring_model.scorer import Scorer
from scoring_model.service.activation.activating import (
    ActivationRefused,
    ActivationUnanswered,
    activate,
    list_bundles,
    roll_back_and_wait,
)
from scoring_model.service.activation.activations import Activations, NoEarlierBundle
from scoring_model.service.core.rows import ActivationState, BundleActivationRow, BundleRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.retention.kept import noted_window
from scoring_model.service.scoring.listbook import Listbook
from scoring_model.service.scoring.rehearsal import RehearsalFailed, rehearse
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.scoring.served import ServedBundle
from scoring_model.training.run import Training
from service_use import MASTERS, START, World, opened, run_story, save_under, select, table

SIGNALS = {"vpn": True, "deviceId": "d-1"}


@pytest.fixture
def first(sealed: Path, tmp_path: Path) -> Path:
    """The bundle of the settings, in a directory that may get others."""
    return Path(shutil.copytree(sealed, tmp_path / "shelf" / "first"))


@pytest.fixture(scope="module")
def strict(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model under a policy that passes almost no record."""
    policy = Policy(step_up_from=1, fail_from=2)
    return save_under(training.bundle, tmp_path_factory.mktemp("strict") / "bundle", policy)


def policy_of(bundle: Path) -> str:
    """The version of the policy: each bundle of these tests has another."""
    return Scorer.load(bundle).manifest.policy_version


async def decided_by(world: World) -> str | None:
    """The policy that decides about a new verification."""
    return (await world.verify(await world.client(), signals=SIGNALS)).resource.policy_version


async def ask(world: World, bundle: Path, *worlds: World, wait: float = 5.0) -> None:
    """Activate a bundle as an operator, while each of the services looks at the database again and again."""

    async def follow() -> None:
        while True:
            for one in (world, *worlds):
                await one.service.follower.step()
            await asyncio.sleep(0.01)

    await world.service.follower.step()
    following = asyncio.create_task(follow())
    try:
        await activate(world.store, bundle, by="ops@desk", clock=world.clock, timeout=wait)
    finally:
        following.cancel()


def test_every_process_switches_and_switches_back(store_url: str, first: Path, strict: Path) -> None:
    """All processes check a bundle before any of them switches; a rollback leads back, and forward again."""
    old, new = policy_of(first), policy_of(strict)

    async def story(world: World) -> None:
        async with opened(store_url, first) as other:
            await other.service.follower.step()
            with pytest.raises(NoEarlierBundle):
                await roll_back_and_wait(world.store, by="ops", clock=world.clock, timeout=0)
            with pytest.raises(ActivationUnanswered, match="requested, but no answer came"):
                await ask(world, strict, wait=0.5)  # the other process does not look
            assert [await decided_by(one) for one in (world, other)] == [old, old]
            await ask(world, strict, other)
            assert [await decided_by(one) for one in (world, other)] == [new, new]
            with pytest.raises(ActivationRefused, match="is active already"):
                await ask(world, strict, other)
            for expected in (old, new):
                await roll_back_and_wait_all(world, other)
                assert [await decided_by(one) for one in (world, other)] == [expected, expected]
            served = await table(store_url, BundleRow)
            assert {row.policy_version for row in served} == {old, new}
        async with opened(store_url, first) as later:
            assert await decided_by(later) == new  # it was activated, whatever the settings name

    run_story(store_url, first, story)


async def roll_back_and_wait_all(*worlds: World) -> None:
    """Roll back, and let each service look once."""
    with pytest.raises(ActivationUnanswered):
        await roll_back_and_wait(worlds[0].store, by="ops", clock=worlds[0].clock, timeout=0)
    for world in worlds:
        await world.service.follower.step()


def test_a_verification_is_finished_with_the_bundle_that_began_it(
    store_url: str, first: Path, strict: Path
) -> None:
    """One that was begun before the switch shares a transaction with one begun after it; both share a history."""

    async def story(world: World) -> None:
        caller = await world.client()
        begun = world.service.serving.current
        body = {"signals": SIGNALS}
        candidate = await begun.candidates.new(caller, body, None)
        await ask(world, strict)
        before, after = await asyncio.gather(
            world.queue.submit(candidate, begun.scoring.jobs, candidate),
            world.verify(caller, signals=SIGNALS),
        )
        assert before.value.policy_version == policy_of(first)
        assert after.resource.policy_version == policy_of(strict)
        counts = [await world.features(one) for one in (before.value.id, after.resource.id)]
        seen = [[value for name, value in row.items() if "device" in name] for row in counts]
        assert seen[0] != seen[1]
        assert before.value.completed_at != after.resource.completed_at

    run_story(store_url, first, story)


def altered(bundle: Path, folder: Path) -> Path:
    """A copy with a changed byte."""
    copy = Path(shutil.copytree(bundle, folder / "altered"))
    victim = next(path for path in copy.iterdir() if path.name != MANIFEST)
    victim.write_bytes(victim.read_bytes() + b" ")
    return copy


@pytest.mark.parametrize(
    ("bundle", "reason"), [("altered", "at most were expected"), ("summing", "link keys are")]
)
def test_a_bundle_that_can_not_serve_is_refused_by_name(
    store_url: str,
    first: Path,
    strict: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    bundle: str,
    reason: str,
) -> None:
    """The old one serves on; the list and the readiness of every process name the bundle and the reason."""
    candidate = altered(strict, tmp_path) if bundle == "altered" else request.getfixturevalue(bundle)

    async def story(world: World) -> None:
        with pytest.raises(ActivationRefused, match=reason):
            await ask(world, candidate)
        await world.service.follower.step()
        assert await decided_by(world) == policy_of(first)
        listed = await list_bundles(world.store, now=world.clock.now())
        assert listed["active"] is None
        assert reason in listed["lastRefused"]["reason"]
        ready = await world.service.readiness.check()
        assert ready is not None
        assert ready.serves.policy_version == policy_of(first)
        assert ready.serves.refused is not None
        assert reason in (ready.serves.refused.reason or "")

    run_story(store_url, first, story)


def test_a_process_refuses_for_all(sqlite_url: str, first: Path, strict: Path, monkeypatch: Any) -> None:
    """What one process can not serve, here for want of space, none serves, and the command says why."""

    async def story(world: World) -> None:
        await world.service.follower.step()
        monkeypatch.setattr(Path, "mkdir", full_disk)
        with pytest.raises(ActivationRefused, match=r"is refused: .*No space left"):
            await ask(world, strict)
        monkeypatch.undo()
        assert await decided_by(world) == policy_of(first)
        await ask(world, strict)  # and can be asked again
        assert await decided_by(world) == policy_of(strict)

    run_story(sqlite_url, first, story)


def full_disk(*_: object, **__: object) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


class Endless(Scorer):
    """A scorer whose margins are not finite, except for golden rows."""

    def decide(self, rows: Any) -> Any:
        """Decide as usual, with the margins of few rows replaced."""
        found = super().decide(rows)
        return found if len(rows) > 5 else replace(found, margins=found.margins + float("inf"))


def test_a_rehearsal_scores_what_it_can(store_url: str, first: Path) -> None:
    """It counts erased persons, writes nothing, and refuses margins that are not finite."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [await world.verify(caller, signals=SIGNALS, subject=f"p{place}") for place in range(5)]
        await world.erase_signals(caller, made[0].resource.id)
        links, masks = await world.link_rows(), Masks(world.secrets)
        served = world.service.serving.current
        done = await rehearse(world.store, served, masks, world.clock)
        assert (done.scored, done.left_out) == (4, {"its person was erased": 1})
        late = await rehearse(world.store, served, masks, world.clock, seconds=-1)
        assert (late.scored, late.left_out) == (0, {"the time was over": 5})
        assert await world.link_rows() == links
        scorer = Endless(served.scorer.manifest, served.scorer.contents)
        scoring = Scoring(scorer, Vault(MASTERS), world.secrets, world.clock, Listbook())
        broken = ServedBundle(candidates=served.candidates, scoring=scoring)
        with pytest.raises(RehearsalFailed, match="not finite"):
            await rehearse(world.store, broken, masks, world.clock)

    run_story(store_url, first, story)


def test_a_bundle_that_serves_no_longer_is_freed(
    sqlite_url: str, first: Path, strict: Path, training: Training, tmp_path: Path
) -> None:
    """Without the garbage collector, from which a process spares its bundle; the one for a rollback is kept."""
    third = save_under(training.bundle, tmp_path / "third", Policy(step_up_from=3, fail_from=4))

    async def story(world: World) -> None:
        before = weakref.ref(world.service.scoring)
        await ask(world, strict)
        assert before() is not None
        await ask(world, third)
        assert before() is None

    run_story(sqlite_url, first, story)


def step(number: int, policy: str, state: ActivationState, window: int) -> BundleActivationRow:
    """A step of the succession."""
    return BundleActivationRow(number, START, "m", policy, window, state, "ops")


def test_links_are_kept_for_the_longest_window_of_both() -> None:
    """Of the active bundle and the one of a rollback; those before them and refused ones do not count."""
    active = ActivationState.ACTIVE
    rows = [
        step(1, "a", active, 400),
        step(2, "b", active, 90),
        step(3, "d", ActivationState.REFUSED, 900),
        step(4, "c", active, 30),
        step(5, "c", active, 30),
    ]
    assert Activations(()).longest_window == 0
    assert Activations(tuple(rows[1::-1])).longest_window == 400
    found = Activations(tuple(rows[::-1]))
    assert (found.longest_window, found.previous) == (90, rows[1])


def test_the_window_of_a_rollback_is_kept_after_a_start(store_url: str, first: Path, strict: Path) -> None:
    """The window for commands without a bundle is the longest of both, also after a restart."""

    async def story(world: World) -> None:
        await ask(world, strict)
        async with world.store.writing(["*"]) as transaction:
            rows = await transaction.activations()
            longer = rows[1]._replace(number=9, longest_window=10**15)
            await transaction.insert([longer, rows[0]._replace(number=10)])
        async with opened(store_url, first) as later:
            assert await noted_window(later.store) == 10**15

    run_story(store_url, first, story)


def test_what_is_requested_while_nothing_serves_is_taken_by_the_next(
    sqlite_url: str, first: Path, strict: Path
) -> None:
    """The command does not wait, and the next process checks the bundle like any other."""

    async def story(world: World) -> None:
        done = await activate(world.store, strict, by="ops", clock=world.clock, timeout=9)
        assert (done.processes, done.versions.policy) == (0, policy_of(strict))
        listed = await list_bundles(world.store, now=world.clock.now())
        assert (listed["candidate"]["by"], listed["active"], listed["processes"]) == ("ops", None, [])
        await world.service.follower.step()
        listed = await list_bundles(world.store, now=world.clock.now())
        assert [(one["policyVersion"], one["state"]) for one in listed["bundles"]] == [
            (policy_of(strict), "active"),
            (policy_of(first), "rollback"),
        ]
        assert [one["policyVersion"] for one in listed["processes"]] == [policy_of(strict)]

    run_story(sqlite_url, first, story)


def test_what_was_altered_in_the_database_is_refused_until_it_is_requested_again(
    sqlite_url: str, first: Path, strict: Path
) -> None:
    """A process checks the seal of what it takes from the database, and keeps nothing of what it refuses."""

    async def story(world: World) -> None:
        await activate(world.store, strict, by="ops", clock=world.clock, timeout=0)
        await select(sqlite_url, "UPDATE bundle_files SET content = x'00' WHERE name = 'card.md'")
        await world.service.follower.step()
        listed = await list_bundles(world.store, now=world.clock.now())
        assert "card.md: holds 1 bytes" in listed["lastRefused"]["reason"]
        assert [path.name for path in first.parent.iterdir()] == [first.name]
        assert await decided_by(world) == policy_of(first)
        await ask(world, strict)
        assert await decided_by(world) == policy_of(strict)

    run_story(sqlite_url, first, story)


def test_a_torn_copy_of_the_active_bundle_is_mended_by_the_next_start(
    sqlite_url: str, first: Path, strict: Path
) -> None:
    """The database has the intact files."""

    async def story(world: World) -> None:
        await ask(world, strict)
        (kept,) = [path for path in first.parent.iterdir() if path != first]
        (kept / "model.onnx").write_bytes((kept / "model.onnx").read_bytes()[:-1])
        async with opened(sqlite_url, first) as later:
            assert await decided_by(later) == policy_of(strict)
        assert read_bundle(kept).files == read_bundle(strict).files

    run_story(sqlite_url, first, story)


def test_a_rollback_that_a_process_can_not_follow_is_shown(
    sqlite_url: str, first: Path, strict: Path
) -> None:
    """It serves on, and says why until the bundle is there again."""

    async def story(world: World) -> None:
        await ask(world, strict)
        shutil.move(first, first.parent.parent / "away")
        async with opened(sqlite_url, first) as later:  # it has not loaded the first bundle
            await later.service.follower.step()
            with pytest.raises(ActivationUnanswered):
                await roll_back_and_wait(world.store, by="ops", clock=world.clock, timeout=0)
            await later.service.follower.step()
            assert await decided_by(later) == policy_of(strict)
            ready = await later.service.readiness.check()
            assert ready is not None
            assert "bundles that served this database are missing" in (ready.serves.problem or "")

    run_story(sqlite_url, first, story)
