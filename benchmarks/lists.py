"""How long a page of verifications takes while a database grows to a hundred times its size.

Run as ``python benchmarks/lists.py --store sqlite --rows 1000000``. Verifications of one client are written directly,
with sealed payloads of a kilobyte under the keys of their persons; a tenth of them belong to one person. At a
hundredth, a tenth and all of the rows, pages of 100 are read with several filters from random positions, from the
database to JSON, without HTTP. Each row of a page must fulfil its filter. The time of a query is bounded if its 99th
percentile stays, given the number of rows that its pages show: those of a rare value fill only once the database is
large.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from shared.database import database, insert, new_client, secrets_of, settle
from shared.judging import STORES, arguments

from scoring_model.contract.verification import Verification
from scoring_model.history import LinkKey
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.payload import pack_stored
from scoring_model.service.core.rows import IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.requests.lists import ListFilter, subject_hash
from scoring_model.service.scoring.verifications import Verifications
from scoring_model.service.store import Position, Store, migrate, open_store
from stored_rows import verification_row

PERSONS: Final = 2_000
HOT_SHARE: Final = 0.1
LIMIT: Final = 100
SECOND: Final = 1_000_000
KEYS: Final = (LinkKey(name="device", parts=("signals.deviceId",)),)
SUBJECT: Final = "person 0"


class Filler:
    """Writes verifications of one client; person 0 has a tenth of them."""

    def __init__(self, url: str, caller: Caller, keyring: Keyring, secrets: Secrets) -> None:
        self._url = url
        self.caller = caller
        self._secrets = secrets
        self._vault = Vault(keyring)
        self._rng = random.Random(1)
        self._identities: list[IdentityRow] = []
        self._opened: list[DataKey] = []
        self.rows = 0
        self.begin = 1_700_000_000 * SECOND

    async def persons(self) -> bytes:
        """Write persons and their identities; returns the identity of person 0."""
        keys = []
        for _ in range(PERSONS):
            row, key = self._vault.new_key(self.caller.client, self._rng.randbytes(16), self.begin)
            keys.append(row)
            self._opened.append(key)
            self._identities.append(
                IdentityRow(
                    ids.new_id(self.begin), self.caller.client, row.key_id, "VALIDATED", None, 0, self.begin
                )
            )
        await insert(self._url, PersonKeyRow, keys)
        await insert(self._url, IdentityRow, self._identities)
        return self._identities[0].id

    async def fill(self, rows: int) -> None:
        """Write verifications up to a number, one for each second."""
        await insert(self._url, VerificationRow, map(self._row, range(self.rows, rows)))
        self.rows = rows
        await settle(self._url)

    def _row(self, place: int) -> VerificationRow:
        person = 0 if self._rng.random() < HOT_SHARE else self._rng.randrange(1, PERSONS)
        identity, key, subject = self._identities[person], self._opened[person], f"person {person}"
        at = self.begin + place * SECOND
        resource, draw = ids.new_id(at), self._rng.random()
        packed = pack_stored({"deviceId": f"d{place}"}, subject, bytes(900))
        return verification_row(
            id=resource,
            client=self.caller.client,
            identity_id=identity.id,
            key_id=identity.key_id,
            outcome="FAILED" if draw < 0.002 else "STEPPED_UP" if draw < 0.06 else "PASSED",
            reasons=None,
            model_version="old" if place < 100 else "new",
            created_at=at,
            completed_at=at + 1,
            row_digest=bytes(32),
            payload=key.seal(packed, table="verifications", column="payload", row=resource),
            links=bytes(96),
            subject=subject_hash(self._secrets, self.caller.client, identity.id, subject),
        )


def listing(store: Store, keyring: Keyring, secrets: Secrets) -> Verifications:
    """The operation that lists verifications, with what it needs alone."""
    unused = cast(Any, None)
    return Verifications(
        store=store,
        queue=unused,
        idempotency=unused,
        persons=Persons(Vault(keyring)),
        serving=unused,
        linker=Linker(secrets, KEYS),
        secrets=secrets,
        clock=unused,
        bundles=(),
    )


def kept(shown: Verification, wanted: ListFilter) -> bool:
    """Whether a verification fulfils a filter."""
    return (
        wanted.outcome in (None, shown.scoring_outcome)
        and wanted.model_version in (None, shown.model_version)
        and wanted.subject_id in (None, shown.subject_id)
    )


async def measure(url: str, sizes: Sequence[int], pages: int) -> list[dict[str, float]]:
    """Fill a database and read pages; returns the 99th percentile of each filter in milliseconds, by size."""
    await migrate(url)
    caller, _ = await new_client(url)
    keyring = Keyring(KeyEncryptionKey(bytes(range(32))))
    store = await open_store(url, seconds=60)
    try:
        secrets = await secrets_of(url, keyring)
        filler = Filler(url, caller, keyring, secrets)
        identity = await filler.persons()
        filters = {
            "no filter": ListFilter(),
            "outcome FAILED": ListFilter(outcome="FAILED"),
            "outcome PASSED": ListFilter(outcome="PASSED"),
            "identity of a tenth": ListFilter(identity_id=identity),
            "subject of a tenth": ListFilter(subject_id=SUBJECT),
            "subject and FAILED": ListFilter(subject_id=SUBJECT, outcome="FAILED"),
            "old model": ListFilter(model_version="old"),
            "status ERROR": ListFilter(status="ERROR"),
        }
        operation, found = listing(store, keyring, secrets), []
        for rows in sizes:
            began = time.perf_counter()
            await filler.fill(rows)
            print(f"{rows:,} verifications, filled in {time.perf_counter() - began:.0f} s", flush=True)
            found.append(
                {
                    name: await p99_of(operation, filler, name, wanted, pages)
                    for name, wanted in filters.items()
                }
            )
        return found
    finally:
        await store.close()


async def p99_of(
    operation: Verifications, filler: Filler, name: str, wanted: ListFilter, pages: int
) -> float:
    """Read pages from random positions, print their times, and return the 99th percentile in milliseconds."""
    times, worked, counts, rng = [], [], [], random.Random(2)
    for _ in range(pages):
        after = Position(filler.begin + rng.randrange(filler.rows) * SECOND, b"")
        began, busy = time.perf_counter(), time.process_time()
        shown, _ = await operation.page(filler.caller, wanted, after=after, limit=LIMIT)
        body = b",".join([one.to_json() for one in shown])
        times.append(1e3 * (time.perf_counter() - began))
        worked.append(1e3 * (time.process_time() - busy))
        counts.append(len(shown))
        if not all(kept(one, wanted) for one in shown) or (name == "no filter" and not body):
            raise SystemExit(f"{name}: a page holds something else")
    p50, p99 = np.quantile(times, [0.5, 0.99]).tolist()
    print(
        f"  {name:20} p50 {p50:6.2f} ms, p99 {p99:6.2f} ms, CPU p50 {np.median(worked):5.2f} ms, "
        f"p99 {np.quantile(worked, 0.99):5.2f} ms, {np.mean(counts):5.1f} rows a page",
        flush=True,
    )
    return float(p99)


def main() -> None:
    """Measure a database at three sizes."""
    parser = arguments(__doc__)
    parser.add_argument("--store", choices=STORES, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=300)
    options = parser.parse_args()
    sizes = (options.rows // 100, options.rows // 10, options.rows)
    with tempfile.TemporaryDirectory() as folder, database(options.store, Path(folder)) as (url, _):
        p99 = asyncio.run(measure(url, sizes, options.pages))
    print(f"{options.store}: p99 in ms at {', '.join(f'{size:,}' for size in sizes)} verifications")
    for name in p99[0]:
        cells = "".join(f"{one[name]:9.2f}" for one in p99)
        print(
            f"{name:20}{cells}, the last {p99[2][name] / p99[1][name]:.2f} times that of a tenth of the rows"
        )


if __name__ == "__main__":
    main()
