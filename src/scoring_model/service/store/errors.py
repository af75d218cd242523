"""Errors of the store."""


class StoreUnavailable(Exception):
    """The database can't be reached, is full, or does not answer in time. No partial write."""


class Duplicate(Exception):
    """An inserted row exists already, by its primary or a unique key."""


class BadAddress(ValueError):
    """A URL of an unknown kind of database. The message omits it, since it may contain a password."""


class AlreadyServed(ValueError):
    """Another process serves this SQLite file."""


class NotDurable(Exception):
    """The database may lose acknowledged transactions, so the service refuses it."""


class SchemaRefused(Exception):
    """The tables of the database do not have this version."""


class SchemaMissing(SchemaRefused):
    """The database is empty."""


class SchemaOlder(SchemaRefused):
    """The database must be migrated first."""


class SchemaUnreleased(SchemaRefused):
    """The database was made before the first release: no migration leads from it to here."""


class SchemaNewer(SchemaRefused):
    """The database belongs to a later version of the program."""


class SchemaForeign(SchemaRefused):
    """The tables of the database belong to another program."""


class BackupFailed(Exception):
    """A backup can't be written, or can't be read."""
