"""The clients of the service and their API keys: operations for operators, and the caller of a request."""

import base64
import hashlib
import re
import secrets
import string
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scoring_model.contract.rules import normal_form
from scoring_model.contract.units import SECOND
from scoring_model.contract.violation import OUT_OF_RANGE, Invalid, Violation, pointer
from scoring_model.service.core.rows import ApiKeyRow, ClientRow
from scoring_model.service.store import Reader, Store, Transaction

NAME_LENGTH: Final = 100
LIVE_KEYS: Final = 2
DEFAULT_QUOTA: Final = 6_000  # requests
DEFAULT_SECONDS: Final = 60
LARGEST_QUOTA: Final = 1_000_000_000
LONGEST_QUOTA: Final = 86_400  # seconds
_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_LENGTH: Final = 22  # 131 bits
_KEY_BYTES: Final = 32
_QUOTA: Final = re.compile(r"(\d{1,10})/(\d{1,10})", re.ASCII)


class ClientError(Exception):
    """An operation on a client is not possible. The message is for operators."""


class UnknownClient(ClientError):
    """There is no client with this id."""


class RevokedClient(ClientError):
    """The client was permanently revoked."""


class Permission(StrEnum):
    """A permission of an API key."""

    IDENTITIES = "identities"
    VERIFICATIONS = "verifications"
    WEBHOOKS = "webhooks"
    LABELS = "labels"
    RESOLUTIONS = "resolutions"
    LISTS = "lists"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated client.

    Parameters
    ----------
    client : int
        Its number in the store.
    client_id : str
        Its public name.
    history_scope : str
        Clients with the same scope share history; by default each client has its own.
    permissions : frozenset of Permission
    quota : int
        Requests that its bucket holds.
    quota_seconds : int
        Seconds in which an empty bucket fills.
    strict_signals : bool
        Whether a request with a signal that the model does not know is refused.
    importing : bool
        Whether its history is being imported, so that nothing is scored.
    sandbox : bool
        Whether it decides its own verifications, of which nothing is exported, counted or learnt from.
    """

    client: int
    client_id: str
    history_scope: str
    permissions: frozenset[Permission]
    quota: int
    quota_seconds: int
    strict_signals: bool = False
    importing: bool = False
    sandbox: bool = False


@dataclass(frozen=True, slots=True)
class NewClient:
    """A new client with its first API key, which is shown only once."""

    client_id: str
    api_key: str = field(repr=False)


async def create_client(
    store: Store,
    *,
    name: str,
    permissions: Collection[Permission],
    quota: int = DEFAULT_QUOTA,
    quota_seconds: int = DEFAULT_SECONDS,
    history_scope: str | None = None,
    strict_signals: bool = False,
    sandbox: bool = False,
    now: int,
) -> NewClient:
    """Create a client with one API key; stores only a hash of the key.

    Parameters
    ----------
    name : str
        For operators: 1 to 100 characters after NFC and trimming; need not be unique.
    permissions : collection of Permission
        At least one.
    quota : int
        Requests, 1 to 1,000,000,000.
    quota_seconds : int
        1 to 86,400.
    history_scope : str, optional
        Clients with the same scope share history. Same rules as `name`, but not a number: a client that shares with
        no other has its number as its scope.
    strict_signals : bool
        Whether to refuse requests with a signal that the model does not know.
    sandbox : bool
        Whether it is a sandbox, for good. Its history is its own.
    now : int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    Invalid
        With all violations.
    StoreUnavailable
    """
    name = _normal(name)
    history_scope = None if history_scope is None else _normal(history_scope)
    if violations := [
        *_broken_name("name", name),
        *_broken_quota(quota, quota_seconds),
        *_broken_scopes(permissions, history_scope, sandbox=sandbox),
    ]:
        raise Invalid(violations)
    client_id, api_key = _new_client_id(), _new_api_key()
    row = ClientRow(
        client=0,
        client_id=client_id,
        name=name,
        pool=history_scope or "",
        scopes=format_permissions(permissions),
        quota=quota,
        quota_seconds=quota_seconds,
        sequence=0,
        created_at=now,
        revoked_at=None,
        strict_signals=int(strict_signals),
        sandbox=int(sandbox),
    )
    async with store.writing([history_scope] if history_scope else []) as transaction:
        sharing = [other for other in await transaction.clients() if other.pool == history_scope]
        number = await transaction.new_client(row._replace(importing=int(any(c.importing for c in sharing))))
        await transaction.insert([ApiKeyRow(key_digest(api_key), number, now, None, None)])
    return NewClient(client_id, api_key)


async def rotate_key(store: Store, client_id: str, *, grace_seconds: int = 86_400, now: int) -> str:
    """Give a client a new API key; the previous one stays valid for a grace period.

    Parameters
    ----------
    grace_seconds : int
        How long the latest previous key stays valid, 0 or more; does not extend its expiry. Older keys expire
        immediately, so that at most two are live.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    str
        The new key in plain text, which is not stored.

    Raises
    ------
    UnknownClient, RevokedClient, Invalid, StoreUnavailable
    """
    if grace_seconds < 0:
        raise Invalid([Violation("/grace", OUT_OF_RANGE, "must be 0 seconds or more")])
    api_key = _new_api_key()
    async with store.writing([await _history_scope(store, client_id)]) as transaction:
        # Read under the lock, so that two concurrent rotations leave two live keys, not three.
        client = await _found(transaction, client_id)
        if client.revoked_at is not None:
            raise RevokedClient(f"client {client_id} has been revoked")
        keys = await transaction.api_keys(client.client)
        await _end(transaction, keys, until=now + grace_seconds * SECOND, now=now)
        await transaction.insert([ApiKeyRow(key_digest(api_key), client.client, now, None, None)])
    return api_key


async def _end(transaction: Transaction, keys: Sequence[ApiKeyRow], *, until: int, now: int) -> None:
    live = [key for key in keys if is_live(key, now)]
    kept, older = live[1 - LIVE_KEYS :], live[: 1 - LIVE_KEYS]
    for key in kept:
        if key.expires_at is None or key.expires_at > until:
            await transaction.expire_api_key(key.digest, until)
    for key in older:
        await transaction.revoke_api_key(key.digest, now)


async def revoke(store: Store, client_id: str, *, now: int) -> None:
    """Revoke a client permanently; its data stays. Idempotent.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC. Serving processes notice within five seconds.

    Raises
    ------
    UnknownClient, StoreUnavailable
    """
    async with store.writing([await _history_scope(store, client_id)]) as transaction:
        client = await _found(transaction, client_id)
        if client.revoked_at is not None:
            return
        for key in await transaction.api_keys(client.client):
            if key.revoked_at is None:
                await transaction.revoke_api_key(key.digest, now)
        await transaction.revoke_client(client.client, now)


async def grant(store: Store, client_id: str, *, permissions: Collection[Permission]) -> None:
    """Replace the permissions of a client; serving processes notice within five seconds.

    Raises
    ------
    UnknownClient, StoreUnavailable
    """
    async with store.writing([await _history_scope(store, client_id)]) as transaction:
        client = await _found(transaction, client_id)
        await transaction.set_scopes(client.client, format_permissions(permissions))


async def list_clients(store: Store) -> list[tuple[ClientRow, list[ApiKeyRow]]]:
    """List all clients with all their API keys, oldest first, including revoked ones."""
    async with store.reading() as reader:
        return [(row, await reader.api_keys(row.client)) for row in await reader.clients()]


def parse_quota(text: str) -> tuple[int, int]:
    """Parse a quota of requests and seconds, such as `6000/60`; raises `Invalid`."""
    match = _QUOTA.fullmatch(text)
    if match is None:
        raise Invalid([Violation("/quota", "malformed", "must be requests and seconds, such as 6000/60")])
    quota, seconds = int(match[1]), int(match[2])
    if violations := [*_broken_quota(quota, seconds)]:
        raise Invalid(violations)
    return quota, seconds


def parse_permissions(text: str) -> frozenset[Permission]:
    """Parse comma-separated permissions; raises `Invalid` if one is unknown or there are none."""
    named = {name.strip() for name in text.split(",")}
    if not named <= set(Permission):
        detail = f"must be {', '.join(Permission)}, separated by commas"
        raise Invalid([Violation("/scopes", "not_listed", detail)])
    return frozenset(map(Permission, named))


def format_permissions(permissions: Collection[Permission]) -> str:
    """Format permissions as text, in the order of their definition."""
    return ",".join(permission for permission in Permission if permission in permissions)


def caller_of(row: ClientRow) -> Caller:
    """Return the caller for a client row."""
    permissions = parse_permissions(row.scopes)
    return Caller(
        client=row.client,
        client_id=row.client_id,
        history_scope=row.pool,
        permissions=permissions,
        quota=row.quota,
        quota_seconds=row.quota_seconds,
        strict_signals=bool(row.strict_signals),
        importing=bool(row.importing),
        sandbox=bool(row.sandbox),
    )


def key_digest(api_key: str) -> bytes:
    """Hash an API key for storage and lookup; accepts any text.

    An API key has 256 random bits, so one round of SHA-256 (FIPS 180-4) is enough.
    """
    return hashlib.sha256(api_key.encode(errors="surrogatepass")).digest()


def is_live(key: ApiKeyRow, now: int) -> bool:
    """Return True if a key is neither revoked nor expired at an instant."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


async def find_client(store: Store, client_id: str) -> ClientRow:
    """Return a client.

    Raises
    ------
    UnknownClient
    """
    async with store.reading() as reader:
        return await _found(reader, client_id)


async def _history_scope(store: Store, client_id: str) -> str:
    return (await find_client(store, client_id)).pool


async def _found(reader: Reader, client_id: str) -> ClientRow:
    for row in await reader.clients():
        if row.client_id == client_id:
            return row
    raise UnknownClient(f"there is no client {client_id}")


def _new_client_id() -> str:
    return "cl_" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def _new_api_key() -> str:
    return "sk_" + base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).rstrip(b"=").decode()


def _normal(text: str) -> str:
    return normal_form(text).strip()


def _broken_name(field: str, text: str) -> Iterator[Violation]:
    if not 1 <= len(text) <= NAME_LENGTH:
        detail = f"must have 1 to {NAME_LENGTH} characters, got {len(text)}"
        yield Violation(pointer(field), OUT_OF_RANGE, detail)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        yield Violation(pointer(field), "control_character", "must have no control characters")


def _broken_quota(quota: int, quota_seconds: int) -> Iterator[Violation]:
    if not 1 <= quota <= LARGEST_QUOTA:
        yield Violation("/quota", OUT_OF_RANGE, f"must be 1 to {LARGEST_QUOTA} requests")
    if not 1 <= quota_seconds <= LONGEST_QUOTA:
        yield Violation("/quota", OUT_OF_RANGE, f"must be of 1 to {LONGEST_QUOTA} seconds")


def _broken_scopes(
    permissions: Collection[Permission], history_scope: str | None, *, sandbox: bool
) -> Iterator[Violation]:
    if not permissions:
        yield Violation("/scopes", OUT_OF_RANGE, "must be at least one")
    if history_scope is not None:
        yield from _broken_name("historyScope", history_scope)
        if history_scope.isdecimal():
            detail = "must not be a number: a client that shares with no other has its number"
            yield Violation("/historyScope", "a_number", detail)
        if sandbox:
            detail = "a sandbox client shares its history with no other"
            yield Violation("/historyScope", "not_for_a_sandbox", detail)
