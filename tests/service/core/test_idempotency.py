"""A repeated POST is carried out once and answered twice, on one process and on two."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.errors import (
    IdempotencyMismatch,
    IdentityNotValidated,
    InProgress,
    Invalid,
    NotFound,
    Unavailable,
    WebhookLimit,
)
from scoring_model.service.core.rows import IdempotencyRow, IdentityRow
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.requests.idempotency import LIFETIME, Answer
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.store import StoreUnavailable
from service_use import (
    World,
    applicants,
    blob,
    eventually,
    id_of,
    opened,
    request_of,
    select,
    signals_of,
    table,
    verification_body,
    with_service,
)

HOOK = {"destinationUrl": "https://example.com/hook", "active": True}
Call = Callable[[], Awaitable[Answer[Any]]]


@with_service
async def test_idempotency_a_verification_is_made_once_a_day(world: World) -> None:
    """The same body gets the first answer again; after a day the key can be used again, also for another body.

    A row holds status, id and keyed hashes: neither the key nor the body nor the answer.
    """
    caller = await world.client()
    signals = signals_of(world.bundle, Outcome.STEPPED_UP)[0]
    first = await world.verify(caller, signals=signals, subject="s", key="k")
    assert not first.replayed
    world.clock.at += LIFETIME - 1
    again = await world.verify(caller, signals=signals, subject="s", key="k")
    assert again == replace(first, replayed=True)
    assert len(await world.events(caller)) == 2
    world.clock.at += 1
    second = await world.verify(caller, signals={"vpn": False}, key="k")
    assert not second.replayed
    assert second.resource.id != first.resource.id
    again = await world.verify(caller, signals={"vpn": False}, key="k")
    assert again == replace(second, replayed=True)
    (row,) = await table(world.url, IdempotencyRow)
    kept = (row.client, row.status, row.resource, row.created_at, row.answer)
    assert kept == (caller.client, 201, second.resource.id, world.clock.at, None)
    assert (len(row.digest), len(row.body_digest)) == (16, 32)


@with_service
async def test_idempotency_an_expired_key_is_used_again_by_one_of_many(world: World) -> None:
    """Of two concurrent processes one creates the resource and the other replays it; other requests succeed too."""
    caller = await world.client()
    hook = request_of("k", HOOK, "POST /webhooks")
    async with opened(world.url, world.bundle, clock=world.clock) as other:
        old = await world.verify(caller, signals={"vpn": True}, key="k")
        old_hook = await world.service.webhooks.create(caller, HOOK, hook)
        for _ in range(4):
            world.clock.at += LIFETIME
            answers = await asyncio.gather(
                *(each.verify(caller, signals={"vpn": True}, key="k") for each in (world, other)),
                *(each.verify(caller, signals={"vpn": True}, key="new") for each in (world, other)),
            )
            assert [sorted(one.replayed for one in answers[i : i + 2]) for i in (0, 2)] == [[False, True]] * 2
            assert answers[0].resource == answers[1].resource != old.resource
            assert answers[2].resource == answers[3].resource
            with pytest.raises(IdempotencyMismatch):
                await other.verify(caller, signals={"vpn": False}, key="new")
            old = answers[0]
        hooks = await asyncio.gather(
            *(each.service.webhooks.create(caller, HOOK, hook) for each in (world, other))
        )
        assert sorted(one.replayed for one in hooks) == [False, True]
        assert hooks[0].resource == hooks[1].resource != old_hook.resource
    assert len(await table(world.url, IdempotencyRow)) == 3


@with_service
async def test_idempotency_another_body_is_refused(world: World) -> None:
    """The error of the key comes before rule violations and state conflicts."""
    caller = await world.client()
    incomplete = await world.identity(caller, {"firstName": "Ann"})
    await world.verify(caller, signals={"vpn": True}, key="k")
    for body in (
        verification_body(signals={"vpn": False}),
        {"signals": {"vpn": "perhaps"}},
        verification_body(identity=incomplete),
    ):
        with pytest.raises(IdempotencyMismatch):
            await world.service.verifications.create(caller, body, request_of("k", body))
    with pytest.raises(IdempotencyMismatch):
        await world.service.idempotency.check(caller.client, request_of("k", "anything"))
    await world.service.idempotency.check(caller.client, request_of("new", "anything"))
    assert len(await world.events(caller)) == 3


@with_service
async def test_idempotency_a_key_is_of_one_client_and_one_operation(world: World) -> None:
    """Another client, of the same history scope too, and another path have keys of their own."""
    caller, mate = await world.client("bank"), await world.client("bank")
    body = verification_body(signals={"vpn": True})
    first = await world.service.verifications.create(caller, body, request_of("k", body))
    second = await world.service.verifications.create(mate, body, request_of("k", body))
    person = {"firstName": "Ann"}
    request = request_of("k", body, "POST /scoring/v1/identities")
    third = await world.service.identities.create(caller, person, request)
    assert not any(answer.replayed for answer in (first, second, third))


@with_service
async def test_idempotency_what_failed_may_be_asked_again(world: World) -> None:
    """Only successful answers are stored: a refused request can be repeated."""
    caller = await world.client()
    identity = await world.identity(caller, {"firstName": "Ann"})
    body = verification_body(identity=identity)
    for _ in range(2):
        with pytest.raises(IdentityNotValidated):
            await world.service.verifications.create(caller, body, request_of("k", body))
    with pytest.raises(Invalid):
        await world.service.verifications.create(caller, {}, request_of("k", {}))
    world.store.error = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        await world.verify(caller, signals={"vpn": True}, key="k")
    world.store.error = None
    assert not (await world.verify(caller, signals={"vpn": True}, key="k")).replayed


@with_service
async def test_idempotency_under_way_is_a_conflict(world: World) -> None:
    """While the first request is in progress the second gets 409, whatever its body; afterwards it is replayed."""
    caller = await world.client()
    world.store.gate.clear()
    first = asyncio.ensure_future(world.verify(caller, signals={"vpn": True}, key="k"))
    await eventually(lambda: bool(world.store.knocking))
    for signals in ({"vpn": True}, {"vpn": False}):
        with pytest.raises(InProgress):
            await world.verify(caller, signals=signals, key="k")
    with pytest.raises(InProgress):
        await world.service.idempotency.check(caller.client, request_of("k", "anything"))
    world.store.gate.set()
    made = await first
    assert await world.verify(caller, signals={"vpn": True}, key="k") == replace(made, replayed=True)


@with_service(limits=QueueLimits(commit_seconds=2.0))
async def test_idempotency_what_was_given_up_and_made_all_the_same_is_replayed(world: World) -> None:
    """A retry after a timeout gets the created resource, not a second one."""
    caller = await world.client()
    jobs, scored = world.service.scoring.jobs, asyncio.Event()

    async def slowly(*arguments: Any) -> Any:
        await scored.wait()
        return await jobs.run(*arguments)

    slow = mock.patch.object(Scoring, "jobs", replace(jobs, run=slowly))
    with slow, pytest.raises(Unavailable):
        await world.verify(caller, signals={"vpn": True}, key="k")
    second = asyncio.ensure_future(world.verify(caller, signals={"vpn": True}, key="k"))
    await asyncio.sleep(0.01)
    scored.set()
    assert (await second).replayed
    assert len(await world.events(caller)) == 2


@with_service
async def test_idempotency_a_202_is_replayed_as_202(world: World) -> None:
    """Its replay is PENDING as it was then, also when it has been completed or has failed since."""
    caller = await world.client()
    request: dict[str, Any] = {"signals": {"vpn": True}, "subject": "s", "key": "k"}
    async with opened(world.url, world.bundle, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        first = await busy.verify(caller, **request)
    assert first.pending
    assert await world.verify(caller, **request) == replace(first, replayed=True)
    await world.pending.step()
    assert (await world.verification(caller, first.resource.id)).score is not None
    assert await world.verify(caller, **request) == replace(first, replayed=True)
    await world.erase_signals(caller, first.resource.id)
    again = await world.verify(caller, **request)
    assert again.resource == replace(first.resource, subject_id=None)
    assert again.resource.status is VerificationStatus.PENDING


@with_service
async def test_idempotency_an_identity_is_made_once_and_replayed_as_it_is(world: World) -> None:
    """The first answer again; after erasure the redacted resource, and no new person for the same request."""
    caller = await world.client()
    body = applicants(world.bundle)[0].identity
    request = request_of("k", body, "POST /scoring/v1/identities")
    first = await world.service.identities.create(caller, body, request)
    world.clock.advance(3600)
    again = await world.service.identities.create(caller, body, request)
    assert again == replace(first, replayed=True)
    redacted = await world.service.identities.erase(caller, id_of(first.resource))
    again = await world.service.identities.create(caller, body, request)
    assert (again.replayed, again.resource) == (True, redacted)
    assert again.resource.status == IdentityStatus.REDACTED
    assert len(await table(world.url, IdentityRow)) == 1


@with_service
async def test_idempotency_of_webhooks_shows_the_first_answer_again(world: World) -> None:
    """Creation, rotation and test are replayed with the shown secret, whatever happened to the webhook since."""
    caller, service = await world.client(), world.service

    def request(operation: str) -> Any:
        return request_of("k", operation, operation)

    made = await service.webhooks.create(caller, HOOK, request("POST /webhooks"))
    hook = id_of(made.resource)
    rotated = await service.webhooks.rotate_secret(caller, hook, request("POST /rotate"))
    tested = await service.webhooks.test(caller, hook, request("POST /test"))
    assert None not in (made.resource.secret, rotated.resource.secret)
    assert tested.resource.secret is None
    assert made.resource.secret != rotated.resource.secret
    events = await world.events(caller)
    await service.webhooks.delete(caller, hook)
    for answer, call in (
        (made, lambda: service.webhooks.create(caller, HOOK, request("POST /webhooks"))),
        (rotated, lambda: service.webhooks.rotate_secret(caller, hook, request("POST /rotate"))),
        (tested, lambda: service.webhooks.test(caller, hook, request("POST /test"))),
    ):
        call_: Call = call
        assert await call_() == replace(answer, replayed=True)
    assert await world.events(caller) == events
    with pytest.raises(NotFound):
        await service.webhooks.get(caller, hook)


@with_service
async def test_idempotency_an_answer_that_was_kept_opens_in_its_own_row_alone(world: World) -> None:
    """A change of the database cannot make one request return another's secret."""
    caller = await world.client()
    request = request_of("k", HOOK, "POST /webhooks")
    made = (await world.service.webhooks.create(caller, HOOK, request)).resource
    (row,) = await table(world.url, IdempotencyRow)
    assert row.answer is not None
    assert made.secret is not None
    assert made.secret.encode() not in row.answer
    other = request_of("other", HOOK, "POST /webhooks")
    await world.service.webhooks.create(caller, HOOK, other)
    await select(world.url, f"UPDATE idempotency SET answer = {blob(world.url, row.answer)}")
    with pytest.raises(Exception, match="does not open"):
        await world.service.webhooks.create(caller, HOOK, other)


@with_service
async def test_idempotency_what_forbids_it_now_did_not_forbid_it_then(world: World) -> None:
    """A replay takes precedence over later conflicts and unknown ids."""
    caller = await world.client()
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    made = await world.verify(caller, identity=identity, key="k")
    await world.service.identities.erase(caller, identity)
    assert await world.verify(caller, identity=identity, key="k") == replace(made, replayed=True)
    request = request_of("hook", HOOK, "POST /webhooks")
    hook = await world.service.webhooks.create(caller, HOOK, request)
    for _ in range(49):
        await world.service.webhooks.create(caller, HOOK, None)
    with pytest.raises(WebhookLimit):
        await world.service.webhooks.create(caller, HOOK, None)
    assert await world.service.webhooks.create(caller, HOOK, request) == replace(hook, replayed=True)
