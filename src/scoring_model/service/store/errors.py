"""What a database can refuse."""


class StoreUnavailable(Exception):
    """The database can't be reached, is full, or does not answer in time. Nothing was written in part."""


class Duplicate(Exception):
    """An inserted row exists already, by its own key or by one that must be unique."""


class BadAddress(ValueError):
    """A URL of no known kind of database. The text does not repeat it: it may hold a password."""


class AlreadyServed(ValueError):
    """Another process serves this file of SQLite."""


class NotDurable(Exception):
    """The database may lose acknowledged transactions, so the service refuses it."""


class SchemaRefused(Exception):
    """The database does not have the tables of this version."""


class SchemaMissing(SchemaRefused):
    """The database is empty."""


class SchemaOlder(SchemaRefused):
    """The database has to be migrated first."""


class SchemaNewer(SchemaRefused):
    """The database belongs to a later version of the program."""


class SchemaForeign(SchemaRefused):
    """The tables of the database belong to another program."""
