"""SQL for both databases, generated from the row types.

Placeholders are those of PostgreSQL, `$1`; SQLite gets `?1`. Where the dialects differ, `Each` has both forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from scoring_model.service.core.rows import (
    TABLES,
    ApiKeyRow,
    BundleFileRow,
    ClientRow,
    DeliveryRow,
    DeliveryStatus,
    EventRow,
    FactRow,
    IdentityRow,
    LabelRow,
    PersonKeyRow,
    ResolutionRow,
    Row,
    ServingProcessRow,
    UnknownSignalRow,
    VerificationRow,
    WebhookRow,
)


@dataclass(frozen=True, slots=True)
class Each:
    """A statement in both dialects, usually over many keys.

    Parameters
    ----------
    one : str
        For SQLite, which runs it for each key: the arguments are the parts of a key. That costs no more than a list.
    many : str
        For a server, which gets all keys in one round trip: the arguments are arrays, one for each part.
    takes_rows : bool
        Whether `many` takes one array of whole rows, which the driver encodes in two thirds of the time.
    """

    one: str
    many: str
    takes_rows: bool = False


def columns(kind: type[Row], alias: str = "") -> str:
    """Return the columns of a row type, in the order of its fields."""
    return ", ".join(f"{alias}{name}" for name in kind._fields)


def select(kind: type[Row], rest: str) -> str:
    """Return a query for rows of a type; `rest` follows the name of the table."""
    return f"SELECT {columns(kind)} FROM {TABLES[kind]} {rest}"


def places(first: int, count: int) -> str:
    """Return placeholders of consecutive arguments."""
    return ", ".join(f"${place}" for place in range(first, first + count))


def for_each(head: str, rest: str = "", *, kind: str = "bytea") -> Each:
    """Return a statement by a key of PostgreSQL type `kind`: `head` ends before the comparison, `rest` follows it."""
    return Each(f"{head} = $1 {rest}".rstrip(), f"{head} = any($1::{kind}[]) {rest}".rstrip())


def insert_one(kind: type[Row]) -> str:
    """Return an insertion of one row."""
    return f"INSERT INTO {TABLES[kind]} ({columns(kind)}) VALUES ({places(1, len(kind._fields))})"


def insert_kinds(kinds: Sequence[type[Row]]) -> str:
    """Return one PostgreSQL statement that inserts rows of several types, each as an array of rows of its table."""
    insertions = [
        f"INSERT INTO {TABLES[kind]} ({columns(kind)}) SELECT {columns(kind)} FROM unnest(${place}::{TABLES[kind]}[])"
        for place, kind in enumerate(kinds, 1)
    ]
    *others, last = insertions
    named = ", ".join(f"i{number} AS ({text})" for number, text in enumerate(others))
    return f"WITH {named} {last}" if named else last


def update_by_id(
    kind: type[Row], key: str, fixed: tuple[str, ...], condition: str, *, growing: tuple[str, ...] = ()
) -> Each:
    """Return an update of all columns except `fixed`, which returns the keys found.

    Columns in `growing` never get smaller.
    """
    table, names = TABLES[kind], kind._fields
    number = {name: place for place, name in enumerate(names, 1)}
    plain = [name for name in names if name not in (key, *fixed, *growing)]
    # SQLite requires that the last numbered argument is used.
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
        f"UPDATE {table} SET {many} FROM unnest($1::{table}[]) AS given "
        f"WHERE {table}.{key} = given.{key} {condition} RETURNING {table}.{key}",
        takes_rows=True,
    )


def select_each(kind: type[Row], key: str, rest: str = "") -> Each:
    """Return a query for rows of a type by a bytes key; `rest` follows the condition."""
    return for_each(select(kind, f"WHERE {key}"), rest)


FACT: Final = select(FactRow, "WHERE name = $1")
DELETE_FACT: Final = "DELETE FROM facts WHERE name = $1"
LATEST_OVERRIDES: Final = "SELECT (SELECT max(number) FROM rule_sets), (SELECT max(number) FROM list_changes)"
RULE_HITS: Final = (
    "SELECT rule_hits, count(*) FROM verifications "
    "WHERE rules = $1 AND rule_hits IS NOT NULL GROUP BY rule_hits"
)
LIST_HITS: Final = (
    "SELECT c.pool, v.list_hits, count(*) FROM verifications v JOIN clients c ON c.client = v.client "
    "WHERE v.list_hits IS NOT NULL GROUP BY c.pool, v.list_hits"
)
LIST_HASHES: Final = (
    "SELECT added, hash FROM list_entries WHERE (added, hash) > ($1, $2) ORDER BY added, hash LIMIT $3"
)
END_ENTRIES: Final = Each(
    "UPDATE list_entries SET removed = $3, ended_at = min($4, coalesce(until, $4)) "
    "WHERE hash = $1 AND list_number = $2 AND removed IS NULL RETURNING hash",
    "UPDATE list_entries SET removed = given.removed, ended_at = least(given.at, until) "
    "FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[]) AS given(hash, list_number, removed, at) "
    "WHERE list_entries.hash = given.hash AND list_entries.list_number = given.list_number "
    "AND list_entries.removed IS NULL RETURNING list_entries.hash",
)
EXPIRED_ENTRIES: Final = (
    "SELECT hash FROM list_entries WHERE list_number = $1 AND removed IS NULL AND until <= $2"
)
END_EXPIRED: Final = Each(
    "UPDATE list_entries SET removed = $2 WHERE list_number = $1 AND removed IS NULL AND until <= $3 RETURNING hash",
    "UPDATE list_entries SET removed = given.removed "
    "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given(list_number, removed, at) "
    "WHERE list_entries.list_number = given.list_number AND list_entries.removed IS NULL AND until <= given.at "
    "RETURNING hash",
)
OF_LIST: Final = "list_number, removed"
"""Of deleted entries, for their lists, which do not count removed ones. SQLite 3.40 evaluates IS NULL wrongly here."""
FORGET_PERSON: Final = (
    "DELETE FROM list_entries WHERE hash = $1 AND NOT EXISTS (SELECT 1 FROM clients WHERE "
    "pool = (SELECT pool FROM clients WHERE client = $2) AND EXISTS "
    "(SELECT 1 FROM person_keys WHERE person_keys.client = clients.client AND person = $1)) "
    f"RETURNING {OF_LIST}"
)
BUNDLE_FILES: Final = select(BundleFileRow, "WHERE model_version = $1 AND policy_version = $2 ORDER BY name")
_REPORTED: Final = ", ".join(f"{name} = excluded.{name}" for name in ServingProcessRow._fields[1:])
REPORT_PROCESS: Final = f"{insert_one(ServingProcessRow)} ON CONFLICT (process) DO UPDATE SET {_REPORTED}"
CREDENTIALS: Final = for_each(
    f"SELECT {columns(ApiKeyRow, 'k.')}, {columns(ClientRow, 'c.')} "
    "FROM api_keys k JOIN clients c ON c.client = k.client WHERE k.digest"
)
_NEW_CLIENT: Final = ", ".join(name for name in ClientRow._fields if name != "client")
NEW_CLIENT: Final = (
    f"INSERT INTO clients ({_NEW_CLIENT}) VALUES ({places(1, len(ClientRow._fields) - 1)}) RETURNING client"
)
OWN_POOL: Final = "UPDATE clients SET pool = CAST(client AS TEXT) WHERE client = $1"

_ADD_REQUESTS: Final = (
    "ON CONFLICT (client, name) DO UPDATE SET nearest = excluded.nearest, last_seen = excluded.last_seen, "
    "requests = unknown_signals.requests + excluded.requests"
)
COUNT_UNKNOWN_SIGNALS: Final = Each(
    f"{insert_one(UnknownSignalRow)} {_ADD_REQUESTS}",
    f"{insert_kinds([UnknownSignalRow])} {_ADD_REQUESTS}",
    takes_rows=True,
)

IDENTITY_AND_KEY: Final = for_each(
    f"SELECT {columns(IdentityRow, 'i.')}, {columns(PersonKeyRow, 'k.')} "
    "FROM identities i LEFT JOIN person_keys k ON k.key_id = i.key_id WHERE i.id"
)
IDS_OF_IDENTITY: Final = (
    "SELECT id FROM verifications WHERE identity_id = $1 AND id > $2 ORDER BY id LIMIT $3"
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
    # A verification has the concatenated hashes of its link records, 16 bytes each: the first is enough.
    "AND EXISTS (SELECT 1 FROM links l WHERE l.hash = substr(v.links, 1, 16) AND l.time = v.completed_at)"
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

COUNT_DRAWN: Final = (
    "INSERT INTO control_draws (history_scope, day, policy_outcome, drawn, repeats, passed, expected_cost) "
    "VALUES ($1, $2, $3, 1, $4, 0, $5) ON CONFLICT (history_scope, day, policy_outcome) DO UPDATE SET "
    "drawn = control_draws.drawn + 1, repeats = control_draws.repeats + excluded.repeats, "
    "expected_cost = control_draws.expected_cost + excluded.expected_cost RETURNING drawn, expected_cost"
)


def _past(amounts: int) -> str:
    """Return the columns of a past event; its tie is needed only to unmask amounts."""
    of_amounts = ("amount", "more_amounts")[: min(amounts, 2)]
    return ", ".join(("time", "person", "labels", *of_amounts, *(("tie",) if amounts else ())))


@cache
def histories(amounts: int, *, between: bool) -> Each:
    """Return a query for events of hashes from instant $2 on, latest first; PostgreSQL adds the index of the hash.

    The latest $3 of each hash or, `between` two instants, all from $4 on and before $5 and the latest $3 before $4;
    with those of the instant of the last one. SQLite has no such limit: it returns one more event, and `ties` finds
    the others of its instant.
    """
    past = _past(amounts)

    def found(value: str, limit: str) -> str:
        rows = f"FROM links WHERE links.hash = {value} AND time"
        among = f"(SELECT count(*) {rows} >= $4 AND time < $5)"
        most = f"$3 + {among}" if between else "$3"
        before = "AND time < $5 " if between else ""
        return f"SELECT {past} {rows} >= $2 {before}ORDER BY time DESC {limit.format(most)}"

    server = found("wanted.hash", "FETCH FIRST ({0}) ROWS WITH TIES")
    return Each(
        found("$1", "LIMIT {0} + 1"),
        f"SELECT wanted.place, {past} FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted(hash, place) "
        f"CROSS JOIN LATERAL ({server}) AS found ORDER BY wanted.place, found.time DESC",
    )


@cache
def ties(amounts: int) -> str:
    """Return a query for the events of a hash at one instant."""
    return f"SELECT {_past(amounts)} FROM links WHERE hash = $1 AND time = $2"


LABELS: Final = select_each(LabelRow, "verification_id", "ORDER BY number")
PERSONS: Final = Each(
    select(PersonKeyRow, "WHERE client = $1 AND person = $2"),
    f"SELECT {columns(PersonKeyRow, 'k.')} FROM person_keys k "
    "JOIN unnest($1::bigint[], $2::bytea[]) AS wanted(client, person) "
    "ON k.client = wanted.client AND k.person = wanted.person",
)
_SEALED: Final = " UNION ".join(
    f"SELECT * FROM (SELECT DISTINCT key_id FROM {TABLES[kind]} WHERE key_id > $1 AND payload IS NOT NULL "
    f"ORDER BY key_id LIMIT $2) AS {TABLES[kind]}"
    for kind in (IdentityRow, VerificationRow)
)
SEALING_KEYS: Final = f"SELECT key_id FROM ({_SEALED}) AS sealed ORDER BY key_id LIMIT $2"
LACKS_KEYS: Final = (
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM person_keys) AND ("
    "EXISTS (SELECT 1 FROM identities WHERE payload IS NOT NULL) OR "
    "EXISTS (SELECT 1 FROM verifications WHERE payload IS NOT NULL))"
)
DELETE_KEY: Final = "DELETE FROM person_keys WHERE key_id = $1 RETURNING client, person"


def _of_key(kind: type[Row]) -> str:
    return (
        f"SELECT created_at, id FROM {TABLES[kind]} WHERE key_id = $1 AND (created_at, id) > ($2, $3) "
        "ORDER BY created_at, id LIMIT $4"
    )


IDENTITIES_OF_KEY: Final = _of_key(IdentityRow)
VERIFICATIONS_OF_KEY: Final = _of_key(VerificationRow)
"""The positions of what a person's key sealed, a page at a time."""

_REDACT: Final = "UPDATE identities SET payload = NULL, external = NULL, status = 'REDACTED', updated_at ="
ERASE_IDENTITIES: Final = Each(
    f"{_REDACT} $2 WHERE id = $1 AND status <> 'REDACTED' RETURNING {columns(IdentityRow)}",
    f"{_REDACT} given.now FROM unnest($1::bytea[], $2::bigint[]) AS given(id, now) "
    f"WHERE identities.id = given.id AND status <> 'REDACTED' RETURNING {columns(IdentityRow, 'identities.')}",
)
ERASE_VERIFICATIONS: Final = for_each(
    "UPDATE verifications SET payload = NULL, links = NULL, subject = NULL "
    "WHERE (payload IS NOT NULL OR links IS NOT NULL OR subject IS NOT NULL) AND id"
)

ERASE_RESOLUTIONS: Final = for_each(
    "UPDATE resolutions SET payload = NULL WHERE payload IS NOT NULL AND verification_id"
)
RESOLUTIONS: Final = select_each(ResolutionRow, "verification_id", "ORDER BY created_at, id")

UPDATE_WEBHOOK: Final = update_by_id(
    WebhookRow, "id", ("client", "created_at"), "", growing=("succeeded_at",)
)
WEBHOOKS_OF: Final = for_each(select(WebhookRow, "WHERE client"), kind="bigint")
HAS_VERIFICATION: Final = "SELECT 1 FROM verifications WHERE client = $1 LIMIT 1"
LABEL_IMPORTED: Final = Each(
    "UPDATE imported_records SET labels = $2 WHERE record = $1",
    "UPDATE imported_records SET labels = given.labels FROM unnest($1::bytea[], $2::bytea[]) "
    "AS given(record, labels) WHERE imported_records.record = given.record",
)
LAST_TIES: Final = Each(
    "SELECT hash, time, max(tie) FROM links WHERE hash = $1 AND time = $2 GROUP BY hash, time",
    "SELECT links.hash, links.time, max(links.tie) FROM links JOIN unnest($1::bytea[], $2::bigint[]) "
    "AS given(hash, time) ON links.hash = given.hash AND links.time = given.time GROUP BY links.hash, links.time",
)
_LISTENS: Final = (
    "coalesce((SELECT 1 FROM webhooks WHERE webhooks.client = clients.client AND active = 1 LIMIT 1), 0)"
)
ADVANCE: Final = Each(
    "UPDATE clients SET sequence = sequence + $2 WHERE client = $1 "
    f"RETURNING client, sequence - $2, {_LISTENS}, importing, sandbox",
    "UPDATE clients SET sequence = clients.sequence + given.steps "
    "FROM unnest($1::bigint[], $2::bigint[]) AS given(client, steps) WHERE clients.client = given.client "
    f"RETURNING clients.client, clients.sequence - given.steps, {_LISTENS}, clients.importing, clients.sandbox",
)
MOST_COUNTED: Final = 10_000
"""Rows up to which `MEASURES` counts."""

LATEST_STEP_UPS: Final = 100
"""Step-ups of each client that `MEASURES` looks at."""


def _counted(rest: str) -> str:
    return f"(SELECT count(*) FROM (SELECT 1 FROM {rest} LIMIT {MOST_COUNTED}) AS counted)"


MEASURES: Final = (
    "SELECT "
    + _counted("verifications WHERE status = 'PENDING'")
    + ", "
    + _counted("deliveries WHERE status = 'WAITING'")
    + ", "
    + _counted("deliveries WHERE status = 'DEAD'")
    + ", "
    + _counted("facts WHERE name LIKE 'erasing.%'")
    + ", "
    "(SELECT min(due_at) FROM deliveries WHERE status = 'WAITING'), "
    "(SELECT told_at FROM labels ORDER BY number DESC LIMIT 1), "
    "(SELECT sum((SELECT count(*) FROM (SELECT v.id FROM verifications v WHERE v.client = c.client "
    f"AND v.outcome = 'STEPPED_UP' ORDER BY v.created_at DESC, v.id DESC LIMIT {LATEST_STEP_UPS}) AS latest WHERE "
    "NOT EXISTS (SELECT 1 FROM resolutions r WHERE r.verification_id = latest.id))) FROM clients c)"
)
"""What `Reader.measures` returns, each by searches of an index."""

NEWEST: Final = Each(
    "SELECT (SELECT max(time) FROM links WHERE hash = $1), (SELECT time FROM label_times WHERE hash = $1)",
    "SELECT (SELECT max(time) FROM links WHERE hash = given.hash), "
    "(SELECT time FROM label_times WHERE hash = given.hash) FROM unnest($1::bytea[]) AS given(hash)",
)
"""The newest event and the newest label of each hash."""

_FUTURE_LINKS: Final = "FROM links WHERE hash >= $1 AND hash <= $2 AND time > $3"
FUTURE_LINKS: Final = f"SELECT time {_FUTURE_LINKS}"
DELETE_FUTURE_LINKS: Final = f"DELETE {_FUTURE_LINKS} RETURNING time"

APPEND_LABELS: Final = Each(
    "UPDATE links SET labels = CAST(coalesce(labels, x'') || $4 AS BLOB) WHERE hash = $1 AND time = $2 "
    "AND tie = $3 RETURNING hash, time, tie",
    "UPDATE links SET labels = coalesce(links.labels, ''::bytea) || given.packed "
    "FROM unnest($1::bytea[], $2::bigint[], $3::integer[], $4::bytea[]) AS given(hash, time, tie, packed) "
    "WHERE links.hash = given.hash AND links.time = given.time AND links.tie = given.tie "
    "RETURNING links.hash, links.time, links.tie",
)
LABEL_TIMES: Final = Each(
    "INSERT INTO label_times (hash, time) VALUES ($1, $2) ON CONFLICT (hash) "
    "DO UPDATE SET time = max(label_times.time, excluded.time)",
    "INSERT INTO label_times (hash, time) SELECT hash, max(time) "
    "FROM unnest($1::bytea[], $2::bigint[]) AS given(hash, time) GROUP BY hash ORDER BY hash "
    "ON CONFLICT (hash) DO UPDATE SET time = greatest(label_times.time, excluded.time)",
)
"""Labelled events may be anywhere in the history of a hash, so their newest instant is stored separately."""

RESEAL: Final = Each(
    "UPDATE verifications SET payload = $3 WHERE id = $1 AND payload = $2 RETURNING id",
    "WITH found AS (SELECT v.id, given.new FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS given(id, old, new) "
    "JOIN verifications v ON v.id = given.id WHERE v.payload = given.old ORDER BY v.id FOR UPDATE OF v SKIP LOCKED) "
    "UPDATE verifications SET payload = found.new FROM found WHERE verifications.id = found.id "
    "RETURNING verifications.id",
)
"""Keeps erased values erased; PostgreSQL skips rows that another transaction is erasing."""

_WAITING_EVENTS: Final = "SELECT client FROM events WHERE waiting = 1"
WAITING_CLIENTS: Final = (
    f"WITH RECURSIVE waiting(client) AS (SELECT ({_WAITING_EVENTS} ORDER BY client LIMIT 1) UNION ALL "
    f"SELECT ({_WAITING_EVENTS} AND client > waiting.client ORDER BY client LIMIT 1) FROM waiting "
    "WHERE waiting.client IS NOT NULL) SELECT client FROM waiting WHERE client IS NOT NULL"
)
"""One index search per client, regardless of the number of waiting events."""


def _events(client: str, most: str) -> str:
    return f"SELECT id FROM events WHERE waiting = 1 AND client = {client} ORDER BY id LIMIT {most}"


_TAKE_EVENTS: Final = "UPDATE events SET waiting = 0 WHERE id"
TAKE_EVENTS: Final = Each(
    f"{_TAKE_EVENTS} IN ({_events('$1', '$2')}) RETURNING {columns(EventRow)}",
    f"{_TAKE_EVENTS} = any(ARRAY(SELECT taken.id FROM unnest($1::bigint[], $2::bigint[]) AS share(client, most) "
    f"CROSS JOIN LATERAL ({_events('share.client', 'share.most')} FOR UPDATE SKIP LOCKED) AS taken)) "
    f"RETURNING {columns(EventRow)}",
)


def _free(now: str) -> str:
    """Return the condition that a delivery waits, is due and is not leased."""
    return f"status = 'WAITING' AND due_at <= {now} AND (leased_until IS NULL OR leased_until < {now})"


_WEBHOOK: Final = "due.webhook, webhooks.client, webhooks.destination_url"
_OF_WEBHOOKS: Final = "LEFT JOIN webhooks ON webhooks.id = due.webhook"
SOME_DUE: Final = (
    f"SELECT {_WEBHOOK}, due.number FROM (SELECT webhook, count(*) AS number FROM "
    f"(SELECT webhook FROM deliveries WHERE {_free('$1')} LIMIT $2) AS found GROUP BY webhook) "
    f"AS due {_OF_WEBHOOKS}"
)
"""The webhooks of the first due deliveries found, with the number of these per webhook."""

_TARGET: Final = "SELECT webhook FROM deliveries WHERE status = 'WAITING' AND webhook >"
NEXT_DUE: Final = (
    f"WITH RECURSIVE due(webhook) AS (SELECT ({_TARGET} $3 ORDER BY webhook LIMIT 1) UNION ALL "
    f"SELECT ({_TARGET} due.webhook ORDER BY webhook LIMIT 1) FROM due "
    f"WHERE due.webhook IS NOT NULL) SELECT {_WEBHOOK}, NULL FROM due {_OF_WEBHOOKS} "
    # PostgreSQL would join EXISTS and read all due rows.
    f"WHERE (SELECT 1 FROM deliveries WHERE webhook = due.webhook AND {_free('$1')} LIMIT 1) = 1 LIMIT $2"
)
"""The next webhooks after an id with due deliveries: two index searches each, regardless of their number."""


def _due(webhook: str, most: str, now: str) -> str:
    return (
        f"SELECT id FROM deliveries WHERE webhook = {webhook} AND {_free(now)} ORDER BY due_at LIMIT {most}"
    )


_LEASE_DELIVERIES: Final = "UPDATE deliveries SET leased_until ="
LEASE_DELIVERIES: Final = Each(
    f"{_LEASE_DELIVERIES} $4 WHERE id IN ({_due('$1', '$2', '$3')}) RETURNING id",
    f"{_LEASE_DELIVERIES} ($4::bigint[])[1] WHERE id = any(ARRAY(SELECT leased.id FROM "
    "unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS share(webhook, most, now) CROSS JOIN LATERAL "
    f"({_due('share.webhook', 'share.most', 'share.now')} FOR UPDATE SKIP LOCKED) AS leased)) RETURNING id",
)
"""By webhook and its share; the two instants are the same for all."""

_LEASED: Final = ", ".join((columns(DeliveryRow, "d."), columns(EventRow, "e."), columns(WebhookRow, "w.")))
LEASED_DELIVERIES: Final = for_each(
    f"SELECT {_LEASED} FROM deliveries d JOIN events e ON e.id = d.event "
    "JOIN webhooks w ON w.id = d.webhook WHERE d.id"
)

SETTLE_DELIVERIES: Final = update_by_id(
    DeliveryRow, "id", ("event", "webhook", "client", "created_at"), "AND deliveries.status = 'WAITING'"
)
_DROP_DELIVERIES: Final = "UPDATE deliveries SET status = 'DROPPED', leased_until = NULL, finished_at ="
_SOME_WAITING: Final = "SELECT id FROM deliveries WHERE webhook = $1 AND status = 'WAITING' LIMIT $3"
DROP_DELIVERIES: Final = Each(
    f"{_DROP_DELIVERIES} $2 WHERE id IN ({_SOME_WAITING}) RETURNING id",
    # Other transactions may be settling some of them: all lock in id order.
    f"{_DROP_DELIVERIES} $2 WHERE status = 'WAITING' AND id = any(ARRAY("
    f"SELECT id FROM deliveries WHERE id = any(ARRAY({_SOME_WAITING})) ORDER BY id FOR UPDATE)) RETURNING id",
)
LOCK_DELIVERIES_IN_ORDER: Final = (
    "SELECT id FROM deliveries WHERE id = any($1::bytea[]) ORDER BY id FOR UPDATE"
)

_DELIVERY: Final = ", ".join((columns(DeliveryRow, "d."), columns(EventRow, "e.")))
DELIVERY: Final = f"SELECT {_DELIVERY} FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = $1"

DELIVERIES_BY_IDS: Final = for_each(
    f"SELECT {_DELIVERY} FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id"
)
DELIVER_AGAIN: Final = (
    "UPDATE deliveries SET status = 'WAITING', attempts = 0, due_at = $2, leased_until = NULL, "
    "finished_at = NULL WHERE id = $1 AND status <> 'WAITING' RETURNING id"
)


@cache
def deliveries(status: str | None, *, client: bool, webhook: bool) -> str:
    """Return a query for at most `$2` deliveries after the id `$1`.

    Parameters
    ----------
    status : str or None
        The status to return. It is part of the SQL, since indexes are partial by status.
    client, webhook : bool
        Filter by client and webhook, the next arguments.

    Raises
    ------
    ValueError
        If there is no such status.
    """
    conditions = ["id > $1"]
    if status is not None:
        conditions.append(f"status = '{DeliveryStatus(status).value}'")
    for place, name in enumerate((name for name, on in (("client", client), ("webhook", webhook)) if on), 3):
        conditions.append(f"{name} = ${place}")
    return select(DeliveryRow, f"WHERE {' AND '.join(conditions)} ORDER BY id LIMIT $2")
