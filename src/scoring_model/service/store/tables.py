"""The tables in SQLAlchemy: tests compare migrations with them, and nothing that serves imports them.

Each kind of rows has a table and each field a column. There are few indexes, since each costs a page of the disk for
each row that lands elsewhere in it; identifiers grow with time, so that rows are appended to their primary keys.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

metadata: Final = MetaData()

# SQLite wants INTEGER for an alias of the rowid; on a server numbers have 64 bits.
_NUMBER: Final = Integer().with_variant(BigInteger(), "postgresql")


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False, null: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null)


def _number(name: str) -> Column[int]:
    return Column(name, _NUMBER, Identity(always=False), primary_key=True)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


facts: Final = Table(
    "facts",
    metadata,
    _column("name", Text, key=True),
    _column("value", LargeBinary),
)

bundles: Final = Table(
    "bundles",
    metadata,
    _column("model_version", Text, key=True),
    _column("policy_version", Text, key=True),
    _column("reasons", Text),
    _column("first_served_at", BigInteger),
)

clients: Final = Table(
    "clients",
    metadata,
    _number("client"),
    _column("client_id", Text),
    _column("name", Text),
    _column("pool", Text),
    _column("scopes", Text),
    _column("quota", Integer),
    _column("quota_seconds", Integer),
    _column("sequence", BigInteger),
    _column("created_at", BigInteger),
    _column("revoked_at", BigInteger, null=True),
    UniqueConstraint("client_id", name="clients_client_id"),
    # Every commit changes the sequence: room on the page lets a server do it in place.
    postgresql_with={"fillfactor": 50},
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    _column("digest", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("created_at", BigInteger),
    _column("expires_at", BigInteger, null=True),
    _column("revoked_at", BigInteger, null=True),
    Index("api_keys_client", "client"),
)

person_keys: Final = Table(
    "person_keys",
    metadata,
    _column("key_id", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("person", LargeBinary, null=True),
    _column("master_id", LargeBinary),
    _column("wrapped", LargeBinary),
    _partial("person_keys_person", "client", "person", where="person IS NOT NULL", unique=True),
    sqlite_with_rowid=False,
)

identities: Final = Table(
    "identities",
    metadata,
    _column("id", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("key_id", LargeBinary),
    _column("status", Text),
    _column("payload", LargeBinary, null=True),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    Index("identities_key", "key_id"),
)

# With its rows of a kilobyte it is not kept in the tree of its key (WITHOUT ROWID): SQLite would put at most four rows
# on a page there, and what is longer than a kilobyte on pages of its own. Identifiers grow, so that both are appended.
verifications: Final = Table(
    "verifications",
    metadata,
    _column("id", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("identity_id", LargeBinary, null=True),
    _column("previous_id", LargeBinary, null=True),
    _column("key_id", LargeBinary),
    _column("status", Text),
    _column("outcome", Text, null=True),
    _column("score", Integer, null=True),
    _column("reasons", Text, null=True),
    _column("model_version", Text, null=True),
    _column("policy_version", Text, null=True),
    _column("created_at", BigInteger),
    _column("completed_at", BigInteger, null=True),
    _column("row_digest", LargeBinary, null=True),
    _column("payload", LargeBinary, null=True),
    _column("links", LargeBinary, null=True),
    _column("attempts", Integer),
    _column("leased_until", BigInteger, null=True),
    _column("reference", Text, null=True),
    Index("verifications_key", "key_id"),
    _partial("verifications_completed", "client", "completed_at", "id", where="status = 'COMPLETED'"),
    _partial("verifications_pending", "created_at", "id", where="status = 'PENDING'"),
)

links: Final = Table(
    "links",
    metadata,
    _column("hash", LargeBinary, key=True),
    _column("time", BigInteger, key=True),
    _column("person", LargeBinary),
    _column("labels", LargeBinary, null=True),
    _column("amount", BigInteger, null=True),
    sqlite_with_rowid=False,  # the events of a hash lie side by side
)

label_times: Final = Table(
    "label_times",
    metadata,
    _column("hash", LargeBinary, key=True),
    _column("time", BigInteger),
    sqlite_with_rowid=False,
)
"""No kind of rows: the newest instant of all labels under a hash, see `statements.LABEL_TIMES`."""

events: Final = Table(
    "events",
    metadata,
    _column("id", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("sequence", BigInteger),
    _column("type", Text),
    _column("resource", LargeBinary),
    _column("created_at", BigInteger),
    _column("data", Text),
    _column("waiting", Integer),
    Index("events_sequence", "client", "sequence", unique=True),
    _partial("events_waiting", "client", "id", where="waiting = 1"),
)

webhooks: Final = Table(
    "webhooks",
    metadata,
    _column("id", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("destination_url", Text),
    _column("active", Integer),
    _column("event_types", Text),
    _column("description", LargeBinary, null=True),
    _column("disabled_reason", Text, null=True),
    _column("secret", LargeBinary),
    _column("old_secret", LargeBinary, null=True),
    _column("old_secret_until", BigInteger, null=True),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    _column("succeeded_at", BigInteger),
    _column("query", LargeBinary, null=True),
    _column("since_sequence", BigInteger),
    Index("webhooks_client", "client", "id"),
)

# Most rows wait for a moment only and are in no index but those of their keys afterwards. The lease is in none: taking
# it and giving it back changes a row in place.
deliveries: Final = Table(
    "deliveries",
    metadata,
    _column("id", LargeBinary, key=True),
    _column("event", LargeBinary),
    _column("webhook", LargeBinary),
    _column("client", BigInteger),
    _column("status", Text),
    _column("attempts", Integer),
    _column("due_at", BigInteger),
    _column("leased_until", BigInteger, null=True),
    _column("created_at", BigInteger),
    _column("finished_at", BigInteger, null=True),
    _column("answered", Integer, null=True),
    _column("excerpt", Text, null=True),
    Index("deliveries_event", "event", "webhook", unique=True),
    _partial("deliveries_due", "due_at", where="status = 'WAITING'"),
    _partial("deliveries_webhook", "webhook", "due_at", where="status = 'WAITING'"),
    _partial("deliveries_dead", "id", where="status = 'DEAD'"),
    postgresql_with={"fillfactor": 70},
)

idempotency: Final = Table(
    "idempotency",
    metadata,
    _column("digest", LargeBinary, key=True),
    _column("client", BigInteger),
    _column("status", Integer),
    _column("resource", LargeBinary),
    _column("body_digest", LargeBinary),
    _column("answer", LargeBinary, null=True),
    _column("created_at", BigInteger),
)

labels: Final = Table(
    "labels",
    metadata,
    _number("number"),  # no field: the order in which they were reported
    _column("client", BigInteger),
    _column("verification_id", LargeBinary),
    _column("label", Text),
    _column("known_at", BigInteger),
    _column("told_at", BigInteger),
    Index("labels_told", "verification_id", "label", "known_at", unique=True),
)

server_only: Final = MetaData()
"""What a server keeps in tables and SQLite elsewhere."""

buckets: Final = Table(
    "buckets",
    server_only,
    _column("key", LargeBinary, key=True),
    _column("tokens", Float),
    _column("at", BigInteger),
    _column("capacity", Float),
    _column("per_second", Float),
    _column("wanted", BigInteger),
    _column("granted", BigInteger),
    prefixes=["UNLOGGED"],  # a crash of the server forgets them, and nothing waits for the disk
    postgresql_with={"fillfactor": 50},
)
"""Token buckets, see `buckets`. `wanted` and `granted` are of the latest request."""
