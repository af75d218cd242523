r"""Twelve monthly retrainings of a service on its own decisions, without a hand on them.

    python benchmarks/closed_loop.py [--records 2500] [--months 12] [--control 0.3] [--out closed_loop.md]

A year of invented records is the past: it trains the first model, of a few trees, and is imported as the history of
the service. Then records arrive at their instants, one after the other. The service decides each with the bundle that
is active, by the operations that HTTP calls, in one process on SQLite, with a clock that this program sets. Labels are
reported on the day on which they become known, and only for applicants who passed: those who were stepped up or failed
get none, except for those whom the control group let pass. At the end of each month `scoring_model.retraining` answers.

The promises are judged on the outcome of the policy and on the labels that all applicants would have got, had they
passed, one record for each person and month. A rate above its bound is broken where a policy at its bound would have
that many, or more, in fewer than 5 % of months.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from scoring_model import synthetic
from scoring_model.cli import main as program
from scoring_model.contract.outcome import Outcome
from scoring_model.records import microseconds, rfc3339
from scoring_model.records.reading import read_records
from scoring_model.retraining import Retraining, retrain
from scoring_model.scorer import Scorer
from scoring_model.service.clients import Caller
from scoring_model.service.history_import import HistoryImport
from scoring_model.service.store import migrate
from service_use import MASTERS, SetClock, World, opened

DAY: Final = 86_400_000_000
START: Final = "2024-01-01"
PAST_MONTHS: Final = 12
BOUNDS: Final = {"max_false_reject": 0.01, "max_step_up": 0.08}
CHANCE: Final = 0.05
GATES: Final = """\
gates:
  ranking: {difference: roc_auc, above: -0.02}
  friction: {difference: step_up, below: 0.03}
looks: {gain: 0.15} # what the frauds of a few months can show
"""
TREES: Final = {"first": 8, "recipe": 120}
ADDRESS: Final = ("line1", "line2", "city", "region", "postalCode", "country")
IDENTITY: Final = ("firstName", "lastName", "dob", "citizenship", "documentType", "imageUrls")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise in a month: genuine persons, and how many of them the policy treated so."""

    name: str
    bound: float
    genuine: int
    stopped: int
    chance: float

    @property
    def verdict(self) -> str:
        """Whether it is kept, and what chance explains."""
        if self.stopped <= self.bound * self.genuine:
            return "kept"
        return "above, by chance" if self.chance >= CHANCE else "broken"

    @classmethod
    def of(cls, name: str, stopped: int, genuine: int) -> "Promise":
        """Compare a number with a bound."""
        bound = BOUNDS[name]
        chance = float(binom.sf(stopped - 1, genuine, bound))
        return cls(name=name, bound=bound, genuine=genuine, stopped=stopped, chance=chance)

    def __str__(self) -> str:
        share = self.stopped / self.genuine if self.genuine else 0.0
        return f"{self.stopped} of {self.genuine:,} ({share:.2%}), {self.verdict}"


@dataclass(frozen=True, kw_only=True)
class Month:
    """What happened in a month."""

    until: str
    records: int
    model: str
    controlled: int
    caught: int
    frauds: int
    labels: int
    promises: Sequence[Promise]
    answer: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decided record."""

    row: Mapping[str, Any]
    id: str
    outcome: str
    policy_outcome: str


def configuration(folder: Path, name: str, control: float) -> Path:
    """Write a recipe: parameters instead of a search, bounds that a few thousand records can certify."""
    recipe = yaml.safe_load(Path("configs/identity.yaml").read_text(encoding="utf-8"))
    recipe["training"] = {
        "split": {"label_maturity": "45d", "min_frauds": 5},
        "tuned": {"params": {"learning_rate": 0.08, "num_leaves": 15}, "rounds": TREES[name]},
    }
    recipe["policy"] = dict(BOUNDS)
    if control:
        arm = {"share": control, "most_per_day": 1000}
        recipe["policy"]["control"] = {"failed": arm, "stepped_up": arm}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    return path


class Loop:
    """The service, its applicants and its retraining."""

    def __init__(self, folder: Path, *, records: int, control: float, seed: int) -> None:
        self.first_recipe, recipe = (configuration(folder, name, control) for name in TREES)
        everything = folder / "all.parquet"
        months = 2 * PAST_MONTHS
        synthetic.write(
            everything, records=records * months, seed=seed, start=START, months=months, truth=True
        )
        table = pq.read_table(everything)
        self.opens = microseconds(f"{int(START[:4]) + 1}{START[4:]}")
        times = table["eventTime"].cast("int64").to_numpy()
        self.split = int((times < self.opens).sum())
        self.past = folder / "past.parquet"
        earlier = table.slice(0, self.split).drop_columns(["truth.kind", "truth.person"])
        pq.write_table(_known_before(earlier, self.opens), self.past)
        self.arrivals = table.slice(self.split).to_pylist()
        self.clock = SetClock(self.opens)
        (folder / "gates.yaml").write_text(GATES, encoding="utf-8")
        self.given = Retraining(
            database=f"sqlite:///{folder}/service.db",
            keyring=MASTERS,
            configuration=recipe,
            gates=folder / "gates.yaml",
            uri=f"sqlite:///{folder}/shelf/tracking/mlflow.db",
            work=folder / "work",
            past=[self.past],
        )
        self.first = folder / "shelf" / "first"
        self.caller: Caller | None = None
        self.waiting: list[tuple[int, str, str]] = []  # labels to come: known at, verification, label

    def begin(self) -> None:
        """Train the first model, and import the past of the first client."""
        self.first.parent.mkdir()
        words = ["train", self.past, "--config", self.first_recipe, "--out", self.first]
        if code := program([str(word) for word in words]):
            sys.exit(code)
        asyncio.run(migrate(self.given.database))

        async def story() -> None:
            async with opened(self.given.database, self.first, clock=self.clock) as world:
                self.caller = await world.client("shop")
                scorer = Scorer.load(self.first)
                reading = read_records(self.past, scorer.contents.schema, labelled=False)
                async with world.store.reading() as reader:
                    (client,) = await reader.clients()
                work = HistoryImport(world.store, world.secrets, scorer.matrix, client, self.clock)
                await work.run(reading.table)
                await work.finish()

        asyncio.run(story())

    def month(self, until: int) -> Month:
        """Decide the records of a month, and retrain at its end."""
        started = time.monotonic()
        rows = [row for row in self.arrivals if self.clock.at <= _micros(row["eventTime"]) < until]
        decided: list[Decided] = []
        labels, model = asyncio.run(self._decide(rows, decided, until))
        done = retrain(self.given, clock=self.clock, report=lambda text: None)
        frauds = [one for one in decided if one.row["label"] == "fraud"]
        return Month(
            until=rfc3339(until)[:10],
            records=len(decided),
            model=model,
            controlled=sum(one.outcome != one.policy_outcome for one in decided),
            caught=sum(one.policy_outcome != Outcome.PASSED for one in frauds),
            frauds=len(frauds),
            labels=labels,
            promises=list(promises(decided)),
            answer=done.text,
            seconds=time.monotonic() - started,
        )

    async def _decide(
        self, rows: Sequence[Mapping[str, Any]], decided: list[Decided], until: int
    ) -> tuple[int, str]:
        """Let records arrive and labels come in; return the number of labels, and the model that decided."""
        labels, day = 0, self.clock.at // DAY
        async with opened(self.given.database, self.first, clock=self.clock) as world:
            for _ in range(3):  # a bundle that was activated while no process ran is taken over now
                await world.service.follower.step()
            model = world.service.scoring.scorer.manifest.model_version
            for row in rows:
                at = _micros(row["eventTime"])
                if at // DAY > day:
                    day = at // DAY
                    labels += await self._report(world, day * DAY)
                self.clock.at = max(self.clock.at, at)
                one = await self._verify(world, row)
                decided.append(one)
                if row["label"] is not None and one.outcome == Outcome.PASSED:
                    self.waiting.append((_micros(row["labelKnownAt"]), one.id, row["label"]))
            self.clock.at = until
            labels += await self._report(world, until)
        return labels, model

    async def _verify(self, world: World, row: Mapping[str, Any]) -> Decided:
        caller = self._caller()
        body = {name: row[name] for name in IDENTITY if row[name] is not None}
        address = {name: row[f"address.{name}"] for name in ADDRESS if row[f"address.{name}"] is not None}
        body |= {"address": address} if {"line1", "city", "country"} <= address.keys() else {}
        signals = {
            name.removeprefix("signals."): value
            for name, value in row.items()
            if name.startswith("signals.") and value is not None
        }
        identity = (await world.service.identities.create(caller, body, None)).resource
        sent: dict[str, Any] = {"signals": signals}
        if identity.validated:
            sent["identityId"] = identity.id
        made = (await world.service.verifications.create(caller, sent, None)).resource
        outcome = str(made.scoring_outcome)
        return Decided(
            row=row, id=made.id, outcome=outcome, policy_outcome=str(made.policy_outcome or outcome)
        )

    async def _report(self, world: World, now: int) -> int:
        """Report the labels that are known by now."""
        due = [one for one in self.waiting if one[0] < now]
        self.waiting = [one for one in self.waiting if one[0] >= now]
        self.clock.at = max(self.clock.at, now)
        for start in range(0, len(due), 1000):
            sent = [
                {"verificationId": identifier, "label": label, "knownAt": rfc3339(known)}
                for known, identifier, label in due[start : start + 1000]
            ]
            await world.service.labels.create(self._caller(), {"labels": sent}, None)
        return len(due)

    def _caller(self) -> Caller:
        if self.caller is None:
            raise RuntimeError("the loop has not begun")
        return self.caller


def promises(decided: Sequence[Decided]) -> Iterator[Promise]:
    """Judge the promises to genuine persons, by the first record of each."""
    persons = {one.row["truth.person"]: one for one in reversed(decided) if one.row["label"] != "fraud"}
    outcomes = [one.policy_outcome for one in persons.values()]
    yield Promise.of("max_false_reject", outcomes.count(Outcome.FAILED), len(outcomes))
    stopped = len(outcomes) - outcomes.count(Outcome.PASSED)
    yield Promise.of("max_step_up", stopped, len(outcomes))


def _known_before(table: pa.Table, instant: int) -> pa.Table:
    """Remove the labels that are known later."""
    known = pc.less(table["labelKnownAt"], pa.scalar(instant, pa.timestamp("us", "UTC")))
    for name in ("label", "labelKnownAt"):
        column = pc.if_else(known, table[name], pa.scalar(None, table[name].type))
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _micros(time: datetime) -> int:
    return microseconds(time.isoformat())


def month_ends(opens: int, months: int) -> Iterator[int]:
    """Yield the instants at which months end."""
    first = datetime.fromisoformat(rfc3339(opens).replace("Z", "+00:00"))
    for number in range(1, months + 1):
        year, month = divmod(first.month - 1 + number, 12)
        yield _micros(first.replace(year=first.year + year, month=month + 1))


def to_markdown(months: Sequence[Month], options: argparse.Namespace) -> str:
    """Write the report."""
    totals = [
        Promise.of(
            name,
            sum(one.promises[place].stopped for one in months),
            sum(one.promises[place].genuine for one in months),
        )
        for place, name in enumerate(BOUNDS)
    ]
    verdicts = [one.verdict for month in months for one in month.promises]
    lines = [
        "# Closed loop: monthly retrainings without a hand on them",
        "",
        f"{options.records:,} invented records a month, {PAST_MONTHS} months of past, a first model of "
        f"{TREES['first']} trees and challengers of {TREES['recipe']}, a control group of "
        f"{options.control:.0%} of those whom the policy stops. Only applicants who passed get labels.",
        "",
        "| Month until | Records | Model | Let pass by control | Frauds stopped | Labels reported "
        "| max_false_reject 1 % | max_step_up 8 % | Retraining |",
        "| --- " * 9 + "|",
    ]
    for one in months:
        kept = " | ".join(map(str, one.promises))
        lines.append(
            f"| {one.until} | {one.records:,} | {one.model} | {one.controlled} | {one.caught} of {one.frauds} "
            f"| {one.labels} | {kept} | {one.answer} |"
        )
    lines += ["", "Over all months: " + "; ".join(f"{one.name} {one}" for one in totals) + "."]
    lines += [
        f"Of {len(verdicts)} promises in single months {verdicts.count('kept')} are kept, "
        f"{verdicts.count('above, by chance')} above their bound by chance, {verdicts.count('broken')} broken; a "
        f"policy exactly at its bounds would break {CHANCE:.0%} of them.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the loop and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2500, help="a month")
    parser.add_argument("--months", type=int, default=12, help="at most 12")
    parser.add_argument("--control", type=float, default=0.3, help="share; 0: no control group")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="Markdown; beside it the same as JSON")
    options = parser.parse_args()
    months: list[Month] = []
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(Path(folder), records=options.records, control=options.control, seed=options.seed)
        loop.begin()
        for until in month_ends(loop.opens, options.months):
            months.append(loop.month(until))
            print(json.dumps(asdict(months[-1])), flush=True)
    text = to_markdown(months, options)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
        found = [asdict(one) for one in months]
        options.out.with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if any(one.verdict == "broken" for month in months for one in month.promises):
        sys.exit("a promise was broken")


if __name__ == "__main__":
    main()
