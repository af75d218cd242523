"""Verifications: created, read, finished later, and their signals erased."""

from collections.abc import Mapping
from dataclasses import replace

from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.features import FeatureMatrix
from scoring_model.records import RecordSchema
from scoring_model.service.core import ids
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdentityNotValidated, Invalid, NotFound
from scoring_model.service.core.idempotency import IdempotencyRecord
from scoring_model.service.core.resources import Answer, Caller, IdempotentRequest, Verification
from scoring_model.service.core.rows import IdempotencyRow, IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.core.sentences import Sentences
from scoring_model.service.core.store import Reader, Store, Transaction
from scoring_model.service.identities.persons import Persons, erase
from scoring_model.service.keys.data_keys import DataKey
from scoring_model.service.keys.link_hashes import Linker, Links
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.idempotency import IdempotencyStore
from scoring_model.service.scoring.request import (
    VerificationRequest,
    canonical_values,
    not_to_be_followed,
    parse_request,
    unknown_identity_id,
    unknown_previous_id,
)
from scoring_model.service.scoring.verdicts import Candidate, Done

PENDING_STATUS = 202


class Verifications:
    """The operations on verifications.

    Parameters
    ----------
    store : Store
    queue : CommitQueue
    repetition : Repetition
    persons : Persons
    linker : Linker
    clock : Clock
    schema : RecordSchema
        Signals of the served model.
    matrix : FeatureMatrix
        Of the served model.
    sentences : Sentences
        Of every bundle that ever served.
    """

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        repetition: IdempotencyStore,
        persons: Persons,
        linker: Linker,
        clock: Clock,
        schema: RecordSchema,
        matrix: FeatureMatrix,
        sentences: Sentences,
    ) -> None:
        self._store = store
        self._queue = queue
        self._repetition = repetition
        self._persons = persons
        self._linker = linker
        self._clock = clock
        self._schema = schema
        self._matrix = matrix
        self._sentences = sentences

    async def create(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score an identity, or signals alone; see `parse_request` for the rules of the body.

        Raises
        ------
        Invalid
            When the body breaks a rule, or names an identity or a verification that the client does not have.
        IdentityNotValidated
            When the identity is not validated, or no longer there to be.
        """

        async def action(mark: IdempotencyRecord | None) -> Answer[Verification]:
            candidate = await self._candidate(caller, body, None if once is None else once.key)
            done = await self._queue.score(candidate, mark)
            verification = self.of(done.value, candidate.request.subject_id)
            return Answer(verification, pending=done.status == PENDING_STATUS)

        async def replay(row: IdempotencyRow) -> Answer[Verification]:
            verification = await self.get(caller, row.resource)
            if row.status != PENDING_STATUS:
                return Answer(verification, replayed=True)
            return Answer(_as_accepted(verification), pending=True, replayed=True)

        return await self._repetition.once(caller, once, action, replay)

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
            await self._sentences.learn(reader, row)
            return self.of(row, await self._persons.subject(reader, row))

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """Erase the person of a verification; its verdict stays. Doing it again answers the same."""

        async def cut(transaction: Transaction) -> Done[VerificationRow]:
            row = await transaction.verification(caller.client, resource)
            if row is None:
                raise NotFound
            await self._sentences.learn(transaction, row)
            if row.payload is not None:
                await erase(transaction, row.key_id, self._clock.now())
            return Done(row, row.id, 200)

        done = await self._queue.change(caller, None, cut)
        return self.of(done.value, None)

    def of(self, row: VerificationRow, subject: str | None) -> Verification:
        """A row as its client sees it."""
        return Verification(
            id=row.id,
            identity_id=row.identity_id,
            previous_id=row.previous_id,
            subject_id=subject,
            status=VerificationStatus(row.status),
            outcome=None if row.outcome is None else Outcome(row.outcome),
            score=row.score,
            reasons=self._sentences.of(row),
            model_version=row.model_version,
            policy_version=row.policy_version,
            created_at=row.created_at,
            completed_at=row.completed_at,
        )

    async def pending_candidate(self, row: VerificationRow, pool: str) -> Candidate | None:
        """What a PENDING row needs to be scored; None when its person was erased.

        Raises
        ------
        Invalid
            When the served model takes other signals than the one that was served when the row was written.
        """
        async with self._store.reading() as reader:
            key_row = (await reader.person_keys([row.key_id])).get(row.key_id)
            if key_row is None or row.payload is None:
                return None
            key = self._persons.open_key(key_row)
            signals, subject, _ = self._persons.verification_payload(row, key)
            reference = self._persons.reference(row, key)
            values = canonical_values(signals, subject, self._schema)
            request = VerificationRequest(row.identity_id, row.previous_id, subject, signals, values)
            if row.identity_id is not None:
                identity = await reader.identity(row.client, row.identity_id)
                if identity is None or identity.payload is None:
                    return None
                values = {**self._persons.identity_values(identity, key)[0], **values}
        return Candidate(
            id=row.id,
            client=row.client,
            pool=pool,
            request=request,
            links=self._linker.link(pool, row.client, values),
            started=self._matrix.start(values),
            key_row=key_row,
            created_at=row.created_at,
            reference=reference,
            opened=key,
            pending=row,
        )

    async def _candidate(
        self, caller: Caller, body: Mapping[str, object], reference: str | None
    ) -> Candidate:
        """All that can be known before the lock is taken."""
        now = self._clock.now()
        request = parse_request(body, self._schema)
        values: dict[str, object] = request.values
        key_row = opened = None
        if request.identity_id is None and request.previous_id is None:
            links = self._linker.link(caller.pool, caller.client, values)
        else:
            values, links, key_row, opened = await self._looked_up(caller, request)
        return Candidate(
            id=ids.new_id(now),
            client=caller.client,
            pool=caller.pool,
            request=request,
            links=links,
            started=self._matrix.start(values),
            key_row=key_row,
            created_at=now,
            reference=reference,
            opened=opened,
        )

    async def _looked_up(
        self, caller: Caller, request: VerificationRequest
    ) -> tuple[dict[str, object], Links, PersonKeyRow | None, DataKey | None]:
        """Values, links and the key of the person, kept and opened, of a request that names somebody."""
        problems: list[Invalid] = []
        async with self._store.reading() as reader:
            identity = key_row = opened = None
            if request.identity_id is not None:
                known = await reader.identity_and_key(caller.client, request.identity_id)
                if known is None:
                    problems.append(unknown_identity_id())
                else:
                    identity, key_row = known
            values: dict[str, object] = request.values
            if identity is not None and key_row is not None:
                opened = self._persons.open_key(key_row)
                values = {**self._persons.identity_values(identity, opened)[0], **values}
            person = None if key_row is None else key_row.person
            links = self._linker.link(caller.pool, caller.client, values, person=person)
            if request.previous_id is not None:
                previous = await reader.verification(caller.client, request.previous_id)
                if previous is None:
                    problems.append(unknown_previous_id())
                elif not await _follows(reader, previous, request, identity, links.person):
                    problems.append(not_to_be_followed())
        if problems:
            raise Invalid(tuple(error for problem in problems for error in problem.errors))
        if identity is not None and (key_row is None or identity.status != IdentityStatus.VALIDATED):
            raise IdentityNotValidated
        return values, links, key_row, opened


async def _follows(
    reader: Reader,
    previous: VerificationRow,
    request: VerificationRequest,
    identity: IdentityRow | None,
    person: bytes | None,
) -> bool:
    """Whether a verification asked for a further one of the same person: all of one person have one key."""
    if previous.outcome != Outcome.STEPPED_UP:
        return False
    if request.identity_id is not None:
        # Whose an identity is that is not there can't be said; that it is not there is an error of its own.
        return identity is None or identity.key_id == previous.key_id
    if person is None:
        return False
    known = await reader.persons([(previous.client, person)])
    return bool(known) and known[previous.client, person].key_id == previous.key_id


def _as_accepted(verification: Verification) -> Verification:
    """A verification as it was when it was taken and not finished."""
    return replace(
        verification,
        status=VerificationStatus.PENDING,
        outcome=None,
        score=None,
        reasons=(),
        model_version=None,
        policy_version=None,
        completed_at=None,
    )
