"""Bytes that a service stores for each sign-up, and what that makes a year; see docs/capacity.md.

Each invented sign-up creates an identity and a verification with signals, both under an idempotency key, and gets a
label; a webhook gets `*`. The service runs in this process on a real store of each kind. Then tables with
their indexes are measured: SQLite's by `dbstat`, PostgreSQL's by `pg_total_relation_size` after a vacuum. Every
verification must be COMPLETED, and every delivery DELIVERED.

Prints the tables of the page in Markdown; two to three minutes.
"""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from shared.bundles import IDENTITY, NETWORK, invented, train
from shared.database import IDENTITY_FIELDS, chosen, completed, count, database, settle
from shared.script import Store, print_head, print_row, run

from delivery_use import WrittenSender
from scoring_model.configuration import load_configuration
from scoring_model.service.core.ids import new_id
from scoring_model.service.delivery.deliverer import Deliverer
from scoring_model.service.events.webhooks import associated_data, new_secret
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.store import migrate
from service_use import START, SetClock, World, id_of, opened, request_of, select, verification_body
from stored_rows import webhook_row

AT_ONCE: Final = 32
SECONDS: Final = 3_600
"""From one group to the next, so that the sign-ups of the measurement take about a week."""

KEPT: Final = {
    "identities": None,
    "person_keys": None,
    "verifications": None,
    "labels": None,
    "links": 90,
    "label_times": 90,
    "events": 30,
    "deliveries": 30,
    "idempotency": 1,
}
"""Days for which rows are kept, with the windows of the use; None for ever."""

SIZES: Final = {
    Store.SQLITE: "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name GROUP BY 1",
    Store.POSTGRESQL: "SELECT relname::text, pg_total_relation_size(oid) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
}
NAMES: Final = {Store.SQLITE: "SQLite", Store.POSTGRESQL: "PostgreSQL"}
YEARLY: Final = (1, 10, 100)
"""Millions of sign-ups."""


class Measured(NamedTuple):
    """Rows of a table for each sign-up, and bytes of a row with its share of the indexes."""

    rows: float
    size: float


async def fill(url: str, bundle: Path, signups: Sequence[Mapping[str, Any]]) -> None:
    """Store everything as clients, imports and deliveries do."""
    async with opened(url, bundle, clock=SetClock()) as world:
        caller = await world.client()
        hook = new_id(START)
        secret = world.secrets.seal(associated_data("secret", hook), new_secret().encode())
        row = webhook_row(id=hook, client=caller.client, secret=secret, created_at=START, succeeded_at=START)
        async with world.store.writing([]) as transaction:
            await transaction.insert([row])

        async def sign_up(number: int, body: Mapping[str, Any]) -> bytes:
            fields = {name: value for name, value in body.items() if name in IDENTITY_FIELDS}
            fields["externalId"] = f"customer-{number:09}"
            request = request_of(f"identity-{number}", fields, "POST /scoring/v1/identities")
            identity = id_of((await world.service.identities.create(caller, fields, request)).resource)
            signals = {name: value for name, value in body["signals"].items() if name != NETWORK}
            asked = verification_body(identity=identity, signals=signals)
            request = request_of(f"verification-{number}", asked)
            return id_of((await world.service.verifications.create(caller, asked, request)).resource)

        made: list[bytes] = []
        for first in range(0, len(signups), AT_ONCE):
            group = enumerate(signups[first : first + AT_ONCE], first)
            made += await asyncio.gather(*[sign_up(number, body) for number, body in group])
            world.clock.advance(SECONDS)
        await _follow_up(world, made)


async def _follow_up(world: World, made: Sequence[bytes]) -> None:
    """Label every verification, and deliver every event."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    lines = [LabelLine(resource, None, "genuine", world.clock.now() - 1) for resource in made]
    await import_labels(world.store, clients, lines, world.clock)
    deliverer = Deliverer(
        store=world.store, secrets=world.secrets, clock=world.clock, sender=WrittenSender(), rng=Random(0)
    )
    while await deliverer.step():
        await deliverer.finished()
    await deliverer.finished()


def measured(kind: Store, bundle: Path, signups: Sequence[Mapping[str, Any]]) -> dict[str, Measured]:
    """Fill a new database and measure its tables."""
    with tempfile.TemporaryDirectory(prefix="capacity-") as folder, database(kind, Path(folder)) as (url, _):
        asyncio.run(migrate(url))
        empty = dict(asyncio.run(select(url, SIZES[kind])))
        asyncio.run(fill(url, bundle, signups))
        asyncio.run(settle(url))
        full = dict(asyncio.run(select(url, SIZES[kind])))
        left = count(url, "deliveries", "status <> 'DELIVERED'") + count(url, "events", "waiting = 1")
        if completed(url) != len(signups) or left:
            raise SystemExit(f"{kind}: {completed(url)} verifications completed, {left} not delivered")
        rows = {name: count(url, name, "1 = 1") for name in KEPT}
    return {
        name: Measured(rows[name] / len(signups), (full[name] - empty[name]) / rows[name]) for name in KEPT
    }


def main(*, signups: int = 15_000) -> None:
    """Train, fill and measure."""
    sent = list(chosen(signups, identities=True))
    with tempfile.TemporaryDirectory(prefix="capacity-") as folder:
        print("training on 60,000 invented records", flush=True)
        trained = train(load_configuration(IDENTITY), invented(60_000, seed=1, network=False), rounds=20)
        bundle = trained.save(Path(folder) / "bundle")
        print(f"{len(trained.contents.features.names)} features\n", flush=True)
        found = {kind: measured(kind, bundle, sent) for kind in Store}
    print_head(
        "Table", "Rows for each sign-up", *(f"{name}, bytes of each" for name in NAMES.values()), "Kept for"
    )
    for name, days in KEPT.items():
        kept = "ever" if days is None else f"{days} days" if days > 1 else "a day"
        sizes = [f"{found[kind][name].size:,.0f}" for kind in Store]
        print_row(f"`{name}`", f"{found[Store.SQLITE][name].rows:.2f}", *sizes, kept)
    print()
    growth = "Grows in a year by", "Windowed rows, at any time", "After 3 years"
    print_head("Sign-ups a year", "A second", "Store", *growth)
    for millions in YEARLY:
        for kind in Store:
            each = {name: one.rows * one.size for name, one in found[kind].items()}
            grows = millions * 1e6 * sum(each[name] for name, days in KEPT.items() if days is None)
            turns = millions * 1e6 * sum(each[name] * days / 365 for name, days in KEPT.items() if days)
            amounts = [f"{size / 1e9:,.1f} GB" for size in (grows, turns, 3 * grows + turns)]
            print_row(f"{millions} million", f"{millions * 1e6 / (365 * 86_400):.2g}", NAMES[kind], *amounts)


if __name__ == "__main__":
    run(main)
