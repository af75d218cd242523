"""Who passed in a control group, so that nobody passes twice, and counts of draws in each history scope.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Double, Integer, LargeBinary, Text

revision = "0012"
down_revision = "0011"

_COUNTS = "day, policy_outcome, drawn, passed, expected_cost"


def upgrade() -> None:
    """Count by history scope: the counts that are there were of all scopes, and keep the scope of none."""
    op.add_column("verifications", Column("control_repeat", Integer, nullable=True))
    op.create_table(
        "control_passes",
        Column("digest", LargeBinary, primary_key=True, nullable=False),
        Column("time", BigInteger, nullable=False),
        Column("verification", LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "control_draws",
        Column("day", BigInteger, primary_key=True, nullable=False),
        Column("history_scope", Text, primary_key=True, nullable=False),
        Column("policy_outcome", Text, primary_key=True, nullable=False),
        Column("drawn", BigInteger, nullable=False),
        Column("repeats", BigInteger, nullable=False),
        Column("passed", BigInteger, nullable=False),
        Column("expected_cost", Double, nullable=False),
    )
    op.execute(
        f"INSERT INTO control_draws (history_scope, {_COUNTS}, repeats) SELECT '', {_COUNTS}, 0 FROM control_days"
    )
    op.drop_table("control_days")


def downgrade() -> None:
    """Refuse: those who passed would pass again."""
    raise NotImplementedError("Taking version 0012 back would forget who passed in a control group")
