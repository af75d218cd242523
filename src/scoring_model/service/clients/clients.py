"""The clients of the service and their API keys: what operators do with them."""

import base64
import hashlib
import re
import secrets
import string
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from scoring_model.contract.rules import normal_form
from scoring_model.service.core.resources import Caller, Permission
from scoring_model.service.core.rows import ApiKeyRow, ClientRow
from scoring_model.service.store import Reader, Store, Transaction

NAME_LENGTH: Final = 100
LIVE_KEYS: Final = 2
DEFAULT_QUOTA: Final = 6_000  # requests
DEFAULT_SECONDS: Final = 60
LARGEST_QUOTA: Final = 1_000_000_000
LONGEST_QUOTA: Final = 86_400  # seconds
SECOND: Final = 1_000_000
_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_LENGTH: Final = 22  # 131 bits
_KEY_BYTES: Final = 32
_QUOTA: Final = re.compile(r"(\d{1,10})/(\d{1,10})", re.ASCII)


class ClientError(Exception):
    """Something can't be done with a client. The text is for operators."""


class UnknownClient(ClientError):
    """There is no client of this id."""


class RevokedClient(ClientError):
    """The client has been revoked, for good."""


class InvalidClient(ClientError):
    """What was said of a client breaks rules; the text names all of them."""


@dataclass(frozen=True, slots=True)
class NewClient:
    """A client that has just been created.

    Parameters
    ----------
    client_id : str
        Public.
    api_key : str
        Shown this once.
    """

    client_id: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeySummary:
    """An API key, without what could be used."""

    created_at: int
    expires_at: int | None
    revoked_at: int | None

    def is_live(self, now: int) -> bool:
        """Whether requests with it are let in at an instant."""
        return is_live(self, now)


@dataclass(frozen=True, slots=True)
class ClientSummary:
    """A client, as operators see it.

    Parameters
    ----------
    quota : int
        Requests that its bucket holds.
    quota_seconds : int
        In which the bucket fills.
    history_scope : str
        The clients of one scope share history.
    keys : tuple of KeySummary
        All that it ever had, the oldest first.
    """

    client_id: str
    name: str
    permissions: frozenset[Permission]
    quota: int
    quota_seconds: int
    history_scope: str
    created_at: int
    revoked_at: int | None
    keys: tuple[KeySummary, ...]


async def create_client(
    store: Store,
    *,
    name: str,
    permissions: Collection[Permission],
    quota: int = DEFAULT_QUOTA,
    quota_seconds: int = DEFAULT_SECONDS,
    history_scope: str | None = None,
    now: int,
) -> NewClient:
    """Create a client with one API key.

    Parameters
    ----------
    name : str
        For operators: 1 to 100 characters after NFC and trimming. Two clients may have the same.
    permissions : collection of Permission
        At least one.
    quota : int
        Requests, 1 to 1,000,000,000.
    quota_seconds : int
        1 to 86,400.
    history_scope : str, optional
        Clients of one scope share history. Like a name, but not a number: a client that shares with none has its
        number as its scope.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    NewClient
        With the key in the clear, which is not kept.

    Raises
    ------
    InvalidClient
        If any of it breaks a rule.
    StoreUnavailable
    """
    name = _normal(name)
    history_scope = None if history_scope is None else _normal(history_scope)
    problems = [
        *_broken_name("name", name),
        *_broken_permissions(permissions),
        *_broken_quota(quota, quota_seconds),
    ]
    _check(problems if history_scope is None else [*problems, *_broken_history_scope(history_scope)])
    client_id, api_key = _new_client_id(), _new_api_key()
    row = ClientRow(
        0,
        client_id,
        name,
        history_scope or "",
        format_permissions(permissions),
        quota,
        quota_seconds,
        0,
        now,
        None,
    )
    async with store.writing([history_scope] if history_scope else []) as transaction:
        number = await transaction.new_client(row)
        await transaction.insert([ApiKeyRow(key_digest(api_key), number, now, None, None)])
    return NewClient(client_id, api_key)


async def rotate_key(store: Store, client_id: str, *, grace_seconds: int = 86_400, now: int) -> str:
    """Give a client a new API key, while the one before stays good for a while.

    Parameters
    ----------
    grace_seconds : int
        How long the latest key before stays good, 0 or more; never longer than it would have. Older ones end
        at once, so that at most two are live.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    str
        The new key in the clear, which is not kept.

    Raises
    ------
    UnknownClient, RevokedClient
    InvalidClient
        If the grace is negative.
    StoreUnavailable
    """
    _check(["grace must be 0 seconds or more"] if grace_seconds < 0 else [])
    api_key = _new_api_key()
    history_scope = (await _found(store, client_id)).pool
    async with store.writing([history_scope]) as transaction:
        # Read again under the lock, so that two rotations at once leave two live keys and not three.
        client = await _live(transaction, client_id)
        keys = await transaction.api_keys(client.client)
        await _end(transaction, keys, until=now + grace_seconds * SECOND, now=now)
        await transaction.insert([ApiKeyRow(key_digest(api_key), client.client, now, None, None)])
    return api_key


async def _end(transaction: Transaction, keys: Sequence[ApiKeyRow], *, until: int, now: int) -> None:
    live = sorted((key for key in keys if is_live(key, now)), key=lambda key: key.created_at)
    kept, older = live[1 - LIVE_KEYS :], live[: 1 - LIVE_KEYS]
    for key in kept:
        if key.expires_at is None or key.expires_at > until:
            await transaction.expire_api_key(key.digest, until)
    for key in older:
        await transaction.revoke_api_key(key.digest, now)


async def revoke(store: Store, client_id: str, *, now: int) -> None:
    """Shut a client out, for good; what it has stored stays. Doing it again changes nothing.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC. Processes that serve notice within five seconds.

    Raises
    ------
    UnknownClient
    StoreUnavailable
    """
    history_scope = (await _found(store, client_id)).pool
    async with store.writing([history_scope]) as transaction:
        client = _one_of(await transaction.clients(), client_id)
        if client.revoked_at is not None:
            return
        for key in await transaction.api_keys(client.client):
            if key.revoked_at is None:
                await transaction.revoke_api_key(key.digest, now)
        await transaction.revoke_client(client.client, now)


async def list_clients(store: Store) -> list[ClientSummary]:
    """List all clients, revoked ones too, in the order of their creation.

    Raises
    ------
    StoreUnavailable
    """
    async with store.reading() as reader:
        rows = sorted(await reader.clients(), key=lambda row: row.client)
        return [_summary(row, await reader.api_keys(row.client)) for row in rows]


def _summary(row: ClientRow, keys: Sequence[ApiKeyRow]) -> ClientSummary:
    in_order = sorted(keys, key=lambda key: key.created_at)
    return ClientSummary(
        row.client_id,
        row.name,
        parse_permissions(row.scopes),
        row.quota,
        row.quota_seconds,
        row.pool,
        row.created_at,
        row.revoked_at,
        tuple([KeySummary(key.created_at, key.expires_at, key.revoked_at) for key in in_order]),
    )


def parse_quota(text: str) -> tuple[int, int]:
    """Read a quota.

    Parameters
    ----------
    text : str
        Requests and seconds, such as `6000/60`.

    Raises
    ------
    InvalidClient
        If it is of another form, or out of range.
    """
    match = _QUOTA.fullmatch(text)
    if match is None:
        raise InvalidClient("a quota is requests and seconds, such as 6000/60")
    quota, seconds = int(match[1]), int(match[2])
    _check(_broken_quota(quota, seconds))
    return quota, seconds


def parse_permissions(text: str) -> frozenset[Permission]:
    """Read permissions, separated by commas.

    Raises
    ------
    InvalidClient
        If one is unknown, or there is none.
    """
    named = {name.strip() for name in text.split(",")}
    if not named <= set(Permission):
        raise InvalidClient(f"scopes are {', '.join(Permission)}, separated by commas")
    return frozenset(map(Permission, named))


def format_permissions(permissions: Collection[Permission]) -> str:
    """Write permissions, in the order of their definition."""
    return ",".join(permission for permission in Permission if permission in permissions)


def caller_of(row: ClientRow) -> Caller:
    """Say of a client what requests need to know."""
    permissions = parse_permissions(row.scopes)
    return Caller(row.client, row.client_id, row.pool, permissions, row.quota, row.quota_seconds)


def key_digest(api_key: str) -> bytes:
    """Hash an API key as it is kept: its 256 bits are random, so that one round of SHA-256 is enough.

    Parameters
    ----------
    api_key : str
        Any text at all.

    Returns
    -------
    bytes
        32 of them.

    References
    ----------
    FIPS 180-4.
    """
    return hashlib.sha256(api_key.encode(errors="surrogatepass")).digest()


def is_live(key: ApiKeyRow | KeySummary, now: int) -> bool:
    """Whether a key is neither revoked nor expired at an instant."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


async def _found(store: Store, client_id: str) -> ClientRow:
    async with store.reading() as reader:
        return _one_of(await reader.clients(), client_id)


async def _live(reader: Reader, client_id: str) -> ClientRow:
    client = _one_of(await reader.clients(), client_id)
    if client.revoked_at is not None:
        raise RevokedClient(f"client {client_id} has been revoked")
    return client


def _one_of(rows: Sequence[ClientRow], client_id: str) -> ClientRow:
    for row in rows:
        if row.client_id == client_id:
            return row
    raise UnknownClient(f"there is no client {client_id}")


def _new_client_id() -> str:
    return "cl_" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def _new_api_key() -> str:
    return "sk_" + base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).rstrip(b"=").decode()


def _normal(text: str) -> str:
    return normal_form(text).strip()


def _broken_history_scope(text: str) -> list[str]:
    problems = _broken_name("history scope", text)
    if text.isdecimal():
        problems.append("history scope must not be a number: a client that shares with none has its number")
    return problems


def _broken_name(what: str, text: str) -> list[str]:
    problems = []
    if not 1 <= len(text) <= NAME_LENGTH:
        problems.append(f"{what} must have 1 to {NAME_LENGTH} characters, got {len(text)}")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        problems.append(f"{what} must have no control characters")
    return problems


def _broken_permissions(permissions: Collection[Permission]) -> list[str]:
    return [] if permissions else ["scopes must be at least one"]


def _broken_quota(quota: int, quota_seconds: int) -> list[str]:
    problems = []
    if not 1 <= quota <= LARGEST_QUOTA:
        problems.append(f"quota must be 1 to {LARGEST_QUOTA} requests")
    if not 1 <= quota_seconds <= LONGEST_QUOTA:
        problems.append(f"quota must be of 1 to {LONGEST_QUOTA} seconds")
    return problems


def _check(problems: list[str]) -> None:
    if problems:
        raise InvalidClient("; ".join(problems))
