"""How long deciding past verifications again takes, and their export.

A service in this process verifies invented records of two years with a fifth of them under one link key; then the
bundle that decided decides them again: not one verdict may differ. Then 20 rules and three lists of 1,000 values decide
before it. Prints verifications per second and the time for a million.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shared.bundles import invented, served_bundle
from shared.database import database
from shared.script import Stores, Verdict, at_most, run

from identity_use import bodies
from scoring_model.contract.outcome import Outcome
from scoring_model.rules import parse_rules
from scoring_model.scorer import Scorer
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.operator_lists.files import FileList
from scoring_model.service.past.export import clients_of_one_history, export_file
from scoring_model.service.past.tried import Tried
from scoring_model.service.past.whatif import what_if
from scoring_model.service.store import EARLIEST, migrate
from service_use import MASTERS, World, opened

LATEST: Final = 2**63 - 1
_AT_ONCE: Final = 64


async def verify(world: World, sent: Sequence[Mapping[str, Any]]) -> int:
    """Verify the signals of records, some at once; like clients, send again what a busy machine does not take.

    Returns the number of verdicts: on a busy machine a verification may remain pending.
    """
    caller, verdicts = await world.client(), 0

    async def one(body: Mapping[str, Any]) -> bool:
        while True:
            try:
                return not (await world.verify(caller, signals=body["signals"])).pending
            except Unavailable:
                await asyncio.sleep(1.0)

    for start in range(0, len(sent), _AT_ONCE):
        verdicts += sum(await asyncio.gather(*map(one, sent[start : start + _AT_ONCE])))
        world.clock.advance(1)
    return verdicts


async def measure(url: str, bundle: Path, folder: Path, count: int) -> int:
    """Fill a database and print the rates; returns the verdicts that differ."""
    await migrate(url)
    async with opened(url, bundle) as world:
        verdicts = await verify(world, bodies(invented(count, seed=5)))
        scorer, vault = Scorer.load(bundle), Vault(MASTERS)
        differ = 0
        for tried in (None, tried_on(scorer, world.secrets)):
            start, out = time.perf_counter(), folder / "whatif.parquet"
            again = await what_if(
                world.store, vault, world.secrets, scorer, out, since=EARLIEST, before=LATEST, tried=tried
            )
            hits = f", {sum(one.hits for one in again.hits)} hits" if tried else ""
            report(f"decided again{hits}", again.replayed, time.perf_counter() - start)
            differ += again.own_differ + abs(verdicts - again.own)
        start, signals = time.perf_counter(), scorer.contents.schema.signals
        clients, out = await clients_of_one_history(world.store, None), folder / "export.parquet"
        exported = await export_file(
            world.store, vault, clients, out, signals=signals, since=EARLIEST, before=LATEST
        )
        report("exported", exported.records, time.perf_counter() - start)
    return differ


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


def main(*, store: Stores, verifications: int = 20_000, bundle: Path | None = None) -> Iterator[Verdict]:
    """Measure the chosen stores; by default a bundle of 300 trees is trained."""
    with tempfile.TemporaryDirectory() as name:
        served = bundle or served_bundle().save(Path(name) / "bundle")
        for kind in store:
            folder = Path(name) / kind
            folder.mkdir()
            with database(kind, folder) as (url, _):
                print(kind)
                differ = asyncio.run(measure(url, served, folder, verifications))
            yield at_most(f"{kind}: verdicts that differ or are missing", differ, 0)


if __name__ == "__main__":
    run(main)
