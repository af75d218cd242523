r"""Twelve monthly retrainings of a service on its own decisions, without a hand on them.

A year of invented records is the past: it trains the first model, of a few trees, and is imported as the history of
the service. Then records arrive at their instants, one after the other. The service decides each with the bundle that
is active, by the operations that HTTP calls, in one process on SQLite, with a clock that this program sets. Labels are
reported on the day on which they become known, and only for applicants who went on: those who passed, those whom the
control group let pass, and those who were approved. Step-ups are resolved on the next day: approved, declined or
abandoned (`ENDS`). At the end of each month `scoring_model.retraining` answers, by the shipped gates. With `--blind` no
resolution is reported, and every step-up without a fraud label counts as genuine: what it is worth to know who was
observed is the difference of the recall of a last model, trained on the records of all months, on later applicants all
of whose labels are known.

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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from repeats import imported
from scipy.stats import binom
from shared.bundles import IDENTITY as CONFIGURATION
from shared.script import Verdict, at_most, print_head, print_row, run
from shared.simulation import DAY

from applications import IDENTITY
from identity_use import bodies
from scoring_model import evaluate, synthetic
from scoring_model.cli import main as program
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import from_text
from scoring_model.estimates import Estimate
from scoring_model.records import microseconds, rfc3339
from scoring_model.retraining import Retraining, retrain
from scoring_model.service.clients.clients import Caller
from scoring_model.service.store import migrate
from service_use import MASTERS, SetClock, World, opened

START: Final = "2024-01-01"
PAST_MONTHS: Final = 12
JUDGED: Final = 6
"""Months after those of the service."""
BOUNDS: Final = {"max_false_reject": 0.01, "max_step_up": 0.08}
SHIPPED: Final = Path(__file__).parents[1] / "configs" / "gates.yaml"
CHANCE: Final = 0.05
LOOKS: Final = "looks: {gain: 0.15} # what the frauds of a few months can show\n"
ENDS: Final = {
    "genuine": {"APPROVED": 0.9, "ABANDONED": 0.1},
    "fraud": {"APPROVED": 0.1, "DECLINED": 0.7, "ABANDONED": 0.2},
}
"""How step-ups end, as shares of genuine applicants and of frauds."""
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
    resolution: str | None

    @property
    def went_on(self) -> bool:
        """Whether the applicant got in, so that a label can become known."""
        return self.outcome == Outcome.PASSED or self.resolution == "APPROVED"


def configuration(folder: Path, name: str, control: float, blind: bool) -> Path:
    """Write a recipe: parameters instead of a search, bounds that a few thousand records can certify."""
    recipe = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    recipe["training"] = {
        "split": {"label_maturity": "45d", "min_frauds": 5},
        "tuned": {"params": {"learning_rate": 0.08, "num_leaves": 15}, "rounds": TREES[name]},
    }
    recipe["policy"] = dict(BOUNDS)
    if blind:
        recipe.setdefault("records", {})["step_up_without_resolution"] = "observed"
    if control:
        arm = {"share": control, "most_per_day": 1000}
        recipe["policy"]["control"] = {"failed": arm, "stepped_up": arm}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    return path


class Loop:
    """The service, its applicants and its retraining."""

    def __init__(self, folder: Path, records: int, control: float, seed: int, blind: bool) -> None:
        self.first_recipe, recipe = (configuration(folder, name, control, blind) for name in TREES)
        self.blind, self.rng = blind, np.random.default_rng(seed)
        self.ended: list[tuple[int, str, str]] = []  # resolutions to come: at, verification, result
        self.through: Counter[bool] = Counter()  # frauds by whether they got in
        everything = folder / "all.parquet"
        months = 2 * PAST_MONTHS + JUDGED
        synthetic.write(
            everything, records=records * months, seed=seed, start=START, months=months, truth=True
        )
        table = pq.read_table(everything)
        self.opens = microseconds(f"{int(START[:4]) + 1}{START[4:]}")
        times = table["eventTime"].cast("int64").to_numpy()
        self.split, end = (int((times < at).sum()) for at in (self.opens, self.opens + 366 * DAY))
        self.judged = folder / "judged.parquet"
        pq.write_table(table.slice(end).drop_columns(["truth.kind", "truth.person"]), self.judged)
        self.past = folder / "past.parquet"
        earlier = table.slice(0, self.split).drop_columns(["truth.kind", "truth.person"])
        pq.write_table(_known_before(earlier, self.opens), self.past)
        later = table.slice(self.split, end - self.split)
        self.arrivals = [
            {**row, "body": body} for row, body in zip(later.to_pylist(), bodies(later), strict=True)
        ]
        self.clock = SetClock(self.opens)
        (folder / "gates.yaml").write_text(SHIPPED.read_text(encoding="utf-8") + LOOKS, encoding="utf-8")
        self.given = Retraining(
            database=f"sqlite:///{folder}/service.db",
            keyring=MASTERS,
            configuration=recipe,
            gates=folder / "gates.yaml",
            uri=f"sqlite:///{folder}/shelf/tracking/mlflow.db",
            work=folder / "work",
            past=[self.past],
            keep=True,
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

    def worth(self) -> Estimate:
        """Train on all own decisions, and measure the recall on later applicants, whose labels are all known."""
        out, records = self.given.work.parent / "last", self.given.work / "records.parquet"
        words = ["train", records, "--config", self.given.configuration, "--out", out]
        if code := program([str(word) for word in words]):
            sys.exit(code)
        return evaluate(out, self.judged, history=records).figures["recall_at_fpr_0.01"]

    def month(self, until: int) -> list[Promise]:
        """Decide the records of a month, retrain at its end, and print a row of the table."""
        rows = [row for row in self.arrivals if self.clock.at <= _micros(row["eventTime"]) < until]
        decided: list[Decided] = []
        labels, model = asyncio.run(self._decide(rows, decided, until))
        done, kept = retrain(self.given, clock=self.clock, report=lambda text: None), list(promises(decided))
        frauds = [one for one in decided if one.row["label"] == "fraud"]
        self.through.update(one.went_on for one in frauds)
        controlled = sum(one.outcome != one.policy_outcome for one in decided)
        caught = sum(one.policy_outcome != Outcome.PASSED for one in frauds)
        stopped = f"{caught} of {len(frauds)}"
        print_row(
            rfc3339(until)[:10], f"{len(decided):,}", model, controlled, stopped, labels, *kept, done.text
        )
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
                if one.resolution is not None and not self.blind:
                    self.ended.append(((day + 1) * DAY, one.id, one.resolution))
                if row["label"] is not None and one.went_on:
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
        ends = ENDS["fraud" if row["label"] == "fraud" else "genuine"]
        ended = (
            str(self.rng.choice(list(ends), p=list(ends.values()))) if outcome == Outcome.STEPPED_UP else None
        )
        return Decided(
            row=row,
            id=made.id,
            outcome=outcome,
            policy_outcome=str(made.policy_outcome or outcome),
            resolution=ended,
        )

    async def _report(self, world: World, now: int) -> int:
        """Report the resolutions of yesterday, and the labels that are known by now."""
        while self.ended and self.ended[0][0] <= now:
            at, identifier, result = self.ended.pop(0)
            self.clock.at = max(self.clock.at, at)
            body = {"result": result, "method": "documentCheck", "resolvedAt": rfc3339(at)}
            await world.service.resolutions.create(self._caller(), from_text(identifier) or b"", body, None)
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


def main(
    *, records: int = 2500, months: int = 12, control: float = 0.3, seed: int = 7, blind: bool = False
) -> Iterator[Verdict]:
    """Run the loop with so many records a month, and a control group of a share (0: none)."""
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(Path(folder), records, control, seed, blind)
        loop.begin()
        names = "Month until", "Records", "Model", "Let pass by control", "Frauds stopped", "Labels reported"
        print_head(*names, "max_false_reject 1 %", "max_step_up 8 %", "Retraining")
        kept = [loop.month(until) for until in month_ends(loop.opens, months)]
        worth = loop.worth()
    print(
        f"recall at 1 % false positives of a model of these records, on {worth.records} frauds of later months, all "
        f"of whom are known: {worth.value:.3f} ({worth.low:.3f} to {worth.high:.3f})"
    )
    for one in zip(*kept, strict=True):
        total = Promise(one[0].name, sum(kept.stopped for kept in one), sum(kept.genuine for kept in one))
        print(f"{total.name}, all months: {total}")
    print(
        f"{loop.through[True]} of {loop.through.total()} frauds got in: they passed, or were approved after a step-up"
    )
    verdicts = Counter(one.verdict for month in kept for one in month)
    print(f"single months: {dict(verdicts)}; a policy exactly at its bounds would break {CHANCE:.0%} of them")
    yield at_most("broken promises", verdicts["broken"], 0)


if __name__ == "__main__":
    run(main)
