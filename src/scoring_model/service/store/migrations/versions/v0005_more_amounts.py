"""Further amounts of link rows.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import Column, LargeBinary

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column of masked amounts after the first; what is there already has none."""
    op.add_column("links", Column("more_amounts", LargeBinary, nullable=True))


def downgrade() -> None:
    """Refuse: histories that sum several amounts would be lost."""
    raise NotImplementedError("Taking version 0005 back would delete all amounts after the first")
