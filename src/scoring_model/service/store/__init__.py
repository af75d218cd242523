"""The store: what `service.core.store` asks for, on SQLite and on PostgreSQL."""

from scoring_model.service.store.address import BadAddress, parse_address
from scoring_model.service.store.opening import (
    AlreadyServed,
    check_durability,
    check_schema,
    migrate,
    open_store,
    serving,
)
from scoring_model.service.store.schema import (
    HEAD,
    NotDurable,
    SchemaForeign,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaRefused,
)

__all__ = [
    "HEAD",
    "AlreadyServed",
    "BadAddress",
    "NotDurable",
    "SchemaForeign",
    "SchemaMissing",
    "SchemaNewer",
    "SchemaOlder",
    "SchemaRefused",
    "check_durability",
    "check_schema",
    "migrate",
    "open_store",
    "parse_address",
    "serving",
]
