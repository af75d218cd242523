"""The database that the service needs, as a protocol. `service.store` implements it on SQLite and PostgreSQL."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from scoring_model.service.core.expiry import Cutoffs, Expiring, KeyRange
from scoring_model.service.core.rows import (
    ApiKeyRow,
    BundleRow,
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    PersonKeyRow,
    Row,
    VerificationRow,
    WebhookRow,
)

Past = tuple[Any, ...]
"""Time, person and packed labels of one earlier event under a link key, and its amounts if asked; see `LinkRow`."""


TRUNCATION_FACT: Final = "truncation_required"
"""Name of the fact that an erasure on SQLite sets until the write-ahead log is truncated. Its value is the instant of
the erasure: microseconds since 1970-01-01 UTC, in decimal digits."""

WHOLE_DATABASE: Final = "*"
"""A history scope that no client has: what the whole database agrees on is written under its lock."""


class StoreUnavailable(Exception):
    """The database can't be reached, is full, or does not answer in time. Nothing was written in part."""


class Duplicate(Exception):
    """An inserted row exists already, by its own key or by one that must be unique."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket after a request for a token.

    Parameters
    ----------
    allowed : bool
        Whether there was one.
    left : int
        Whole tokens left.
    full_in : float
        Seconds until it is full again.
    next_in : float
        Seconds until there is a token; 0 when there is one.
    """

    allowed: bool
    left: int
    full_in: float
    next_in: float


class DueWebhook(NamedTuple):
    """A webhook with due deliveries; `due` is their number, if known."""

    id: bytes
    client: int
    destination_url: str
    due: int | None


class Reader(Protocol):
    """Reads. Every call sees what has been committed, and its own transaction."""

    async def fact(self, name: str) -> bytes | None:
        """The value of a fact, or None."""
        ...

    async def bundles(self) -> list[BundleRow]:
        """Every bundle that ever served, in the order in which they first did."""
        ...

    async def credentials(self, digests: Sequence[bytes]) -> Mapping[bytes, tuple[ApiKeyRow, ClientRow]]:
        """API keys and their clients by SHA-256 of the keys, revoked and expired ones too."""
        ...

    async def clients(self) -> list[ClientRow]:
        """All clients, by number."""
        ...

    async def api_keys(self, client: int) -> list[ApiKeyRow]:
        """All API keys of a client, revoked and expired ones too, the oldest first."""
        ...

    async def identity(self, client: int, resource: bytes) -> IdentityRow | None:
        """An identity, if it is this client's."""
        ...

    async def identity_and_key(
        self, client: int, resource: bytes
    ) -> tuple[IdentityRow, PersonKeyRow | None] | None:
        """An identity of a client with the key of its person, which is None after erasure."""
        ...

    async def identities_of(self, key_id: bytes) -> list[IdentityRow]:
        """All identities under one person's key."""
        ...

    async def verification(self, client: int, resource: bytes) -> VerificationRow | None:
        """A verification, if it is this client's."""
        ...

    async def verification_by_id(self, resource: bytes) -> VerificationRow | None:
        """A verification of any client: for operators' commands."""
        ...

    async def verifications_of_identity(self, identity_id: bytes) -> list[VerificationRow]:
        """All verifications of one identity."""
        ...

    async def completed(
        self, client: int, after: tuple[int, bytes] | None, limit: int
    ) -> list[VerificationRow]:
        """COMPLETED verifications of a client by (completed_at, id), strictly after a pair."""
        ...

    async def verifications(self, after: bytes, limit: int) -> list[VerificationRow]:
        """Verifications of all clients in the order of their ids, strictly after one."""
        ...

    async def labels(self, verification_ids: Sequence[bytes]) -> Mapping[bytes, list[tuple[str, int, int]]]:
        """Label, known_at and told_at of each verification that has any, in the order they were reported."""
        ...

    async def person_keys(self, key_ids: Sequence[bytes]) -> Mapping[bytes, PersonKeyRow]:
        """Those that still exist."""
        ...

    async def persons(self, persons: Sequence[tuple[int, bytes]]) -> Mapping[tuple[int, bytes], PersonKeyRow]:
        """The keys of persons, by client and pseudonym."""
        ...

    async def idempotency(self, digests: Sequence[bytes]) -> Mapping[bytes, IdempotencyRow]:
        """The answers that were recorded, by digest."""
        ...

    async def webhook(self, client: int, resource: bytes) -> WebhookRow | None:
        """A webhook, if it is this client's."""
        ...

    async def webhooks(self, client: int, after: bytes | None, limit: int) -> list[WebhookRow]:
        """Webhooks of a client in the order of their ids, strictly after one."""
        ...

    async def delivery(self, resource: bytes) -> tuple[DeliveryRow, EventRow] | None:
        """A delivery and its event, of any client: for operators' commands."""
        ...

    async def deliveries(
        self,
        *,
        status: str | None = None,
        client: int | None = None,
        webhook: bytes | None = None,
        after: bytes | None = None,
        limit: int,
    ) -> list[DeliveryRow]:
        """Deliveries in the order of their ids, strictly after one: for operators' commands.

        Parameters
        ----------
        status : str, optional
            Only those of this `DeliveryStatus`.
        client : int, optional
            Only those of this client.
        webhook : bytes, optional
            Only those to this webhook.
        after : bytes, optional
            The id to go on after.
        limit : int
            How many at most.

        Raises
        ------
        ValueError
            If there is no such status.
        """
        ...

    async def deliveries_of(self, event: bytes) -> list[DeliveryRow]:
        """All deliveries of an event, in the order of their ids: for operators' commands."""
        ...

    async def newest_event(self, after: int) -> int | None:
        """The latest event after an instant, if there is one; None too where its link records are gone.

        It looks at the newest completed verification of each client.
        """
        ...

    async def future_links(self, first: int, after: int) -> list[int]:
        """The instants of link records later than an instant, of the hashes that begin with a byte."""
        ...

    async def key_range(
        self, kind: Expiring, cutoffs: Cutoffs, after: tuple[bytes | int, ...] | None, limit: int
    ) -> KeyRange:
        """Find the next range of keys of a kind that expires.

        Parameters
        ----------
        kind : Expiring
        cutoffs : Cutoffs
            With an instant for this kind.
        after : tuple of (bytes or int), optional
            The end of the range before; None to begin.
        limit : int
            The most rows in the range, old or not.
        """
        ...


class Transaction(Reader, Protocol):
    """A transaction that holds the locks of its history scopes. It commits when its context ends without an error."""

    @property
    def locked(self) -> frozenset[str]:
        """The history scopes whose locks it holds."""
        ...

    async def insert(self, rows: Sequence[Row]) -> None:
        """Insert rows, all of one kind. A number of a new client is given by `new_client`.

        Raises
        ------
        Duplicate
            When one is there already: here, from a later call, or on leaving. The transaction can't go on.
        """
        ...

    async def new_client(self, row: ClientRow) -> int:
        """Insert a client (its number is ignored; where `pool` is empty, the new number becomes its history scope)."""
        ...

    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]:
        """The latest events under each hash: at most `cap` and those of the instant of the last one.

        Parameters
        ----------
        hashes : sequence of bytes
        since : int
            Events before this instant are left out.
        cap : int
        amounts : int
            How many amounts, masked, come with them: none, the first, or with 2 all.
        between : tuple of (int, int), optional
            Two instants: every event from the first one on and before the second one, and the latest `cap` before the
            first one.

        Returns
        -------
        list of list of Past
            For each hash its events, the latest first.
        """
        ...

    async def advance(self, counts: Mapping[int, int]) -> Mapping[int, tuple[int, bool]]:
        """Move the event sequence of each client on by a count.

        Returns
        -------
        mapping of int to tuple of (int, bool)
            Of each client its sequence before, and whether it has an active webhook.
        """
        ...

    async def settle(self, rows: Sequence[VerificationRow]) -> frozenset[bytes]:
        """Write the new state of verifications whose status is still PENDING; returns the ids of those."""
        ...

    async def lease_pending(self, now: int, until: int, limit: int) -> list[VerificationRow]:
        """Take PENDING verifications whose lease is over, the oldest first, and lease them."""
        ...

    async def link_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> None:
        """Append packed labels to the events of one instant under some hashes."""
        ...

    async def newest(self, hashes: Sequence[bytes]) -> int | None:
        """The latest instant under any of the hashes, their labels included."""
        ...

    async def delete_future_links(self, first: int, after: int) -> list[int]:
        """Delete what `future_links` finds; returns its instants."""
        ...

    async def erase(self, key_id: bytes, now: int) -> None:
        """Delete a person's key, empty the payloads of its identities (REDACTED) and cut its verifications' links."""
        ...

    async def set_fact(self, name: str, value: bytes) -> None:
        """Write a fact, whether or not it was there."""
        ...

    async def delete_fact(self, name: str) -> None:
        """Delete a fact, if it is there."""
        ...

    async def require_truncation(self) -> None:
        """Truncate the write-ahead log of SQLite after the commit: it still holds what this overwrites.

        The truncation runs in the background and is retried until it succeeds; meanwhile `TRUNCATION_FACT` is set.
        `erase` and `reseal` require it by themselves. PostgreSQL truncates nothing.
        """
        ...

    async def forget_answers(self, digests: Sequence[bytes]) -> None:
        """Delete recorded answers, by digest: their keys may be used again."""
        ...

    async def drop(self, key_range: KeyRange, cutoffs: Cutoffs) -> int:
        """Delete the old rows of a range that `Reader.key_range` found; returns how many.

        Rows that others have locked are left to the next sweep.
        """
        ...

    async def reseal(self, payloads: Sequence[tuple[bytes, bytes, bytes]]) -> frozenset[bytes]:
        """Replace sealed payloads of verifications, each given as id, what is there, and what shall be.

        Returns
        -------
        frozenset of bytes
            Ids of those that had this payload and were not being erased.
        """
        ...

    async def rewrap(self, rows: Sequence[PersonKeyRow]) -> None:
        """Replace the wrapping of person keys that still exist."""
        ...

    async def keys_under_other_masters(self, master_id: bytes, limit: int) -> list[PersonKeyRow]:
        """Person keys that are not wrapped by this master key."""
        ...

    async def update_webhook(self, row: WebhookRow) -> None:
        """Write all of a webhook but id, client and created_at; its last success never moves back."""
        ...

    async def touch_webhook(self, resource: bytes, succeeded_at: int) -> None:
        """Record that a delivery to a webhook succeeded, unless a later success is known.

        Several are appended in the order of their ids: others may be appending to the same ones.
        """
        ...

    async def delete_webhook(self, resource: bytes) -> None:
        """Delete a webhook, if it is there."""
        ...

    async def webhooks_of(self, clients: Sequence[int]) -> list[WebhookRow]:
        """All webhooks of some clients, inactive ones too, in the order of their ids."""
        ...

    async def waiting_clients(self) -> list[int]:
        """Clients with events that wait, in the order of their numbers."""
        ...

    async def take_events(self, shares: Mapping[int, int]) -> list[EventRow]:
        """Take waiting events: from now on they wait no longer.

        Those that another transaction is taking are left out.

        Parameters
        ----------
        shares : mapping of int to int
            How many events of each client to take at most, those of the lowest ids first.

        Returns
        -------
        list of EventRow
            In the order of their ids.
        """
        ...

    async def due_webhooks(self, now: int, limit: int, after: bytes) -> list[DueWebhook]:
        """Find webhooks with due deliveries that are not leased, in the order of their ids.

        Deliveries to a deleted webhook are dropped instead.

        Parameters
        ----------
        now : int
            Deliveries count that are due by then, and whose lease was over before.
        limit : int
            When fewer deliveries are due, all of their webhooks are found, each with their number. Otherwise so many
            webhooks are found at most.
        after : bytes
            The webhook after whose id to begin then.
        """
        ...

    async def lease_deliveries(
        self, now: int, until: int, shares: Mapping[bytes, int]
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        """Lease due deliveries that are not leased.

        Parameters
        ----------
        now : int
            See `due_webhooks`.
        until : int
            When the lease is over.
        shares : mapping of bytes to int
            How many deliveries of each webhook to lease at most; it gets fewer while others are leasing some.

        Returns
        -------
        list of tuple of (DeliveryRow, EventRow, WebhookRow)
            By the instant at which each was due.
        """
        ...

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        """Write the results of deliveries that are still WAITING; returns the ids of those.

        Their id, event, webhook, client and creation never change.
        """
        ...

    async def deliver_again(self, resource: bytes, now: int) -> bool:
        """Make a settled delivery WAITING again, due now and without attempts.

        Returns
        -------
        bool
            False if there is none, or it waits already.
        """
        ...

    async def drop_deliveries(self, webhook: bytes, now: int) -> None:
        """Make all WAITING deliveries of a webhook DROPPED."""
        ...

    async def revoke_api_key(self, digest: bytes, at: int) -> None:
        """Revoke an API key, unless it is already."""
        ...

    async def expire_api_key(self, digest: bytes, at: int) -> None:
        """Set when an API key expires."""
        ...

    async def revoke_client(self, client: int, at: int) -> None:
        """Revoke a client, unless it is already."""
        ...


class Store(Protocol):
    """A database, which all of its processes share."""

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """Read what has been committed."""
        ...

    def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction under the locks of some history scopes, taken in their order.

        Parameters
        ----------
        history_scopes : sequence of str
        wait : bool
            Whether to wait for locks that others hold; else the transaction begins without those.

        Raises
        ------
        StoreUnavailable
            On entry, from any call inside, or on leaving when the commit failed. After it nothing is written,
            but for one case: when the connection to a server breaks while it commits, all may be written or
            nothing.
        """
        ...

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """Take a token from the bucket of this name, shared by all processes of the database."""
        ...

    async def close(self) -> None:
        """Close all connections. No call may be in progress."""
        ...
