"""Bundles that are activated while processes serve: their files, what was decided about them, and who serves what.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add three tables; a database without activations is served as before."""
    op.create_table(
        "bundle_files",
        Column("model_version", Text, primary_key=True),
        Column("policy_version", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("content", LargeBinary, nullable=False),
    )
    op.create_table(
        "bundle_activations",
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("at", BigInteger, nullable=False),
        Column("model_version", Text, nullable=False),
        Column("policy_version", Text, nullable=False),
        Column("longest_window", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("requested_by", Text, nullable=False),
        Column("request", BigInteger, nullable=True),
        Column("reason", Text, nullable=True),
    )
    op.create_table(
        "serving_processes",
        Column("process", LargeBinary, primary_key=True, nullable=False),
        Column("host", Text, nullable=False),
        Column("pid", Integer, nullable=False),
        Column("model_version", Text, nullable=False),
        Column("policy_version", Text, nullable=False),
        Column("since", BigInteger, nullable=False),
        Column("checked", BigInteger, nullable=False),
        Column("problem", Text, nullable=True),
        Column("seen_at", BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Refuse: which bundle serves would be forgotten."""
    raise NotImplementedError("Taking version 0009 back would forget which bundle was activated")
