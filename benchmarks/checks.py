"""Check the answers of a service: the scorer decides again on each request, from the stored history.

The feature row is computed again from the request and the link rows older than the event, so that a mistake of the
service in any step is found.
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

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import from_text
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
    """Compare answers with the scorer's decisions; exit at the first difference.

    Parameters
    ----------
    filled : Filled
    scorer : Scorer
        Of the served bundle.
    keyring : Keyring
    answers : sequence of str
        Bodies of answers with 201.

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
                    raise SystemExit(f"{answer} differs from the scorer's decision: {expected}")
                with_reasons += bool(answer["reasonCodes"])
    finally:
        await store.close()
    return len(answers), with_reasons


def scores_of(load: Load) -> list[int]:
    """Scores in the answers."""
    return [int(json.loads(answer)["scoringScore"]) for answer in load.answers]


class _Checker:
    def __init__(self, filled: Filled, scorer: Scorer, linker: Linker, persons: Persons) -> None:
        self._filled = filled
        self._scorer = scorer
        self._linker = linker
        self._persons = persons

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
            raise SystemExit("a feature row differs from that of the same request and history")
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
    """All events under a hash before an instant, latest first, read directly from the database."""
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
    """Number of COMPLETED verifications, read directly from the database."""
    return int((await rows_of(url, "SELECT count(*) FROM verifications WHERE status = 'COMPLETED'"))[0][0])
