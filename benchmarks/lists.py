"""How long a page of verifications takes in a small and in a large database.

Run as ``python benchmarks/lists.py --store sqlite --rows 1000000``. Verifications of one client are written directly,
with sealed payloads of a kilobyte under the keys of their persons; a tenth of them belong to one person. Then pages of
100 are read with several filters from random positions, from the database to JSON, without HTTP. Each row of a page
must fulfil its filter. A query takes a bounded time if the 99th percentiles of both sizes agree.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.create_verification import database
from benchmarks.filled_database import insert, new_client, settle

from scoring_model.contract.verification import Verification
from scoring_model.history import LinkKey
from scoring_model.service.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.rows import IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.identities import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.lists import ListFilter, subject_hash
from scoring_model.service.scoring.payload import pack_stored
from scoring_model.service.scoring.verifications import Verifications
from scoring_model.service.store import Position, Store, migrate, open_store

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
        self._caller = caller
        self._secrets = secrets
        self._vault = Vault(keyring)
        self._rng = random.Random(1)
        self.begin = 1_700_000_000 * SECOND

    async def fill(self, rows: int) -> bytes:
        """Write persons, identities and verifications, one for each second; returns the identity of person 0."""
        keys, identities, opened = [], [], []
        for _ in range(PERSONS):
            row, key = self._vault.new_key(self._caller.client, self._rng.randbytes(16), self.begin)
            keys.append(row)
            opened.append(key)
            identities.append(
                IdentityRow(
                    ids.new_id(self.begin), self._caller.client, row.key_id, "VALIDATED", None, 0, self.begin
                )
            )
        await insert(self._url, PersonKeyRow, keys)
        await insert(self._url, IdentityRow, identities)
        for start in range(0, rows, 50_000):
            batch = []
            for place in range(start, min(start + 50_000, rows)):
                person = 0 if self._rng.random() < HOT_SHARE else self._rng.randrange(1, PERSONS)
                batch.append(self._row(place, identities[person], opened[person], f"person {person}"))
            await insert(self._url, VerificationRow, batch)
        await settle(self._url)
        return identities[0].id

    def _row(self, place: int, identity: IdentityRow, key: Any, subject: str) -> VerificationRow:
        at = self.begin + place * SECOND
        resource, draw = ids.new_id(at), self._rng.random()
        packed = pack_stored({"deviceId": f"d{place}"}, subject, bytes(900))
        return VerificationRow(
            id=resource,
            client=self._caller.client,
            identity_id=identity.id,
            previous_id=None,
            key_id=identity.key_id,
            status="COMPLETED",
            outcome="FAILED" if draw < 0.002 else "STEPPED_UP" if draw < 0.06 else "PASSED",
            score=500,
            reasons=None,
            model_version="old" if place < 100 else "new",
            policy_version="p",
            created_at=at,
            completed_at=at + 1,
            row_digest=bytes(32),
            payload=key.seal(packed, table="verifications", column="payload", row=resource),
            links=bytes(96),
            attempts=0,
            leased_until=None,
            reference=None,
            subject=subject_hash(self._secrets, self._caller.client, identity.id, subject),
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


async def measure(url: str, rows: int, pages: int) -> dict[str, float]:
    """Fill a database and read pages; returns the 99th percentile of each filter in milliseconds."""
    await migrate(url)
    caller, _ = await new_client(url)
    keyring = Keyring(KeyEncryptionKey(bytes(range(32))))
    store = await open_store(url, seconds=60)
    try:
        secrets = await load_or_create(store, keyring)
        filler = Filler(url, caller, keyring, secrets)
        began = time.perf_counter()
        identity = await filler.fill(rows)
        print(f"{rows:,} verifications, filled in {time.perf_counter() - began:.0f} s", flush=True)
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
        operation, rng, found = listing(store, keyring, secrets), random.Random(2), {}
        for name, wanted in filters.items():
            times, worked = [], []
            for _ in range(pages):
                after = Position(filler.begin + rng.randrange(rows) * SECOND, b"")
                began, busy = time.perf_counter(), time.process_time()
                shown, _ = await operation.page(caller, wanted, after=after, limit=LIMIT)
                body = b",".join([one.to_json() for one in shown])
                times.append(1e3 * (time.perf_counter() - began))
                worked.append(1e3 * (time.process_time() - busy))
                if not all(kept(one, wanted) for one in shown) or (name == "no filter" and not body):
                    raise SystemExit(f"{name}: a page holds something else")
            found[name] = float(np.quantile(times, 0.99))
            cpu = f"CPU p50 {np.median(worked):5.2f} ms, p99 {np.quantile(worked, 0.99):5.2f} ms"
            print(f"  {name:20} p50 {np.median(times):6.2f} ms, p99 {found[name]:6.2f} ms, {cpu}", flush=True)
        return found
    finally:
        await store.close()


def main() -> None:
    """Measure a small and a large database."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--store", choices=("sqlite", "postgresql"), required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=300)
    options = parser.parse_args()
    p99 = []
    for rows in (options.rows // 100, options.rows):
        with tempfile.TemporaryDirectory() as folder, database(options.store, Path(folder)) as (url, _):
            p99.append(asyncio.run(measure(url, rows, options.pages)))
    for name, small in p99[0].items():
        print(f"{name:20} p99 {p99[1][name] / small:.2f} times that of a hundredth of the rows")


if __name__ == "__main__":
    main()
