"""Operations on verifications: create, read, erase signals."""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import ReasonCode, Verification, VerificationStatus
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import HistoryIncomplete, NotFound
from scoring_model.service.core.rows import BundleRow, IdempotencyRow, VerificationRow
from scoring_model.service.identities.persons import Persons, erase
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Purpose
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.requests.lists import ListFilter, merged, read_page
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.scoring.sandbox import OWN_SENTENCES
from scoring_model.service.scoring.scoring import IMPORT_RETRY_SECONDS
from scoring_model.service.scoring.served import Serving
from scoring_model.service.store import Index, Page, Position, Reader, Transaction

PENDING_STATUS: Final = 202
_AS_PENDING: Final[dict[str, object]] = {
    "status": VerificationStatus.PENDING,
    "reason_codes": (),
    **dict.fromkeys(
        (
            *("scoring_outcome", "scoring_score", "model_version", "policy_version", "completed_at"),
            *("decided_by", "policy_outcome", "decided_by_code"),
        )
    ),
}
"""The fields that the 202 response had, for a verification that was completed since."""


_TURN: Final = 25
"""Verifications of a page that are decrypted at a time, which takes about a millisecond."""

_RARE: Final[Mapping[str | None, Index]] = {
    Outcome.FAILED: Index.FAILED,
    Outcome.STEPPED_UP: Index.STEPPED_UP,
}
"""Outcomes that have an index of their own."""


class Verifications(Operations):
    """The operations on verifications.

    Parameters
    ----------
    bundles : iterable of BundleRow
        Every bundle known to have served: a decision keeps the reason texts of the bundle that made it.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        persons: Persons,
        serving: Serving,
        linker: Linker,
        bundles: Iterable[BundleRow],
    ) -> None:
        super().__init__(backend)
        self._linker = linker
        self._persons = persons
        self._serving = serving
        self._sentences: dict[tuple[str | None, str | None], dict[str, str]] = {}
        self.learn(bundles)

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score an identity, or signals alone; see `VerificationInput` for the rules of the body.

        Raises
        ------
        Invalid
            If the body breaks a rule, or refers to an identity or verification that the client does not have.
        IdentityNotValidated
            If the identity is not validated, or was erased in the meantime.
        HistoryIncomplete
            While the history of the client is being imported.
        """

        async def action(record: IdempotencyRecord | None) -> Answer[Verification]:
            if caller.importing:
                raise HistoryIncomplete(IMPORT_RETRY_SECONDS)
            bundle = self._serving.current
            candidate = await bundle.candidates.new(caller, body, None if request is None else request.key)
            done = await self._queue.submit(candidate, bundle.scoring.jobs, candidate, record)
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
            If the client has no verification with this id.
        """
        async with self._store.reading() as reader:
            row = await reader.verification(caller.client, resource)
            if row is None:
                raise NotFound
            await self._find_sentences(reader, row)
            return self._shown(row, await self._persons.subject(reader, row))

    async def page(
        self, caller: Caller, wanted: ListFilter, *, after: Position | None, limit: int
    ) -> tuple[list[Verification], Position | None]:
        """Read a page of verifications, latest first; also returns where the next one begins, None on the last."""
        async with self._store.reading() as reader:
            searched = await self._searched(reader, caller, wanted)
            pages = [
                Page(
                    index=index,
                    key=key,
                    after=wanted.begin(after),
                    created_after=wanted.earliest,
                    filters=filters,
                    limit=limit,
                )
                for index, key, filters in searched
            ]
        rows, end = merged([await read_page(self._store, page, self._queue.lull) for page in pages], limit)
        async with self._store.reading() as reader:
            keys = await reader.person_keys(
                list({row.key_id: None for row in rows if row.payload is not None})
            )
            for row in rows:
                await self._find_sentences(reader, row)
        shown = []
        for place, row in enumerate(rows):
            if place % _TURN == 0:
                await self._queue.lull()
            key = keys.get(row.key_id)
            opened = None if key is None else self._persons.open_key(key)
            subject = None if opened is None else self._persons.verification_payload(row, opened)[1]
            shown.append(self._shown(row, subject))
        return shown, end

    async def _searched(
        self, reader: Reader, caller: Caller, wanted: ListFilter
    ) -> list[tuple[Index, object, dict[str, object]]]:
        """Return the indexes to search, each with its key and the filters that it does not decide."""
        named: dict[str, object] = {
            "identity_id": wanted.identity_id,
            "outcome": wanted.outcome,
            "status": wanted.status,
            "model_version": wanted.model_version,
            "resolution": wanted.resolution,
        }
        filters = {column: value for column, value in named.items() if value is not None}
        if wanted.subject_id is not None:
            # Without an identity the subject is the person; with one its hash was stored.
            person = self._linker.link(
                caller.history_scope, caller.client, {"subjectId": wanted.subject_id}
            ).person
            known = {} if person is None else await reader.persons([(caller.client, person)])
            subject = self._secrets.reference(Purpose.SUBJECT, caller.client, wanted.subject_id)
            keys = [row.key_id for row in known.values()]
            return [(Index.OF_SUBJECT, subject, filters), *((Index.OF_PERSON, key, filters) for key in keys)]
        if wanted.identity_id is not None:
            identity = await reader.identity(caller.client, wanted.identity_id)
            return [] if identity is None else [(Index.OF_PERSON, identity.key_id, filters)]
        if wanted.outcome in _RARE:
            del filters["outcome"]
            return [(_RARE[wanted.outcome], caller.client, filters)]
        if wanted.status is not None and wanted.status != VerificationStatus.COMPLETED:
            return [(Index.UNFINISHED, caller.client, filters)]
        return [(Index.VERIFICATIONS, caller.client, filters)]

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """Erase the person of a verification and keep its decision. Idempotent."""
        more = True
        while more:
            step = partial(self._erase, caller=caller, resource=resource)
            row, more = (await self._queue.change(caller, step)).value
        return self._shown(row, None)

    async def _erase(
        self, transaction: Transaction, *, caller: Caller, resource: bytes
    ) -> Done[tuple[VerificationRow, bool]]:
        row = await transaction.verification(caller.client, resource)
        if row is None:
            raise NotFound
        await self._find_sentences(transaction, row)
        more = await erase(transaction, row.key_id, self._clock.now(), begun=row.payload is None)
        return Done((row, more), row.id, 200)

    def _shown(self, row: VerificationRow, subject: str | None) -> Verification:
        """Return a row as its client sees it, with the code and text of each reason, strongest first."""
        previous = row.previous_id
        is_told = row.policy_outcome is not None and row.decided_by != DecidedBy.SANDBOX
        reasons: tuple[ReasonCode, ...] = ()
        if row.reasons:
            sentences = self._sentences[row.model_version, row.policy_version]
            codes = row.reasons.split(",")
            reasons = tuple([ReasonCode(code=code, description=_sentence(sentences, code)) for code in codes])
        return Verification(
            id=to_text(row.id),
            identity_id=None if row.identity_id is None else to_text(row.identity_id),
            subject_id=subject,
            status=row.status,
            scoring_outcome=row.outcome,
            scoring_score=row.score,
            reason_codes=reasons,
            model_version=row.model_version,
            policy_version=row.policy_version,
            previous_verification_id=None if previous is None else to_text(previous),
            created_at=instant(row.created_at),
            completed_at=None if row.completed_at is None else instant(row.completed_at),
            decided_by=row.decided_by if is_told else None,
            policy_outcome=row.policy_outcome if is_told else None,
            decided_by_code=row.decided_by_code,
        )

    async def _find_sentences(self, reader: Reader, row: VerificationRow) -> None:
        """Reload the bundles if that of the verification is unknown: another process may serve it."""
        if row.reasons and (row.model_version, row.policy_version) not in self._sentences:
            self.learn(await reader.bundles())

    def learn(self, bundles: Iterable[BundleRow]) -> None:
        """Take over the reason texts of bundles."""
        for row in bundles:
            self._sentences[row.model_version, row.policy_version] = json.loads(row.reasons)


def _sentence(sentences: Mapping[str, str], code: str) -> str:
    return OWN_SENTENCES.get(code) or sentences[code]
