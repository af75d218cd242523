"""Verifications: created, read, and their signals erased."""

import json
from collections.abc import Iterable, Mapping

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.resources import Answer, Caller, Verification
from scoring_model.service.core.rows import BundleRow, IdempotencyRow, VerificationRow
from scoring_model.service.idempotency import IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.identities.persons import Persons, erase
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Done
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.store import Reader, Store, Transaction

PENDING_STATUS = 202


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

    def of(self, row: VerificationRow) -> tuple[tuple[str, str], ...]:
        """Code and sentence of each reason of a verification, strongest first.

        Raises
        ------
        KeyError
            When its bundle is not known; see `refresh`.
        """
        if not row.reasons:
            return ()
        sentences = self._by_versions[row.model_version, row.policy_version]
        return tuple((code, sentences[code]) for code in row.reasons.split(","))

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
            return Answer(verification.as_pending(), pending=True, replayed=True)

        return await self._idempotency.run(caller, request, action, replay)

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
        return Verification.of(row, subject, self._sentences.of(row))
