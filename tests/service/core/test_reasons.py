"""Reasons of the service are true of the sent record and of its history."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from reason_oracle import Earlier, History, is_true
from scoring_model.decision.rules import Policy
from scoring_model.records import parse_record, rfc3339
from scoring_model.scorer import Scorer
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.training.run import Training
from service_use import HOUR, World, applicants, run_story, save_under, signals_of


@pytest.fixture(scope="module")
def strict(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model under a policy that passes almost no record, so that almost all have reasons."""
    policy = Policy(step_up_from=1, fail_from=1001)
    return save_under(training.bundle, tmp_path_factory.mktemp("strict") / "bundle", policy)


def test_no_reason_is_untrue(store_url: str, sealed: Path, strict: Path) -> None:
    """Of identities and signals with values left out at random, alone and with shared devices, frauds among them."""
    scorer, random = Scorer.load(strict), Random(3)
    history = History(scorer.matrix.link_keys)
    said: set[str] = set()

    async def story(world: World) -> None:
        caller = await world.client()
        people = [applicant.identity for applicant in applicants(sealed)[:6]]
        identities = [await world.identity(caller, person) for person in people]
        async with world.store.reading() as reader:
            clients = await reader.clients()
        for step in range(60):
            world.clock.at += random.choice((1, HOUR, 200 * HOUR))
            signals = random.choice(signals_of(sealed))
            sent = {name: value for name, value in signals.items() if random.random() < 0.6}
            sent |= {"deviceId": f"d{random.randrange(3)}"} if random.random() < 0.5 else {}
            who = random.randrange(12)
            known: dict[str, Any] = people[who] if who < 6 else {"subjectId": f"s{who}"}
            found = (
                await world.verify(
                    caller,
                    identity=identities[who] if who < 6 else None,
                    signals=sent,
                    subject=None if who < 6 else f"s{who}",
                )
            ).resource
            at = found.completed_at or 0
            body = {**known, "signals": sent, "eventTime": rfc3339(at)}
            values = parse_record(body, scorer.contents.schema).values
            untrue = [reason for reason in found.reasons if not is_true(reason[1], values, at, history)]
            assert not untrue, (step, body)
            said.update(code for code, _ in found.reasons)
            is_fraud = random.random() < 0.3
            history.add(values, Earlier(at, is_fraud, world.clock.at))
            if is_fraud:
                line = LabelLine(found.id, None, "fraud", world.clock.at)
                await import_labels(world.store, clients, [line], world.clock)

    run_story(store_url, strict, story)
    assert {"LINKED_DEVICE", "NO_LINKED_DEVICE"} & said
    assert len(said) >= 10
    assert any(code.startswith("NO_SIGNAL_") for code in said)
