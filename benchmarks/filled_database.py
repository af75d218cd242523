"""A database of the service with a client, a long history and validated identities, written directly.

The history is that of returning customers: each of their records left a row under each of its link keys. A fifth of all
rows share one network, like that of an office, an operator's gateway or a popular shop.
"""

import faulthandler
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.served_bundle import HOT_NETWORK, HOT_SHARE, NETWORK, bodies, invented

from scoring_model.bundle import Bundle
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.texts import to_text
from scoring_model.service.clients import Caller, Permission, caller_of, create_client
from scoring_model.service.core import ids
from scoring_model.service.core.rows import TABLES, IdentityRow, LinkRow, PersonKeyRow, Row
from scoring_model.service.identities import StoredIdentity, assess, pack_identity, parse_identity
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.store import migrate, open_store

faulthandler.enable()  # also for the benchmarks that import this: a fill once ended in a crash of machine code

SPAN: Final = 90 * 86_400_000_000
QUOTA: Final = 100_000_000
"""Requests per minute: the limiter runs but refuses no request."""

_IDENTITY_FIELDS: Final = frozenset(
    {"firstName", "lastName", "dob", "citizenship", "documentType", "imageUrls", "address"}
)


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A database, its client and the client's requests.

    Parameters
    ----------
    url : str
    caller : Caller
    headers : mapping of str to str
        Credentials.
    bodies : tuple of mapping
        Requests for verifications.
    """

    url: str
    caller: Caller
    headers: Mapping[str, str] = field(repr=False)
    bodies: tuple[Mapping[str, Any], ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class _Customer:
    """A returning customer."""

    person: bytes
    hashes: tuple[bytes, ...]


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


async def fill(
    url: str, bundle: Bundle, keyring: Keyring, *, rows: int, customers: int, identities: bool
) -> Filled:
    """Create the tables, a client, its customers and their history.

    Parameters
    ----------
    url : str
        An empty database.
    bundle : Bundle
        Defines the link keys.
    keyring : Keyring
    rows : int
        Link records of the history.
    customers : int
        Number of distinct returning customers.
    identities : bool
        True if requests name a stored identity, False if they bring signals only.

    Returns
    -------
    Filled
    """
    await migrate(url)
    caller, headers = await new_client(url)
    store = await open_store(url)
    try:
        secrets = await load_or_create(store, keyring)
    finally:
        await store.close()
    linker = Linker(secrets, bundle.contents.features.link_keys)
    hot = linker.link(caller.history_scope, caller.client, {f"signals.{NETWORK}": HOT_NETWORK}).hashes[-1][1]
    maker = _Maker(linker, Vault(keyring), caller)
    requests: list[dict[str, Any]] = []
    people: list[_Customer] = []
    for body in _chosen(customers, identities=identities):
        request, customer = maker.identified(body) if identities else maker.alone(body, len(people))
        requests.append(request)
        people.append(customer)
    await insert(url, PersonKeyRow, sorted(maker.keys.values()))
    await insert(url, IdentityRow, maker.identities)
    await insert(url, LinkRow, _history(people, hot, rows))
    await settle(url)
    return Filled(url=url, caller=caller, headers=headers, bodies=tuple(requests))


def _chosen(count: int, *, identities: bool) -> Iterator[dict[str, Any]]:
    """Invented records; with identities, only valid ones."""
    now, found, seed = _now(), 0, 2
    while found < count:
        for body in bodies(invented(count, seed=seed)):
            if (
                identities
                and assess(parse_identity(_identity(body), now), now)[0] != IdentityStatus.VALIDATED
            ):
                continue
            yield body
            found += 1
            if found == count:
                return
        seed += 1


def _identity(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name in _IDENTITY_FIELDS}


class _Maker:
    """Creates customers, their requests, and their stored rows."""

    def __init__(self, linker: Linker, vault: Vault, caller: Caller) -> None:
        self._linker = linker
        self._vault = vault
        self._caller = caller
        self._opened: dict[bytes, DataKey] = {}
        self.keys: dict[bytes, PersonKeyRow] = {}
        self.identities: list[IdentityRow] = []

    def alone(self, body: Mapping[str, Any], number: int) -> tuple[dict[str, Any], _Customer]:
        """A customer whose requests hold only signals and a reference of the client."""
        request = {"subjectId": f"customer-{number}", "signals": body["signals"]}
        return request, self._customer({"subjectId": request["subjectId"], **_dotted(body["signals"])})

    def identified(self, body: Mapping[str, Any]) -> tuple[dict[str, Any], _Customer]:
        """A customer with a valid identity."""
        now = _now()
        values = parse_identity(_identity(body), now)
        status, errors, missing = assess(values, now)
        customer = self._customer({**values, **_dotted(body["signals"])})
        resource = ids.new_id(now)
        payload = self._key(customer.person, now).seal(
            pack_identity(StoredIdentity(values, errors, missing)),
            table="identities",
            column="payload",
            row=resource,
        )
        key_id = self.keys[customer.person].key_id
        self.identities.append(
            IdentityRow(resource, self._caller.client, key_id, status.value, payload, now, now)
        )
        return {"identityId": to_text(resource), "signals": body["signals"]}, customer

    def _customer(self, values: Mapping[str, object]) -> _Customer:
        links = self._linker.link(self._caller.history_scope, self._caller.client, values)
        if links.person is None:
            raise RuntimeError("a customer has no person")
        return _Customer(person=links.person, hashes=tuple(value for _, value in links.hashes))

    def _key(self, person: bytes, now: int) -> DataKey:
        if person not in self._opened:
            row, self._opened[person] = self._vault.new_key(self._caller.client, person, now)
            self.keys[person] = row
        return self._opened[person]


def _dotted(signals: Mapping[str, Any]) -> dict[str, Any]:
    return {f"signals.{name}": value for name, value in signals.items()}


def _history(customers: Sequence[_Customer], hot: bytes, count: int) -> Iterator[LinkRow]:
    """Rows in the order of their key: visits of the customers, and further rows under the hot hash."""
    rng = np.random.default_rng(3)
    end = _now()
    others = round(count * HOT_SHARE)
    events = [
        (value, instant, customer.person)
        for customer, instant in _visits(customers, rng, end, events=2 * (count - others))
        for value in customer.hashes
        if value != hot
    ][: count - others]
    events += [(hot, instant, rng.bytes(16)) for instant in rng.integers(end - SPAN, end, others).tolist()]
    before, latest = b"", 0
    for value, instant, person in sorted(events):
        # Two events of a hash must not share an instant.
        latest = max(instant, latest + 1) if value == before else instant
        before = value
        yield LinkRow(value, latest, person, None)


def _visits(
    customers: Sequence[_Customer], rng: np.random.Generator, end: int, *, events: int
) -> Iterator[tuple[_Customer, int]]:
    """Cycle through the customers until they have left more than the given number of events."""
    left = 0
    while left < events:
        for customer, instant in zip(
            customers, rng.integers(end - SPAN, end, len(customers)).tolist(), strict=True
        ):
            left += len(customer.hashes)
            yield customer, instant


async def insert(url: str, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert many rows directly into the database."""
    if url.startswith("sqlite"):
        places = ", ".join("?" * len(kind._fields))
        statement = f"INSERT INTO {TABLES[kind]} ({', '.join(kind._fields)}) VALUES ({places})"
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.executemany(statement, rows)
            connection.execute("COMMIT")
        return
    server = await asyncpg.connect(url)
    try:
        await server.copy_records_to_table(TABLES[kind], records=rows, columns=kind._fields)
    finally:
        await server.close()


async def rows_of(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a query directly on the database."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection:
            return connection.execute(statement).fetchall()
    server = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await server.fetch(statement)]
    finally:
        await server.close()


async def settle(url: str) -> None:
    """Run the maintenance of a database before measuring."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    server = await asyncpg.connect(url)
    try:
        await server.execute("VACUUM (ANALYZE)")
        await server.execute("CHECKPOINT")
    finally:
        await server.close()


def _now() -> int:
    return time.time_ns() // 1000
