"""Indexes of lists, and hashes of references.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import Column, LargeBinary, text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the indexes by which lists are read, and the hashes by which sealed references are found.

    No key is at hand here: hashes of rows that are there already are added by a command, as the fact
    `references_unindexed` asks. The partial indexes hold the few rows that lists are searched for.
    """
    op.add_column("verifications", Column("subject", LargeBinary, nullable=True))
    op.add_column("identities", Column("external", LargeBinary, nullable=True))
    op.create_index("verifications_client", "verifications", ["client", "created_at", "id"])
    op.drop_index("verifications_key", "verifications")
    op.create_index("verifications_key", "verifications", ["key_id", "created_at", "id"])
    _partial("verifications_failed", "verifications", "client", "outcome = 'FAILED'")
    _partial("verifications_stepped_up", "verifications", "client", "outcome = 'STEPPED_UP'")
    _partial("verifications_unfinished", "verifications", "client", "status <> 'COMPLETED'")
    _partial("verifications_subject", "verifications", "subject", "subject IS NOT NULL")
    op.create_index("identities_client", "identities", ["client", "created_at", "id"])
    _partial("identities_external", "identities", "external", "external IS NOT NULL")
    op.create_index("deliveries_list", "deliveries", ["webhook", "created_at", "id"])
    empty = "''::bytea" if op.get_context().dialect.name == "postgresql" else "x''"
    op.execute(
        f"INSERT INTO facts (name, value) SELECT 'references_unindexed', {empty} "
        "WHERE EXISTS (SELECT 1 FROM verifications WHERE payload IS NOT NULL) "
        "OR EXISTS (SELECT 1 FROM identities WHERE payload IS NOT NULL)"
    )


def downgrade() -> None:
    """Refuse: lists by reference would find nothing."""
    raise NotImplementedError("Taking version 0007 back would delete the hashes of all references")


def _partial(name: str, table: str, key: str, condition: str) -> None:
    op.create_index(
        name,
        table,
        [key, "created_at", "id"],
        sqlite_where=text(condition),
        postgresql_where=text(condition),
    )
