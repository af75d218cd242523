"""Deliveries of events, and the last success of a webhook.

As every migration, it is never changed once it was released.
"""

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text, text
from sqlalchemy.types import TypeEngine

revision = "0002"
down_revision = "0001"

_WEBHOOK = (
    "id, client, destination_url, active, event_types, description, disabled_reason, secret, old_secret, "
    "old_secret_until, created_at, updated_at"
)


def upgrade() -> None:
    """Add the table of deliveries; a webhook counts as successful since its creation."""
    if op.get_context().dialect.name == "postgresql":
        _extend_webhooks()
    else:
        _copy_webhooks()
    _create_deliveries()


def downgrade() -> None:
    """Refuse: what was delivered to whom would be lost."""
    raise NotImplementedError("Taking version 0002 back would delete all deliveries")


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False, null: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null)


def _extend_webhooks() -> None:
    op.add_column("webhooks", _column("succeeded_at", BigInteger, null=True))
    op.execute("UPDATE webhooks SET succeeded_at = created_at")
    op.alter_column("webhooks", "succeeded_at", nullable=False)


def _copy_webhooks() -> None:
    """SQLite adds no column that must have a value: the table is made anew. There are few webhooks."""
    op.drop_index("webhooks_client", "webhooks")
    op.rename_table("webhooks", "webhooks_before")
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
        _column("succeeded_at", BigInteger),
    )
    op.execute(
        f"INSERT INTO webhooks ({_WEBHOOK}, succeeded_at) SELECT {_WEBHOOK}, created_at FROM webhooks_before"
    )
    op.drop_table("webhooks_before")
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
    _create_partial_index("deliveries_due", ["due_at"], "status = 'WAITING'")
    _create_partial_index("deliveries_webhook", ["webhook", "due_at"], "status = 'WAITING'")
    _create_partial_index("deliveries_dead", ["id"], "status = 'DEAD'")


def _create_partial_index(name: str, columns: list[str], condition: str) -> None:
    op.create_index(
        name, "deliveries", columns, sqlite_where=text(condition), postgresql_where=text(condition)
    )
