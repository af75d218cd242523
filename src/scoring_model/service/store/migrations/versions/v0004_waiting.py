"""Waiting events by client, so that clients take turns.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Put the client in front of the id in the index of waiting events."""
    waiting = text("waiting = 1")
    op.drop_index("events_waiting", "events")
    op.create_index(
        "events_waiting", "events", ["client", "id"], sqlite_where=waiting, postgresql_where=waiting
    )


def downgrade() -> None:
    """Refuse: without the index each search for waiting events reads all of them."""
    raise NotImplementedError("Taking version 0004 back would slow all deliveries down")
