"""Ties of link records, imported records, and clients whose history is being imported.

As every migration, it is never changed once it was released.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary

revision = "0008"
down_revision = "0007"

_LINKS = "hash, time, person, labels, amount, more_amounts"


def upgrade() -> None:
    """Let events of one instant share a link key: those that are there have tie 0."""
    if op.get_context().dialect.name == "postgresql":
        op.add_column("links", Column("tie", Integer, nullable=False, server_default="0"))
        op.drop_constraint("links_pkey", "links", type_="primary")
        op.create_primary_key("links_pkey", "links", ["hash", "time", "tie"])
    else:
        _copy_links()
    op.add_column("clients", Column("importing", Integer, nullable=False, server_default="0"))
    op.create_table(
        "imported_records",
        Column("record", LargeBinary, primary_key=True, nullable=False),
        Column("client", BigInteger, nullable=False),
        Column("time", BigInteger, nullable=False),
        Column("links", LargeBinary, nullable=False),
        Column("labels", LargeBinary, nullable=True),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Refuse: ties would be lost."""
    raise NotImplementedError("Taking version 0008 back would delete events that share an instant")


def _copy_links() -> None:
    """SQLite changes no primary key: the table is made anew."""
    op.rename_table("links", "links_before")
    op.create_table(
        "links",
        Column("hash", LargeBinary, primary_key=True, nullable=False),
        Column("time", BigInteger, primary_key=True, nullable=False),
        Column("person", LargeBinary, nullable=False),
        Column("labels", LargeBinary, nullable=True),
        Column("amount", BigInteger, nullable=True),
        Column("more_amounts", LargeBinary, nullable=True),
        Column("tie", Integer, primary_key=True, nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    op.execute(f"INSERT INTO links ({_LINKS}) SELECT {_LINKS} FROM links_before ORDER BY hash, time")
    op.drop_table("links_before")
