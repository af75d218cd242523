"""Sandbox clients: their signal decides, everything of theirs is marked, and nothing of it counts anywhere."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import from_text, to_text
from scoring_model.contract.units import DAY
from scoring_model.contract.violation import Invalid
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules, list_rules
from scoring_model.service.clients.clients import Caller, NewClient, Permission, create_client
from scoring_model.service.clients.unknown_signals import list_unknown_signals
from scoring_model.service.core.rows import ControlDayRow, EventRow, VerificationRow
from scoring_model.service.http import create_app
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.labels.report import label_delays
from scoring_model.service.labels.step_ups import measure_step_ups
from scoring_model.service.past.challenger import FollowState, follow
from scoring_model.service.past.export import clients_of_one_history, export_file
from scoring_model.service.past.inspection import list_verifications
from scoring_model.service.past.pages import past_pages
from scoring_model.service.past.records import read_past
from scoring_model.service.past.whatif import what_if
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.service.scoring.sandbox import explains_sandbox
from service_use import MASTERS, START, World, decider_of, run_story, signals_of, table

VERIFICATIONS = "/scoring/v1/verifications"
LATER = START + DAY
RULES = {
    "rules": [
        {"code": "ALL", "title": "All", "when": {"score": {"at_least": 0}}, "then": "OBSERVE"},
        {
            "code": "STEP",
            "title": "Step up",
            "when": {"signals.channel": {"is": "stepped"}},
            "then": "STEPPED_UP",
        },
    ]
}


@dataclass(frozen=True)
class Sender:
    """A client that sends requests."""

    world: World
    client: NewClient
    caller: Caller

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request."""
        app = create_app(self.world.service, HttpSettings(access_log=False), clock=self.world.clock)
        headers |= {"x-client-id": self.client.client_id, "x-api-key": self.client.api_key}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as sender:
            return await sender.request(method, path, headers=headers, json=body)

    async def verify(self, expected: int = 201, **signals: Any) -> dict[str, Any]:
        """Create a verification of signals."""
        answer = await self.ask("POST", VERIFICATIONS, {"signals": signals, "subjectId": "s"})
        assert answer.status_code == expected, answer.text
        return dict(answer.json())


async def sender_of(world: World, **options: Any) -> Sender:
    """A new client."""
    made = await create_client(
        world.store, name="a client", permissions=frozenset(Permission), now=START, **options
    )
    caller = await world.service.credentials.authenticate(made.client_id, made.api_key)
    assert caller is not None
    return Sender(world, made, caller)


async def replayed(world: World, resource: str) -> Replay:
    """Replay a verification."""
    id_ = from_text(resource)
    assert id_ is not None
    return await replay(world.store, MASTERS, id_, find=lambda *_: decider_of(world.bundle))


async def activated(world: World) -> None:
    """Activate rules that hit everyone."""
    scorers = [Scorer.load(world.bundle)]
    await activate_rules(world.store, RULES, scorers, by="ops", now=world.clock.now())


def test_the_signal_decides(store_url: str, sealed: Path) -> None:
    """Whatever score and rules say; reasons are true; the score is that of the model; a replay repeats all of it."""

    async def story(world: World) -> None:
        sandbox = await sender_of(world, sandbox=True, strict_signals=True)
        good, bad = signals_of(world.bundle)[0], signals_of(world.bundle, Outcome.FAILED)[0]
        await activated(world)
        found, policies = [], set()
        for sent in (good, bad):
            for wish in (None, *reversed(Outcome)):
                made = await sandbox.verify(**sent, sandboxOutcome=wish)
                assert not {"decidedBy", "policyOutcome", "decidedByCode"} & made.keys()
                row = (await table(world.url, VerificationRow))[-1]
                policy, codes = (
                    row.policy_outcome or row.outcome,
                    [one["code"] for one in made["reasonCodes"]],
                )
                assert (made["scoringOutcome"], row.decided_by) == (wish or policy, "sandbox")
                assert (codes[:1] == ["SANDBOX_OUTCOME"]) == (wish in (Outcome.STEPPED_UP, Outcome.FAILED))
                assert (len(codes) > (wish is not None)) == (policy != "PASSED" != made["scoringOutcome"])
                found.append(made)
                policies.add(policy)
        assert policies >= {"PASSED", "FAILED"}
        first = found[1]["reasonCodes"][0]  # FAILED was asked for
        assert first["description"] == "The client of this sandbox asked for the outcome."
        stepped = next(one for one in found if one["scoringOutcome"] == "STEPPED_UP")
        body = {
            "signals": {**good, "sandboxOutcome": "PASSED"},
            "subjectId": "s",
            "previousVerificationId": stepped["id"],
        }
        assert (await sandbox.ask("POST", VERIFICATIONS, body)).status_code == 201
        assert [await replayed(world, one["id"]) for one in found] == [Replay.SAME] * len(found)
        rows = await table(world.url, VerificationRow)
        assert {(row.rules, row.rule_hits, row.decided_by_code) for row in rows} == {(None, None, None)}
        stored = next(row for row in rows if row.outcome == "FAILED" != row.policy_outcome)
        told = (stored.reasons or "").removeprefix("SANDBOX_OUTCOME").lstrip(",")
        asked = {"sandboxOutcome": "FAILED"}
        assert explains_sandbox(stored, asked, told)
        assert explains_sandbox(stored, {}, told)  # its signals were deleted with age
        assert not explains_sandbox(stored, {"sandboxOutcome": "PASSED"}, told)
        assert not explains_sandbox(stored, {"vpn": True}, told)
        for changes in (
            {"outcome": "PASSED"},
            {"reasons": ""},
            {"rules": 1},
            {"control_drawn": 0},
            {"decided_by": "policy"},
        ):
            assert not explains_sandbox(stored._replace(**changes), asked, told)
        await sandbox.ask("DELETE", f"{VERIFICATIONS}/{found[0]['id']}/signals")
        assert {await replayed(world, one["id"]) for one in found} == {Replay.ERASED}

    run_story(store_url, sealed, story)


def test_a_technical_fault_and_a_long_wait_can_be_asked_for(store_url: str, sealed: Path) -> None:
    """Both are answered with 202; the one ends in ERROR, the other with the outcome of the policy."""

    async def story(world: World) -> None:
        sandbox = await sender_of(world, sandbox=True)
        good = signals_of(world.bundle)[0]
        answers = {}
        for asked in ("PENDING", "ERROR"):
            body = {"signals": {**good, "sandboxOutcome": asked}}
            answer = await sandbox.ask("POST", VERIFICATIONS, body, **{"idempotency-key": asked})
            assert answer.status_code == 202
            assert answer.headers["retry-after"] == "1"
            shown = (answer.json()["status"], answer.json()["scoringOutcome"], answer.json()["sandbox"])
            assert shown == ("PENDING", None, True)
            answers[asked] = answer
        assert await world.pending.step() == 2
        ended = {
            asked: (await sandbox.ask("GET", f"{VERIFICATIONS}/{one.json()['id']}")).json()
            for asked, one in answers.items()
        }
        assert {asked: (one["status"], one["scoringOutcome"]) for asked, one in ended.items()} == {
            "PENDING": ("COMPLETED", "PASSED"),
            "ERROR": ("ERROR", None),
        }
        assert "decidedBy" not in ended["PENDING"].keys() | ended["ERROR"].keys()
        assert await replayed(world, ended["PENDING"]["id"]) is Replay.SAME
        types = [event.type for event in await world.events(sandbox.caller)]
        assert sorted(types) == ["verification.completed", "verification.error", "verification.passed"]
        again = await sandbox.ask(
            "POST",
            VERIFICATIONS,
            {"signals": {**good, "sandboxOutcome": "ERROR"}},
            **{"idempotency-key": "ERROR"},
        )
        assert (again.status_code, again.json()) == (202, answers["ERROR"].json())
        assert await world.pending.step() == 0

    run_story(store_url, sealed, story)


def test_for_other_clients_it_is_any_unknown_signal(sqlite_url: str, sealed: Path) -> None:
    """It decides nothing, is counted, and refused for strict clients; of a sandbox client its value is checked."""

    async def story(world: World) -> None:
        real, strict = await sender_of(world), await sender_of(world, strict_signals=True)
        good = signals_of(world.bundle)[0]
        made = await real.verify(**good, sandboxOutcome="FAILED")
        assert (made["scoringOutcome"], made.get("decidedBy"), made.get("sandbox")) == ("PASSED", None, None)
        refusal = await strict.verify(422, **good, sandboxOutcome="FAILED")
        assert [(one["pointer"], one["code"]) for one in refusal["errors"]] == [
            ("/signals/sandboxOutcome", "unknown_signal")
        ]
        sandbox = await sender_of(world, sandbox=True)
        for wrong in ("passed", 1, True, ""):
            refusal = await sandbox.verify(422, sandboxOutcome=wrong)
            assert [(one["pointer"], one["code"]) for one in refusal["errors"]] == [
                ("/signals/sandboxOutcome", "not_listed")
            ]
        await sandbox.verify(201, sandboxOutcome=None)
        await world.service.unknown_signals.write()
        assert [client for client, _ in await list_unknown_signals(world.store)] == [real.client.client_id]
        with pytest.raises(Invalid, match="a sandbox client shares its history with no other"):
            await sender_of(world, sandbox=True, history_scope="all")

    run_story(sqlite_url, sealed, story)


def test_all_that_a_sandbox_client_sees_is_marked(sqlite_url: str, sealed: Path) -> None:
    """Objects, lists, events and replayed answers of every operation; nothing of another client is."""

    async def story(world: World) -> None:
        for is_sandbox in (True, False):
            sender = await sender_of(world, sandbox=is_sandbox)
            answers = await all_answers(sender)
            for answer in answers:
                content = answer.json()
                for item in content if isinstance(content, list) else [content]:
                    assert item.get("sandbox") == (True if is_sandbox else None), answer.url
                    for inner in item.get("resolutions", []):
                        assert inner.get("sandbox") == (True if is_sandbox else None), answer.url
                assert b"sandbox" not in answer.content or is_sandbox
            assert {one.status_code for one in answers} == {200, 201}
            events = [json.loads(one.data) for one in await world.events(sender.caller)]
            assert len({one.type for one in await table(world.url, EventRow)}) == 7
            assert {one.get("sandbox") for one in events} == {True if is_sandbox else None}

    run_story(sqlite_url, sealed, story)


async def all_answers(sender: Sender) -> list[httpx.Response]:
    """Answers of every operation, the erasures last."""
    identity = {"firstName": "Ada", "lastName": "Byron", "dob": "1990-12-10"}
    hook = {"destinationUrl": "https://example.com/hook", "active": True}
    sent = {"signals": {"vpn": True}, "subjectId": "s"}
    found = []

    async def ask(method: str, path: str, body: Any = None, **headers: str) -> str:
        found.append(await sender.ask(method, path, body, **headers))
        content = found[-1].json()
        return str(content["id"]) if isinstance(content, dict) and "id" in content else ""

    person = await ask("POST", "/scoring/v1/identities", identity)
    made = await ask("POST", VERIFICATIONS, sent, **{"idempotency-key": "k"})
    assert await ask("POST", VERIFICATIONS, sent, **{"idempotency-key": "k"}) == made
    webhook = await ask("POST", "/scoring/v1/webhooks", hook)
    resolution = {"result": "APPROVED", "method": "other"}
    await ask("POST", f"{VERIFICATIONS}/{made}/resolutions", resolution)
    label = {"label": "fraud", "verificationId": made, "knownAt": "2026-06-01T11:59:59Z"}
    await ask("POST", "/scoring/v1/labels", {"labels": [label]})
    for path in (
        *("/scoring/v1/identities", f"/scoring/v1/identities/{person}"),
        *(VERIFICATIONS, f"{VERIFICATIONS}/{made}", f"{VERIFICATIONS}/{made}/resolutions"),
        *("/scoring/v1/webhooks", f"/scoring/v1/webhooks/{webhook}"),
    ):
        await ask("GET", path)
    await ask("POST", f"/scoring/v1/webhooks/{webhook}/test")
    await ask("POST", f"/scoring/v1/webhooks/{webhook}/rotate-secret")
    await ask("GET", f"/scoring/v1/webhooks/{webhook}/deliveries")
    await ask("PUT", f"/scoring/v1/webhooks/{webhook}", hook)
    await ask("DELETE", f"/scoring/v1/webhooks/{webhook}")
    await ask("DELETE", f"{VERIFICATIONS}/{made}/signals")
    await ask("DELETE", f"/scoring/v1/identities/{person}")
    return found


@dataclass(frozen=True)
class Read:
    """What the readers of verifications are given."""

    world: World
    real: str
    folder: Path

    @property
    def vault(self) -> Vault:
        """Opens keys."""
        return Vault(MASTERS)


async def _export(read: Read) -> object:
    clients = await clients_of_one_history(read.world.store, None)
    out = read.folder / "export.parquet"
    types = read.world.service.scoring.scorer.contents.schema.signals
    done = await export_file(read.world.store, read.vault, clients, out, signals=types, since=0, before=LATER)
    return done.records


async def _pages(read: Read) -> object:
    return [
        to_text(row.id)
        async for page in past_pages(read.world.store, read.vault, since=0, before=LATER)
        for row in page.rows
    ]


async def _past(read: Read) -> object:
    scorers = [Scorer.load(read.world.bundle)]
    found = await read_past(read.world.store, read.vault, read.world.secrets, scorers, since=0, before=LATER)
    return found.records["recordId"].to_pylist()


async def _what_if(read: Read) -> object:
    scorer = Scorer.load(read.world.bundle)
    out = read.folder / "whatif.parquet"
    found = await what_if(
        read.world.store, read.vault, read.world.secrets, scorer, out, since=0, before=LATER
    )
    return found.replayed


async def _follow(read: Read) -> object:
    scorer = Scorer.load(read.world.bundle)
    state = FollowState.new(scorer, scorer, since=0)
    pages = follow(read.world.store, read.vault, read.world.secrets, (scorer, scorer), state, before=LATER)
    _ = [page async for page in pages]
    return state.verifications


async def _labels(read: Read) -> object:
    found = await label_delays(read.world.store, read.world.clock)
    return (found.frauds, sum(one.verifications for one in found.coverage.values()), found.control_repeats)


async def _step_ups(read: Read) -> object:
    labels = await label_delays(read.world.store, read.world.clock)
    found = await measure_step_ups(read.world.store, labels)
    return (found.stepped_up, found.by_method, found.frauds.records)


async def _listed(read: Read) -> object:
    listed = await list_verifications(read.world.store, client_id=None, filters={}, before=None, limit=9)
    return [one["id"] for one in listed]


async def _rehearsed(read: Read) -> object:
    async with read.world.store.reading() as reader:
        return [to_text(row.id) for row in await reader.latest_completed(b"\xff" * 16, 9)]


async def _hits(read: Read) -> object:
    return [one["hits"] for one in (await list_rules(read.world.store))[0]["rules"]]


READERS: dict[str, tuple[Callable[[Read], Awaitable[object]], object]] = {
    "data export, retrain": (_export, 1),
    "past pages": (_pages, ["REAL"]),
    "monitor and compare --database": (_past, ["REAL"]),
    "whatif": (_what_if, 1),
    "compare --follow": (_follow, 1),
    "labels report": (_labels, (1, 1, {})),
    "step-ups": (_step_ups, (1, {"other": {"APPROVED": 1}}, 1)),
    "verifications list": (_listed, ["REAL"]),
    "rehearsal of a bundle": (_rehearsed, ["REAL"]),
    "rules list": (_hits, [1, 1]),
}


def test_no_reader_of_verifications_sees_a_sandbox(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """One sandbox and one real verification, both stepped up, approved and then known as fraud: each reader sees one.

    A replay repeats either.
    """

    async def story(world: World) -> None:
        await activated(world)
        real, sandbox = await sender_of(world), await sender_of(world, sandbox=True)
        sent = {**signals_of(world.bundle)[0], "channel": "stepped"}
        made = [await real.verify(**sent), await sandbox.verify(**sent, sandboxOutcome="STEPPED_UP")]
        for sender, one in zip((real, sandbox), made, strict=True):
            assert one["scoringOutcome"] == "STEPPED_UP"
            about = f"{VERIFICATIONS}/{one['id']}/resolutions"
            await sender.ask("POST", about, {"result": "APPROVED", "method": "other"})
            label = {"label": "fraud", "verificationId": one["id"], "knownAt": "2026-06-01T11:59:59Z"}
            answer = await sender.ask("POST", "/scoring/v1/labels", {"labels": [label]})
            assert answer.json()["created"] == 1
            assert await replayed(world, one["id"]) is Replay.SAME
        for sender, other in ((real, made[1]), (sandbox, made[0])):
            assert (await sender.ask("GET", f"{VERIFICATIONS}/{other['id']}")).status_code == 404
            body = {"signals": sent, "previousVerificationId": other["id"], "subjectId": "s"}
            assert (await sender.ask("POST", VERIFICATIONS, body)).status_code == 422
        world.clock.advance(3600)
        read = Read(world, made[0]["id"], tmp_path)
        found = {name: await reader(read) for name, (reader, _) in READERS.items()}
        expected = {name: [read.real] if one == ["REAL"] else one for name, (_, one) in READERS.items()}
        assert found == expected
        with pytest.raises(ValueError, match="nothing of it is exported"):
            await clients_of_one_history(world.store, sandbox.client.client_id)

    run_story(store_url, sealed, story)


def test_no_sandbox_is_drawn_for_the_control_group(sqlite_url: str, controlling: Path) -> None:
    """It gets the outcome of the policy, and spends nothing of the caps of a day."""

    async def story(world: World) -> None:
        bad = signals_of(world.bundle, Outcome.FAILED)[0]
        for sender in (await sender_of(world, sandbox=True), await sender_of(world)):
            made = await sender.verify(**bad)
            is_drawn = not sender.caller.sandbox
            assert made.get("decidedBy") == ("control" if is_drawn else None)
            drawn = [day.drawn for day in await table(world.url, ControlDayRow)]
            assert drawn == ([1] if is_drawn else [])

    run_story(sqlite_url, controlling, story)
