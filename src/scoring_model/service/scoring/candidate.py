"""Candidates: verifications to score, with everything that can be prepared before taking the lock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.contract.violation import Violation
from scoring_model.features import FeatureMatrix, StartedRow
from scoring_model.records import RecordSchema
from scoring_model.service.clients.clients import Caller
from scoring_model.service.clients.unknown_signals import UnknownSignals
from scoring_model.service.core import ids
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdentityNotValidated, Invalid, parsed
from scoring_model.service.core.rows import PersonKeyRow, VerificationRow
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import DataKey
from scoring_model.service.keys.link_hashes import Linker, Links
from scoring_model.service.store import Reader, Store

_UNKNOWN_IDENTITY: Final = Violation("/identityId", "not_found", "must be an identity of this client")
_UNKNOWN_PREVIOUS: Final = Violation(
    "/previousVerificationId", "not_found", "must be a verification of this client"
)
_NOT_TO_BE_FOLLOWED: Final = Violation(
    "/previousVerificationId",
    "not_stepped_up",
    "must be a verification of the same person whose outcome was STEPPED_UP",
)


@dataclass(
    eq=False, slots=True, kw_only=True
)  # not frozen: one is created per request, in a third of the time
class Candidate:
    """A verification to score.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values of the request and the identity, by field name.
    started : StartedRow
        Features that depend on neither the event time nor the history.
    reference : str or None
        Idempotency key.
    key_row : PersonKeyRow or None
        The key of the identity's person or of the pending row, which must still exist under the lock. None if the
        person is looked up or created under the lock.
    opened : DataKey or None
        The key in `key_row`.
    pending : VerificationRow or None
        Its row, if it was stored as PENDING.
    sandbox : bool
        Whether its client is a sandbox.
    """

    id: bytes
    client: int
    history_scope: str
    request: VerificationInput = field(repr=False)
    values: Mapping[str, object] = field(repr=False)
    links: Links
    started: StartedRow
    created_at: int
    reference: str | None = field(repr=False)
    key_row: PersonKeyRow | None = None
    opened: DataKey | None = field(default=None, repr=False)
    pending: VerificationRow | None = None
    sandbox: bool = False


@dataclass(kw_only=True, slots=True)
class CandidateBuilder:
    """Builds candidates for a bundle, given its schema and feature matrix."""

    store: Store
    persons: Persons
    linker: Linker
    clock: Clock
    schema: RecordSchema
    matrix: FeatureMatrix
    unknown_signals: UnknownSignals

    async def new(self, caller: Caller, body: Mapping[str, object], reference: str | None) -> Candidate:
        """Build the candidate of a request; raises as `Verifications.create`."""
        now = self.clock.now()
        unknown: list[str] = []
        check = self.unknown_signals.refusal() if caller.strict_signals else unknown.append
        context = VerificationContext(self.schema.signals, check, caller.sandbox)
        request = parsed(VerificationInput, body, context)
        if unknown:
            self.unknown_signals.count(caller, unknown)
        values = request.values()
        key_row = opened = None
        if request.identity_id is None and request.previous_verification_id is None:
            links = self.linker.link(caller.history_scope, caller.client, values)
        else:
            values, links, key_row, opened = await self._look_up(caller, request)
        return Candidate(
            id=ids.new_id(now),
            client=caller.client,
            history_scope=caller.history_scope,
            request=request,
            values=values,
            links=links,
            started=self.matrix.start(values),
            created_at=now,
            reference=reference,
            key_row=key_row,
            opened=opened,
            sandbox=caller.sandbox,
        )

    async def pending(
        self, row: VerificationRow, history_scope: str, *, sandbox: bool = False
    ) -> Candidate | None:
        """Build the candidate of a PENDING row; None if its person was erased.

        Raises
        ------
        Invalid
            If the served model takes other signals than the model that was served when the row was written.
        """
        async with self.store.reading() as reader:
            key_row = (await reader.person_keys([row.key_id])).get(row.key_id)
            if key_row is None or row.payload is None:
                return None
            key = self.persons.open_key(key_row)
            signals, subject, _ = self.persons.verification_payload(row, key)
            body = {"signals": signals, "subjectId": subject}
            context = VerificationContext(self.schema.signals, sandbox=sandbox)
            request = parsed(VerificationInput, body, context)
            values = request.values()
            if row.identity_id is not None:
                identity = await reader.identity(row.client, row.identity_id)
                if identity is None or identity.payload is None:
                    return None
                values = {**self.persons.identity_values(identity, key), **values}
        return Candidate(
            id=row.id,
            client=row.client,
            history_scope=history_scope,
            request=request.model_copy(
                update={"identity_id": row.identity_id, "previous_verification_id": row.previous_id}
            ),
            values=values,
            links=self.linker.link(history_scope, row.client, values),
            started=self.matrix.start(values),
            created_at=row.created_at,
            reference=self.persons.reference(row, key),
            key_row=key_row,
            opened=key,
            pending=row,
            sandbox=sandbox,
        )

    async def _look_up(
        self, caller: Caller, request: VerificationInput
    ) -> tuple[dict[str, object], Links, PersonKeyRow | None, DataKey | None]:
        """Return values, links and person key of a request with an identity or a previous verification."""
        violations: list[Violation] = []
        async with self.store.reading() as reader:
            identity = key_row = opened = None
            if request.identity_id is not None:
                known = await reader.identity_and_key(caller.client, request.identity_id)
                if known is None:
                    violations.append(_UNKNOWN_IDENTITY)
                else:
                    identity, key_row = known
            values = request.values()
            if identity is not None and key_row is not None:
                opened = self.persons.open_key(key_row)
                values = {**self.persons.identity_values(identity, opened), **values}
            person = None if key_row is None else key_row.person
            links = self.linker.link(caller.history_scope, caller.client, values, person=person)
            if request.previous_verification_id is not None:
                previous = await reader.verification(caller.client, request.previous_verification_id)
                if previous is None:
                    violations.append(_UNKNOWN_PREVIOUS)
                # An unknown identity is reported separately.
                elif (request.identity_id is None or opened is not None) and not await self._follows(
                    reader, previous, caller, links.person
                ):
                    violations.append(_NOT_TO_BE_FOLLOWED)
        if violations:
            raise Invalid(tuple(violations))
        if identity is not None and (key_row is None or identity.status != IdentityStatus.VALIDATED):
            missing = () if opened is None else self.persons.stored_identity(identity, opened).missing
            raise IdentityNotValidated(missing)
        return values, links, key_row, opened

    async def _follows(
        self, reader: Reader, previous: VerificationRow, caller: Caller, person: bytes | None
    ) -> bool:
        """Return True if a verification was stepped up and is of this person, who was not erased since."""
        if previous.outcome != Outcome.STEPPED_UP or previous.payload is None or person is None:
            return False
        key = await self.persons.key_of(reader, previous.key_id)
        if key is None:
            return False
        values = await self.persons.record_values(reader, previous, key)
        return self.linker.link(caller.history_scope, caller.client, values).person == person
