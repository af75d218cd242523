"""A database of the service with a client, a long history, validated identities and events, written directly.

The history is that of returning customers: each of their records left a row under each of its link keys. A fifth of all
rows share one network, like that of an office, an operator's gateway or a popular shop.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg
import numpy as np

from databases import Server, running_server
from identity_use import bodies
from scoring_model.bundle import Bundle
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.texts import to_text
from scoring_model.service.clients.clients import Caller, Permission, caller_of, create_client
from scoring_model.service.core import ids
from scoring_model.service.core.rows import TABLES, IdentityRow, LinkRow, PersonKeyRow, Row
from scoring_model.service.identities.assessment import assess, parse_identity
from scoring_model.service.identities.persons import StoredIdentity, pack_identity
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Keyring, add_master_key, load_master_keys
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.store import migrate, open_store
from service_use import file_of, select
from shared.bundles import HOT_NETWORK, HOT_SHARE, NETWORK, invented
from shared.processes import on_core, two_cores

SPAN: Final = 90 * 86_400_000_000
QUOTA: Final = 100_000_000
"""Requests per minute: the limiter runs but refuses no request."""

IDENTITY_FIELDS: Final = frozenset(
    {"firstName", "lastName", "dob", "citizenship", "documentType", "imageUrls", "address"}
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A database (and its server, of PostgreSQL) with a client, beside the files that a service needs.

    `credentials` are headers of the client's requests, and `bodies` verifications of its returning customers.
    """

    folder: Path
    url: str
    server: Server | None
    master_key: str
    keyring: Keyring
    caller: Caller
    credentials: Mapping[str, str] = field(repr=False)
    bodies: Sequence[Mapping[str, Any]] = field(repr=False)

    @property
    def served(self) -> dict[str, str]:
        """Where `serving` finds database and keys."""
        return {"database": self.url, "master_key": self.master_key}


@contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Server | None]]:
    """An empty database and its server, if it has one."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'scoring.db'}", None
        return
    with running_server() as server:
        yield server.create("scoring"), server


@contextmanager
def site(
    store: str, bundle: Bundle | None, *, rows: int = 0, customers: int = 0, identities: bool = False
) -> Iterator[Site]:
    """A new database; meanwhile this process, and PostgreSQL, have the second of `two_cores`.

    The bundle defines the link keys of a history of `rows` records, without one there is none. Requests of the
    customers name a stored identity, or bring signals only.
    """
    with tempfile.TemporaryDirectory(prefix="site-") as name, on_core(two_cores()[1]):
        folder = Path(name)
        add_master_key(folder / "master.key")
        source = f"file:{folder / 'master.key'}"
        keyring = load_master_keys(source)
        with database(store, folder) as (url, server):
            asyncio.run(migrate(url))
            caller, credentials = asyncio.run(new_client(url))
            requests: Sequence[Mapping[str, Any]] = ()
            if bundle is not None:
                print(f"\n{store}: {rows:,} link records, {customers:,} bodies", flush=True)
                returning = Customers(asyncio.run(secrets_of(url, keyring)), bundle, keyring, caller)
                request = returning.identified if identities else returning.alone
                requests = [request(body) for body in chosen(customers, identities=identities)]
                asyncio.run(returning.write(url, rows))
            yield Site(
                folder=folder,
                url=url,
                server=server,
                master_key=source,
                keyring=keyring,
                caller=caller,
                credentials=credentials,
                bodies=requests,
            )


async def new_client(url: str) -> tuple[Caller, dict[str, str]]:
    """Create a client without an effective quota; returns it with the headers of its requests."""
    store = await open_store(url)
    try:
        made = await create_client(
            store,
            name="benchmark",
            permissions=frozenset(Permission),
            quota=QUOTA,
            quota_seconds=60,
            now=_now(),
        )
        async with store.reading() as reader:
            row = (await reader.clients())[-1]
    finally:
        await store.close()
    return caller_of(row), {"x-client-id": made.client_id, "x-api-key": made.api_key}


async def secrets_of(url: str, keyring: Keyring) -> Secrets:
    """The secrets of a database, created if missing."""
    store = await open_store(url)
    try:
        return await load_or_create(store, keyring)
    finally:
        await store.close()


def chosen(count: int, *, identities: bool) -> Iterator[dict[str, Any]]:
    """Invented records; with identities, only valid ones."""
    now, found, seed = _now(), 0, 2
    while found < count:
        for body in bodies(invented(count, seed=seed)):
            if identities and assess(_identity(body, now), now)[0] != IdentityStatus.VALIDATED:
                continue
            yield body
            found += 1
            if found == count:
                return
        seed += 1


def _identity(body: Mapping[str, Any], now: int) -> dict[str, Any]:
    fields = {name: value for name, value in body.items() if name in IDENTITY_FIELDS}
    return dict(parse_identity(fields, now))


class Customers:
    """Creates returning customers of a client, their requests and their stored rows."""

    def __init__(self, secrets: Secrets, bundle: Bundle, keyring: Keyring, caller: Caller) -> None:
        self._linker = Linker(secrets, bundle.contents.features.link_keys)
        self._vault = Vault(keyring)
        self._caller = caller
        self._keys: dict[bytes, tuple[PersonKeyRow, DataKey]] = {}
        self._identities: list[IdentityRow] = []
        self._linked: list[tuple[bytes, tuple[bytes, ...]]] = []  # a person and the hashes of its keys

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A customer whose requests hold only signals and a reference of the client; returns such a request."""
        subject = f"customer-{len(self._linked)}"
        self._add({"subjectId": subject, **_dotted(body["signals"])})
        return {"subjectId": subject, "signals": body["signals"]}

    def identified(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A customer with a valid identity; returns a request that names it."""
        now = _now()
        values = _identity(body, now)
        status, errors, missing = assess(values, now)
        person = self._add({**values, **_dotted(body["signals"])})
        if person not in self._keys:
            self._keys[person] = self._vault.new_key(self._caller.client, person, now)
        row, key = self._keys[person]
        resource = ids.new_id(now)
        payload = key.seal(
            pack_identity(StoredIdentity(values, errors, missing)),
            table="identities",
            column="payload",
            row=resource,
        )
        self._identities.append(
            IdentityRow(resource, self._caller.client, row.key_id, status.value, payload, now, now)
        )
        return {"identityId": to_text(resource), "signals": body["signals"]}

    def _add(self, values: Mapping[str, object]) -> bytes:
        links = self._linker.link(self._caller.history_scope, self._caller.client, values)
        if links.person is None:
            raise RuntimeError("a customer has no person")
        self._linked.append((links.person, tuple(value for _, value in links.hashes)))
        return links.person

    async def write(self, url: str, rows: int) -> None:
        """Write the customers with a history of that many link records."""
        await insert(url, PersonKeyRow, sorted(row for row, _ in self._keys.values()))
        await insert(url, IdentityRow, self._identities)
        await insert(url, LinkRow, self._history(rows))
        await settle(url)

    def _history(self, count: int) -> Iterator[LinkRow]:
        """Rows in the order of their key: visits of the customers, and further rows under the hot hash."""
        network = {f"signals.{NETWORK}": HOT_NETWORK}
        hot = self._linker.link(self._caller.history_scope, self._caller.client, network).hashes[-1][1]
        rng, end, others = np.random.default_rng(3), _now(), round(count * HOT_SHARE)
        events = [(hot, at, rng.bytes(16)) for at in rng.integers(end - SPAN, end, others).tolist()]
        while len(events) < count:
            for person, hashes in self._linked:
                at = int(rng.integers(end - SPAN, end))
                events += [(value, at, person) for value in hashes if value != hot]
        before, latest = b"", 0
        for value, at, person in sorted(events[:count]):
            # Two events of a hash must not share an instant.
            latest = max(at, latest + 1) if value == before else at
            before = value
            yield LinkRow(value, latest, person, None)


def _dotted(signals: Mapping[str, Any]) -> dict[str, Any]:
    return {f"signals.{name}": value for name, value in signals.items()}


async def insert(url: str, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert many rows directly into the database."""
    if url.startswith("sqlite"):
        places = ", ".join("?" * len(kind._fields))
        statement = f"INSERT INTO {TABLES[kind]} ({', '.join(kind._fields)}) VALUES ({places})"
        with closing(sqlite3.connect(file_of(url), isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.executemany(statement, rows)
            connection.execute("COMMIT")
        return
    server = await asyncpg.connect(url)
    try:
        await server.copy_records_to_table(TABLES[kind], records=rows, columns=kind._fields)
    finally:
        await server.close()


def count(url: str, table: str, condition: str) -> int:
    """Number of rows that fulfil a condition, read directly from the database."""
    return int(asyncio.run(select(url, f"SELECT count(*) FROM {table} WHERE {condition}"))[0][0])


def completed(url: str) -> int:
    """Number of COMPLETED verifications."""
    return count(url, "verifications", "status = 'COMPLETED'")


async def settle(url: str) -> None:
    """Run the maintenance of a database before measuring."""
    if url.startswith("sqlite"):
        await select(url, "PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        await select(url, "VACUUM (ANALYZE)")
        await select(url, "CHECKPOINT")


def _now() -> int:
    return time.time_ns() // 1000
