r"""Twelve monthly retrainings of a service on its own decisions, without a hand on them.

    python benchmarks/closed_loop.py [--records 2500] [--months 12] [--control 0.3]

A year of invented records is the past: it trains the first model, of a few trees, and is imported as the history of
the service. Then records arrive at their instants, one after the other. The service decides each with the bundle that
is active, by the operations that HTTP calls, in one process on SQLite, with a clock that this program sets. Labels are
reported on the day on which they become known, and only for applicants who passed: those who were stepped up or failed
get none, except for those whom the control group let pass. At the end of each month `scoring_model.retraining` answers.

The promises are judged on the outcome of the policy and on the labels that all applicants would have got, had they
passed, one record for each person and month. A rate above its bound is broken where a policy at its bound would have
that many, or more, in fewer than 5 % of months.
"""

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from repeats import imported
from scipy.stats import binom
from shared.bundles import IDENTITY as CONFIGURATION
from shared.judging import arguments
from shared.simulation import DAY

from applications import IDENTITY
from identity_use import bodies
from scoring_model import synthetic
from scoring_model.cli import main as program
from scoring_model.contract.outcome import Outcome
from scoring_model.records import microseconds, rfc3339
from scoring_model.retraining import Retraining, retrain
from scoring_model.service.clients.clients import Caller
from scoring_model.service.store import migrate
from service_use import MASTERS, SetClock, World, opened

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


Arrival = Mapping[str, Any]
"""A row of the records; its request is under ``body``."""


class Promise(NamedTuple):
    """A promise: genuine persons, and how many of them the policy treated so."""

    name: str
    stopped: int
    genuine: int

    @property
    def verdict(self) -> str:
        """Whether it is kept, and what chance explains."""
        bound = BOUNDS[self.name]
        if self.stopped <= bound * self.genuine:
            return "kept"
        by_chance = binom.sf(self.stopped - 1, self.genuine, bound) >= CHANCE
        return "above, by chance" if by_chance else "broken"

    def __str__(self) -> str:
        share = self.stopped / max(self.genuine, 1)
        return f"{self.stopped} of {self.genuine:,} ({share:.2%}), {self.verdict}"


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decided record."""

    row: Arrival
    id: str
    outcome: str
    policy_outcome: str


def configuration(folder: Path, name: str, control: float) -> Path:
    """Write a recipe: parameters instead of a search, bounds that a few thousand records can certify."""
    recipe = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
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
        later = table.slice(self.split)
        self.arrivals = [
            {**row, "body": body} for row, body in zip(later.to_pylist(), bodies(later), strict=True)
        ]
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
                self.caller = await imported(world, self.past, labelled=False)

        asyncio.run(story())

    def month(self, until: int) -> list[Promise]:
        """Decide the records of a month, retrain at its end, and print a row of the table."""
        rows = [row for row in self.arrivals if self.clock.at <= _micros(row["eventTime"]) < until]
        decided: list[Decided] = []
        labels, model = asyncio.run(self._decide(rows, decided, until))
        done, kept = retrain(self.given, clock=self.clock, report=lambda text: None), list(promises(decided))
        frauds = [one for one in decided if one.row["label"] == "fraud"]
        controlled = sum(one.outcome != one.policy_outcome for one in decided)
        caught = sum(one.policy_outcome != Outcome.PASSED for one in frauds)
        cells = [
            rfc3339(until)[:10],
            f"{len(decided):,}",
            model,
            controlled,
            f"{caught} of {len(frauds)}",
            labels,
        ]
        print("|", " | ".join(map(str, [*cells, *kept, done.text])), "|", flush=True)
        return kept

    async def _decide(self, rows: Sequence[Arrival], decided: list[Decided], until: int) -> tuple[int, str]:
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

    async def _verify(self, world: World, row: Arrival) -> Decided:
        caller, whole = self._caller(), row["body"]
        body = {name: whole[name] for name in IDENTITY if name in whole}
        if {"line1", "city", "country"} - body.get("address", {}).keys():
            body.pop("address", None)
        identity = (await world.service.identities.create(caller, body, None)).resource
        sent = {"signals": whole.get("signals", {})} | (
            {"identityId": identity.id} if identity.validated else {}
        )
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
    yield Promise("max_false_reject", outcomes.count(Outcome.FAILED), len(outcomes))
    yield Promise("max_step_up", len(outcomes) - outcomes.count(Outcome.PASSED), len(outcomes))


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


def main() -> None:
    """Run the loop, and print a table in Markdown."""
    parser = arguments(__doc__)
    parser.add_argument("--records", type=int, default=2500, help="a month")
    parser.add_argument("--months", type=int, default=12, help="at most 12")
    parser.add_argument("--control", type=float, default=0.3, help="share; 0: no control group")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(Path(folder), records=options.records, control=options.control, seed=options.seed)
        loop.begin()
        print(
            "| Month until | Records | Model | Let pass by control | Frauds stopped | Labels reported",
            end=" ",
        )
        print("| max_false_reject 1 % | max_step_up 8 % | Retraining |\n" + "| --- " * 9 + "|")
        months = [loop.month(until) for until in month_ends(loop.opens, options.months)]
    for one in zip(*months, strict=True):
        total = Promise(one[0].name, sum(kept.stopped for kept in one), sum(kept.genuine for kept in one))
        print(f"{total.name}, all months: {total}")
    verdicts = Counter(one.verdict for month in months for one in month)
    print(f"single months: {dict(verdicts)}; a policy exactly at its bounds would break {CHANCE:.0%} of them")
    if verdicts["broken"]:
        sys.exit("a promise was broken")


if __name__ == "__main__":
    main()
