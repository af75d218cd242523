"""Rules under traffic: drawn histories, operators at the same time, and operators that are killed."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import httpx
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import from_text
from scoring_model.rules import parse_rules
from scoring_model.scorer import Scorer
from scoring_model.service.activation.activating import (
    ActivationRefused,
    ActivationUnanswered,
    activate,
)
from scoring_model.service.activation.rules import RulesRefused, activate_rules, roll_back_rules
from scoring_model.service.clients.clients import NewClient, Permission, create_client
from scoring_model.service.core.rows import RuleSetRow, VerificationRow
from scoring_model.service.http import create_app
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.service.store import open_store
from service_use import HOUR, MASTERS, START, World, decider_of, run_story, signals_of, table

PATH: Final = "/scoring/v1/verifications"
UNTIL: Final = START + 30 * HOUR
"""The end of a rule that ends, 2026-06-02 18:00."""
SEED: Final = 5
HOURS: Final = 40
DEVICES: Final = ("d1", "d2", "d3")
CHANNELS: Final = ("web", "app", "friend")
Holds = Callable[[Mapping[str, Any], int, int], bool]
POOL: Final[list[tuple[dict[str, Any], str, Holds]]] = [
    ({"signals.deviceId": {"is": "d1"}}, "FAILED", lambda sent, score, at: sent["deviceId"] == "d1"),
    (
        {"signals.deviceId": {"in": ["d1", "d2"]}},
        "STEPPED_UP",
        lambda sent, score, at: sent["deviceId"] != "d3",
    ),
    ({"signals.channel": {"is": "friend"}}, "PASSED", lambda sent, score, at: sent["channel"] == "friend"),
    ({"score": {"at_least": 300}}, "OBSERVE", lambda sent, score, at: score >= 300),
    ({"score": {"below": 300}}, "STEPPED_UP", lambda sent, score, at: score < 300),
    ({"score": {"at_least": 0}}, "FAILED", lambda sent, score, at: at < UNTIL),
]
"""Conditions, action, and in Python when the rule holds: for signals, the score and the time of the event."""


def drawn_rules(draw: random.Random) -> list[int]:
    """Some rules of the pool, in some order."""
    return draw.sample(range(len(POOL)), draw.randint(1, 3))


def file_of(places: list[int]) -> dict[str, Any]:
    """A file of rules."""
    ends = {5: {"until": "2026-06-02T18:00:00Z"}}
    return {
        "rules": [
            {
                "code": f"R{place}",
                "title": "a rule",
                "when": POOL[place][0],
                "then": POOL[place][1],
                **ends.get(place, {}),
            }
            for place in places
        ]
    }


def expected(
    places: list[int], sent: Mapping[str, Any], row: VerificationRow
) -> tuple[str | None, str | None]:
    """Which rule decides, and which hold, by the words of the page on rules."""
    held = [place for place in places if POOL[place][2](sent, row.score or 0, row.completed_at or 0)]
    acting = [place for place in held if POOL[place][1] != "OBSERVE"]
    return (f"R{acting[0]}" if acting else None), (",".join(f"R{place}" for place in held) or None)


async def client_of(world: World) -> NewClient:
    """A new client."""
    return await create_client(world.store, name="a client", permissions=frozenset(Permission), now=START)


def test_drawn_histories_with_rules_that_come_and_go(store_url: str, sealed: Path) -> None:
    """Every verdict is that of the rules of its time, read by another reader, and its replay is the same."""
    draw = random.Random(SEED)

    async def story(world: World) -> None:
        client = await client_of(world)
        headers = {"x-client-id": client.client_id, "x-api-key": client.api_key}
        app = create_app(world.service, HttpSettings(access_log=False), clock=world.clock)
        signals = [*signals_of(world.bundle)[:8], *signals_of(world.bundle, Outcome.FAILED)[:8]]
        scorers = [Scorer.load(world.bundle)]
        active: list[list[int]] = []
        asked: dict[str, tuple[list[int] | None, dict[str, Any]]] = {}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as sender:
            for hour in range(HOURS):
                world.clock.at = START + hour * HOUR
                if draw.random() < 0.3 and (not active or (found := drawn_rules(draw)) != active[-1]):
                    active.append(found if active else drawn_rules(draw))
                    await activate_rules(
                        world.store, file_of(active[-1]), scorers, by="ops", now=world.clock.at
                    )
                elif active and draw.random() < 0.2:
                    active.append(active[-2] if len(active) > 1 else [])
                    await roll_back_rules(world.store, by="ops", now=world.clock.at)
                own = {"deviceId": draw.choice(DEVICES), "channel": draw.choice(CHANNELS)}
                sent = {**draw.choice(signals), **own}
                answer = await sender.post(PATH, headers=headers, json={"signals": sent})
                asked[answer.json()["id"]] = (active[-1] if active else None, sent)
        rows = {row.id: row for row in await table(world.url, VerificationRow)}
        deciding = set()
        for text, (places, sent) in asked.items():
            id_ = from_text(text)
            assert id_ is not None
            row = rows[id_]
            code, hits = (None, None) if places is None else expected(places, sent, row)
            assert (row.decided_by_code, row.rule_hits) == (code, hits), places
            assert row.outcome == (row.outcome_of_policy if code is None else POOL[int(code[1])][1])
            deciding.add(code)
            assert (
                await replay(world.store, MASTERS, id_, find=lambda *_: decider_of(world.bundle))
                is Replay.SAME
            )
        assert len(deciding) >= 5
        assert len({row.rules for row in rows.values()}) >= 8

    run_story(store_url, sealed, story)


A, B = file_of([0]), file_of([1])


def test_operators_at_the_same_time(store_url: str, sealed: Path) -> None:
    """Each with a connection of its own: what was acknowledged is there, in one order, and the rest was refused."""
    scorers = [Scorer.load(sealed)]
    start = Barrier(6)

    def operate(place: int) -> list[RuleSetRow]:
        async def run() -> list[RuleSetRow]:
            store, done = await open_store(store_url), []
            try:
                start.wait(20)
                for turn in range(4):
                    with suppress(RulesRefused):
                        if (place + turn) % 3 == 2:
                            done.append(await roll_back_rules(store, by=f"{place}", now=turn))
                        else:
                            asked = (A, B)[(place + turn) % 3]
                            done.append(await activate_rules(store, asked, scorers, by=f"{place}", now=turn))
            finally:
                await store.close()
            return done

        return asyncio.run(run())

    with ThreadPoolExecutor(6) as pool:
        acknowledged = [row for done in pool.map(operate, range(6)) for row in done]
    stored = sorted(asyncio.run(table(store_url, RuleSetRow)))
    assert sorted(acknowledged) == stored
    assert [row.number for row in stored] == list(range(1, len(stored) + 1))
    for before, after in pairwise(stored):
        assert before.version != after.version


OPERATOR: Final = """
import asyncio, json, sys
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.store import open_store

async def main(url, bundle, files):
    store, scorers = await open_store(url), [Scorer.load(bundle)]
    for number in range(100_000):
        row = await activate_rules(store, files[number % 2], scorers, by="ops", now=number)
        print(row.number, row.version, flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
"""


def test_a_killed_operator_leaves_the_old_rules_or_the_new(store_url: str, sealed: Path) -> None:
    """Killed among activations: all that were acknowledged are there, and at most one more, which is whole."""
    words = [sys.executable, "-c", OPERATOR, store_url, str(sealed), json.dumps([A, B])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as operator:
        assert operator.stdout is not None
        said = [operator.stdout.readline() for _ in range(25)]
        operator.send_signal(signal.SIGKILL)
        said += operator.stdout.readlines()
    told = [line.split() for line in said if line.endswith("\n")]
    versions = [version for _, version in told]

    async def story(world: World) -> None:
        rows = sorted(await table(world.url, RuleSetRow))
        assert [row.version for row in rows][: len(versions)] == versions
        assert len(rows) - len(versions) in (0, 1)
        assert all(parse_rules(json.loads(row.document)).version == row.version for row in rows)
        caller = await world.client()
        signals = {**signals_of(world.bundle)[0], "deviceId": "d1"}
        found = (await world.verify(caller, signals=signals)).resource
        assert found.outcome == (Outcome.FAILED if len(rows) % 2 else Outcome.STEPPED_UP)
        assert (await world.row(found.id)).rules == rows[-1].number

    run_story(store_url, sealed, story)


def test_rules_know_of_a_bundle_that_is_not_active_yet(
    sqlite_url: str, sealed: Path, controlling: Path
) -> None:
    """While processes check a bundle, rules are checked against it too."""

    async def story(world: World) -> None:
        await world.service.follower.step()
        with pytest.raises(ActivationUnanswered):
            await activate(world.store, controlling, by="ops", clock=world.clock, timeout=0)
        one, other = Scorer.load(sealed), Scorer.load(controlling)
        with pytest.raises(RulesRefused, match=f"give .*{other.manifest.policy_version} too"):
            await activate_rules(world.store, A, [one], by="ops", now=START)
        await activate_rules(world.store, A, [one, other], by="ops", now=START)

    run_story(sqlite_url, sealed, story)


def test_a_bundle_knows_of_rules_that_become_active_meanwhile(
    sqlite_url: str, sealed: Path, controlling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules that another operator activates just before the request of a bundle refuse it."""
    reads = file_of([])
    reads["rules"] = [{**A["rules"][0], "when": {"link_device_30d_records": {"at_least": 2}}}]

    async def story(world: World) -> None:
        async def meanwhile() -> None:
            world.store.before_each = None
            await activate_rules(world.store, reads, [Scorer.load(sealed)], by="ops", now=START)
            names = {name: kind for name, kind in Scorer.load(sealed).rule_names.items() if "30d" not in name}
            monkeypatch.setattr(Scorer, "rule_names", names)

        world.store.before_each = meanwhile
        with pytest.raises(ActivationRefused, match=r"the active rules read: .*link_device_30d_records"):
            await activate(world.store, controlling, by="ops", clock=world.clock, timeout=0)

    run_story(sqlite_url, sealed, story)
