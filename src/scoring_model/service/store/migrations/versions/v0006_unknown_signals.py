"""Signals that the model does not know: clients whose requests with such signals are refused, and counts of the others.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the choice of a client, which is off for those that exist, and the table of counts."""
    op.add_column("clients", Column("strict_signals", Integer, nullable=False, server_default="0"))
    op.create_table(
        "unknown_signals",
        Column("client", BigInteger, primary_key=True, autoincrement=False),
        Column("name", Text, primary_key=True),
        Column("nearest", Text, nullable=False),
        Column("requests", BigInteger, nullable=False),
        Column("last_seen", BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Refuse: requests that clients want refused would be accepted."""
    raise NotImplementedError(
        "Taking version 0006 back would delete the choice of clients to refuse unknown signals"
    )
