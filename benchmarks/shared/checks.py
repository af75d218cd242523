"""Check the answers of a service: the scorer decides again on each request, from the stored history.

The feature row is computed again from the request and the link rows older than the event, so that a mistake of the
service in any step is found.
"""

import json
from collections.abc import Sequence
from typing import Any

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import from_text
from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.history import count_before
from scoring_model.scorer import Scorer
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.store import Reader, open_store
from service_use import blob, select
from shared.database import Site, secrets_of


async def check_answers(site: Site, scorer: Scorer, answers: Sequence[bytes]) -> str:
    """Compare answers with 201 with the decisions of the scorer of the served bundle; exit at the first difference."""
    checker = _Checker(
        site, scorer, Linker(await secrets_of(site.url, site.keyring), scorer.matrix.link_keys)
    )
    store = await open_store(site.url)
    try:
        explained = 0
        async with store.reading() as reader:
            for text in answers:
                answer = json.loads(text)
                expected = await checker.decide(reader, answer["id"])
                if any(answer[name] != value for name, value in expected.items()):
                    raise SystemExit(f"{answer} differs from the scorer's decision: {expected}")
                explained += bool(answer["reasonCodes"])
    finally:
        await store.close()
    return f"{len(answers)} answers are the scorer's own, {explained / len(answers):.1%} of them with reasons"


class _Checker:
    def __init__(self, site: Site, scorer: Scorer, linker: Linker) -> None:
        self._site = site
        self._scorer = scorer
        self._linker = linker
        self._persons = Persons(Vault(site.keyring))

    async def decide(self, reader: Reader, resource: str) -> dict[str, Any]:
        """Expected answer for a verification."""
        row = await reader.verification_by_id(from_text(resource) or b"")
        if row is None or row.completed_at is None:
            raise SystemExit("a verification that was answered is not stored")
        key = await self._persons.key_of(reader, row.key_id)
        if key is None:
            raise SystemExit("a verification that was answered has no key")
        signals, subject, stored = self._persons.verification_payload(row, key)
        body = {"signals": signals, "subjectId": subject}
        context = VerificationContext(self._scorer.contents.schema.signals)
        values = VerificationInput.parse(body, context).values()
        if row.identity_id is not None:
            identity = await reader.identity(row.client, row.identity_id)
            if identity is None:
                raise SystemExit("an identity is not stored")
            values = {**self._persons.identity_values(identity, key), **values}
        links = self._linker.link(self._site.caller.history_scope, row.client, values)
        matrix, at = self._scorer.matrix, row.completed_at
        history = {
            name: count_before(await self._before(value, at), at=at, spec=matrix.specs[name])
            for name, value in links.hashes
        }
        features = matrix.finish(matrix.start(values), at, history)
        if features.tobytes() != stored:
            raise SystemExit("a feature row differs from that of the same request and history")
        return _as_answered(self._scorer, features)

    async def _before(self, value: bytes, instant: int) -> list[tuple[Any, ...]]:
        """All events under a hash before an instant, latest first, read directly from the database."""
        url = self._site.url
        condition = f"hash = {blob(url, value)} AND time < {instant}"
        return await select(
            url, f"SELECT time, person, labels FROM links WHERE {condition} ORDER BY time DESC"
        )


def _as_answered(scorer: Scorer, features: Any) -> dict[str, Any]:
    decision = scorer.decide_row(features)
    return {
        "status": "COMPLETED",
        "scoringScore": decision.score,
        "scoringOutcome": Outcome(decision.outcome).value,
        "reasonCodes": [
            {"code": reason.code, "description": reason.description} for reason in decision.reasons
        ],
        "modelVersion": decision.model_version,
        "policyVersion": decision.policy_version,
    }
