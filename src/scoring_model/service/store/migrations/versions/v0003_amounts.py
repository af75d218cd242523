"""Amounts of link rows.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column of masked amounts; what is there already has none."""
    op.add_column("links", Column("amount", BigInteger, nullable=True))


def downgrade() -> None:
    """Refuse: histories that sum amounts would be lost."""
    raise NotImplementedError("Taking version 0003 back would delete all amounts")
