"""The first tables. They are edited in place until the first release; after it no migration ever changes.

There are few indexes, since each costs a page of the disk for each row that lands elsewhere in it; identifiers grow
with time, so that rows are appended to their primary keys.
"""

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Float,
    Identity,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

revision = "1000"
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
    _create_deliveries()
    _create_idempotency()
    _create_labels()
    _create_unknown_signals()
    _create_imported_records()
    _create_bundle_files()
    _create_bundle_activations()
    _create_serving_processes()
    _create_control_passes()
    _create_control_draws()
    if op.get_context().dialect.name == "postgresql":
        _create_buckets()


def downgrade() -> None:
    """Refuse: nothing lies before the first tables but the loss of everything."""
    raise NotImplementedError("Version 1000 is the first: taking it back would delete all data")


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False, null: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null, autoincrement=False)


def _count(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, Integer, primary_key=key, nullable=False, server_default="0", autoincrement=False)


def _partial_index(
    name: str, table: str, columns: list[str], condition: str, *, unique: bool = False
) -> None:
    where = text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


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
        _count("strict_signals"),
        _count("importing"),
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
    _partial_index(
        "person_keys_person", "person_keys", ["client", "person"], "person IS NOT NULL", unique=True
    )


def _create_identities() -> None:
    op.create_table(
        "identities",
        _column("id", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("key_id", LargeBinary),
        _column("status", Text),
        _column("payload", LargeBinary, null=True),
        _column("created_at", BigInteger),
        _column("updated_at", BigInteger),
        _column("external", LargeBinary, null=True),
    )
    op.create_index("identities_client", "identities", ["client", "created_at", "id"])
    by_reference = ["external", "created_at", "id"]
    _partial_index("identities_external", "identities", by_reference, "external IS NOT NULL")
    op.create_index("identities_key", "identities", ["key_id", "created_at", "id"])


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
        _column("subject", LargeBinary, null=True),
        _column("policy_outcome", Text, null=True),
        _column("control_share", Double, null=True),
        _column("control_drawn", Integer, null=True),
        _column("control_repeat", Integer, null=True),
    )
    _index_verifications()


# The partial indexes hold the few rows that lists and queues are searched for.
def _index_verifications() -> None:
    completed, paged = ["client", "completed_at", "id"], ["client", "created_at", "id"]
    _partial_index("verifications_completed", "verifications", completed, "status = 'COMPLETED'")
    _partial_index("verifications_pending", "verifications", paged[1:], "status = 'PENDING'")
    op.create_index("verifications_client", "verifications", paged)
    op.create_index("verifications_key", "verifications", ["key_id", "created_at", "id"])
    _partial_index("verifications_failed", "verifications", paged, "outcome = 'FAILED'")
    _partial_index("verifications_stepped_up", "verifications", paged, "outcome = 'STEPPED_UP'")
    _partial_index("verifications_unfinished", "verifications", paged, "status <> 'COMPLETED'")
    by_subject = ["subject", "created_at", "id"]
    _partial_index("verifications_subject", "verifications", by_subject, "subject IS NOT NULL")
    by_identity = ["identity_id", "id"]
    _partial_index("verifications_identity", "verifications", by_identity, "identity_id IS NOT NULL")


def _create_links() -> None:
    op.create_table(
        "links",
        _column("hash", LargeBinary, key=True),
        _column("time", BigInteger, key=True),
        _column("person", LargeBinary),
        _column("labels", LargeBinary, null=True),
        _column("amount", BigInteger, null=True),
        _column("more_amounts", LargeBinary, null=True),
        _count("tie", key=True),  # tells events of one instant apart
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
    # Clients take turns in the fan-out.
    _partial_index("events_waiting", "events", ["client", "id"], "waiting = 1")


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
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
    )
    op.create_index("webhooks_client", "webhooks", ["client", "id"])


# Most rows wait for a moment only and are in no index but those of their keys afterwards. The lease is in none: taking
# it and giving it back changes a row in place.
def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
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
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("deliveries_event", "deliveries", ["event", "webhook"], unique=True)
    _partial_index("deliveries_due", "deliveries", ["due_at"], "status = 'WAITING'")
    _partial_index("deliveries_webhook", "deliveries", ["webhook", "due_at"], "status = 'WAITING'")
    _partial_index("deliveries_dead", "deliveries", ["id"], "status = 'DEAD'")
    op.create_index("deliveries_list", "deliveries", ["webhook", "created_at", "id"])


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


def _create_unknown_signals() -> None:
    op.create_table(
        "unknown_signals",
        _column("client", BigInteger, key=True),
        _column("name", Text, key=True),
        _column("nearest", Text),
        _column("requests", BigInteger),
        _column("last_seen", BigInteger),
    )


def _create_imported_records() -> None:
    op.create_table(
        "imported_records",
        _column("record", LargeBinary, key=True),
        _column("client", BigInteger),
        _column("time", BigInteger),
        _column("links", LargeBinary),
        _column("labels", LargeBinary, null=True),
        sqlite_with_rowid=False,
    )


def _create_bundle_files() -> None:
    op.create_table(
        "bundle_files",
        _column("model_version", Text, key=True),
        _column("policy_version", Text, key=True),
        _column("name", Text, key=True),
        _column("content", LargeBinary),
    )


def _create_bundle_activations() -> None:
    op.create_table(
        "bundle_activations",
        _column("number", BigInteger, key=True),
        _column("at", BigInteger),
        _column("model_version", Text),
        _column("policy_version", Text),
        _column("longest_window", BigInteger),
        _column("state", Text),
        _column("requested_by", Text),
        _column("request", BigInteger, null=True),
        _column("reason", Text, null=True),
    )


def _create_serving_processes() -> None:
    op.create_table(
        "serving_processes",
        _column("process", LargeBinary, key=True),
        _column("host", Text),
        _column("pid", Integer),
        _column("model_version", Text),
        _column("policy_version", Text),
        _column("since", BigInteger),
        _column("checked", BigInteger),
        _column("problem", Text, null=True),
        _column("seen_at", BigInteger),
    )


# Who passed in the control group, so that nobody passes twice.
def _create_control_passes() -> None:
    op.create_table(
        "control_passes",
        _column("digest", LargeBinary, key=True),
        _column("time", BigInteger),
        _column("verification", LargeBinary),
        sqlite_with_rowid=False,
    )


def _create_control_draws() -> None:
    op.create_table(
        "control_draws",
        _column("day", BigInteger, key=True),
        _column("history_scope", Text, key=True),
        _column("policy_outcome", Text, key=True),
        _column("drawn", BigInteger),
        _column("repeats", BigInteger),
        _column("passed", BigInteger),
        _column("expected_cost", Double),
    )


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
