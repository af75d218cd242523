"""The operations on the lists of a client's history scope."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from scoring_model.contract.operator_list import (
    ListChanged,
    ListEntriesInput,
    ListRemovalInput,
    OperatorList,
    OperatorLists,
)
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resource import PresentContext, instant
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation
from scoring_model.history import LinkKey
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import parsed, refusing
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.operator_lists.changes import (
    Addition,
    Changed,
    ListChange,
    add_entries,
    existing,
    remove_entries,
)
from scoring_model.service.operator_lists.values import ValueHasher, chosen_key
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.store import Transaction

VALUES_OF_A_TOKEN: Final = 100
"""Values that a token of the rate limit pays for; the token of the request itself pays for the first ones."""

_NO_RESOURCE: Final = bytes(16)
_TURN: Final = 50
"""Values that are hashed before others get a turn: about a millisecond."""

Spend = Callable[[int], Awaitable[None]]


class ListRequests(Operations):
    """The operations on lists."""

    def __init__(self, backend: Backend, *, link_keys: Sequence[LinkKey]) -> None:
        super().__init__(backend)
        self._link_keys = link_keys

    async def add(
        self,
        caller: Caller,
        body: Mapping[str, object],
        request: IdempotentRequest | None,
        spend: Spend,
    ) -> Answer[ListChanged]:
        """Add values to a list.

        Parameters
        ----------
        spend : callable
            Takes so many tokens of the client or none; raises if it has fewer.

        Raises
        ------
        Invalid
            If the body breaks a rule, or the list does not take what is added.
        """

        async def work() -> ListChanged:
            given = parsed(ListEntriesInput, body, PresentContext(self._clock.now()))
            change = ListChange(history_scope=caller.history_scope, name=given.list, by=caller.client_id)
            addition = Addition(key=given.key, outcome=Outcome(given.outcome), until=given.until)
            key = chosen_key(self._link_keys, given.key)
            await _pay(caller, spend, given.values)
            hashes = await self._hashed(caller, key, given.values)
            done = await add_entries(self._store, change, addition, hashes, now=self._clock.now())
            return _shown(given.list, done)

        return await self._once(caller, request, work)

    async def remove(
        self,
        caller: Caller,
        body: Mapping[str, object],
        request: IdempotentRequest | None,
        spend: Spend,
    ) -> Answer[ListChanged]:
        """Remove values from a list; errors as for `add`, also if there is no such list."""

        async def work() -> ListChanged:
            given = parsed(ListRemovalInput, body)
            change = ListChange(history_scope=caller.history_scope, name=given.list, by=caller.client_id)
            async with self._store.reading() as reader:
                row = await existing(reader, change)
            await _pay(caller, spend, given.values)
            hashes = await self._hashed(caller, chosen_key(self._link_keys, row.key), given.values)
            done = await remove_entries(self._store, change, hashes, now=self._clock.now())
            return _shown(given.list, done)

        return await self._once(caller, request, work)

    async def list_all(self, caller: Caller) -> OperatorLists:
        """Read the lists of the client's history scope."""
        found = []
        async with self._store.reading() as reader:
            for row in await reader.lists_of(caller.history_scope):
                (latest,) = await reader.list_changes(row.number, 1)
                found.append(
                    OperatorList(
                        list=row.name,
                        key=row.key,
                        outcome=row.outcome,
                        entries=row.entries,
                        changed_at=instant(latest.at),
                    )
                )
        return OperatorLists(lists=tuple(found))

    async def _once(
        self,
        caller: Caller,
        request: IdempotentRequest | None,
        work: Callable[[], Awaitable[ListChanged]],
    ) -> Answer[ListChanged]:
        """Do the work of a request, or give its first answer again; what was done before a crash is done again."""

        async def action(record: IdempotencyRecord | None) -> Answer[ListChanged]:
            if record is not None:
                await self._idempotency.raise_answered(record)
            with refusing():
                changed = await work()
            if record is not None:
                answer = self._idempotency.seal(record, changed.to_json())

                async def keep(_: Transaction) -> Done[None]:
                    return Done(None, _NO_RESOURCE, 200, answer)

                await self._queue.change(caller, keep, record)
            return Answer(changed)

        async def replay(row: IdempotencyRow) -> Answer[ListChanged]:
            return Answer(ListChanged.model_validate_json(self._idempotency.open(row)), replayed=True)

        return await self._idempotency.run(caller.client, request, action, replay)

    async def _hashed(self, caller: Caller, key: LinkKey, values: Sequence[object]) -> list[bytes]:
        """Hash values, with pauses in which others are answered; raises `Invalid` with the violations of all."""
        hasher = ValueHasher(self._secrets, key, caller.history_scope, caller.client)
        found: list[bytes] = []
        broken: list[Violation] = []
        omitted = 0
        for place, value in enumerate(values):
            if place % _TURN == 0:
                await self._queue.lull()
            try:
                found.append(hasher.hash(value))
            except Invalid as error:
                violations = [one.within("values", place) for one in error.violations]
                left = MOST_ERRORS - len(broken)
                broken += violations[:left]
                omitted += len(violations[left:]) + error.omitted
        if broken:
            raise Invalid(broken, omitted=omitted)
        return found


async def _pay(caller: Caller, spend: Spend, values: Sequence[object]) -> None:
    """Pay for values beyond the first hundred. A full bucket suffices for every request, however small the quota."""
    if further := min((len(values) - 1) // VALUES_OF_A_TOKEN, caller.quota - 1):
        await spend(further)


def _shown(name: str, changed: Changed) -> ListChanged:
    return ListChanged(
        list=name, changed=changed.changed, unchanged=changed.unchanged, entries=changed.entries
    )
