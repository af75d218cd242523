"""Writes to a database in a transaction, and the store that begins one."""

import struct
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, Protocol, cast

from scoring_model.service.core.rows import (
    ClientRow,
    DeliveryRow,
    EventRow,
    IdentityRow,
    ImportedRow,
    PersonKeyRow,
    Row,
    ServingProcessRow,
    UnknownSignalRow,
    VerificationRow,
    WebhookRow,
)
from scoring_model.service.store import statements as sql
from scoring_model.service.store.buckets import Bucket
from scoring_model.service.store.expiry import EXPIRY, Cutoffs, Expiring, KeyRange
from scoring_model.service.store.queries import (
    command,
    command_of_each,
    rows_by_key,
    rows_of,
    takes,
    update_of_each,
)
from scoring_model.service.store.reader import BEFORE_ALL, Reader, beginning_with, split
from scoring_model.service.store.statements import Each, for_each, update_by_id

_LABEL: Final = struct.Struct("<qb")


class DueWebhook(NamedTuple):
    """A webhook with due deliveries; `due` is their number, if known."""

    id: bytes
    client: int
    destination_url: str
    due: int | None


class Advanced(NamedTuple):
    """A client whose event sequence was advanced: its previous sequence, and its state."""

    before: int
    listens: bool  # whether it has an active webhook
    importing: bool  # whether its history is being imported
    sandbox: bool


class ErasedUntil(NamedTuple):
    """Instant of creation and id of the last identity and the last verification that an erasure has emptied."""

    identity: tuple[int, bytes]
    verification: tuple[int, bytes]


ERASED_NOTHING: Final = ErasedUntil(BEFORE_ALL, BEFORE_ALL)

DROPPED_AT_ONCE: Final = 100
"""Deliveries that one transaction drops: with 500 another client waited more than twice as long."""

ERASED_AT_ONCE: Final = 200
"""Identities, and verifications, that one transaction erases."""


class Erased(NamedTuple):
    """A step of an erasure: the identities that it redacted, and where to go on; None at the end."""

    identities: list[IdentityRow]
    until: ErasedUntil | None


class Transaction(Reader):
    """A transaction that holds the locks of its history scopes. It commits if its context exits without an error."""

    locked: frozenset[str]
    """History scopes whose locks it holds."""

    _is_server = False

    def _of_dialect(self, statement: Each) -> str:
        return statement.many if self._is_server else statement.one

    @abstractmethod
    async def insert(self, rows: Sequence[Row]) -> None:
        """Insert rows, all of one kind. `new_client` inserts clients, `append_labels` the labels of link records.

        Raises
        ------
        Duplicate
            If a row exists already: raised here, by a later call, or on exit. The transaction is unusable afterwards.
        """

    @abstractmethod
    async def require_truncation(self) -> None:
        """Truncate the write-ahead log of SQLite after the commit: it still contains the overwritten data.

        The truncation runs in the background and is retried until it succeeds; meanwhile `TRUNCATION_FACT` is set.
        `erase` and `reseal` call this themselves. No effect on PostgreSQL.
        """

    async def new_client(self, row: ClientRow) -> int:
        """Insert a client, ignoring its number; if `pool` is empty, the new number becomes its history scope."""
        client = int((await self._rows(sql.NEW_CLIENT, *row[1:]))[0][0])
        if not row.pool:
            await self._rows(sql.OWN_POOL, client)
        return client

    delete_bundle_files = command(
        "DELETE FROM bundle_files WHERE model_version = $1 AND policy_version = $2", takes(str, str)
    )
    """Delete the files of a bundle, by model and policy version, to replace them."""

    async def report_process(self, row: ServingProcessRow) -> None:
        """Write what a process reports, over its last report."""
        await self._rows(sql.REPORT_PROCESS, *row)

    forget_processes = command(
        "DELETE FROM serving_processes WHERE process = $1 OR seen_at < $2", takes(bytes, int)
    )
    """Delete the report of a process, and those that were written before an instant."""

    async def count_unknown_signals(self, rows: Sequence[UnknownSignalRow]) -> None:
        """Add the requests of each row to those of its client and name."""
        await self._each(sql.COUNT_UNKNOWN_SIGNALS, rows)

    delete_unknown_signals = command_of_each(
        for_each("DELETE FROM unknown_signals WHERE client", kind="bigint"), int
    )
    """Delete the counts of unknown signals of some clients."""

    async def advance(self, counts: Mapping[int, int]) -> Mapping[int, "Advanced"]:
        """Advance the event sequence of each client by a count.

        Returns
        -------
        mapping of int to Advanced
            By client.
        """
        rows = await self._each(sql.ADVANCE, list(counts.items()))
        return {
            client: Advanced(before, bool(listens), bool(importing), bool(sandbox))
            for client, before, listens, importing, sandbox in rows
        }

    set_importing = command("UPDATE clients SET importing = $2 WHERE pool = $1", takes(str, int))
    """Say of all clients of a history scope whether their history is being imported."""

    async def has_verification(self, client: int) -> bool:
        """Return True if a client has a verification of any status."""
        return bool(await self._rows(sql.HAS_VERIFICATION, client))

    imported = rows_by_key(ImportedRow, "record")
    """Imported records that are still kept, by hash."""

    async def label_imported(self, labels: Mapping[bytes, bytes]) -> None:
        """Replace the packed labels of imported records."""
        await self._each(sql.LABEL_IMPORTED, list(labels.items()))

    async def last_ties(self, keys: Sequence[tuple[bytes, int]]) -> Mapping[tuple[bytes, int], int]:
        """Return the greatest tie of the events of each hash and instant that has any."""
        return {(value, time): tie for value, time, tie in await self._each(sql.LAST_TIES, keys)}

    async def note_label_times(self, times: Mapping[bytes, int]) -> None:
        """Note the newest instants of labels that were inserted with their link records, by hash."""
        await self._each(sql.LABEL_TIMES, sorted(times.items()))

    async def count_drawn(
        self, key: tuple[str, int, str], expected_cost: float, *, is_repeat: bool
    ) -> tuple[int, float]:
        """Count a verification that was drawn for the control group.

        Parameters
        ----------
        key : tuple of (str, int, str)
            History scope, whose lock the transaction holds, day and outcome of the policy.

        Returns
        -------
        tuple of (int, float)
            Verifications that were drawn with this key, and their expected cost, with this one.
        """
        drawn, cost = (await self._rows(sql.COUNT_DRAWN, *key, int(is_repeat), expected_cost))[0]
        return drawn, cost

    count_controlled = command(
        "UPDATE control_draws SET passed = passed + 1 WHERE history_scope = $1 AND day = $2 AND policy_outcome = $3",
        takes(str, int, str),
    )
    """Count one of the drawn verifications of a history scope, day and outcome of the policy as one that passed."""

    settle = update_of_each(
        update_by_id(VerificationRow, "id", ("client", "created_at"), "AND verifications.status = 'PENDING'"),
        VerificationRow,
    )
    """Update verifications that are still PENDING; returns their ids."""

    async def lease_pending(self, now: int, until: int, limit: int) -> list[VerificationRow]:
        """Lease PENDING verifications without a current lease, oldest first."""
        rows = await self._all(VerificationRow, self._of_dialect(sql.LEASE), now, until, limit)
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    async def append_labels(self, labels: Mapping[tuple[bytes, int, int], bytes]) -> None:
        """Append packed labels to events, by hash, instant and tie."""
        keys = [(*key, packed) for key, packed in labels.items()]
        labelled = await self._each(sql.APPEND_LABELS, keys)
        latest: dict[bytes, int] = {}
        for value, time, tie in labelled:
            newest = max(int(instant) for instant, _ in _LABEL.iter_unpack(labels[value, time, tie]))
            latest[value] = max(newest, latest.get(value, newest))
        await self.note_label_times(latest)

    async def newest(self, hashes: Sequence[bytes]) -> int | None:
        """Return the latest instant of any event or label under the hashes."""
        rows = await self._each(sql.NEWEST, [(value,) for value in hashes])
        return max((instant for row in rows for instant in row if instant is not None), default=None)

    async def delete_future_links(self, first: int, after: int) -> list[int]:
        """Delete the link records that `future_links` finds; returns their instants."""
        return [row[0] for row in await self._rows(sql.DELETE_FUTURE_LINKS, *beginning_with(first), after)]

    async def erase(self, key_id: bytes, now: int, after: ErasedUntil = ERASED_NOTHING) -> Erased:
        """Delete a person's key, empty the payloads of its identities (REDACTED) and unlink its verifications.

        Without its key everything is unreadable at once. Of the rows at most `ERASED_AT_ONCE` of each kind are emptied;
        call it again with `Erased.until`, perhaps in another transaction, until that is None.
        """
        deleted = await self._rows(sql.DELETE_KEY, key_id)
        for client, person in deleted:
            if person is not None and await self.list_entries([person]):
                await self._uncount(await self._rows(sql.FORGET_PERSON, person, client))
        identities = await self._rows(sql.IDENTITIES_OF_KEY, key_id, *after.identity, ERASED_AT_ONCE)
        verifications = await self._rows(
            sql.VERIFICATIONS_OF_KEY, key_id, *after.verification, ERASED_AT_ONCE
        )
        rows = await self._each(sql.ERASE_IDENTITIES, [(id_, now) for _, id_ in identities])
        await self._each(sql.ERASE_VERIFICATIONS, [(id_,) for _, id_ in verifications])
        await self._each(sql.ERASE_RESOLUTIONS, [(id_,) for _, id_ in verifications])
        await self.require_truncation()
        until = None
        if max(len(identities), len(verifications)) == ERASED_AT_ONCE:
            last = [after.identity, *identities][-1], [after.verification, *verifications][-1]
            until = ErasedUntil(*map(tuple, last))
        return Erased([IdentityRow._make(row) for row in rows], until)

    end_entries = update_of_each(sql.END_ENTRIES, tuple)
    """End entries, each given as hash, number of the list, number of the change and instant; returns their hashes."""

    end_expired = update_of_each(sql.END_EXPIRED, tuple)
    """End the entries of a list whose end has passed: number of the list, number of the change, instant."""

    count_entries = command(
        "UPDATE operator_lists SET entries = entries + $2 WHERE number = $1", takes(int, int)
    )
    """Add to the number of entries of a list, which an erasure and a sweep change too."""

    set_fact = command(
        "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        takes(str, bytes),
    )
    """Insert or replace a fact."""

    delete_fact = command(sql.DELETE_FACT, takes(str))
    """Delete a fact if it exists."""

    forget_answers = command_of_each(for_each("DELETE FROM idempotency WHERE digest"), bytes)
    """Delete recorded answers by digest, so that their keys can be reused."""

    async def drop(self, key_range: KeyRange, cutoffs: Cutoffs) -> int:
        """Delete the old rows of a range from `Reader.key_range`; returns their number.

        Leaves locked rows to the next sweep.
        """
        statement = self._of_dialect(EXPIRY[key_range.kind].drop)
        keys = (*key_range.after, *key_range.through)
        dropped = await self._rows(statement, *keys, cutoffs[key_range.kind])
        if key_range.kind is Expiring.LIST_ENTRIES:
            await self._uncount(dropped)
        return len(dropped)

    async def _uncount(self, deleted: Sequence[Sequence[Any]]) -> None:
        """Subtract deleted entries of lists, each given as `OF_LIST`."""
        lists = Counter(number for number, removed in deleted if removed is None)
        for number in sorted(lists):  # in one order, so that no two transactions wait for each other
            await self.count_entries(number, -lists[number])

    async def reseal(self, payloads: Sequence[tuple[bytes, bytes, bytes]]) -> frozenset[bytes]:
        """Replace sealed payloads of verifications, each given as id, old payload and new payload.

        Returns
        -------
        frozenset of bytes
            Ids of the verifications that had the old payload and were not being erased.
        """
        resealed = frozenset([row[0] for row in await self._each(sql.RESEAL, payloads)])
        await self.require_truncation()
        return resealed

    rewrap = update_of_each(update_by_id(PersonKeyRow, "key_id", ("client", "person"), ""), PersonKeyRow)
    """Update the wrapped keys of persons that still exist; returns their ids."""

    keys_under_other_masters = rows_of(PersonKeyRow, "WHERE master_id <> $1 LIMIT $2", takes(bytes, int))
    """Person keys that are wrapped by another master key than one; at most a number."""

    async def update_webhook(self, row: WebhookRow) -> None:
        """Update a webhook except id, client and created_at; its last success never moves back."""
        await self._each(sql.UPDATE_WEBHOOK, [row])

    touch_webhook = command(
        "UPDATE webhooks SET succeeded_at = $2 WHERE id = $1 AND succeeded_at < $2", takes(bytes, int)
    )
    """Record that a delivery to a webhook succeeded at an instant, unless a later success is known.

    Call it in the order of ids for several webhooks: other transactions may update the same ones.
    """

    delete_webhook = command("DELETE FROM webhooks WHERE id = $1", takes(bytes))
    """Delete a webhook if it exists."""

    async def webhooks_of(self, clients: Sequence[int]) -> list[WebhookRow]:
        """Return all webhooks of some clients, including inactive ones, ordered by id."""
        rows = await self._each(sql.WEBHOOKS_OF, [(client,) for client in dict.fromkeys(clients)])
        return sorted(map(WebhookRow._make, rows), key=lambda row: row.id)

    async def waiting_clients(self) -> list[int]:
        """Return clients with waiting events, ordered by number."""
        return [row[0] for row in await self._rows(sql.WAITING_CLIENTS)]

    async def take_events(self, shares: Mapping[int, int]) -> list[EventRow]:
        """Take waiting events, which then no longer wait.

        Skips events that another transaction is taking.

        Parameters
        ----------
        shares : mapping of int to int
            Maximum number of events to take per client, lowest ids first.

        Returns
        -------
        list of EventRow
            Ordered by id.
        """
        rows = await self._each(sql.TAKE_EVENTS, list(shares.items()))
        return sorted(map(EventRow._make, rows), key=lambda row: row.id)

    async def due_webhooks(self, now: int, limit: int, after: bytes) -> list[DueWebhook]:
        """Return webhooks with due deliveries that are not leased, ordered by id.

        Drops deliveries to deleted webhooks.

        Parameters
        ----------
        now : int
            Counts deliveries that are due by this instant and whose lease expired before it.
        limit : int
            If fewer deliveries are due, returns all of their webhooks with the number of deliveries. Otherwise returns
            at most this many webhooks.
        after : bytes
            In that case, starts after this webhook id.
        """
        rows = await self._rows(sql.SOME_DUE, now, limit)
        if sum(row[3] for row in rows) >= limit:
            rows = await self._rows(sql.NEXT_DUE, now, limit, after)
        for webhook, client, *_ in rows:
            if client is None:
                # A delivery may have been created while its webhook was being deleted.
                await self.drop_deliveries(webhook, now)
        return sorted(DueWebhook._make(row) for row in rows if row[1] is not None)

    async def lease_deliveries(
        self, now: int, until: int, shares: Mapping[bytes, int]
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        """Lease due deliveries that are not leased.

        Parameters
        ----------
        now : int
            See `due_webhooks`.
        until : int
            When the lease expires.
        shares : mapping of bytes to int
            Maximum number of deliveries to lease per webhook; fewer while others are leasing some.

        Returns
        -------
        list of tuple of (DeliveryRow, EventRow, WebhookRow)
            Ordered by due instant.
        """
        wanted = [(webhook, most, now, until) for webhook, most in shares.items()]
        taken = await self._each(sql.LEASE_DELIVERIES, wanted)
        rows = await self._each(sql.LEASED_DELIVERIES, [tuple(row) for row in taken])
        leased = [
            cast("tuple[DeliveryRow, EventRow, WebhookRow]", split(row, DeliveryRow, EventRow, WebhookRow))
            for row in rows
        ]
        return sorted(leased, key=lambda found: (found[0].due_at, found[0].id))

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        """Update deliveries that are still WAITING; returns their ids.

        Id, event, webhook, client and creation never change.
        """
        in_order = sorted(rows, key=lambda row: row.id)
        return frozenset([row[0] for row in await self._each(sql.SETTLE_DELIVERIES, in_order)])

    async def deliver_again(self, resource: bytes, now: int) -> bool:
        """Set a settled delivery to WAITING again, due now and without attempts.

        Returns
        -------
        bool
            False if it does not exist or waits already.
        """
        return bool(await self._rows(sql.DELIVER_AGAIN, resource, now))

    async def drop_deliveries(self, webhook: bytes, now: int) -> bool:
        """Set WAITING deliveries of a webhook to DROPPED, at most `DROPPED_AT_ONCE`; returns True if more may wait."""
        dropped = await self._rows(self._of_dialect(sql.DROP_DELIVERIES), webhook, now, DROPPED_AT_ONCE)
        return len(dropped) == DROPPED_AT_ONCE

    revoke_api_key = command(
        "UPDATE api_keys SET revoked_at = $2 WHERE digest = $1 AND revoked_at IS NULL", takes(bytes, int)
    )
    """Revoke an API key at an instant unless it is already revoked."""

    expire_api_key = command("UPDATE api_keys SET expires_at = $2 WHERE digest = $1", takes(bytes, int))
    """Set the expiry of an API key."""

    set_scopes = command("UPDATE clients SET scopes = $2 WHERE client = $1", takes(int, str))
    """Replace the permissions of a client."""

    revoke_client = command(
        "UPDATE clients SET revoked_at = $2 WHERE client = $1 AND revoked_at IS NULL", takes(int, int)
    )
    """Revoke a client at an instant unless it is already revoked."""


class Store(Protocol):
    """A database shared by all processes of the service."""

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """Open a reader of committed data."""
        ...

    def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction under the locks of some history scopes, taken in order.

        Parameters
        ----------
        history_scopes : sequence of str
        wait : bool
            Wait for locks that others hold; otherwise the transaction begins without them.

        Raises
        ------
        StoreUnavailable
            On entry, from any call inside, or on exit if the commit failed. Nothing was written then, with one
            exception: if the connection to a server breaks during the commit, either everything or nothing was
            written.
        """
        ...

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int, size: int = 1) -> Bucket:
        """Take `size` tokens or none from the bucket with this key, shared by all processes of the database."""
        ...

    async def close(self) -> None:
        """Close all connections. No call may be in progress."""
        ...
