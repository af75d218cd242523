"""The tables in SQLAlchemy: tests compare migrations with them, and nothing that serves imports them.

The rows of `core.rows` give columns and types; this module adds keys, indexes and storage. There are few indexes, since
each costs a page of the disk for each row that lands elsewhere in it; identifiers grow with time, so that rows are
appended to their primary keys.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final, get_args, get_type_hints

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from scoring_model.service.core.rows import (
    ApiKeyRow,
    BundleRow,
    ClientRow,
    DeliveryRow,
    EventRow,
    FactRow,
    IdempotencyRow,
    IdentityRow,
    LabelRow,
    LinkRow,
    PersonKeyRow,
    Row,
    VerificationRow,
    WebhookRow,
)

metadata: Final = MetaData()

# SQLite wants INTEGER for an alias of the rowid; on a server numbers have 64 bits.
_NUMBER: Final = Integer().with_variant(BigInteger(), "postgresql")
_TYPES: Final[dict[type, type[TypeEngine[Any]]]] = {bytes: LargeBinary, str: Text, int: BigInteger}


def _columns(
    row: type[Row], *, key: Collection[str] = (), number: str | None = None, small: Collection[str] = ()
) -> Iterator[Column[Any]]:
    """Make a column of each field of a row.

    Parameters
    ----------
    key : collection of str
        Fields of the primary key.
    number : str, optional
        Field that the database numbers; it is the primary key.
    small : collection of str
        Fields of 32 bits.
    """
    for name, kind in get_type_hints(row).items():
        kinds = get_args(kind) or (kind,)
        column = Integer if name in small else _TYPES[kinds[0]]
        if name == number:
            yield _number(name)
        else:
            yield Column(name, column, primary_key=name in key, nullable=type(None) in kinds)


def _column(name: str, kind: type[TypeEngine[Any]], *, key: bool = False) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, _NUMBER, Identity(always=False), primary_key=True)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


facts: Final = Table(
    "facts",
    metadata,
    *_columns(FactRow, key=("name",)),
)

bundles: Final = Table(
    "bundles",
    metadata,
    *_columns(BundleRow, key=("model_version", "policy_version")),
)

clients: Final = Table(
    "clients",
    metadata,
    *_columns(ClientRow, number="client", small=("quota", "quota_seconds")),
    UniqueConstraint("client_id", name="clients_client_id"),
    # Every commit changes the sequence: room on the page lets a server do it in place.
    postgresql_with={"fillfactor": 50},
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    *_columns(ApiKeyRow, key=("digest",)),
    Index("api_keys_client", "client"),
)

person_keys: Final = Table(
    "person_keys",
    metadata,
    *_columns(PersonKeyRow, key=("key_id",)),
    _partial("person_keys_person", "client", "person", where="person IS NOT NULL", unique=True),
    sqlite_with_rowid=False,
)

identities: Final = Table(
    "identities",
    metadata,
    *_columns(IdentityRow, key=("id",)),
    Index("identities_key", "key_id"),
)

# With its rows of a kilobyte it is not kept in the tree of its key (WITHOUT ROWID): SQLite would put at most four rows
# on a page there, and what is longer than a kilobyte on pages of its own. Identifiers grow, so that both are appended.
verifications: Final = Table(
    "verifications",
    metadata,
    *_columns(VerificationRow, key=("id",), small=("score", "attempts")),
    Index("verifications_key", "key_id"),
    _partial("verifications_completed", "client", "completed_at", "id", where="status = 'COMPLETED'"),
    _partial("verifications_pending", "created_at", "id", where="status = 'PENDING'"),
)

links: Final = Table(
    "links",
    metadata,
    *_columns(LinkRow, key=("hash", "time")),
    sqlite_with_rowid=False,  # the events of a hash lie side by side
)

label_times: Final = Table(
    "label_times",
    metadata,
    _column("hash", LargeBinary, key=True),
    _column("time", BigInteger),
    sqlite_with_rowid=False,
)
"""No kind of rows: the newest instant of all labels under a hash, see `statements.LABEL_TIMES`."""

events: Final = Table(
    "events",
    metadata,
    *_columns(EventRow, key=("id",), small=("waiting",)),
    Index("events_sequence", "client", "sequence", unique=True),
    _partial("events_waiting", "client", "id", where="waiting = 1"),
)

webhooks: Final = Table(
    "webhooks",
    metadata,
    *_columns(WebhookRow, key=("id",), small=("active",)),
    Index("webhooks_client", "client", "id"),
)

# Most rows wait for a moment only and are in no index but those of their keys afterwards. The lease is in none: taking
# it and giving it back changes a row in place.
deliveries: Final = Table(
    "deliveries",
    metadata,
    *_columns(DeliveryRow, key=("id",), small=("attempts", "answered")),
    Index("deliveries_event", "event", "webhook", unique=True),
    _partial("deliveries_due", "due_at", where="status = 'WAITING'"),
    _partial("deliveries_webhook", "webhook", "due_at", where="status = 'WAITING'"),
    _partial("deliveries_dead", "id", where="status = 'DEAD'"),
    postgresql_with={"fillfactor": 70},
)

idempotency: Final = Table(
    "idempotency",
    metadata,
    *_columns(IdempotencyRow, key=("digest",), small=("status",)),
)

labels: Final = Table(
    "labels",
    metadata,
    _number("number"),  # no field: the order in which they were reported
    *_columns(LabelRow),
    Index("labels_told", "verification_id", "label", "known_at", unique=True),
)

server_only: Final = MetaData()
"""What a server keeps in tables and SQLite elsewhere."""

buckets: Final = Table(
    "buckets",
    server_only,
    _column("key", LargeBinary, key=True),
    _column("tokens", Float),
    _column("at", BigInteger),
    _column("capacity", Float),
    _column("per_second", Float),
    _column("wanted", BigInteger),
    _column("granted", BigInteger),
    prefixes=["UNLOGGED"],  # a crash of the server forgets them, and nothing waits for the disk
    postgresql_with={"fillfactor": 50},
)
"""Token buckets, see `buckets`. `wanted` and `granted` are of the latest request."""
