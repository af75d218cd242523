"""Indexes of verifications by identity and of identities by key and time, so that both are read page by page.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import text

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create an index, which leaves out verifications without an identity, and extend another."""
    condition = text("identity_id IS NOT NULL")
    op.create_index(
        "verifications_identity",
        "verifications",
        ["identity_id", "id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
    op.drop_index("identities_key", "identities")
    op.create_index("identities_key", "identities", ["key_id", "created_at", "id"])


def downgrade() -> None:
    """Refuse: older versions have no bound on what a label of an identity reads."""
    raise NotImplementedError(
        "Taking version 0011 back would read all verifications of a person for a label of one identity"
    )
