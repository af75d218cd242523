"""Lists in the hands of an operator: those of one client's history scope, or of all scopes.

A list of all scopes has an entry in each of them, and keeps its values, encrypted, for scopes to come.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from scoring_model.contract.fields import REFERENCE_FIELDS
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.rules import Rule
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.history import PERSON, LinkKey
from scoring_model.service.activation.links import link_keys_of
from scoring_model.service.clients.clients import find_client
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.operator_lists.changes import (
    ALL_SCOPES,
    AT_ONCE,
    BEFORE_HASHES,
    Addition,
    Changed,
    ListChange,
    add_entries,
    add_part,
    check_addition,
    existing,
    remove_entries,
)
from scoring_model.service.operator_lists.values import ValueHasher, chosen_key, fields_of
from scoring_model.service.store import WHOLE_DATABASE, Store

MOST_PRODUCTS: Final = 2_000_000
"""Values times history scopes of one command: a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatedList:
    """A list that an operator changes.

    Parameters
    ----------
    history_scope : str
        `ALL_SCOPES` for the list of this name in every scope.
    client : int or None
        Whose references the values hold.
    by : str
        Who answers for it.
    """

    store: Store
    secrets: Secrets
    name: str
    key: LinkKey
    history_scope: str
    client: int | None
    by: str

    @classmethod
    async def open(
        cls,
        store: Store,
        keyring: Keyring,
        name: str,
        *,
        key: str | None,
        client_id: str | None,
        by: str,
    ) -> Self:
        """Open a list.

        Parameters
        ----------
        key : str or None
            Name of its link key; None for that of a list that exists.
        client_id : str or None
            Client in whose history scope it is; None for the list of all scopes.

        Raises
        ------
        Invalid
            If there is no such key or list, or a list of all scopes would hold persons or references.
        UnknownClient
        """
        client = None if client_id is None else await find_client(store, client_id)
        scope = ALL_SCOPES if client is None else client.pool
        if key is None:
            async with store.reading() as reader:
                row = await existing(reader, ListChange(history_scope=scope, name=name, by=by))
            key = row.key
        async with store.reading() as reader:
            chosen = chosen_key(await link_keys_of(reader), key)
        if client is None:
            _check_shared(chosen)
        number = None if client is None else client.client
        secrets = await load_or_create(store, keyring)
        return cls(
            store=store, secrets=secrets, name=name, key=chosen, history_scope=scope, client=number, by=by
        )

    def hasher(self, history_scope: str | None = None) -> ValueHasher:
        """Return what hashes values for a history scope, by default its own."""
        scope = self.history_scope if history_scope is None else history_scope
        return ValueHasher(self.secrets, self.key, scope, self.client)

    async def check(
        self,
        addition: Addition,
        values: Mapping[bytes, object],
        *,
        now: int,
        beside: Collection[str] = (),
    ) -> list[tuple[str, list[bytes]]]:
        """Check that its list takes values in every history scope; parameters and errors as for `add`.

        Parameters
        ----------
        beside : collection of str
            Names of the lists that are added to together with it.

        Returns
        -------
        list of tuple of (str, list of bytes)
            History scopes, its own first, and the hashes there.
        """
        whole = [(self.history_scope, list(values)), *await self._by_scope(values)]
        for scope, hashes in whole:
            try:
                await check_addition(
                    self.store,
                    self._change(scope),
                    addition,
                    hashes,
                    now=now,
                    beside=beside,
                    of_all=scope != self.history_scope,
                )
            except Invalid as error:
                if scope == self.history_scope:
                    raise
                # The lists of a client may stand in the way of one of all scopes.
                raise Invalid(
                    [
                        replace(one, detail=f"{one.detail}, in the history scope {scope}")
                        for one in error.violations
                    ]
                ) from None
        return whole

    async def add(self, addition: Addition, values: Mapping[bytes, object], *, now: int) -> Changed:
        """Add values to its list in every history scope, if all of them take all values.

        Parameters
        ----------
        values : mapping of bytes to object
            By hash in its own history scope.

        Returns
        -------
        Changed
            Of its own history scope.

        Raises
        ------
        Invalid
            As for `add_entries`, or if values times scopes are more than `MOST_PRODUCTS`.
        """
        whole = await self.check(addition, values, now=now)
        sealed = {}
        if self.history_scope == ALL_SCOPES:
            own = self.hasher()
            sealed = {value: own.seal(value, plain) for value, plain in values.items()}
        (_, own_hashes), *others = whole
        own_change = self._change(self.history_scope)
        done = await add_entries(self.store, own_change, addition, own_hashes, now=now, sealed=sealed)
        # A scope that was made meanwhile copied a part; one that is made from now on copies all.
        others += await self._by_scope(values, beside={scope for scope, _ in whole})
        for scope, hashes in others:
            await add_entries(self.store, self._change(scope), addition, hashes, now=now)
        return done

    async def remove(self, values: Mapping[bytes, object] | None, *, now: int) -> Changed:
        """Remove values; all of them without values."""
        hashes = None if values is None else list(values)
        done = await remove_entries(self.store, self._change(self.history_scope), hashes, now=now)
        if self.history_scope == ALL_SCOPES:
            async with self.store.reading() as reader:
                rows = [row for row in await reader.lists_after(0) if row.name == self.name]
            for scope in sorted({row.history_scope for row in rows} - {ALL_SCOPES}):
                if values is not None:
                    hashes = list(map(self.hasher(scope).hash, values.values()))
                await remove_entries(self.store, self._change(scope), hashes, now=now)
        return done

    async def _by_scope(
        self, values: Mapping[bytes, object], *, beside: Collection[str] = ()
    ) -> list[tuple[str, list[bytes]]]:
        """Hash values for each other history scope that the list is in, `beside` aside."""
        if self.history_scope != ALL_SCOPES:
            return []
        async with self.store.reading() as reader:
            scopes = sorted({client.pool for client in await reader.clients()} - set(beside))
        if len(values) * len(scopes) > MOST_PRODUCTS:
            most = MOST_PRODUCTS // len(scopes)
            detail = f"must be at most {most:,} values for {len(scopes):,} history scopes"
            raise Invalid([Violation("", Rule.TOO_MANY, detail)])
        return [(scope, list(map(self.hasher(scope).hash, values.values()))) for scope in scopes]

    def _change(self, history_scope: str) -> ListChange:
        return ListChange(history_scope=history_scope, name=self.name, by=self.by)


async def add_to_lists(
    parts: Sequence[tuple[OperatedList, Addition, Mapping[bytes, object]]], *, now: int
) -> list[Changed]:
    """Add values to several lists, if all of them take all values.

    Raises
    ------
    Invalid
        With what breaks a rule in every list, by its place.
    """
    broken: list[Violation] = []
    names = [of.name for of, _, _ in parts]
    for place, (of, addition, values) in enumerate(parts):
        try:
            await of.check(addition, values, now=now, beside=names)
        except Invalid as error:
            broken += [one.within("lists", place) for one in error.violations]
    if broken:
        raise Invalid(broken)
    return [await of.add(addition, values, now=now) for of, addition, values in parts]


async def has_shared_lists(store: Store) -> bool:
    """Return True if a new history scope gets entries."""
    async with store.reading() as reader:
        return any(row.entries for row in await reader.lists_of(ALL_SCOPES))


async def copy_lists(store: Store, keyring: Keyring, client_id: str, *, by: str, now: int) -> int:
    """Give the history scope of a new client, if it has no other, the entries of the lists of all.

    Returns
    -------
    int
        Entries that were added.
    """
    history_scope = (await find_client(store, client_id)).pool
    async with store.reading() as reader:
        if sum(client.pool == history_scope for client in await reader.clients()) > 1:
            return 0
        rows, keys = await reader.lists_of(ALL_SCOPES), await link_keys_of(reader)
    secrets = await load_or_create(store, keyring)
    copied = 0
    for row in rows:
        key = chosen_key(keys, row.key)
        everywhere, hasher = (ValueHasher(secrets, key, one, None) for one in (ALL_SCOPES, history_scope))
        change = ListChange(history_scope=history_scope, name=row.name, by=by)
        after = BEFORE_HASHES
        while True:
            # Read and written at once: what is removed meanwhile is copied and removed here too, or not copied.
            async with store.writing([WHOLE_DATABASE]) as transaction:
                page = await transaction.living_entries(row.number, after, AT_ONCE)
                of_end: defaultdict[int | None, list[bytes]] = defaultdict(list)
                for one in page:
                    if one.sealed is not None and (one.until is None or one.until > now):
                        of_end[one.until].append(hasher.hash(everywhere.open(one.hash, one.sealed)))
                for until, hashes in of_end.items():
                    addition = Addition(key=row.key, outcome=Outcome(row.outcome), until=until)
                    copied += (await add_part(transaction, change, addition, hashes, now=now)).changed
            if len(page) < AT_ONCE:
                break
            after = page[-1].hash
    return copied


def _check_shared(key: LinkKey) -> None:
    """Refuse keys whose values mean something else elsewhere, or must not be kept for scopes to come."""
    if key.name == PERSON or any(field in REFERENCE_FIELDS for field in fields_of(key)):
        detail = "holds persons or a client's own references: add its values for one client"
        raise Invalid([Violation("/key", "not_shared", detail)])
