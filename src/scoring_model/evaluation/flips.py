"""Records that two models decide differently: counts, changes per day, groups, reasons and examples."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.evaluation.day_draws import MIN_DAYS, DayDraws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.grouping import Grouping
from scoring_model.evaluation.groups import MIN_RECORDS, Difference
from scoring_model.evaluation.metrics import divide
from scoring_model.evaluation.paired import paired_variance
from scoring_model.evaluation.rates import CELLS, RATES, cell_codes, rate_counts
from scoring_model.evaluation.simultaneous import half_widths
from scoring_model.evaluation.uncertainty import Estimate, rate_estimate
from scoring_model.figures import GROUP_RATES

EXAMPLES: Final = 5
MOST_EXPLAINED: Final = 200
"""Records of one kind of flip whose reasons are counted."""

FLIP_RATES: Final = ("all", "genuine_stricter", "genuine_milder", "fraud_stricter", "fraud_milder")
"""Share of all records whose outcome differs; shares of each class with a stricter or milder outcome."""

_PLURALS: Final = {Outcome.PASSED: "passes", Outcome.STEPPED_UP: "step-ups", Outcome.FAILED: "failures"}

Explain: TypeAlias = Callable[[int, bool], tuple[str, ...]]
"""Place of a record, and whether the challenger is stricter, to the reason codes of the stricter model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flip:
    """Records with one outcome from the champion and another one from the challenger.

    Parameters
    ----------
    champion, challenger : Outcome
    genuine, frauds : int
        Records of each class.
    daily_genuine, daily_frauds : Estimate
        The same per day with evaluated records.
    reasons : mapping of str to int
        Records by reason code of the stricter model, most frequent first. A record has up to five reasons.
    explained : int
        Records whose reasons were counted: at most `MOST_EXPLAINED`, spread evenly over the period.
    examples : tuple of str
        `recordId` of the records whose scores differ most, at most five.
    """

    champion: Outcome
    challenger: Outcome
    genuine: int
    frauds: int
    daily_genuine: Estimate
    daily_frauds: Estimate
    reasons: Mapping[str, int]
    explained: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DailyChange:
    """Change in the number of records per day with one outcome: challenger minus champion.

    Parameters
    ----------
    everyone, frauds : Estimate
        Per day with evaluated records.
    """

    outcome: Outcome
    everyone: Estimate
    frauds: Estimate

    def __str__(self) -> str:
        return self.describe("a day")

    def describe(self, span: str) -> str:
        """Describe numbers of another span, such as "out of 10,000 applicants"."""
        change, frauds = self.everyone.value or 0.0, self.frauds.value or 0.0
        text = f"{_change(change)} {_PLURALS[self.outcome]} {span}"
        if frauds * (change - frauds) < 0:  # one class more, the other fewer
            return f"{text}: {_change(frauds)} of frauds, {_change(change - frauds)} of genuine records"
        return f"{text}, {_number(frauds)} of them fraud"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFlips:
    """Flips of the records with one value of a column.

    Parameters
    ----------
    stricter, milder : int
        Records with a stricter (milder) outcome from the challenger.
    stricter_frauds, milder_frauds : int
        Frauds among them.
    totals : mapping of str to int
        Records in the denominator of each rate.
    changes : mapping of str to Difference
        Rate under the challenger minus that under the champion, by name as in `GROUP_RATES`. Without ends where the
        denominator has fewer than `MIN_RECORDS` records or ten days.
    """

    value: str
    records: int
    stricter: int
    milder: int
    stricter_frauds: int
    milder_frauds: int
    totals: Mapping[str, int]
    changes: Mapping[str, Difference]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFlipTable:
    """Flips by the values of one column, as in `GroupTable`."""

    column: str
    groups: tuple[GroupFlips, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the flips as a JSON document."""
        return asdict(self)


def find_flips(
    champion: EvaluatedRecords, challenger: EvaluatedRecords, draws: DayDraws, explain: Explain | None
) -> tuple[Flip, ...]:
    """Count the records of each kind of flip; kinds without records are left out."""
    before, after = champion.decisions, challenger.decisions
    kinds = before.outcomes.astype(np.int64) * len(OUTCOMES) + after.outcomes
    moved = np.abs(after.scores - before.scores)
    return tuple(
        _flip(champion, int(kind), np.asarray(kinds == kind), moved, draws, explain)
        for kind in np.unique(kinds[before.outcomes != after.outcomes])
    )


def _flip(
    records: EvaluatedRecords,
    kind: int,
    flipped: BoolArray,
    moved: IntArray,
    draws: DayDraws,
    explain: Explain | None,
) -> Flip:
    old, new = divmod(kind, len(OUTCOMES))
    rows, fraud = np.flatnonzero(flipped), records.labels == 1
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_EXPLAINED)).astype(np.int64))
    chosen = [] if explain is None else rows[shown].tolist()
    codes = Counter(code for row in chosen for code in (explain(row, new > old) if explain else ()))
    farthest = rows[np.argsort(-moved[rows], kind="stable")][:EXAMPLES].tolist()
    frauds = int(np.count_nonzero(records.labels[rows]))
    return Flip(
        champion=OUTCOMES[old],
        challenger=OUTCOMES[new],
        genuine=len(rows) - frauds,
        frauds=frauds,
        daily_genuine=_per_day(flipped & ~fraud, draws),
        daily_frauds=_per_day(flipped & fraud, draws),
        reasons=dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
        explained=len(chosen),
        examples=tuple(records.record_ids[row] for row in farthest) if records.record_ids else (),
    )


def _per_day(hits: BoolArray, draws: DayDraws) -> Estimate:
    """Estimate how many records of a kind a day has."""
    found = _rate(hits, np.ones_like(hits), draws)
    return found.times(len(hits) / draws.days)


def daily_changes(differences: Mapping[str, Estimate], *, records: int, days: int) -> tuple[DailyChange, ...]:
    """Turn differences of shares of all records into numbers per day."""
    daily = records / days if days else 0.0
    return tuple(
        DailyChange(
            outcome=outcome,
            everyone=differences[outcome.lower()].times(daily),
            frauds=differences[f"{outcome.lower()}_frauds"].times(daily),
        )
        for outcome in OUTCOMES
    )


def flip_rates(
    champion: EvaluatedRecords, challenger: EvaluatedRecords, draws: DayDraws
) -> dict[str, Estimate]:
    """Measure the shares of `FLIP_RATES`."""
    fraud = champion.labels == 1
    stricter, milder = _turns(champion, challenger)
    pairs = (
        (stricter | milder, np.ones_like(fraud)),
        (stricter & ~fraud, ~fraud),
        (milder & ~fraud, ~fraud),
        (stricter & fraud, fraud),
        (milder & fraud, fraud),
    )
    return {name: _rate(*pair, draws) for name, pair in zip(FLIP_RATES, pairs, strict=True)}


def _turns(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> tuple[BoolArray, BoolArray]:
    before, after = champion.decisions.outcomes, challenger.decisions.outcomes
    return np.asarray(after > before), np.asarray(after < before)


def _rate(hits: BoolArray, rows: BoolArray, draws: DayDraws) -> Estimate:
    counts, totals = (draws.counts(mask.astype(np.int64), 2)[:, 1] for mask in (hits, rows))
    drawn = divide(draws.drawn(counts), draws.drawn(totals))
    enough = np.count_nonzero(totals) >= MIN_DAYS
    return rate_estimate(int(counts.sum()), int(totals.sum()), drawn if enough else drawn[:0])


def group_flips(
    champion: EvaluatedRecords, challenger: EvaluatedRecords, draws: DayDraws, column: str
) -> GroupFlipTable:
    """Count flips and measure the changes of rates for each group of a column."""
    grouping = Grouping.of(champion, column)
    size = len(grouping.values)
    # A record's cell under both models at once: who flips, and the rates of either.
    old, new = (cell_codes(one.labels, one.decisions.outcomes) for one in (champion, challenger))
    pairs = draws.counts((grouping.codes * CELLS + old) * CELLS + new, size * CELLS * CELLS)
    by_day = pairs.reshape(draws.days, size, CELLS, CELLS)
    changes, totals = _changes(by_day, draws)
    counts = by_day.sum(axis=0)
    outcome = np.arange(CELLS) % len(OUTCOMES)
    frauds = np.arange(CELLS) >= len(OUTCOMES)
    strict, mild = outcome[None, :] > outcome[:, None], outcome[None, :] < outcome[:, None]
    return GroupFlipTable(
        column=column,
        groups=tuple(
            GroupFlips(
                value=value,
                records=int(found.sum()),
                stricter=int(found[strict].sum()),
                milder=int(found[mild].sum()),
                stricter_frauds=int(found[strict & frauds[:, None]].sum()),
                milder_frauds=int(found[mild & frauds[:, None]].sum()),
                totals=dict(zip(GROUP_RATES, totals[g].astype(int).tolist(), strict=True)),
                changes={name: changes[g][f] for f, name in enumerate(GROUP_RATES)},
            )
            for g, (value, found) in enumerate(zip(grouping.values, counts, strict=True))
        ),
    )


def _changes(by_day: IntArray, draws: DayDraws) -> tuple[list[list[Difference]], FloatArray]:
    """Measure the changes of rates, and their denominators, from counts of shape (days, g, 6, 6)."""
    # The sum over the other model's outcome gives the cells of one model.
    before, after = by_day.sum(axis=3), by_day.sum(axis=2)
    gained, _ = rate_counts((after - before).sum(axis=0), GROUP_RATES)
    _, totals = rate_counts(before.sum(axis=0), GROUP_RATES)
    drawn_gained, _ = rate_counts(draws.drawn(after - before), GROUP_RATES)
    _, drawn_totals = rate_counts(draws.drawn(before), GROUP_RATES)
    held = np.count_nonzero(rate_counts(before, GROUP_RATES)[1], axis=0)
    enough = (totals >= MIN_RECORDS) & (held >= MIN_DAYS)
    values = divide(gained, totals)
    discordant = _discordant(by_day.sum(axis=0))
    alone, together = half_widths(
        values,
        divide(drawn_gained, drawn_totals),
        floor=paired_variance(gained, discordant, totals),
        enough=enough,
        days=draws.days,
    )
    ends = (
        np.clip(end, -1, 1) for end in (values - alone, values + alone, values - together, values + together)
    )
    parts = np.stack([values, *ends], axis=-1)
    return [[Difference.of(numbers.tolist()) for numbers in row] for row in parts], totals


def _discordant(pairs: IntArray) -> FloatArray:
    """Count the records that are in the numerator of a rate for one model alone, of shape (g, f)."""
    found = []
    for name in GROUP_RATES:
        inside = np.array([cell in RATES[name].numerator for cell in range(CELLS)])
        found.append(pairs[:, inside[:, None] != inside[None, :]].sum(axis=1))
    return np.stack(found, axis=-1).astype(np.float64)


def describe_changes(changes: tuple[DailyChange, ...]) -> Iterator[str]:
    """Yield a sentence for each outcome but PASSED, with the interval of the change."""
    for change in changes[1:]:
        low, high = change.everyone.low, change.everyone.high
        ends = "no interval" if low is None or high is None else f"95 %: {low:+,.1f} to {high:+,.1f}"
        yield f"{change} ({ends})"


def _change(value: float) -> str:
    return f"{_number(value)} {'more' if value >= 0 else 'fewer'}"


def _number(value: float) -> str:
    return f"{abs(value):,.0f}" if abs(value) >= 10 else f"{abs(value):,.1f}"
