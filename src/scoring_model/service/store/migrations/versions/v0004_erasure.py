"""Identities without the hash of their person; sealed parts of webhooks, and their sequence; waiting events by client.

As every migration, it is never changed once it was released.
"""

from typing import Any, Final

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text, text
from sqlalchemy.types import TypeEngine

revision = "0004"
down_revision = "0003"

# So far a webhook got the events that are not older than itself.
_SINCE: Final = (
    "coalesce((SELECT max(events.sequence) FROM events WHERE events.client = {0}.client "
    "AND events.created_at < {0}.created_at), 0)"
)
_SERVER: Final = (
    "UPDATE webhooks SET query = convert_to(substr(destination_url, strpos(destination_url, '?')), 'UTF8'), "
    "destination_url = substr(destination_url, 1, strpos(destination_url, '?') - 1) "
    "WHERE strpos(destination_url, '?') > 0",
    f"UPDATE webhooks SET since_sequence = {_SINCE.format('webhooks')}",
)
_COPY: Final = f"""
INSERT INTO webhooks SELECT id, client,
    CASE instr(destination_url, '?') WHEN 0 THEN destination_url
    ELSE substr(destination_url, 1, instr(destination_url, '?') - 1) END,
    active, event_types, CAST(description AS BLOB), disabled_reason, secret, old_secret, old_secret_until,
    created_at, updated_at, succeeded_at,
    CASE instr(destination_url, '?') WHEN 0 THEN NULL
    ELSE CAST(substr(destination_url, instr(destination_url, '?')) AS BLOB) END,
    {_SINCE.format("webhooks_before")}
FROM webhooks_before
"""


def upgrade() -> None:
    """Drop a hash that nothing reads, and move what is to be sealed into columns of bytes.

    No key is at hand here: the first process that has the keys seals those bytes, as the fact `unsealed_webhooks` asks.
    """
    if op.get_context().dialect.name == "postgresql":
        # A dropped column stays in the rows: those of erased persons are written anew without its value.
        op.execute("UPDATE identities SET person = NULL WHERE status = 'REDACTED'")
        _extend_webhooks()
        _ask_for_sealing("''::bytea")
    else:
        _copy_webhooks()
        _ask_for_sealing("x''")
        op.execute(
            "INSERT INTO facts (name, value) SELECT 'truncation_required', "
            "CAST(strftime('%s', 'now') || '000000' AS BLOB) "
            "WHERE EXISTS (SELECT 1 FROM identities WHERE status = 'REDACTED')"
        )
    op.drop_column("identities", "person")
    # Clients take turns in the fan-out of events.
    waiting = text("waiting = 1")
    op.drop_index("events_waiting", "events")
    op.create_index(
        "events_waiting", "events", ["client", "id"], sqlite_where=waiting, postgresql_where=waiting
    )


def downgrade() -> None:
    """Refuse: without their sealed parts webhooks lead nowhere."""
    raise NotImplementedError("Taking version 0004 back would delete the queries of all webhooks")


def _ask_for_sealing(no_bytes: str) -> None:
    op.execute(
        f"INSERT INTO facts (name, value) SELECT 'unsealed_webhooks', {no_bytes} "
        "WHERE EXISTS (SELECT 1 FROM webhooks WHERE query IS NOT NULL OR description IS NOT NULL)"
    )


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False, null: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null)


def _extend_webhooks() -> None:
    op.alter_column(
        "webhooks", "description", type_=LargeBinary, postgresql_using="convert_to(description, 'UTF8')"
    )
    op.add_column("webhooks", _column("query", LargeBinary, null=True))
    op.add_column("webhooks", _column("since_sequence", BigInteger, null=True))
    for statement in _SERVER:
        op.execute(statement)
    op.alter_column("webhooks", "since_sequence", nullable=False)


def _copy_webhooks() -> None:
    """SQLite changes no type of a column: the table is made anew. There are few webhooks."""
    op.drop_index("webhooks_client", "webhooks")
    op.rename_table("webhooks", "webhooks_before")
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
    op.execute(_COPY)
    op.drop_table("webhooks_before")
    op.create_index("webhooks_client", "webhooks", ["client", "id"])
