"""Migrations: how the tables came to be what they are, one module a version.

A new one is a module of `versions` with the next number as `revision`, the one before as `down_revision`, and
operations of Alembic for both databases; `schema.HEAD` and `tables` change with it, and tests compare all three. They
are rendered as SQL (Alembic's offline mode) and run over the drivers that serve, so that no other driver is needed:
they can't read rows.
"""
