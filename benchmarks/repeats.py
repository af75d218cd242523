r"""What becomes of genuine persons who are verified again and again, by the gap between two verifications.

The file --past is imported as the history of a service on SQLite; without it the history is empty. The first genuine
persons of NEW with a whole identity come in, each with the device and the signals of the file, and are verified several
times with the same data; in the last table, that many persons come from one device. Each series has a service of its
own. Operations are those that HTTP calls; the clock is set by this program. Prints a table in Markdown: outcomes and
the mean score of each visit.

Ends with 1 unless a retry with the same idempotency key got the first answer, and left no trace in the history.
"""

import asyncio
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from shared.script import print_head, print_row, run

from applications import IDENTITY
from identity_use import bodies
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.records import microseconds
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.past.history_import import HistoryImport
from scoring_model.service.store import migrate
from service_use import SetClock, World, opened

MINUTE: Final = 60
SECOND: Final = 1_000_000
GAPS: Final[Mapping[str, int | None]] = {
    "one person, 2 minutes apart": 2 * MINUTE,
    "one person, 2 hours apart": 120 * MINUTE,
    "one person, 2 days apart": 48 * 60 * MINUTE,
    "one person, signals alone, 2 minutes apart": 2 * MINUTE,
    "other persons on one device, 2 minutes apart": None,
}


class Visit(NamedTuple):
    """A verification of a person: when, whose, and which one of the series."""

    at: int
    place: int
    number: int
    person: Mapping[str, Any]


def genuine(path: Path, count: int) -> list[dict[str, Any]]:
    """The first genuine persons with a whole identity and a device, one record of each."""
    table = pq.read_table(path).sort_by("eventTime")
    table = table.filter(pc.equal(table["label"].cast(pa.string()), "genuine"))
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for body in bodies(table):
        whole = all(body.get(name) for name in IDENTITY) and body["address"].get("country")
        if whole and "deviceId" in body.get("signals", {}):
            found.setdefault((body["firstName"], body["lastName"], body["dob"]), body)
        if len(found) == count:
            break
    return list(found.values())


async def imported(world: World, past: Path | None, *, labelled: bool = True) -> Caller:
    """A client whose history is the file, or a new one."""
    caller, scorer = await world.client(), Scorer.load(world.bundle)
    if past is None:
        return caller
    async with world.store.reading() as reader:
        (client,) = await reader.clients()
    table = read_records(past, scorer.contents.schema, labelled=labelled).table
    work = HistoryImport(world.store, world.secrets, scorer.matrix, client, world.clock)
    await work.run(table)
    await work.finish()
    return caller


def visits(people: Sequence[Mapping[str, Any]], gap: int | None, times: int) -> list[Visit]:
    """Every person several times; without a gap, that many persons after each other on the device of the first."""
    found = []
    for place, person in enumerate(people):
        at = microseconds(person["eventTime"].isoformat())
        if gap is not None:
            found += [Visit(at + number * gap * SECOND, place, number, person) for number in range(times)]
            continue
        first, number = people[place - place % times], place % times
        signals = {**person["signals"], "deviceId": first["signals"]["deviceId"]}
        at = microseconds(first["eventTime"].isoformat()) + number * 2 * MINUTE * SECOND
        found.append(Visit(at, place, number, {**person, "signals": signals}))
    return sorted(found, key=lambda visit: visit[:3])


async def verified(
    world: World, caller: Caller, visit: Visit, identity: bytes | None
) -> tuple[str, int, float]:
    """Verify a person, and send the same request once more; outcome, score and earlier records of the person."""
    world.clock.at = max(world.clock.at, visit.at)
    signals, key = visit.person["signals"], f"{visit.place} {visit.number}"
    made, again = [
        await world.verify(caller, identity=identity, signals=signals, subject=f"{visit.place}", key=key)
        for _ in range(2)
    ]
    if not again.replayed or made.resource != again.resource:
        raise SystemExit("a retry with the same key got another answer")
    row = await world.features(made.resource.id)
    earlier = max(value for name, value in row.items() if re.fullmatch(r"link_person_\d+\w_records", name))
    return str(made.resource.outcome), made.resource.score or 0, earlier


def measure(
    bundle: Path, past: Path | None, series: str, planned: Sequence[Visit]
) -> dict[int, list[tuple[str, int]]]:
    """Outcomes and scores of all persons, by the number of the visit."""

    async def story(folder: str) -> dict[int, list[tuple[str, int]]]:
        url = f"sqlite:///{folder}/scoring.db"
        await migrate(url)
        async with opened(url, bundle, clock=SetClock(planned[0].at)) as world:
            caller = await imported(world, past)
            identities: dict[int, bytes] = {}
            begun: dict[int, float] = {}
            done: Counter[int] = Counter()
            found: dict[int, list[tuple[str, int]]] = defaultdict(list)
            for visit in planned:
                if visit.place not in identities and "alone" not in series:
                    body = {name: visit.person[name] for name in IDENTITY}
                    identities[visit.place] = await world.identity(caller, body)
                outcome, score, earlier = await verified(world, caller, visit, identities.get(visit.place))
                found[visit.number].append((outcome, score))
                if earlier - begun.setdefault(visit.place, earlier) != done[visit.place]:
                    raise SystemExit("a retry left a trace in the history")
                done[visit.place] += 1
            return found

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(story(folder))


def main(bundle: Path, new: Path, *, past: Path | None = None, persons: int = 100, times: int = 8) -> None:
    """Measure every gap and print the table."""
    people = genuine(new, persons)
    print(f"{len(people)} genuine persons\n")
    print_head("Visits", "Visit", *OUTCOMES, "Mean score")
    for name, gap in GAPS.items():
        planned = visits(people, gap, times)
        for number, column in sorted(measure(bundle, past, name, planned).items()):
            counts = Counter(outcome for outcome, _ in column)
            mean = sum(score for _, score in column) / len(column)
            print_row(name, number + 1, *(counts[outcome] for outcome in OUTCOMES), f"{mean:.0f}")


if __name__ == "__main__":
    run(main)
