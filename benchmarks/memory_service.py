"""The HTTP layer over a service in memory: parse, features, model, answer, and nothing else.

Measures the cost of serving a bundle without encryption, events and durability. `benchmarks/signals_only.py` starts it
as a program: ``python benchmarks/memory_service.py BUNDLE``. It prints a line of JSON with its address and the headers
of its only client.
"""

import asyncio
import hmac
import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import uvloop

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import (
    ReasonCode,
    Verification,
    VerificationContext,
    VerificationInput,
    VerificationStatus,
)
from scoring_model.features import StartedRow
from scoring_model.history import count_before
from scoring_model.scorer import Scorer
from scoring_model.service.clients import Caller, Permission, key_digest
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.ids import new_id
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.server import run
from scoring_model.service.idempotency import Answer, IdempotentRequest
from scoring_model.service.keys.link_hashes import Linker, Links
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.process import freeze_gc
from scoring_model.service.run import base_url, listen
from scoring_model.service.store import Bucket, Past
from scoring_model.service.store.buckets import MemoryBuckets

CLIENT: Final = "cl_" + 22 * "1"
API_KEY: Final = "sk_" + 43 * "1"
QUOTA: Final = 60_000_000


class _Asked(NamedTuple):
    subject: str | None
    links: Links
    started: StartedRow
    answer: "asyncio.Future[Verification]"


class MemoryService:
    """Verifications of signals only; later ones see earlier ones in their history.

    Parameters
    ----------
    scorer : Scorer
    """

    def __init__(self, scorer: Scorer) -> None:
        self.credentials = self.queue = self.rate_limits = self.verifications = self
        self._scorer = scorer
        self._linker = Linker(Secrets(bytes(32)), scorer.matrix.link_keys)
        self._caller = Caller(1, CLIENT, "1", frozenset(Permission), QUOTA, 60)
        self._digest = key_digest(API_KEY)
        self._buckets = MemoryBuckets()
        self._clock = SystemClock()
        self._asked: list[_Asked] = []
        self._histories: dict[bytes, list[Past]] = defaultdict(list)
        self._kept: dict[bytes, Verification] = {}
        self._latest = 0

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """The only client."""
        same = hmac.compare_digest(key_digest(api_key), self._digest)
        return self._caller if same and client_id == CLIENT else None

    def enter(self, client: int) -> None:
        """Admit every request."""

    def leave(self, client: int) -> None:
        """Do nothing: nothing is counted."""

    async def take_token(self, _caller: Caller) -> Bucket:
        """Spend one request."""
        now = self._clock.now()
        return await self._buckets.take(b"client", capacity=QUOTA, per_second=QUOTA / 60, now=now)

    async def create(
        self, caller: Caller, body: Mapping[str, object], _request: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score waiting requests in one batch."""
        context = VerificationContext(self._scorer.contents.schema.signals)
        request = VerificationInput.parse(body, context)
        values = request.values()
        links = self._linker.link(caller.history_scope, caller.client, values)
        loop = asyncio.get_running_loop()
        asked = _Asked(request.subject_id, links, self._scorer.matrix.start(values), loop.create_future())
        if not self._asked:
            loop.call_soon(self._score)
        self._asked.append(asked)
        return Answer(await asked.answer)

    async def get(self, _caller: Caller, resource: bytes) -> Verification:
        """Find a verification."""
        if resource not in self._kept:
            raise NotFound
        return self._kept[resource]

    def _score(self) -> None:
        batch, self._asked = self._asked, []
        matrix, rows, instants = self._scorer.matrix, [], []
        for asked in batch:
            self._latest = at = max(self._clock.now(), self._latest + 1)
            pasts = {name: self._histories[value] for name, value in asked.links.hashes}
            counts = {
                name: count_before(past, at=at, spec=matrix.specs[name]) for name, past in pasts.items()
            }
            rows.append(matrix.finish(asked.started, at, counts))
            instants.append(at)
            for past in pasts.values():
                past.insert(0, (at, asked.links.person or new_id(at), None))
                del past[matrix.settings.links.cap + 1 :]
        self._answer(batch, instants, np.stack(rows))

    def _answer(self, batch: list[_Asked], instants: list[int], rows: Any) -> None:
        decisions, manifest = self._scorer.decide(rows), self._scorer.manifest
        scores, outcomes = decisions.scores.tolist(), decisions.outcomes.tolist()
        for asked, at, row, score, number in zip(batch, instants, rows, scores, outcomes, strict=True):
            outcome = OUTCOMES[number]
            reasons = () if outcome is Outcome.PASSED else self._scorer.reasons(row)
            resource, time = new_id(at), instant(at)
            made = Verification(
                id=to_text(resource),
                subject_id=asked.subject,
                status=VerificationStatus.COMPLETED,
                scoring_outcome=outcome,
                scoring_score=score,
                reason_codes=tuple(
                    ReasonCode(code=reason.code, description=reason.description) for reason in reasons
                ),
                model_version=manifest.model_version,
                policy_version=manifest.policy_version,
                created_at=time,
                completed_at=time,
            )
            self._kept[resource] = made
            asked.answer.set_result(made)


async def serve(bundle: Path) -> None:
    """Serve until SIGTERM."""
    service = MemoryService(Scorer.load(bundle))
    settings = HttpSettings(access_log=False)
    app = create_app(cast(Any, service), settings, clock=SystemClock())
    with listen("127.0.0.1", 0) as listener:
        freeze_gc()
        headers = {"X-Client-Id": CLIENT, "X-Api-Key": API_KEY}
        print(json.dumps({"url": base_url(listener), "headers": headers}), flush=True)
        await run(app, settings, sockets=[listener], close=_nothing, grace_seconds=5)


async def _nothing() -> None:
    pass


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
