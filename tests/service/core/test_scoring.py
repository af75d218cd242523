"""Scoring under the lock: visible history, event time, verdict, and stored rows."""

import json
import logging
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.records import rfc3339
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import IdentityNotValidated, Unavailable
from scoring_model.service.core.rows import PersonKeyRow, VerificationRow
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.requests.idempotency import Answer
from service_use import (
    HOUR,
    MASTERS,
    SECOND,
    START,
    Made,
    Owner,
    World,
    applicants,
    opened,
    run_story,
    signals_of,
    table,
    together,
)

DEVICE, PERSON = "link_device_1d_records", "link_person_1d_records"


async def verified(world: World, caller: Caller, **parts: Any) -> Made:
    """A verification that was scored at once."""
    answer: Answer[Made] = await world.verify(caller, **parts)
    assert not answer.pending
    return answer.resource


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_verdict_is_what_the_bundle_decides(store_url: str, sealed: Path, outcome: Outcome) -> None:
    """Score, outcome and reasons equal the scorer's, for an identity with signals and for signals alone."""
    scorer = Scorer.load(sealed)

    async def story(world: World) -> None:
        caller = await world.client()
        person, alone = applicants(sealed, outcome)[0], signals_of(sealed, outcome)[0]
        identity = await world.identity(caller, person.identity)
        for parts, record in (
            (
                {"identity": identity, "signals": person.signals},
                {**person.identity, "signals": person.signals},
            ),
            ({"signals": alone, "subject": "s"}, {"signals": alone, "subjectId": "s"}),
        ):
            found = await verified(world, caller, **parts)
            decision = scorer.score({**record, "eventTime": rfc3339(START)})
            assert (
                (found.outcome, found.score) == (decision.outcome, decision.score) == (outcome, found.score)
            )
            assert found.reasons == tuple((reason.code, reason.description) for reason in decision.reasons)
            assert len(found.reasons) <= 5
            assert bool(found.reasons) is (outcome is not Outcome.PASSED)
            assert (found.model_version, found.policy_version) == (
                scorer.manifest.model_version,
                scorer.manifest.policy_version,
            )
            assert (found.created_at, found.completed_at) == (START, START)

    run_story(store_url, sealed, story)


def test_those_of_one_batch_get_instants_of_their_own_and_see_each_other(
    store_url: str, sealed: Path
) -> None:
    """Of 32 simultaneous sign-ups from one device the first sees 0 and the last sees 31."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = {"deviceId": "one device", "vpn": False}
        works = [world.verify(caller, signals=signals, subject=f"s{i}") for i in range(32)]
        answers = await together(world, *works)
        assert [answer.resource.completed_at - START for answer in answers] == list(range(32))
        rows = [await world.features(answer.resource.id) for answer in answers]
        assert [row[DEVICE] for row in rows] == list(range(32))
        assert [row["link_device_1d_persons"] for row in rows] == list(range(32))
        assert len(await world.link_rows()) == 64

    run_story(store_url, sealed, story)


def test_windows_end_where_they_should(store_url: str, sealed: Path) -> None:
    """A record exactly as old as the window is long is seen; one a microsecond older is not."""

    async def story(world: World) -> None:
        caller = await world.client()
        first = await verified(world, caller, signals={"deviceId": "d"})
        world.clock.at = (first.completed_at or 0) + 24 * HOUR
        on_edge = await verified(world, caller, signals={"deviceId": "d"})
        world.clock.at += 24 * HOUR + 1
        beyond = await verified(world, caller, signals={"deviceId": "d"})
        assert (await world.features(on_edge.id))[DEVICE] == 1
        row = await world.features(beyond.id)
        assert (row[DEVICE], row["link_device_30d_records"]) == (0, 2)

    run_story(store_url, sealed, story)


def test_an_event_is_later_than_all_that_it_sees(store_url: str, sealed: Path) -> None:
    """With a clock that is behind by up to 5 s an event is one microsecond after the newest that it sees."""

    async def story(world: World) -> None:
        caller = await world.client()
        first = await verified(world, caller, signals={"deviceId": "d"})
        world.clock.at -= 5 * SECOND
        second = await verified(world, caller, signals={"deviceId": "d"})
        assert second.completed_at == (first.completed_at or 0) + 1
        assert second.created_at <= second.completed_at
        assert (await world.features(second.id))[DEVICE] == 1
        # Unlinked events keep their time.
        assert (await verified(world, caller, signals={"deviceId": "other"})).completed_at == world.clock.at

    run_story(store_url, sealed, story)


def test_a_clock_that_is_far_behind_is_unavailable(store_url: str, sealed: Path) -> None:
    """More than 5 s behind the newest event that is seen nothing is scored; others of the batch are."""

    async def story(world: World) -> None:
        caller = await world.client()
        await verified(world, caller, signals={"deviceId": "d"})
        world.clock.at -= 5 * SECOND + 1
        refused, scored = await together(
            world,
            world.verify(caller, signals={"deviceId": "d"}),
            world.verify(caller, signals={"vpn": True}),
        )
        assert isinstance(refused, Unavailable)
        assert refused.retry_after == 6
        assert scored.resource.status is VerificationStatus.COMPLETED
        assert len(await world.events(caller)) == 4
        world.clock.at += 1
        assert (await world.verify(caller, signals={"deviceId": "d"})).resource.outcome is not None

    run_story(store_url, sealed, story)


def test_nobody_known_is_a_person_of_their_own(store_url: str, sealed: Path) -> None:
    """Signals without a subject link by the device, each as another person, under a key of its own."""

    async def story(world: World) -> None:
        caller = await world.client()
        found = [await verified(world, caller, signals={"deviceId": "d"}) for _ in range(3)]
        row = await world.features(found[-1].id)
        assert (row[DEVICE], row["link_device_1d_persons"], row[PERSON]) == (2, 2, 0)
        assert len({(await world.row(one.id)).key_id for one in found}) == 3

    run_story(store_url, sealed, story)


def test_signals_add_to_the_identity(store_url: str, sealed: Path) -> None:
    """With both, the row holds the features of both; the subject does not replace the identity's person."""

    async def story(world: World) -> None:
        caller = await world.client()
        person = applicants(sealed)[0]
        identity = await world.identity(caller, person.identity)
        plain = await world.features((await verified(world, caller, identity=identity)).id)
        both = await verified(world, caller, identity=identity, signals={"emailAgeDays": 3.5}, subject="s")
        row = await world.features(both.id)
        assert math.isnan(plain["signal_email_age_days"])
        assert row["signal_email_age_days"] == 3.5
        assert row["first_name_length"] == plain["first_name_length"] == len(person.identity["firstName"])
        assert row[PERSON] == 1
        keys = {row.key_id for row in await table(store_url, PersonKeyRow)}
        assert keys == {(await world.row(both.id)).key_id}

    run_story(store_url, sealed, story)


def test_webhooks_two_events_report_a_verdict_without_a_word_of_a_person(
    store_url: str, sealed: Path
) -> None:
    """`verification.completed` and the one of the outcome, numbered without a gap in the order of commits."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        found = []
        for outcome in OUTCOMES:
            found.append(await verified(world, caller, signals=signals_of(sealed, outcome)[0], subject="s"))
            await verified(world, other, signals={"vpn": True})
        events = await world.events(caller)
        assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]
        kinds = ["passed", "stepped_up", "failed"]
        assert [event.type for event in events] == [
            f"verification.{kind}" for own in kinds for kind in ("completed", own)
        ]
        assert [event.id for event in events] == sorted(event.id for event in events)
        for event, one in zip(events[1::2], found, strict=True):
            assert json.loads(event.data)["scoringScore"] == one.score
            assert (event.resource, event.created_at, event.waiting) == (one.id, one.completed_at, 0)

    run_story(store_url, sealed, story)


def test_what_is_stored_of_a_verdict(store_url: str, sealed: Path) -> None:
    """The hashes of the link rows, the row and its digest, and nothing left of the time before the verdict."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = {**signals_of(sealed)[0], "unused": "text"}
        found = (await world.verify(caller, signals=signals, subject="s", key="once")).resource
        row = await world.row(found.id)
        links = await world.link_rows()
        assert {link.hash for link in links} == {(row.links or b"")[:16], (row.links or b"")[16:]}
        assert {link.time for link in links} == {row.completed_at}
        assert len({link.person for link in links}) == 1
        assert (row.attempts, row.leased_until, row.reference) == (0, None, None)
        async with world.store.reading() as reader:
            key = await world.persons.key_of(reader, row.key_id)
        assert key is not None
        kept, subject, packed = world.persons.verification_payload(row, key)
        assert (kept, subject) == (signals, "s")
        assert packed is not None
        assert len(packed) == 8 * len(await world.features(found.id))

    run_story(store_url, sealed, story)


class Breaking:
    """A scorer, or the features of one, that fails on bad rows."""

    matrix: Any

    def __init__(self, inner: Any, is_bad: Callable[[FloatArray], bool]) -> None:
        self._inner = inner
        self._is_bad = is_bad

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def decide(self, rows: FloatArray) -> Any:
        """Fail, or decide."""
        if any(map(self._is_bad, rows)):
            raise ValueError("canary-text")
        return self._inner.decide(rows)

    def finish(self, started: Any, event_time: int, history: Any) -> Any:
        """Fail, or finish."""
        row = self._inner.finish(started, event_time, history)
        if self._is_bad(row):
            raise ValueError("canary-text")
        return row


@pytest.mark.parametrize("part", ["decision", "features"])
def test_a_verification_that_can_not_be_scored_waits_and_the_others_of_its_batch_do_not(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    """A fault gives no outcome: the row is PENDING with one attempt and is invisible to later ones."""

    async def story(world: World) -> None:
        caller = await world.client()
        scorer = world.service.scoring.scorer
        column = scorer.matrix.names.index("signal_form_seconds")
        broken = Breaking(scorer, lambda row: bool(row[column] == 66.5))
        if part == "features":
            broken = Breaking(scorer, lambda _: False)
            broken.matrix = Breaking(scorer.matrix, lambda row: bool(row[column] == 66.5))
        world.service.scoring.scorer = broken  # type: ignore[assignment]
        works: list[Awaitable[Any]] = [
            world.verify(caller, signals={"deviceId": "d", "formSeconds": seconds})
            for seconds in (1.0, 66.5, 2.0, 3.0)
        ]
        first, bad, second, third = await together(world, *works)
        assert bad.pending
        assert bad.resource.status is VerificationStatus.PENDING
        assert bad.resource.outcome is None
        row = await world.row(bad.resource.id)
        assert (row.status, row.attempts, row.links) == ("PENDING", 1, None)
        seen = [(await world.features(one.resource.id))[DEVICE] for one in (first, second, third)]
        assert seen == [0, 1, 2]
        assert len(await world.link_rows()) == 3
        assert len(await world.events(caller)) == 6

    with caplog.at_level(logging.DEBUG):
        run_story(store_url, sealed, story)
    assert "canary-text" not in caplog.text
    assert "ValueError" in caplog.text


def test_a_verification_that_can_not_even_be_kept_is_an_error(store_url: str, sealed: Path) -> None:
    """A fault of the commit itself, scored and unscored, is the answer; nothing is written."""

    async def story(world: World) -> None:
        caller = await world.client()
        world.store.error_on_commit = ValueError("canary-text")
        with pytest.raises(ValueError, match="canary-text"):
            await world.verify(caller, signals={"deviceId": "d"})
        world.store.error_on_commit = None
        assert await table(store_url, VerificationRow) == []
        assert await world.link_rows() == set()

    run_story(store_url, sealed, story)


def test_a_person_under_a_master_key_that_is_not_at_hand_is_unavailable(store_url: str, sealed: Path) -> None:
    """Whose key another process wrapped under a newer master key waits for it; the others of the batch do not."""
    newer = Keyring(KeyEncryptionKey(bytes(range(1, 33))), (MASTERS.primary,))

    async def story(world: World) -> None:
        caller = await world.client()
        async with opened(store_url, sealed, keyring=lambda: newer) as ahead:
            await ahead.verify(caller, signals={"vpn": True}, subject="s")
        refused, scored = await together(
            world,
            world.verify(caller, signals={"vpn": True}, subject="s"),
            world.verify(caller, signals={"vpn": True}, subject="other"),
        )
        assert isinstance(refused, Unavailable)
        assert scored.resource.status is VerificationStatus.COMPLETED

    run_story(store_url, sealed, story)


def test_a_second_attempt_to_commit_looks_for_the_keys_again(store_url: str, sealed: Path) -> None:
    """A person erased between two attempts at a batch is not scored in the second."""

    async def story(world: World) -> None:
        caller = await world.client()
        identity = await world.identity(caller, applicants(sealed)[0].identity)
        attempts = 0

        async def between() -> None:
            nonlocal attempts
            attempts += 1
            if attempts == 2:
                async with opened(store_url, sealed) as other:
                    await other.service.identities.erase(caller, identity)

        async def poison(_: Any) -> Any:
            raise RuntimeError

        async def armed() -> None:
            # The blocking change comes first and does not count.
            world.store.before_each = between

        world.store.before_each = armed
        refused, broken = await together(
            world, world.verify(caller, identity=identity), world.queue.change(Owner("p"), poison)
        )
        assert isinstance(broken, RuntimeError)
        assert isinstance(refused, IdentityNotValidated)
        assert await world.link_rows() == set()

    run_story(store_url, sealed, story)
