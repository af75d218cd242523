"""SQL for both databases, generated from the kinds of rows.

Arguments are written as in PostgreSQL, `$1`; SQLite gets `?1`. Where the dialects differ, `Each` holds both forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Final, get_args, get_type_hints

from scoring_model.service.core.rows import (
    TABLES,
    ApiKeyRow,
    BundleRow,
    ClientRow,
    FactRow,
    IdempotencyRow,
    IdentityRow,
    LabelRow,
    PersonKeyRow,
    Row,
    VerificationRow,
    WebhookRow,
)

_SERVER_TYPES: Final = {bytes: "bytea", int: "bigint", str: "text"}


@dataclass(frozen=True, slots=True)
class Each:
    """A statement in the form of each dialect, mostly one over many keys.

    Parameters
    ----------
    one : str
        For SQLite, which runs it for each key: the arguments are the parts of a key. That costs no more than a list.
    many : str
        For a server, which gets all keys in one round trip: the arguments are arrays, one for each part.
    """

    one: str
    many: str


def server_types(kind: type[Row]) -> list[str]:
    """The PostgreSQL types of the fields of a kind of rows."""
    types = []
    for hint in get_type_hints(kind).values():
        plain = (
            next(t for t in get_args(hint) if t is not type(None)) if isinstance(hint, UnionType) else hint
        )
        types.append(_SERVER_TYPES[plain])
    return types


def columns(kind: type[Row], alias: str = "") -> str:
    """The columns of a kind of rows, in the order of its fields."""
    return ", ".join(f"{alias}{name}" for name in kind._fields)


def select(kind: type[Row], rest: str) -> str:
    """A query for rows of a kind; `rest` follows the name of the table."""
    return f"SELECT {columns(kind)} FROM {TABLES[kind]} {rest}"


def places(first: int, count: int) -> str:
    """Placeholders of consecutive arguments."""
    return ", ".join(f"${place}" for place in range(first, first + count))


def for_each(head: str, rest: str = "", *, kind: str = "bytea") -> Each:
    """A statement by a key of a server's type `kind`: `head` ends before the comparison, `rest` follows it."""
    return Each(f"{head} = $1 {rest}".rstrip(), f"{head} = any($1::{kind}[]) {rest}".rstrip())


def insert_one(kind: type[Row]) -> str:
    """An insertion of one row."""
    return f"INSERT INTO {TABLES[kind]} ({columns(kind)}) VALUES ({places(1, len(kind._fields))})"


def arrays(types: list[str]) -> str:
    """A table made of arrays, one for each column."""
    return "unnest(" + ", ".join(f"${place}::{name}[]" for place, name in enumerate(types, 1)) + ")"


def insert_kinds(kinds: Sequence[type[Row]]) -> str:
    """One statement for a server that inserts rows of several kinds: the arrays of one kind after those of another."""
    insertions, place = [], 1
    for kind in kinds:
        types = server_types(kind)
        given = ", ".join(f"${place + i}::{name}[]" for i, name in enumerate(types))
        insertions.append(f"INSERT INTO {TABLES[kind]} ({columns(kind)}) SELECT * FROM unnest({given})")
        place += len(types)
    *others, last = insertions
    named = ", ".join(f"i{number} AS ({text})" for number, text in enumerate(others))
    return f"WITH {named} {last}" if named else last


def update_by_id(
    kind: type[Row], key: str, fixed: tuple[str, ...], condition: str, *, growing: tuple[str, ...] = ()
) -> Each:
    """An update of whole rows except the `fixed` columns, which returns the keys that were found.

    Columns in `growing` never get smaller.
    """
    table, names = TABLES[kind], kind._fields
    number = {name: place for place, name in enumerate(names, 1)}
    plain = [name for name in names if name not in (key, *fixed, *growing)]
    # SQLite wants every numbered argument to be used, at least the last one.
    one = ", ".join(
        [f"{name} = ${number[name]}" for name in plain]
        + [f"{name} = max({name}, ${number[name]})" for name in growing]
    )
    many = ", ".join(
        [f"{name} = given.{name}" for name in plain]
        + [f"{name} = greatest({table}.{name}, given.{name})" for name in growing]
    )
    return Each(
        f"UPDATE {table} SET {one} WHERE {key} = ${number[key]} {condition} RETURNING {key}",
        f"UPDATE {table} SET {many} FROM {arrays(server_types(kind))} AS given({columns(kind)}) "
        f"WHERE {table}.{key} = given.{key} {condition} RETURNING {table}.{key}",
    )


def select_each(kind: type[Row], key: str, rest: str = "") -> Each:
    """A query for rows of a kind by a key of bytes; `rest` follows the condition."""
    return for_each(select(kind, f"WHERE {key}"), rest)


FACT: Final = select(FactRow, "WHERE name = $1")
SET_FACT: Final = (
    "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
DELETE_FACT: Final = "DELETE FROM facts WHERE name = $1"
BUNDLES: Final = select(BundleRow, "ORDER BY first_served_at, model_version, policy_version")
CREDENTIALS: Final = for_each(
    f"SELECT {columns(ApiKeyRow, 'k.')}, {columns(ClientRow, 'c.')} "
    "FROM api_keys k JOIN clients c ON c.client = k.client WHERE k.digest"
)
CLIENTS: Final = select(ClientRow, "ORDER BY client")
_NEW_CLIENT: Final = ", ".join(name for name in ClientRow._fields if name != "client")
NEW_CLIENT: Final = (
    f"INSERT INTO clients ({_NEW_CLIENT}) VALUES ({places(1, len(ClientRow._fields) - 1)}) RETURNING client"
)
OWN_POOL: Final = "UPDATE clients SET pool = CAST(client AS TEXT) WHERE client = $1"
REVOKE_CLIENT: Final = "UPDATE clients SET revoked_at = $2 WHERE client = $1 AND revoked_at IS NULL"
API_KEYS: Final = select(ApiKeyRow, "WHERE client = $1 ORDER BY created_at, digest")
REVOKE_API_KEY: Final = "UPDATE api_keys SET revoked_at = $2 WHERE digest = $1 AND revoked_at IS NULL"
EXPIRE_API_KEY: Final = "UPDATE api_keys SET expires_at = $2 WHERE digest = $1"

IDENTITY: Final = select(IdentityRow, "WHERE id = $1 AND client = $2")
IDENTITY_AND_KEY: Final = for_each(
    f"SELECT {columns(IdentityRow, 'i.')}, {columns(PersonKeyRow, 'k.')} "
    "FROM identities i LEFT JOIN person_keys k ON k.key_id = i.key_id WHERE i.id"
)
IDENTITIES_OF: Final = select(IdentityRow, "WHERE key_id = $1 ORDER BY id")
VERIFICATION: Final = select(VerificationRow, "WHERE id = $1 AND client = $2")
VERIFICATION_BY_ID: Final = select(VerificationRow, "WHERE id = $1")
VERIFICATIONS_OF_IDENTITY: Final = select(
    VerificationRow,
    # By way of the person's key, which is indexed.
    "WHERE key_id = (SELECT key_id FROM identities WHERE id = $1) AND identity_id = $1 ORDER BY id",
)
COMPLETED: Final = select(
    VerificationRow,
    "WHERE client = $1 AND status = 'COMPLETED' AND (completed_at, id) > ($2, $3) "
    "ORDER BY completed_at, id LIMIT $4",
)
NEWEST_EVENT: Final = (
    "SELECT max(v.completed_at) FROM clients c CROSS JOIN verifications v WHERE v.id = "
    "(SELECT newest.id FROM verifications newest WHERE newest.client = c.client AND newest.status = 'COMPLETED' "
    "ORDER BY newest.completed_at DESC, newest.id DESC LIMIT 1) AND v.completed_at > $1 "
    # A verification holds the hashes of its link records, 16 bytes each: the first one stands for all.
    "AND EXISTS (SELECT 1 FROM links l WHERE l.hash = substr(v.links, 1, 16) AND l.time = v.completed_at)"
)
SETTLE: Final = update_by_id(
    VerificationRow, "id", ("client", "created_at"), "AND verifications.status = 'PENDING'"
)
_WAITING: Final = (
    "SELECT id FROM verifications WHERE status = 'PENDING' AND (leased_until IS NULL OR leased_until < $1) "
    "ORDER BY created_at, id LIMIT $3"
)
_LEASE: Final = "UPDATE verifications SET leased_until = $2 WHERE id"
LEASE: Final = Each(
    f"{_LEASE} IN ({_WAITING}) RETURNING {columns(VerificationRow)}",
    # Other processes may be leasing. An array is evaluated once; a plan could evaluate a list again.
    f"{_LEASE} = any(ARRAY({_WAITING} FOR UPDATE SKIP LOCKED)) RETURNING {columns(VerificationRow)}",
)

PAST: Final = "time, person, labels"
PASTS: Final = (PAST, f"{PAST}, amount", f"{PAST}, amount, more_amounts")
"""The columns of an event of a history, with the first amount, with all."""


def history(past: str, value: str) -> tuple[str, str]:
    """Two queries for the columns `past` of events of the hash `value`, from the instant $2 on, the latest first.

    One for the latest $3; the other for all from the instant $4 and before $5, and the latest $3 before $4.
    """
    found = f"FROM links WHERE links.hash = {value} AND time"
    among = f"(SELECT count(*) {found} >= $4 AND time < $5)"
    return (
        f"SELECT {past} {found} >= $2 ORDER BY time DESC LIMIT $3",
        f"SELECT {past} {found} >= $2 AND time < $5 ORDER BY time DESC LIMIT $3 + {among}",
    )


LABELS: Final = select_each(LabelRow, "verification_id", "ORDER BY number")
PERSON_KEYS: Final = select_each(PersonKeyRow, "key_id")
PERSONS: Final = Each(
    select(PersonKeyRow, "WHERE client = $1 AND person = $2"),
    f"SELECT {columns(PersonKeyRow, 'k.')} FROM person_keys k "
    "JOIN unnest($1::bigint[], $2::bytea[]) AS wanted(client, person) "
    "ON k.client = wanted.client AND k.person = wanted.person",
)
REWRAP: Final = update_by_id(PersonKeyRow, "key_id", ("client", "person"), "")
OTHER_MASTERS: Final = select(PersonKeyRow, "WHERE master_id <> $1 LIMIT $2")
ERASE: Final = (
    ("DELETE FROM person_keys WHERE key_id = $1", False),
    (
        "UPDATE identities SET payload = NULL, status = 'REDACTED', updated_at = $2 "
        "WHERE key_id = $1 AND status <> 'REDACTED'",
        True,
    ),
    ("UPDATE verifications SET payload = NULL, links = NULL WHERE key_id = $1", False),
)
"""The steps of an erasure of a person's key, and whether a step takes the instant too."""

IDEMPOTENCY: Final = select_each(IdempotencyRow, "digest")
FORGET_ANSWERS: Final = for_each("DELETE FROM idempotency WHERE digest")

WEBHOOK: Final = select(WebhookRow, "WHERE id = $1 AND client = $2")
WEBHOOKS: Final = select(WebhookRow, "WHERE client = $1 AND id > $2 ORDER BY id LIMIT $3")
UPDATE_WEBHOOK: Final = update_by_id(
    WebhookRow, "id", ("client", "created_at"), "", growing=("succeeded_at",)
)
TOUCH_WEBHOOK: Final = "UPDATE webhooks SET succeeded_at = $2 WHERE id = $1 AND succeeded_at < $2"
WEBHOOKS_OF: Final = for_each(select(WebhookRow, "WHERE client"), kind="bigint")
DELETE_WEBHOOK: Final = "DELETE FROM webhooks WHERE id = $1"
_LISTENS: Final = (
    "coalesce((SELECT 1 FROM webhooks WHERE webhooks.client = clients.client AND active = 1 LIMIT 1), 0)"
)
ADVANCE: Final = Each(
    "UPDATE clients SET sequence = sequence + $2 WHERE client = $1 "
    f"RETURNING client, sequence - $2, {_LISTENS}",
    "UPDATE clients SET sequence = clients.sequence + given.steps "
    "FROM unnest($1::bigint[], $2::bigint[]) AS given(client, steps) WHERE clients.client = given.client "
    f"RETURNING clients.client, clients.sequence - given.steps, {_LISTENS}",
)
NEWEST: Final = Each(
    "SELECT (SELECT max(time) FROM links WHERE hash = $1), (SELECT time FROM label_times WHERE hash = $1)",
    "SELECT (SELECT max(time) FROM links WHERE hash = given.hash), "
    "(SELECT time FROM label_times WHERE hash = given.hash) FROM unnest($1::bytea[]) AS given(hash)",
)
"""The newest event and the newest label of each hash."""

_FUTURE_LINKS: Final = "FROM links WHERE hash >= $1 AND hash <= $2 AND time > $3"
FUTURE_LINKS: Final = f"SELECT time {_FUTURE_LINKS}"
DELETE_FUTURE_LINKS: Final = f"DELETE {_FUTURE_LINKS} RETURNING time"

LABEL_TIMES: Final = Each(
    "INSERT INTO label_times (hash, time) VALUES ($1, $2) ON CONFLICT (hash) "
    "DO UPDATE SET time = max(label_times.time, excluded.time)",
    "INSERT INTO label_times (hash, time) SELECT hash, max(time) "
    "FROM unnest($1::bytea[], $2::bigint[]) AS given(hash, time) GROUP BY hash ORDER BY hash "
    "ON CONFLICT (hash) DO UPDATE SET time = greatest(label_times.time, excluded.time)",
)
"""Labelled events may lie anywhere in the history of a hash, so their newest instant is stored apart."""
