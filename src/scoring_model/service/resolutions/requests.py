"""The operations on resolutions of one client."""

from collections.abc import Mapping
from typing import NamedTuple

from scoring_model.contract.resolution import Resolution, ResolutionInput, Resolutions
from scoring_model.contract.resource import PresentContext
from scoring_model.contract.texts import from_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import Erased, NotCompleted, NotFound, TooManyResolutions, parsed
from scoring_model.service.core.rows import IdempotencyRow, ResolutionRow
from scoring_model.service.events.events import write_events
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import DataKey
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.resolutions.rows import (
    MOST_KEPT,
    event_of_resolution,
    open_words,
    resolutions_of,
    seal_words,
    shown,
)
from scoring_model.service.store import Transaction

CREATED = 201


class Resolved(NamedTuple):
    """A resolution, and whether the request made it: one that equals the latest changes nothing."""

    resolution: Resolution
    is_new: bool


class ResolutionRequests(Operations):
    """The operations on resolutions."""

    def __init__(self, backend: Backend, *, persons: Persons) -> None:
        super().__init__(backend)
        self._persons = persons

    async def create(
        self,
        caller: Caller,
        verification: bytes,
        body: Mapping[str, object],
        request: IdempotentRequest | None,
    ) -> Answer[Resolved]:
        """Report how the step-up or review of a verification ended.

        Raises
        ------
        Invalid
            If the body breaks a rule.
        NotFound
            If the client has no such verification.
        NotCompleted, Erased, TooManyResolutions
            If the state of the verification forbids it.
        """

        async def action(record: IdempotencyRecord | None) -> Answer[Resolved]:
            given = parsed(ResolutionInput, body, PresentContext(self._clock.now()))

            async def change(transaction: Transaction) -> Done[Resolved]:
                return await append(
                    transaction,
                    self._persons,
                    given,
                    client=caller.client,
                    about=verification,
                    now=self._clock.now(),
                )

            done = await self._queue.change(caller, change, record)
            return Answer(done.value)

        async def replay(row: IdempotencyRow) -> Answer[Resolved]:
            listed = (await self.list(caller, verification)).resolutions
            found = next(one for one in listed if from_text(one.id) == row.resource)
            return Answer(Resolved(found, row.status == CREATED), replayed=True)

        return await self._idempotency.run(caller.client, request, action, replay)

    async def list(self, caller: Caller, verification: bytes) -> Resolutions:
        """Read the resolutions of a verification, oldest first.

        Raises
        ------
        NotFound
            If the client has no such verification.
        """
        async with self._store.reading() as reader:
            row = await reader.verification(caller.client, verification)
            if row is None:
                raise NotFound
            rows = (await resolutions_of(reader, [verification]))[verification]
            key = None if row.payload is None else await self._persons.key_of(reader, row.key_id)
        return Resolutions(resolutions=tuple(shown(one, key) for one in rows))


async def append(
    transaction: Transaction,
    persons: Persons,
    given: ResolutionInput,
    *,
    client: int,
    about: bytes,
    now: int,
) -> Done[Resolved]:
    """Append a resolution with its event, unless it equals the latest one; errors are those of `create`."""
    row = await transaction.verification(client, about)
    if row is None:
        raise NotFound
    if row.status != VerificationStatus.COMPLETED:
        raise NotCompleted
    key = None if row.payload is None else await persons.key_of(transaction, row.key_id)
    if key is None:
        raise Erased
    stored = (await resolutions_of(transaction, [about]))[about]
    if stored and _equals(stored[-1], given, key):
        return Done(Resolved(shown(stored[-1], key), is_new=False), stored[-1].id, 200)
    if len(stored) >= MOST_KEPT:
        raise TooManyResolutions
    resource = ids.new_id(now)
    new = ResolutionRow(
        id=resource,
        client=client,
        verification_id=about,
        result=given.result,
        method=given.method,
        payload=seal_words(key, resource, given.resolved_by, given.note),
        resolved_at=now if given.resolved_at is None else given.resolved_at,
        created_at=now,
    )
    await transaction.insert([new])
    await write_events(transaction, [event_of_resolution(new, row)])
    return Done(Resolved(shown(new, key), is_new=True), resource, CREATED)


def _equals(row: ResolutionRow, given: ResolutionInput, key: DataKey) -> bool:
    """Return True if a stored resolution says what is given; without a time that is no difference."""
    return (
        (row.result, row.method) == (given.result, given.method)
        and open_words(key, row) == (given.resolved_by, given.note)
        and given.resolved_at in (None, row.resolved_at)
    )
