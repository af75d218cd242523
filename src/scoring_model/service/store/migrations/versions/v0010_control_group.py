"""What the policy alone would have decided, who was drawn for its control group, and how many on each day.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Double, Integer, Text

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add three columns and a table; verifications that are there were decided without a control group."""
    op.add_column("verifications", Column("policy_outcome", Text, nullable=True))
    op.add_column("verifications", Column("control_share", Double, nullable=True))
    op.add_column("verifications", Column("control_drawn", Integer, nullable=True))
    op.create_table(
        "control_days",
        Column("day", BigInteger, primary_key=True, autoincrement=False),
        Column("policy_outcome", Text, primary_key=True),
        Column("drawn", BigInteger, nullable=False),
        Column("passed", BigInteger, nullable=False),
        Column("expected_cost", Double, nullable=False),
    )


def downgrade() -> None:
    """Refuse: it would be forgotten which verifications the policy did not decide."""
    raise NotImplementedError("Taking version 0010 back would forget who was in the control group")
