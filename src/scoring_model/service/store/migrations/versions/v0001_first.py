"""The first tables. What a migration does is never changed once it was released.

There are few indexes, since each costs a page of the disk for each row that lands elsewhere in it; identifiers grow
with time, so that rows are appended to their primary keys.
"""

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Identity,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables of an empty database."""
    _create_facts()
    _create_bundles()
    _create_clients()
    _create_api_keys()
    _create_person_keys()
    _create_identities()
    _create_verifications()
    _create_links()
    _create_label_times()
    _create_events()
    _create_webhooks()
    _create_idempotency()
    _create_labels()
    if op.get_context().dialect.name == "postgresql":
        _create_buckets()


def downgrade() -> None:
    """Refuse: nothing lies before the first tables but the loss of everything."""
    raise NotImplementedError("Version 0001 is the first: taking it back would delete all data")


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False, null: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null)


def _number(name: str) -> Column[int]:
    # SQLite wants INTEGER for an alias of the rowid; on a server numbers have 64 bits.
    kind = Integer().with_variant(BigInteger(), "postgresql")
    return Column(name, kind, Identity(always=False), primary_key=True)


def _create_facts() -> None:
    op.create_table(
        "facts",
        _column("name", Text, key=True),
        _column("value", LargeBinary),
    )


def _create_bundles() -> None:
    op.create_table(
        "bundles",
        _column("model_version", Text, key=True),
        _column("policy_version", Text, key=True),
        _column("reasons", Text),
        _column("first_served_at", BigInteger),
    )


def _create_clients() -> None:
    op.create_table(
        "clients",
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


def _create_api_keys() -> None:
    op.create_table(
        "api_keys",
        _column("digest", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("created_at", BigInteger),
        _column("expires_at", BigInteger, null=True),
        _column("revoked_at", BigInteger, null=True),
    )
    op.create_index("api_keys_client", "api_keys", ["client"])


def _create_person_keys() -> None:
    op.create_table(
        "person_keys",
        _column("key_id", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("person", LargeBinary, null=True),
        _column("master_id", LargeBinary),
        _column("wrapped", LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "person_keys_person",
        "person_keys",
        ["client", "person"],
        unique=True,
        sqlite_where=text("person IS NOT NULL"),
        postgresql_where=text("person IS NOT NULL"),
    )


def _create_identities() -> None:
    op.create_table(
        "identities",
        _column("id", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("key_id", LargeBinary),
        _column("person", LargeBinary, null=True),
        _column("status", Text),
        _column("payload", LargeBinary, null=True),
        _column("created_at", BigInteger),
        _column("updated_at", BigInteger),
    )
    op.create_index("identities_key", "identities", ["key_id"])


# With its rows of a kilobyte it is not kept in the tree of its key (WITHOUT ROWID): SQLite would put at most four rows
# on a page there, and what is longer than a kilobyte on pages of its own. Identifiers grow, so that both are appended.
def _create_verifications() -> None:
    op.create_table(
        "verifications",
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
    )
    op.create_index("verifications_key", "verifications", ["key_id"])
    op.create_index(
        "verifications_completed",
        "verifications",
        ["client", "completed_at", "id"],
        sqlite_where=text("status = 'COMPLETED'"),
        postgresql_where=text("status = 'COMPLETED'"),
    )
    op.create_index(
        "verifications_pending",
        "verifications",
        ["created_at", "id"],
        sqlite_where=text("status = 'PENDING'"),
        postgresql_where=text("status = 'PENDING'"),
    )


def _create_links() -> None:
    op.create_table(
        "links",
        _column("hash", LargeBinary, key=True),
        _column("time", BigInteger, key=True),
        _column("person", LargeBinary),
        _column("labels", LargeBinary, null=True),
        sqlite_with_rowid=False,  # the events of a hash lie side by side
    )


def _create_label_times() -> None:
    op.create_table(
        "label_times",
        _column("hash", LargeBinary, key=True),
        _column("time", BigInteger),
        sqlite_with_rowid=False,
    )


def _create_events() -> None:
    op.create_table(
        "events",
        _column("id", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("sequence", BigInteger),
        _column("type", Text),
        _column("resource", LargeBinary),
        _column("created_at", BigInteger),
        _column("data", Text),
        _column("waiting", Integer),
    )
    op.create_index("events_sequence", "events", ["client", "sequence"], unique=True)
    op.create_index(
        "events_waiting",
        "events",
        ["id"],
        sqlite_where=text("waiting = 1"),
        postgresql_where=text("waiting = 1"),
    )


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        _column("id", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("destination_url", Text),
        _column("active", Integer),
        _column("event_types", Text),
        _column("description", Text, null=True),
        _column("disabled_reason", Text, null=True),
        _column("secret", LargeBinary),
        _column("old_secret", LargeBinary, null=True),
        _column("old_secret_until", BigInteger, null=True),
        _column("created_at", BigInteger),
        _column("updated_at", BigInteger),
    )
    op.create_index("webhooks_client", "webhooks", ["client", "id"])


def _create_idempotency() -> None:
    op.create_table(
        "idempotency",
        _column("digest", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("status", Integer),
        _column("resource", LargeBinary),
        _column("body_digest", LargeBinary),
        _column("answer", LargeBinary, null=True),
        _column("created_at", BigInteger),
    )


def _create_labels() -> None:
    op.create_table(
        "labels",
        _number("number"),  # the order in which they were reported
        _column("client", BigInteger),
        _column("verification_id", LargeBinary),
        _column("label", Text),
        _column("known_at", BigInteger),
        _column("told_at", BigInteger),
    )
    op.create_index("labels_told", "labels", ["verification_id", "label", "known_at"], unique=True)


def _create_buckets() -> None:
    op.create_table(
        "buckets",
        _column("key", LargeBinary, key=True),
        _column("tokens", Float),
        _column("at", BigInteger),
        _column("capacity", Float),
        _column("per_second", Float),
        _column("wanted", BigInteger),
        _column("granted", BigInteger),  # as `wanted`, of the latest request
        prefixes=["UNLOGGED"],  # a crash of the server forgets them, and nothing waits for the disk
        postgresql_with={"fillfactor": 50},
    )
