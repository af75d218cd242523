"""Verifications: created, read, and their signals erased."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from scoring_model.contract.ids import to_text
from scoring_model.contract.resource import instant
from scoring_model.contract.verification import ReasonCode, Verification, VerificationStatus
from scoring_model.service.clients import Caller
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.rows import BundleRow, IdempotencyRow, VerificationRow
from scoring_model.service.idempotency import Answer, IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.identities import Persons, erase
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Done
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.store import Reader, Store, Transaction

PENDING_STATUS: Final = 202
_AS_PENDING: Final[dict[str, object]] = {
    "status": VerificationStatus.PENDING,
    "reason_codes": (),
    **dict.fromkeys(("scoring_outcome", "scoring_score", "model_version", "policy_version", "completed_at")),
}
"""What the answer 202 showed of a verification that has a decision by now."""


class Sentences:
    """The sentences of reason codes, as the bundle that decided has them: a decision reads the same for ever.

    Parameters
    ----------
    bundles : iterable of BundleRow
        Every bundle that ever served, as far as this process knows.
    """

    def __init__(self, bundles: Iterable[BundleRow]) -> None:
        self._by_versions: dict[tuple[str | None, str | None], dict[str, str]] = {}
        self._add(bundles)

    def of(self, row: VerificationRow) -> tuple[ReasonCode, ...]:
        """Code and sentence of each reason of a verification, strongest first.

        Raises
        ------
        KeyError
            When its bundle is not known; see `refresh`.
        """
        if not row.reasons:
            return ()
        sentences = self._by_versions[row.model_version, row.policy_version]
        codes = row.reasons.split(",")
        return tuple([ReasonCode(code=code, description=sentences[code]) for code in codes])

    async def refresh(self, reader: Reader, row: VerificationRow) -> None:
        """Read the bundles again if that of a verification is unknown: another process may serve it."""
        if row.reasons and (row.model_version, row.policy_version) not in self._by_versions:
            self._add(await reader.bundles())

    def _add(self, bundles: Iterable[BundleRow]) -> None:
        for row in bundles:
            self._by_versions[row.model_version, row.policy_version] = json.loads(row.reasons)


class Verifications:
    """The operations on verifications.

    Parameters
    ----------
    store : Store
    queue : CommitQueue
    idempotency : IdempotencyStore
    persons : Persons
    candidates : CandidateBuilder
    scoring : Scoring
    clock : Clock
    sentences : Sentences
    """

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        idempotency: IdempotencyStore,
        persons: Persons,
        candidates: CandidateBuilder,
        scoring: Scoring,
        clock: Clock,
        sentences: Sentences,
    ) -> None:
        self._store = store
        self._queue = queue
        self._idempotency = idempotency
        self._persons = persons
        self._candidates = candidates
        self._scoring = scoring
        self._clock = clock
        self._sentences = sentences

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score an identity, or signals alone; see `parse_request` for the rules of the body.

        Raises
        ------
        Invalid
            When the body breaks a rule, or names an identity or a verification that the client does not have.
        IdentityNotValidated
            When the identity is not validated, or was erased meanwhile.
        """

        async def action(record: IdempotencyRecord | None) -> Answer[Verification]:
            candidate = await self._candidates.new(caller, body, None if request is None else request.key)
            done = await self._queue.submit(candidate, self._scoring.jobs, candidate, record)
            verification = self._shown(done.value, candidate.request.subject_id)
            return Answer(verification, pending=done.status == PENDING_STATUS)

        async def replay(row: IdempotencyRow) -> Answer[Verification]:
            verification = await self.get(caller, row.resource)
            if row.status != PENDING_STATUS:
                return Answer(verification, replayed=True)
            return Answer(verification.model_copy(update=_AS_PENDING), pending=True, replayed=True)

        return await self._idempotency.run(caller.client, request, action, replay)

    async def get(self, caller: Caller, resource: bytes) -> Verification:
        """Read a verification.

        Raises
        ------
        NotFound
            When the client has none of this id.
        """
        async with self._store.reading() as reader:
            row = await reader.verification(caller.client, resource)
            if row is None:
                raise NotFound
            await self._sentences.refresh(reader, row)
            return self._shown(row, await self._persons.subject(reader, row))

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """Erase the person of a verification; its decision stays. A second erasure changes nothing."""

        async def change(transaction: Transaction) -> Done[VerificationRow]:
            row = await transaction.verification(caller.client, resource)
            if row is None:
                raise NotFound
            await self._sentences.refresh(transaction, row)
            if row.payload is not None:
                await erase(transaction, row.key_id, self._clock.now())
            return Done(row, row.id, 200)

        done = await self._queue.change(caller, change)
        return self._shown(done.value, None)

    def _shown(self, row: VerificationRow, subject: str | None) -> Verification:
        """A row as its client sees it."""
        previous = row.previous_id
        return Verification(
            id=to_text(row.id),
            identity_id=None if row.identity_id is None else to_text(row.identity_id),
            subject_id=subject,
            status=row.status,
            scoring_outcome=row.outcome,
            scoring_score=row.score,
            reason_codes=self._sentences.of(row),
            model_version=row.model_version,
            policy_version=row.policy_version,
            previous_verification_id=None if previous is None else to_text(previous),
            created_at=instant(row.created_at),
            completed_at=None if row.completed_at is None else instant(row.completed_at),
        )
