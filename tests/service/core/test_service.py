"""The whole service: its checks against the store when it opens, and its readiness."""

import asyncio
import json
from pathlib import Path

import pytest

from databases import Databases
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.rules import Policy
from scoring_model.scorer import Scorer
from scoring_model.service.activation.links import HistoryMismatch
from scoring_model.service.clients.credentials import FAILURES_PER_MINUTE
from scoring_model.service.core.rows import BundleRow, FactRow
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, UnknownMasterKey
from scoring_model.service.store import StoreUnavailable, open_store
from scoring_model.training.run import Training
from service_use import (
    START,
    SetClock,
    World,
    file_of,
    opened,
    run_story,
    save_under,
    select,
    signals_of,
    table,
    with_service,
)

LINKS = "link_keys"


@pytest.fixture(scope="module")
def strict(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model under a policy that passes almost no record."""
    policy = Policy(step_up_from=1, fail_from=2)
    return save_under(training.bundle, tmp_path_factory.mktemp("strict") / "bundle", policy)


async def links_of(world: World) -> dict[str, object]:
    """The link settings stored in the database."""
    async with world.store.reading() as reader:
        fact = await reader.fact(LINKS)
    found: dict[str, object] = json.loads(fact or b"{}")
    return found


AMOUNTS = [{"signal": "formSeconds", "decimals": 1}, {"signal": "emailAgeDays", "decimals": 0}]


@pytest.mark.parametrize(
    ("bundle", "change"),
    [
        ("sealed", {"normalisation": -1}),
        ("sealed", {"keys": {"person": []}}),
        ("sealed", {"keys": {"person": [], "device": ["signals.emailDomain"]}}),
        ("sealed", {"amounts": AMOUNTS[:1]}),
        ("summing", {"amounts": None}),
        ("summing", {"amounts": AMOUNTS[:1]}),
        ("summing", {"amounts": [{"signal": "formSeconds", "decimals": 2}, AMOUNTS[1]]}),
        ("summing", {"amounts": AMOUNTS[::-1]}),
    ],
)
def test_a_history_that_was_tied_together_in_another_way_is_refused(
    store_url: str, request: pytest.FixtureRequest, bundle: str, change: dict[str, object]
) -> None:
    """The error names both link settings, the bundle is not recorded as served, and nothing changes."""
    served: Path = request.getfixturevalue(bundle)
    own = run_story(store_url, served, links_of)
    keys = own["keys"]
    assert isinstance(keys, dict)
    assert keys["device"] == ["signals.deviceId"]
    assert own.get("amounts") == (AMOUNTS if bundle == "summing" else None)

    async def story() -> None:
        store = await open_store(store_url)
        wanted = {name: value for name, value in {**own, **change}.items() if value is not None}
        foreign = json.dumps(wanted, sort_keys=True).encode()
        async with store.writing(["*"]) as transaction:
            await transaction.set_fact(LINKS, foreign)
        await select(store_url, "DELETE FROM bundles")
        facts = await table(store_url, FactRow)
        with pytest.raises(HistoryMismatch) as caught:
            async with opened(store_url, served):
                pass
        assert foreign.decode() in str(caught.value)
        assert json.dumps(own, sort_keys=True) in str(caught.value)
        assert await table(store_url, FactRow) == facts
        assert await table(store_url, BundleRow) == []
        await store.close()

    asyncio.run(story())


def test_every_bundle_that_served_is_written_down_once(store_url: str, sealed: Path, strict: Path) -> None:
    """A served bundle is recorded once with versions, sentences and first time, however often it is opened."""
    clock = SetClock()

    async def served() -> list[BundleRow]:
        return sorted(await table(store_url, BundleRow), key=lambda row: row.first_served_at)

    async def story(world: World) -> None:
        (first,) = await served()
        scorer = Scorer.load(sealed)
        assert (first.model_version, first.policy_version) == (
            scorer.manifest.model_version,
            scorer.manifest.policy_version,
        )
        assert json.loads(first.reasons) == dict(scorer.sentences)
        assert first.first_served_at == START
        clock.advance(60)
        async with opened(store_url, sealed, clock=clock), opened(store_url, strict, clock=clock):
            pass
        clock.advance(60)
        async with opened(store_url, strict, clock=clock):
            pass
        rows = await served()
        assert rows[0] == first
        assert (len(rows), rows[1].first_served_at) == (2, START + 60_000_000)
        assert rows[1].policy_version == Scorer.load(strict).manifest.policy_version
        async with world.store.reading() as reader:
            assert await reader.bundles() == rows

    run_story(store_url, sealed, story, clock=clock)


def test_many_that_open_at_once_agree(store_url: str, sealed: Path) -> None:
    """Four services start together on a new database: one bundle row, one fact, all serve."""

    async def one() -> int:
        async with opened(store_url, sealed) as world:
            caller = await world.client()
            found = (await world.verify(caller, signals={"vpn": True})).resource.score
            assert found is not None
            return found

    async def story() -> None:
        assert len(set(await asyncio.gather(*[one() for _ in range(4)]))) == 1
        assert len(await table(store_url, BundleRow)) == 1

    asyncio.run(story())


@with_service
async def test_verification_reasons_read_as_the_bundle_said_them_that_decided(
    world: World, strict: Path
) -> None:
    """A verdict keeps its sentences when another bundle serves, which another process may have begun to."""
    caller = await world.client()
    signals = signals_of(world.bundle, Outcome.STEPPED_UP)[0]
    first = (await world.verify(caller, signals=signals, key="k")).resource
    assert first.reasons
    own = Scorer.load(world.bundle).manifest
    (row,) = await table(world.url, BundleRow)
    older = {code: f"It was said of {code}." for code in json.loads(row.reasons)}
    await select(
        world.url,
        f"UPDATE bundles SET reasons = '{json.dumps(older)}' WHERE policy_version = '{own.policy_version}'",
    )
    async with opened(world.url, strict) as later:
        firm = (await later.verify(caller, signals=signals)).resource
        reported = await later.verification(caller, first.id)
        assert reported.reasons == tuple((code, older[code]) for code, _ in first.reasons)
        assert (await later.verify(caller, signals=signals, key="k")).resource == reported
        assert firm.reasons == tuple((code, Scorer.load(strict).sentences[code]) for code, _ in firm.reasons)
        assert (await later.erase_signals(caller, first.id)).reasons == reported.reasons
    # The first has not been opened again since.
    assert (await world.verification(caller, firm.id)).reasons == firm.reasons
    assert (await world.erase_signals(caller, firm.id)).reasons == firm.reasons


def test_ready_is_false_while_a_server_is_gone(postgres: Databases, sealed: Path) -> None:
    """A database of PostgreSQL that was dropped under the service: not ready, and no error."""

    async def story(world: World, name: str) -> None:
        caller = await world.client()
        assert await world.service.readiness.check()
        await asyncio.to_thread(postgres.server.drop, name)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await world.verify(caller, signals={"vpn": True})
            assert not await world.service.readiness.check()

    with postgres.fresh() as url:
        run_story(url, sealed, lambda world: story(world, url.rpartition("/")[2]))


@with_service(url="sqlite_url")
async def test_ready_is_false_when_a_file_is_none_any_more(world: World) -> None:
    """A file of SQLite that something else was written over: not ready, and no error."""
    caller = await world.client()
    assert await world.service.readiness.check()
    # What is in the log would be read instead.
    assert await select(world.url, "PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)]
    file = file_of(world.url)
    file.write_bytes(b"\xff" * file.stat().st_size)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await world.verify(caller, signals={"vpn": True})
        assert not await world.service.readiness.check()


def test_a_service_without_the_master_key_of_its_database_does_not_open(store_url: str, sealed: Path) -> None:
    """The service reports the missing key instead of answering."""

    async def nothing(world: World) -> None:
        return None

    run_story(store_url, sealed, nothing)
    strange = Keyring(KeyEncryptionKey(bytes(32)))
    with pytest.raises(UnknownMasterKey, match="is not among those of the source"):
        run_story(store_url, sealed, nothing, keyring=lambda: strange)


@with_service
async def test_rate_limit_tokens_are_of_a_client_and_failures_of_an_address(world: World) -> None:
    """Neighbouring addresses have separate buckets; no bucket name reveals an address."""
    caller, other = await world.client(), await world.client()
    left = [(await world.service.rate_limits.take_token(who)).left for who in (caller, caller, other)]
    assert left == [caller.quota - 1, caller.quota - 2, other.quota - 1]
    failures = [
        await world.service.rate_limits.take_failure("192.0.2.1") for _ in range(FAILURES_PER_MINUTE + 1)
    ]
    assert [bucket.allowed for bucket in failures] == [True] * FAILURES_PER_MINUTE + [False]
    assert (await world.service.rate_limits.take_failure("192.0.2.2")).allowed
    world.clock.advance(1)
    assert (await world.service.rate_limits.take_failure("192.0.2.1")).allowed
