"""How long deciding past verifications again takes, and their export.

Run as ``python benchmarks/whatif.py --store sqlite --verifications 20000``. A service in this process verifies invented
records of two years with a fifth of them under one link key; then the bundle that decided decides them again: not one
verdict may differ. Then 20 rules and three lists of 1,000 values decide before it. Prints verifications per second
and the time for a million.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shared.bundles import invented, served_bundle
from shared.database import database, new_client, secrets_of
from shared.judging import STORES, arguments

from identity_use import bodies
from scoring_model.contract.outcome import Outcome
from scoring_model.rules import parse_rules
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.operator_lists.files import FileList
from scoring_model.service.past.export import clients_of_one_history, export_file
from scoring_model.service.past.tried import Tried
from scoring_model.service.past.whatif import what_if
from scoring_model.service.service import Service, open_service
from scoring_model.service.store import EARLIEST, migrate, open_store

LATEST: Final = 2**63 - 1
_AT_ONCE: Final = 64


async def verify(service: Service, caller: Caller, sent: Sequence[Mapping[str, Any]]) -> int:
    """Verify the signals of records, some at once; like clients, send again what a busy machine does not take.

    Returns the number of verdicts: on a busy machine a verification may remain pending.
    """

    async def one(body: Mapping[str, Any]) -> bool:
        while True:
            try:
                answer = await service.verifications.create(caller, {"signals": body["signals"]}, None)
                return not answer.pending
            except Unavailable:
                await asyncio.sleep(1.0)

    verdicts = 0
    for start in range(0, len(sent), _AT_ONCE):
        verdicts += sum(await asyncio.gather(*map(one, sent[start : start + _AT_ONCE])))
    return verdicts


async def measure(url: str, bundle: Path, folder: Path, count: int) -> None:
    """Fill a database and print the rates."""
    await migrate(url)
    keyring = Keyring(KeyEncryptionKey(os.urandom(32)))
    caller, _ = await new_client(url)
    store = await open_store(url)
    try:
        service = await open_service(
            store, bundle=bundle, keyring=lambda: keyring, clock=SystemClock(), background=False
        )
        verdicts = await verify(service, caller, bodies(invented(count, seed=5)))
        await service.close()
        scorer, vault = Scorer.load(bundle), Vault(keyring)
        secrets = await secrets_of(url, keyring)
        for tried in (None, tried_on(scorer, secrets)):
            start = time.perf_counter()
            found = await what_if(
                store,
                vault,
                secrets,
                scorer,
                folder / "whatif.parquet",
                since=EARLIEST,
                before=LATEST,
                tried=tried,
            )
            hits = f", {sum(one.hits for one in found.hits)} hits" if tried else ""
            report(f"decided again{hits}", found.replayed, time.perf_counter() - start)
            if found.own_differ or found.own != verdicts:
                raise SystemExit(f"{found.own_differ} differ, {found.own} of {verdicts} were decided again")
        start = time.perf_counter()
        exported = await export_file(
            store,
            vault,
            await clients_of_one_history(store, None),
            folder / "export.parquet",
            signals=scorer.contents.schema.signals,
            since=EARLIEST,
            before=LATEST,
        )
        report("exported", exported.records, time.perf_counter() - start)
    finally:
        await store.close()


def tried_on(scorer: Scorer, secrets: Secrets) -> Tried:
    """20 rules, some of which hold, and three lists, of which none does."""
    when = {"score": {"at_least": 100}, "signals.vpn": {"is": True}, "signals.emailAgeDays": {"at_least": 0}}
    rules = [{"code": f"R{at}", "title": "a rule", "when": when, "then": "FAILED"} for at in range(20)]
    keys = [one for one in scorer.matrix.link_keys if one.fields == ("signals.deviceId",)]
    lists = [
        FileList(
            name=f"list-{number}",
            key=key.name,
            outcome=Outcome.FAILED,
            until=None,
            values=[(at, f"unseen-{at}") for at in range(1_000)],
            source="benchmark",
        )
        for key in keys
        for number in range(3)
    ]
    return Tried(
        parse_rules({"rules": rules}, scorer.rule_names),
        lists,
        columns=scorer.matrix.names,
        link_keys=scorer.matrix.link_keys,
        secrets=secrets,
        step_ups=scorer.contents.schema.step_ups,
    )


def report(what: str, count: int, seconds: float) -> None:
    """Print a rate."""
    rate = count / seconds
    print(f"{what}: {count} in {seconds:.1f} s, {rate:.0f}/s, a million in {1e6 / rate / 60:.1f} min")


def main() -> None:
    """Run the benchmark."""
    parser = arguments(__doc__)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--verifications", type=int, default=20_000)
    parser.add_argument("--bundle", type=Path, help="by default a bundle of 300 trees is trained")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, database(options.store, Path(name)) as (url, _):
        bundle = options.bundle or served_bundle().save(Path(name) / "bundle")
        asyncio.run(measure(url, bundle, Path(name), options.verifications))


if __name__ == "__main__":
    main()
