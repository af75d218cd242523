"""Whether a service answered right: the scorer decides once more about what was sent, from what is stored.

The feature row is made anew from the request and from the link rows that are older than the event, so that a mistake of
the service in any of it is found.
"""

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.filled_database import Filled, rows_of
from benchmarks.load import Load

from scoring_model.contract.ids import from_text
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.history import count_before
from scoring_model.scorer import Scorer
from scoring_model.service.identities import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.store import Past, Reader, open_store


async def check_answers(
    filled: Filled, scorer: Scorer, keyring: Keyring, answers: Sequence[str]
) -> tuple[int, int]:
    """Compare answers with what the scorer decides; end with the first that differs.

    Parameters
    ----------
    filled : Filled
    scorer : Scorer
        Of the bundle that served.
    keyring : Keyring
    answers : sequence of str
        Bodies of 201.

    Returns
    -------
    compared, with_reasons : int
    """
    store = await open_store(filled.url)
    try:
        linker = Linker(await load_or_create(store, keyring), scorer.matrix.link_keys)
        checker = _Checker(filled, scorer, linker, Persons(Vault(keyring)))
        with_reasons = 0
        async with store.reading() as reader:
            for text in answers:
                answer = json.loads(text)
                expected = await checker.decide(reader, answer["id"])
                if any(answer[name] != value for name, value in expected.items()):
                    raise SystemExit(f"{answer} is not what the scorer decides: {expected}")
                with_reasons += bool(answer["reasonCodes"])
    finally:
        await store.close()
    return len(answers), with_reasons


def scores_of(load: Load) -> list[int]:
    """Scores that were answered."""
    return [int(json.loads(answer)["scoringScore"]) for answer in load.answers]


class _Checker:
    def __init__(self, filled: Filled, scorer: Scorer, linker: Linker, persons: Persons) -> None:
        self._filled = filled
        self._scorer = scorer
        self._linker = linker
        self._persons = persons

    async def decide(self, reader: Reader, resource: str) -> dict[str, Any]:
        """What the answer for a verification has to say."""
        row = await reader.verification_by_id(from_text(resource) or b"")
        if row is None or row.completed_at is None:
            raise SystemExit("a verification that was answered is not there")
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
                raise SystemExit("an identity is not there")
            values = {**self._persons.identity_values(identity, key)[0], **values}
        links = self._linker.link(self._filled.caller.history_scope, row.client, values)
        specs = self._scorer.matrix.specs
        history = {
            name: count_before(
                await _before(self._filled.url, value, row.completed_at),
                at=row.completed_at,
                spec=specs[name],
            )
            for name, value in links.hashes
        }
        matrix = self._scorer.matrix
        features = matrix.finish(matrix.start(values), row.completed_at, history)
        if features.tobytes() != stored:
            raise SystemExit("a feature row is not what the same request and history give")
        return _as_answered(self._scorer, features)


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


async def _before(url: str, value: bytes, instant: int) -> list[Past]:
    """All events under a hash before an instant, the latest first, past the store."""
    if url.startswith("sqlite"):
        statement = "SELECT time, person, labels FROM links WHERE hash = ? AND time < ? ORDER BY time DESC"
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(statement, (value, instant)).fetchall()
    server = await asyncpg.connect(url)
    try:
        statement = "SELECT time, person, labels FROM links WHERE hash = $1 AND time < $2 ORDER BY time DESC"
        return [tuple(row) for row in await server.fetch(statement, value, instant)]
    finally:
        await server.close()


async def count_completed(url: str) -> int:
    """How many verifications are COMPLETED, past the store."""
    return int((await rows_of(url, "SELECT count(*) FROM verifications WHERE status = 'COMPLETED'"))[0][0])
